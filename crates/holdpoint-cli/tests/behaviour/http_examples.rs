//! The scripts in `examples/http`, against a server as somebody would start it.

use crate::common;

use std::path::Path;
use std::process::Command;

use common::server::{Started, start};
use serde_json::json;
use tempfile::TempDir;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Runs a script against a server; gives back what it printed.
fn printed(script: &str, server: &Started, token: &str) -> String {
    let mut command = Command::new("bash");
    command.arg(Path::new(ROOT).join("examples/http").join(script)).env_remove("HOLDPOINT_AGENT");
    command.env("HOLDPOINT_URL", format!("http://{}", server.client().address)).env("HOLDPOINT_TOKEN", token);
    let output = command.output().unwrap_or_else(|error| panic!("bash must be installed: {error}"));
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{script} needs curl and python3; it said: {out}{err}{}", server.said());
    out
}

/// A server with the sample agent, as somebody gets it who has no configuration.
fn sample(folder: &TempDir) -> Started {
    start(folder.path(), &["serve", "--listen", "127.0.0.1:0"], &[])
}

#[test]
fn a_shell_starts_a_run_answers_its_question_and_sees_the_result() {
    let expected = "\
status: awaiting_tool_confirmation
asks: refund {\"amount\": 180, \"order\": \"A-42\"}
because: refund above 100
status: finished
says: I have looked into order A-42 and told you what happened.
second click: stale_continuation
";
    let folder = TempDir::new().unwrap();
    let server = sample(&folder);
    assert_eq!(printed("approve.sh", &server, ""), expected);
    assert!(server.end().success());
}

#[test]
fn a_shell_follows_a_run_over_a_broken_connection_without_a_gap() {
    let folder = TempDir::new().unwrap();
    let server = sample(&folder);
    let out = printed("follow.sh", &server, "");
    let numbers = out.lines().filter_map(|line| line.split(' ').next()?.parse::<u64>().ok()).collect::<Vec<_>>();
    let all = (1..=u64::try_from(numbers.len()).unwrap()).collect::<Vec<_>>();
    assert_eq!(numbers, all, "each once, and none left out: {out}");
    let names = out.lines().filter(|line| line.ends_with(" call_answered") || line.ends_with(" done"));
    assert_eq!(names.count(), 3, "it paused, was answered, and ended: {out}");
    assert_eq!(out.lines().position(|line| line == "the connection broke"), Some(3), "{out}");
    assert!(server.end().success());
}

#[test]
fn a_shell_does_a_task_and_may_bring_its_result_twice() {
    let folder = TempDir::new().unwrap();
    let example = Path::new(ROOT).join("examples/config/.");
    assert!(Command::new("cp").arg("-r").arg(example).arg(folder.path()).status().unwrap().success());
    let (desk, bench) = ("desk-secret-0123456789abcdef", "bench-secret-0123456789abcdef");
    let secrets = [("DESK_TOKEN", desk), ("BENCH_TOKEN", bench)];
    let server = start(folder.path(), &["serve", "--listen", "127.0.0.1:0"], &secrets);
    let client = server.client().with_token(desk);
    let (status, run) = client.post("/v1/runs?wait_ms=20000", &json!({ "agent": "support", "input": "hello" }));
    assert_eq!((status, &run["status"]), (201, &json!("awaiting_tool_results")), "{run}");
    let expected = "\
does: inspect {\"article\": \"kettle\"}, attempt 1
held for: 60000 ms
brought: 204
brought again: 204
";
    assert_eq!(printed("work.sh", &server, bench), expected);
    assert!(server.end().success());
}
