//! Several servers and workers on one PostgreSQL, some of which die.

use crate::common;

use std::path::Path;
use std::time::Duration;

use common::server::{Started, start};
use common::until;
use holdpoint_store_postgres::testing::Scratch;
use serde_json::{Value, json};
use tempfile::TempDir;

/// How many runs are started, over both servers in turn.
const RUNS: usize = 24;
/// After how many effects a server and a worker die.
const DIE_AFTER: usize = 6;
/// How long the test waits before it gives up.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the tool does: an effect for each key.
const EFFECT: &str = "set -e\nsleep 0.2\nmkdir -p \"$LEDGER/effects/$HOLDPOINT_IDEMPOTENCY_KEY\"\necho done\n";

const CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"
store = "STORE"
worker = false

[agents.desk]
model = "scripted:model.yaml"
policy = "policy.toml"
executor = "defer_all"
lease_ms = 1000
max_task_attempts = 10

[agents.desk.tools.act]
kind = "command"
command = ["sh", "effect.sh"]
environment = ["PATH"]
set = { LEDGER = "." }
repeat = "with_key"
timeout_ms = 20000
"#;

fn machine(url: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("holdpoint.toml", &CONFIG.replace("STORE", url));
    write("policy.toml", "[[rule]]\ntool = \"act\"\ndecide = \"allow\"\n");
    write("model.yaml", "- calls: [{id: a, tool: act, arguments: {}}]\n- text: done\n");
    write("effect.sh", EFFECT);
    folder
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE, future).await.unwrap() })
}

fn effects(folder: &Path) -> usize {
    std::fs::read_dir(folder.join("effects")).map_or(0, Iterator::count)
}

fn worker(folder: &Path, name: &str) -> Started {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    command.args(["worker", "--concurrency", "2", "--lease-ms", "1000", "--name", name]).current_dir(folder);
    command
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Nothing is said on standard output; the line on standard error says that it begins.
    let mut stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut stderr, &mut line).unwrap();
    assert!(line.starts_with("starting a worker"), "{line}");
    std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
    Started::of(child)
}

#[test]
fn all_runs_end_and_each_effect_happens_once_although_a_server_and_a_worker_die() {
    let scratch = wait(Scratch::new()).unwrap();
    // One folder: the key and the ledger are shared, as they would be by a deployment.
    let folder = machine(scratch.url());
    let mut servers: Vec<Started> = (0..2).map(|_| start(folder.path(), &["serve"], &[])).collect();
    let mut workers: Vec<Started> = ["one", "two"].map(|name| worker(folder.path(), name)).into();
    let clients: Vec<_> = servers.iter().map(Started::client).collect();
    let body = json!({ "agent": "desk", "input": "act" });
    let begin = |number: usize| {
        let (status, run) = clients[number % 2].post("/v1/runs", &body);
        assert_eq!(status, 201, "{run}");
        run["id"].as_str().unwrap().to_owned()
    };
    let runs: Vec<String> = (0..RUNS).map(begin).collect();
    until("the first effects", || (effects(folder.path()) >= DIE_AFTER).then_some(()));
    servers.remove(0).kill();
    workers.remove(0).kill();
    let survivor = &clients[1];
    for run in &runs {
        until("the end of a run", || {
            let (status, run): (u16, Value) = survivor.get(&format!("/v1/runs/{run}"));
            assert_eq!(status, 200, "{run}");
            assert!(run["status"] != "failed" && run["status"] != "awaiting_tool_confirmation", "{run}");
            (run["status"] == "finished").then_some(())
        });
    }
    assert_eq!(effects(folder.path()), RUNS, "one effect for each run");
    assert!(servers.remove(0).end().success());
    assert!(workers.remove(0).end().success());
    wait(scratch.close()).unwrap();
}
