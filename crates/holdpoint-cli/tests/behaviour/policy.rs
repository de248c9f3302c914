//! `holdpoint policy`: files that are checked, calls that are explained, recorded runs that are decided again.

use crate::common;

use std::sync::Arc;

use common::{said, snapshot};
use holdpoint::{Actor, Agent, Decisions, RunId, RunRequest, StoreOptions, open_store_with};
use holdpoint_model::{ScriptedModel, ScriptedReply};
use holdpoint_policy::Rules;
use holdpoint_store::{ManualClock, Store};
use holdpoint_tools::{ToolCall, raw_tool};
use serde_json::json;
use tempfile::TempDir;

const FOLDER: &str = "crates/holdpoint-cli/tests/policies";

fn policy(name: &str) -> String {
    format!("{FOLDER}/{name}.toml")
}

fn check(name: &str, more: &[&str]) -> String {
    said(&[&["policy", "check", &policy(name)], more].concat(), "")
}

#[test]
fn help_teaches_by_example() {
    snapshot("help_policy", &said(&["policy", "--help"], ""));
    for command in ["check", "explain", "replay"] {
        snapshot(&format!("help_policy_{command}"), &said(&["policy", command, "--help"], ""));
    }
}

#[test]
fn a_policy_that_is_well_is_counted() {
    snapshot("policy_good", &check("good", &["--tools", "refund,read_file", "--context-keys", "region"]));
    snapshot("policy_good_json", &check("good", &["--json"]));
    snapshot("policy_tried", &check("tried", &[]));
}

#[test]
fn a_rule_that_never_decides_is_a_warning() {
    snapshot("policy_covered", &check("covered", &[]));
    snapshot("policy_covered_json", &check("covered", &["--json"]));
}

#[test]
fn what_would_silently_remove_a_gate_is_refused_with_line_and_hint() {
    for name in ["misspelt_key", "misspelt_operator", "impossible", "duplicate", "no_gate", "wrong_example"] {
        let refused = check(name, &[]);
        assert!(
            refused.starts_with("exit 2\n") && refused.contains(".toml:") && refused.contains("hint: "),
            "{refused}"
        );
        snapshot(&format!("policy_{name}"), &refused);
    }
    for (name, more) in
        [("unknown_tool", ["--tools", "refund,read_file"]), ("unknown_attribute", ["--context-keys", "region"])]
    {
        let refused = check(name, &more);
        assert!(refused.starts_with("exit 2\n") && refused.contains("did you mean"), "{refused}");
        snapshot(&format!("policy_{name}"), &refused);
    }
    snapshot("policy_not_toml", &check("not_toml", &[]));
    snapshot("policy_alone", &check("alone", &[]));
    snapshot("policy_nowhere", &check("nowhere", &[]));
    snapshot("policy_misspelt_key_json", &check("misspelt_key", &["--json"]));
}

#[test]
fn the_worst_of_several_files_decides_the_exit_code() {
    let several = said(&["policy", "check", &policy("good"), &policy("duplicate"), &policy("covered")], "");
    snapshot("policy_several", &several);
}

fn explain(more: &[&str]) -> String {
    said(&[&["policy", "explain", &policy("good")], more].concat(), "")
}

