//! Programs and MCP servers that a server started end with it, however it ends, and the question about their call says what
//! is known of them.

use crate::common;

use std::path::Path;

use common::server::start;
use common::until;
use serde_json::{Value, json};
use tempfile::TempDir;

const CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"
store = "sqlite:holdpoint.db"

[agents.desk]
model = "scripted:model.yaml"
policy = "policy.toml"
lease_ms = 1000

[agents.desk.tools.pay]
kind = "command"
command = ["sh", "pay.sh"]
environment = ["PATH"]
timeout_ms = 60000

[agents.desk.mcp.quiet]
command = ["sh", "server.sh"]
"#;

/// An MCP server that lists the tools of a file, and notes its number and its calls in others.
const SERVER: &str = r#"
echo $$ >> server.pid
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case "$line" in
    *'"initialize"'*) result='"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"scripted","version":"1"}}' ;;
    *'"tools/list"'*) result='"result":{"tools":['$(cat tools.json)']}' ;;
    *'"tools/call"'*) echo called >> calls; result='"result":{"content":[{"type":"text","text":"sent"}]}' ;;
    *) result='"error":{"code":-32601,"message":"no such method"}' ;;
    esac
    [ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$result"
done
"#;

fn machine() -> TempDir {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("holdpoint.toml", CONFIG);
    write("policy.toml", "[[rule]]\ntool = \"pay\"\ndecide = \"allow\"\n");
    write("model.yaml", "- calls: [{id: a, tool: pay, arguments: {}}]\n- text: done\n");
    write("pay.sh", "echo $$ >> pay.pid\nexec sleep 600\n");
    write("server.sh", SERVER);
    write("tools.json", &tool("look", "Looks"));
    folder
}

/// The program that wrote its number there and runs. An MCP server may be started again to agree on a version.
fn pid(folder: &Path, file: &str) -> Option<u32> {
    let written = std::fs::read_to_string(folder.join(file)).ok()?;
    written.lines().filter_map(|line| line.parse().ok()).find(|pid| lives(*pid))
}

fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
}

#[test]
fn programs_and_mcp_servers_end_with_a_killed_server_and_the_person_is_told() {
    let folder = machine();
    let scratch = TempDir::new().unwrap();
    let environment = [("TMPDIR", scratch.path().to_str().unwrap())];
    let first = start(folder.path(), &["serve"], &environment);
    let (status, run) = first.client().post("/v1/runs", &json!({"agent": "desk", "input": "pay"}));
    assert_eq!(status, 201, "{run}");
    let pay = until("the program", || pid(folder.path(), "pay.pid"));
    let server = until("the MCP server", || pid(folder.path(), "server.pid"));
    assert!(lives(pay) && lives(server));
    first.kill();
    until("the end of the programs", || (!lives(pay) && !lives(server)).then_some(()));

    let second = start(folder.path(), &["serve"], &environment);
    let client = second.client();
    let path = format!("/v1/runs/{}", run["id"].as_str().unwrap());
    let asked: Value = until("the question", || {
        let (_, run): (u16, Value) = client.get(&path);
        (run["status"] == "awaiting_tool_confirmation").then_some(run)
    });
    // The new server found on this machine what the old one had started.
    assert_eq!(asked["pending"][0]["reason"], "it is not known whether this call took effect");
    assert_eq!(std::fs::read_to_string(folder.path().join("pay.pid")).unwrap().lines().count(), 1);
    second.kill();
}

#[test]
fn the_question_says_that_a_program_of_another_machine_may_still_be_running() {
    let folder = machine();
    let (one, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let first = start(folder.path(), &["serve"], &[("TMPDIR", one.path().to_str().unwrap())]);
    let (status, run) = first.client().post("/v1/runs", &json!({"agent": "desk", "input": "pay"}));
    assert_eq!(status, 201, "{run}");
    until("the program", || pid(folder.path(), "pay.pid"));
    first.kill();
    // Another folder stands for another machine: what the first one registered is not there.
    let second = start(folder.path(), &["serve"], &[("TMPDIR", other.path().to_str().unwrap())]);
    let client = second.client();
    let path = format!("/v1/runs/{}", run["id"].as_str().unwrap());
    let asked: Value = until("the question", || {
        let (_, run): (u16, Value) = client.get(&path);
        (run["status"] == "awaiting_tool_confirmation").then_some(run)
    });
    let reason = "it is not known whether this call took effect; its program may still be running";
    assert_eq!(asked["pending"][0]["reason"], reason);
    second.kill();
}

const TALKING_CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"
store = "sqlite:holdpoint.db"

[agents.desk]
model = "scripted:model.yaml"
policy = "policy.toml"

[agents.desk.mcp.mail]
command = ["sh", "server.sh"]
"#;

fn tool(name: &str, description: &str) -> String {
    json!({"name": name, "description": description, "inputSchema": {"type": "object"}}).to_string()
}

fn said(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    let output = command.args(arguments).current_dir(folder).env("NO_COLOR", "1").output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn an_mcp_tool_that_changed_between_two_processes_is_withheld_until_it_is_accepted() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("holdpoint.toml", TALKING_CONFIG);
    write("policy.toml", "[[rule]]\ntool = \"mail__*\"\ndecide = \"confirm\"\n");
    write("model.yaml", "- calls: [{id: a, tool: mail__send, arguments: {}}]\n- text: done\n");
    write("server.sh", SERVER);
    write("tools.json", &tool("send", "Sends a mail"));
    let first = start(folder.path(), &["serve"], &[]);
    let (status, run) = first.client().post("/v1/runs?wait_ms=20000", &json!({"agent": "desk", "input": "send it"}));
    assert_eq!((status, &run["status"]), (201, &json!("awaiting_tool_confirmation")), "{run}");
    assert!(first.end().success());

    // The same name, another tool: it is reported, and what was approved does not run it.
    write("tools.json", &[tool("send", "Sends a mail to everybody"), tool("read", "Reads mails")].join(","));
    let second = start(folder.path(), &["serve"], &[("HOLDPOINT_LOG", "warn")]);
    let decision = json!({"call_id": "a", "decision": "allow", "digest": run["pending"][0]["digest"]});
    let body = json!({"continuation_id": run["continuation_id"], "decisions": [decision]});
    let path = format!("/v1/runs/{}/answers?wait_ms=20000", run["id"].as_str().unwrap());
    let (status, answered) = second.client().post(&path, &body);
    assert_eq!((status, &answered["status"]), (200, &json!("finished")), "{answered}");
    until("the report", || second.said().contains("MCP tool withheld").then_some(()));
    assert!(second.end().success());
    assert!(!folder.path().join("calls").exists(), "the other tool was called");

    let (code, listed) = said(folder.path(), &["tools"]);
    assert_eq!(code, Some(0), "{listed}");
    assert!(listed.contains("withheld: changed since it was accepted"), "{listed}");
    assert!(listed.contains("withheld: new and not accepted"), "{listed}");
    let (code, accepted) = said(folder.path(), &["tools", "accept", "mail", "send", "--yes"]);
    assert_eq!(code, Some(0), "{accepted}");
    assert!(accepted.contains("Sends a mail to everybody"), "{accepted}");
    let (_, listed) = said(folder.path(), &["tools"]);
    assert!(!listed.contains("changed since") && listed.contains("new and not accepted"), "{listed}");
}
