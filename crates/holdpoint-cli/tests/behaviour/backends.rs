//! `--store` and `--server` say the same: one database, asked directly and through the server that has it.

use crate::common;

use std::path::Path;
use std::process::Command;

use common::server::start;
use common::{in_state, until};
use serde_json::{Value, json};
use tempfile::TempDir;

const CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"
store = "sqlite:holdpoint.db"

[agents.desk]
model = "scripted:desk.yaml"
policy = "policy.toml"

[agents.desk.tools.refund]
kind = "command"
command = ["echo", "paid"]
[agents.desk.tools.refund.parameters]
type = "object"

[agents.broken]
model = "scripted:broken.yaml"
"#;

const POLICY: &str = r#"
[[rule]]
tool = "refund"
decide = "confirm"
reason = "money"
approvers = ["finance"]
expires_in = "4h"
"#;

fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("holdpoint.toml", CONFIG);
    write("policy.toml", POLICY);
    write("desk.yaml", "- calls: [{id: pay, tool: refund, arguments: {order: A-42, amount: 1.50}}]\n- text: done\n");
    write("broken.yaml", "- fail: overloaded\n");
    folder
}

fn stdout(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_holdpoint")).args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The objects that a command prints, with the store and with the server.
fn asked_twice(folder: &Path, server: &str, arguments: &[&str]) -> (Vec<Value>, Vec<Value>) {
    let ask = |backend: &[&str]| {
        let said = stdout(folder, &[arguments, backend].concat());
        assert!(!said.is_empty(), "{arguments:?}");
        (said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(), said)
    };
    let (stored, by_store) = ask(&["--store", "sqlite:holdpoint.db"]);
    let (served, by_server) = ask(&["--server", server]);
    assert_eq!(by_store, by_server, "{arguments:?}");
    (stored, served)
}

/// Compares field by field, so that a failure names the field.
fn assert_same(place: &str, stored: &Value, served: &Value) {
    match (stored, served) {
        (Value::Object(one), Value::Object(other)) => {
            let (names, others): (Vec<_>, Vec<_>) = (one.keys().collect(), other.keys().collect());
            assert_eq!(names, others, "the fields of {place}");
            one.iter().for_each(|(name, value)| assert_same(&format!("{place}.{name}"), value, &other[name]));
        }
        (Value::Array(one), Value::Array(other)) => {
            assert_eq!(one.len(), other.len(), "{place}");
            one.iter().zip(other).for_each(|(one, other)| assert_same(place, one, other));
        }
        (one, other) => assert_eq!(one, other, "{place}"),
    }
}

#[test]
fn runs_and_approvals_have_the_same_fields_from_a_store_and_from_a_server() {
    let folder = folder();
    let server = start(folder.path(), &["serve"], &[]);
    let client = server.client();
    let url = format!("http://{}", client.address);
    let begin = |agent: &str| {
        let (status, run) = client.post("/v1/runs?wait_ms=20000", &json!({ "agent": agent, "input": "My money!" }));
        assert_eq!(status, 201, "{run}");
        run["id"].as_str().unwrap().to_owned()
    };
    let (open, finished, failed) = (begin("desk"), begin("desk"), begin("broken"));
    let answered = format!("{finished}.b1.c0");
    stdout(
        folder.path(),
        &["approvals", "allow", &answered, "--role", "finance", "--as", "ana", "--reason", "checked"],
    );
    in_state(&client, &finished, "finished");
    in_state(&client, &failed, "failed");
    until("the open approval", || (client.get("/v1/approvals").1["approvals"][0]["run_id"] == *open).then_some(()));

    let compare = |count: usize, arguments: &[&str]| {
        asked_twice(folder.path(), &url, arguments);
        let (stored, served) = asked_twice(folder.path(), &url, &[arguments, &["--json"]].concat());
        assert_eq!(stored.len(), count, "{arguments:?}");
        assert_same(&arguments.join(" "), &Value::from(stored), &Value::from(served));
    };
    compare(3, &["runs", "list"]);
    compare(2, &["runs", "list", "--agent", "desk", "--limit", "2"]);
    for (status, run) in [("awaiting_tool_confirmation", &open), ("finished", &finished), ("failed", &failed)] {
        compare(1, &["runs", "list", "--status", status]);
        compare(1, &["runs", "show", run]);
        let events = client.get(&format!("/v1/runs/{run}")).1["revision"].as_u64().unwrap();
        compare(usize::try_from(events).unwrap(), &["runs", "tail", run, "--no-wait"]);
        let (stored, served) = asked_twice(folder.path(), &url, &["runs", "export", run]);
        assert_same("runs export", &Value::from(stored), &Value::from(served));
    }
    compare(1, &["approvals", "list"]);
    compare(1, &["approvals", "list", "--status", "answered", "--run", &finished]);
    compare(1, &["approvals", "show", &format!("{open}.b1.c0")]);
    compare(1, &["approvals", "show", &answered]);
    assert!(server.end().success());
}