#[test]
fn a_decision_is_explained_with_what_each_rule_saw() {
    let eu = ["--tool", "refund", "--context", "region=eu"];
    snapshot("explain_first", &explain(&["--tool", "refund", "--arguments", r#"{"amount": 1e3}"#]));
    snapshot("explain_last", &explain(&[&eu[..], &["--arguments", r#"{"amount": 20}"#]].concat()));
    let past = ["--arguments", r#"{"amount": 90}"#, "--past", r#"[{"amount": 90}, {"amount": 90}, {"amount": 30.5}]"#];
    snapshot("explain_past", &explain(&[&eu[..], &past[..]].concat()));
    snapshot(
        "explain_none",
        &explain(&["--tool", "read_file", "--actor", "ana", "--role", "support", "--tenant", "acme"]),
    );
    snapshot("explain_undecided", &explain(&["--tool", "refund", "--arguments", r#"{"amount": "20"}"#]));
    snapshot(
        "explain_json",
        &explain(&[&eu[..], &["--arguments", r#"{"amount": 9007199254740993}"#, "--json"]].concat()),
    );
}

#[test]
fn a_call_that_cannot_be_is_bad_usage() {
    for (name, more) in [
        ("explain_bad_arguments", ["--arguments", "[1]"]),
        ("explain_bad_past", ["--past", "{}"]),
        ("explain_bad_context", ["--context", "region"]),
    ] {
        snapshot(name, &explain(&[&["--tool", "refund"], &more[..]].concat()));
    }
    let refused = said(&["policy", "explain", &policy("duplicate"), "--tool", "refund"], "");
    snapshot("explain_bad_policy", &refused);
}

fn agent(store: Store, script: Vec<ScriptedReply>) -> Agent {
    let rules = Rules::parse(include_str!("../policies/before.toml"), "before.toml").unwrap();
    Agent::builder()
        .name("desk")
        .model(ScriptedModel::new(script))
        .tool(raw_tool("refund", "Pays money back", json!({"type": "object"}), async |_: ToolCall| "paid".to_owned()))
        .policy(rules)
        .store(store)
        .build()
        .unwrap()
}

/// At the beginning of 2025: a refund of 250 that a person makes 120, then one of 50; and a run of another tenant.
async fn recorded(url: &str) {
    let clock = Arc::new(ManualClock::default());
    let store = open_store_with(url, StoreOptions::default().clock(clock)).await.unwrap();
    let desk = agent(
        store.clone(),
        vec![
            ScriptedReply::call("large", "refund", r#"{"amount": 250}"#),
            ScriptedReply::call("small", "refund", r#"{"amount": 50}"#),
            ScriptedReply::text("done"),
        ],
    );
    let tenant = |tenant: &str| Actor { tenant: Some(tenant.into()), ..Actor::default() };
    let request = RunRequest::new("go").with_run_id(RunId::new("run-of-acme")).by(tenant("acme"));
    let paused = desk.chat(request).await.unwrap();
    let edited = Decisions::new().allow_edited("large", &json!({"amount": 120})).by("ana");
    let done = desk.resume(paused.continuation().unwrap(), edited).await.unwrap();
    assert_eq!(done.text().as_deref(), Some("done"));
    let script = vec![ScriptedReply::call("only", "refund", r#"{"amount": 500}"#)];
    let request = RunRequest::new("go").with_run_id(RunId::new("run-of-other")).by(tenant("other"));
    agent(store, script).chat(request).await.unwrap();
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn replayed_on(url: &str) {
    wait(recorded(url));
    let replay =
        |file: &str, more: &[&str]| said(&[&["policy", "replay", &policy(file), "--store", url], more].concat(), "");
    snapshot("replay_after", &replay("after", &[]));
    snapshot("replay_json", &replay("after", &["--tenant", "acme", "--json"]));
    snapshot("replay_same", &replay("before", &[]));
    snapshot("replay_nothing", &replay("after", &["--since", "1d"]));
    snapshot("replay_after", &replay("after", &["--since", "2024-12-31T00:00:00Z", "--agent", "desk"]));
    snapshot("replay_nothing", &replay("after", &["--agent", "other"]));
}

#[test]
fn a_replay_decides_edited_calls_as_they_were_asked_for_and_as_they_ran() {
    let folder = TempDir::new().unwrap();
    replayed_on(&format!("sqlite:{}", folder.path().join("runs.db").display()));
}

#[cfg(feature = "server-tests")]
#[test]
fn a_replay_of_runs_on_a_server_decides_the_same() {
    let scratch = wait(holdpoint_store_postgres::testing::Scratch::new()).unwrap();
    replayed_on(scratch.url());
    wait(scratch.close()).unwrap();
}

#[test]
fn a_replay_that_cannot_begin_is_bad_usage() {
    snapshot("store_memory", &said(&["policy", "replay", &policy("good"), "--store", "memory"], ""));
    let unreadable = said(&["policy", "replay", &policy("duplicate"), "--store", "sqlite:never-made.db"], "");
    snapshot("explain_bad_policy", &unreadable);
    let since =
        said(&["policy", "replay", &policy("good"), "--store", "sqlite:never-made.db", "--since", "lately"], "");
    assert!(since.starts_with("exit 2\n") && since.contains("as in `30d`"), "{since}");
}
