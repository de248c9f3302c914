//! Commands that open a store: real files, a real server, real processes.

use crate::common;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;

use common::{holdpoint, said, snapshot};
use holdpoint::{Actor, Agent, RunRequest, RunResult, Status, StoreOptions, open_store, open_store_with};
use holdpoint_model::{ScriptedModel, ScriptedReply};
use holdpoint_policy::Rules;
use holdpoint_store::{ManualClock, RunFilter, Store, Topic};
use holdpoint_tools::tool;
use schemars::JsonSchema;
use serde::Deserialize;
use tempfile::TempDir;

const HOLDS: &str = "crates/holdpoint-cli/tests/scenarios/holds.yaml";
/// How long a test waits for another process before it gives up.
const PATIENCE: Duration = Duration::from_secs(60);

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE, future).await.unwrap() })
}

fn file_in(folder: &TempDir) -> String {
    format!("sqlite:{}", folder.path().join("runs.db").display())
}

// To the letter what the sample agent has: a worker with another schema would give the call back.
#[derive(Deserialize, JsonSchema)]
struct Order {
    /// The order's number.
    order: String,
}

/// An agent that asks for one lookup, has one rule for it, and a name.
fn agent(store: Store, decide: &str, executor: &str) -> Agent {
    let script =
        vec![ScriptedReply::call("look", "find_order", r#"{"order": "A-42"}"#), ScriptedReply::text("I have looked.")];
    let rules = format!("[[rule]]\ntool = \"find_order\"\ndecide = \"{decide}\"\n");
    Agent::builder()
        .name("sample")
        .model(ScriptedModel::new(script))
        .tool(tool("find_order", "Looks an order up", async |order: Order| format!("order {}", order.order)))
        .policy(Rules::parse(&rules, "the test's policy").unwrap())
        .with_tool_concurrency(executor, None)
        .store(store)
        .build()
        .unwrap()
}

/// Runs to its end, or to its pause, at the beginning of 2025.
async fn run_long_ago(url: &str, decide: &str, tenant: Option<&str>) -> RunResult {
    let clock = Arc::new(ManualClock::default());
    let store = open_store_with(url, StoreOptions::default().clock(clock)).await.unwrap();
    let actor = Actor { tenant: tenant.map(Into::into), ..Actor::default() };
    agent(store, decide, "inline").chat(RunRequest::new("go").by(actor)).await.unwrap()
}

#[test]
fn scenarios_run_on_a_file() {
    let folder = TempDir::new().unwrap();
    snapshot("test_ok", &said(&["test", HOLDS, "--store", &file_in(&folder)], ""));
}

#[test]
fn a_store_that_cannot_be_opened_is_told_once_before_anything_runs() {
    for (name, url) in [
        ("store_unknown", "mysql://localhost/runs"),
        ("store_no_folder", "sqlite:no-such-folder/of-any-name/runs.db"),
        ("store_unreachable", "postgres://app:hunter2@127.0.0.1:1/runs"),
    ] {
        let test = said(&["test", HOLDS, HOLDS, "--store", url], "");
        assert!(!test.contains("hunter2"), "{test}");
        snapshot(name, &test);
        assert_eq!(said(&["migrate", "--store", url], ""), test, "migrate");
        assert_eq!(said(&["prune", "--store", url, "--older-than", "1d"], ""), test, "prune");
        assert_eq!(said(&["worker", "--store", url], ""), test, "worker");
    }
}

#[test]
fn commands_that_need_a_lasting_store_refuse_memory() {
    let refused = said(&["migrate", "--store", "memory"], "");
    snapshot("store_memory", &refused);
    assert_eq!(said(&["prune", "--store", "memory", "--older-than", "1d"], ""), refused);
    assert_eq!(said(&["worker", "--store", "memory"], ""), refused);
}

#[test]
fn migrate_says_from_where_to_where() {
    let folder = TempDir::new().unwrap();
    let (file, other) = (file_in(&folder), format!("sqlite:{}", folder.path().join("other.db").display()));
    snapshot("migrate_new", &said(&["migrate", "--store", &file], ""));
    snapshot("migrate_again", &said(&["migrate", "--store", &file], ""));
    snapshot("migrate_json", &said(&["migrate", "--store", &other, "--json"], ""));
}

fn pruned_on(url: &str) {
    let waiting = wait(async {
        run_long_ago(url, "allow", Some("acme")).await;
        run_long_ago(url, "allow", None).await;
        run_long_ago(url, "confirm", Some("acme")).await
    });
    let fresh = wait(async { agent(open_store(url).await.unwrap(), "allow", "inline").chat("go").await.unwrap() });
    let prune = |more: &[&str]| said(&[&["prune", "--store", url][..], more].concat(), "");
    snapshot("prune_nothing", &prune(&["--older-than", "100000d"]));
    snapshot("prune_dry", &prune(&["--older-than", "30d", "--dry-run"]));
    snapshot("prune_dry_json", &prune(&["--older-than", "30d", "--dry-run", "--json"]));
    snapshot("prune_tenant", &prune(&["--older-than", "30d", "--tenant", "acme"]));
    snapshot("prune_json", &prune(&["--older-than", "30d", "--json"]));
    snapshot("prune_nothing", &prune(&["--older-than", "30d"]));
    let left = wait(async { open_store(url).await.unwrap().runs.list(&RunFilter::default()).await.unwrap().items });
    let mut left: Vec<_> = left.iter().map(|head| (head.run.clone(), head.status)).collect();
    left.sort_by_key(|(run, _)| run.as_str().to_owned());
    let mut expected =
        [(waiting.run_id().clone(), Status::AwaitingToolConfirmation), (fresh.run_id().clone(), Status::Finished)];
    expected.sort_by_key(|(run, _)| run.as_str().to_owned());
    assert_eq!(left, expected, "what waits and what is young stays");
}

#[test]
fn prune_removes_what_is_over_and_old_and_nothing_else() {
    let folder = TempDir::new().unwrap();
    pruned_on(&file_in(&folder));
}

#[test]
fn a_duration_that_is_none_is_bad_usage() {
    for text in ["30", "1w", "-1d"] {
        let said = said(&["prune", "--store", "sqlite:runs.db", &format!("--older-than={text}")], "");
        assert!(said.starts_with("exit 2\n"), "{said}");
        assert!(said.contains("not a duration\nhint: write a whole number"), "{said}");
    }
}

/// Starts a worker and waits until it says that it works.
fn worker(url: &str) -> (Child, BufReader<std::process::ChildStderr>) {
    let mut child = holdpoint(&["worker", "--store", url, "--tools", "find_*", "--concurrency", "2"]).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.starts_with("starting a worker for the agent `sample`"), "{line}");
    (child, stderr)
}

async fn delivered(store: &Store, run: &RunResult) {
    let mut woken = store.runs.watch(Topic::Runs);
    loop {
        woken.borrow_and_update();
        if !store.tasks.completed(run.run_id()).await.unwrap().is_empty() {
            return;
        }
        // A wake-up may be lost: then it looks again.
        let _ = tokio::time::timeout(Duration::from_millis(200), woken.changed()).await;
    }
}

fn worked_on(url: &str, signal: &str) {
    let (mut child, mut stderr) = worker(url);
    wait(async {
        let store = open_store(url).await.unwrap();
        let run = agent(store.clone(), "allow", "defer_all").chat("go").await.unwrap();
        assert_eq!(run.status(), Status::AwaitingToolResults);
        delivered(&store, &run).await;
    });
    let told = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(told.success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut stderr, &mut rest).unwrap();
    assert_eq!(rest, "ending: finishing what was begun\nended\n");
}

#[test]
fn a_worker_does_deferred_calls_until_it_is_told_to_end() {
    let folder = TempDir::new().unwrap();
    worked_on(&file_in(&folder), "-INT");
}

#[test]
fn a_worker_that_could_do_nothing_does_not_begin() {
    let folder = TempDir::new().unwrap();
    let url = file_in(&folder);
    snapshot("worker_no_tool", &said(&["worker", "--store", &url, "--tools", "paint"], ""));
    snapshot("worker_bad_glob", &said(&["worker", "--store", &url, "--tools", "[", "refund"], ""));
    let none = said(&["worker", "--store", &url, "--concurrency", "0"], "");
    assert!(none.starts_with("exit 2\n"), "{none}");
}

#[cfg(feature = "server-tests")]
mod on_a_server {
    use super::{HOLDS, pruned_on, said, snapshot, wait, worked_on};
    use holdpoint_store_postgres::testing::Scratch;

    fn on_a_database(check: impl FnOnce(&str)) {
        let scratch = wait(Scratch::new()).unwrap();
        check(scratch.url());
        wait(scratch.close()).unwrap();
    }

    #[test]
    fn scenarios_run() {
        on_a_database(|url| snapshot("test_ok", &said(&["test", HOLDS, "--store", url], "")));
    }

    #[test]
    fn a_database_that_is_not_there_is_told() {
        on_a_database(|url| {
            let said = said(&["prune", "--store", &format!("{url}_gone"), "--older-than", "1d"], "");
            assert!(said.starts_with("exit 2\n") && said.contains("error[store_missing]"), "{said}");
        });
    }

    #[test]
    fn migrate_says_from_where_to_where() {
        on_a_database(|url| {
            snapshot("migrate_brought", &said(&["migrate", "--store", url], ""));
            snapshot("migrate_again", &said(&["migrate", "--store", url], ""));
        });
    }

    #[test]
    fn prune_removes_what_is_over_and_old_and_nothing_else() {
        on_a_database(pruned_on);
    }

    #[test]
    fn a_worker_does_deferred_calls_until_it_is_told_to_end() {
        on_a_database(|url| worked_on(url, "-TERM"));
    }
}
