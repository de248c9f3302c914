//! `holdpoint serve`, as somebody would use it: real processes, real sockets, real databases.

use crate::common;

use std::path::Path;
use std::process::Command;

use common::http::Client;
use common::in_state;
use common::server::start;
use serde_json::{Value, json};
use tempfile::TempDir;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const ANY_PORT: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

fn begun(client: &Client, agent: &str) -> Value {
    let (status, run) =
        client.post("/v1/runs?wait_ms=20000", &json!({ "agent": agent, "input": "My kettle is broken." }));
    assert_eq!(status, 201, "{run}");
    run
}

#[test]
fn a_new_user_sees_a_run_an_approval_and_a_result_and_finds_them_again() {
    let folder = TempDir::new().unwrap();
    let server = start(folder.path(), &ANY_PORT, &[]);
    let client = server.client();
    let run = begun(&client, "sample");
    assert_eq!(run["status"], "awaiting_tool_confirmation", "{run}");
    let (_, inbox) = client.get("/v1/approvals");
    let question = &inbox["approvals"][0];
    assert_eq!(question["tool"], "refund", "{inbox}");
    assert_eq!(question["arguments"], json!({ "order": "A-42", "amount": 180 }));
    let id = run["id"].as_str().unwrap();
    let answer = json!({ "continuation_id": run["continuation_id"], "decisions": [
        { "call_id": question["call_id"], "decision": "allow", "digest": question["digest"] }] });
    let (status, answered) = client.post(&format!("/v1/runs/{id}/answers?wait_ms=20000"), &answer);
    assert!(status < 300, "{answered}");
    let finished = in_state(&client, id, "finished");
    assert_eq!(finished["tool_executions"], 2, "{finished}");
    assert!(server.end().success());

    let again = start(folder.path(), &ANY_PORT, &[]);
    let (_, kept) = again.client().get(&format!("/v1/runs/{id}"));
    assert_eq!(kept, finished, "the run is as it was");
    assert!(!again.said().contains("made the key"), "the key is the same");
    assert!(again.end().success());
}

#[test]
fn the_terminal_answers_what_the_server_asks() {
    let folder = TempDir::new().unwrap();
    let server = start(folder.path(), &ANY_PORT, &[]);
    let client = server.client();
    let terminal = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
        let output = command.args(arguments).current_dir(folder.path()).env("USER", "ana").output().unwrap();
        let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success(), "{arguments:?}: {out}{err}");
        (out, err)
    };
    for verb in ["allow", "deny"] {
        let run = begun(&client, "sample");
        let (listed, _) = terminal(&["approvals", "list", "--json"]);
        let question: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
        assert_eq!(question["run_id"], run["id"]);
        let id = question["id"].as_str().unwrap();
        let (shown, _) = terminal(&["approvals", "show", id]);
        assert!(shown.contains(r#"{"amount":180,"order":"A-42"}"#), "{shown}");
        let reason: &[&str] = if verb == "deny" { &["--reason", "not this order"] } else { &[] };
        terminal(&[&["approvals", verb, id], reason].concat());
        let finished = in_state(&client, run["id"].as_str().unwrap(), "finished");
        assert_eq!(finished["tool_executions"], if verb == "allow" { 2 } else { 1 }, "{finished}");
        let (told, _) = terminal(&["runs", "tail", run["id"].as_str().unwrap(), "--no-wait"]);
        assert!(told.contains("call_answered") && told.contains("actor=ana"), "{told}");
        assert_eq!(terminal(&["approvals", "list", "--json"]).0, "");
    }
    assert!(server.end().success());
}

#[test]
fn without_tokens_nobody_else_is_served() {
    let folder = TempDir::new().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    let output = command.args(["serve", "--listen", "0.0.0.0:0"]).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("token") && said.contains("0.0.0.0"), "{said}");
    assert!(output.stdout.is_empty(), "it does not say that it listens");
}

#[test]
fn a_port_that_is_taken_is_told() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = TempDir::new().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    let address = taken.local_addr().unwrap().to_string();
    let output = command.args(["serve", "--listen", &address]).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(&format!("`{address}` cannot be listened on")), "{said}");
}

#[test]
fn the_terminal_asks_a_server_as_the_store_would_answer() {
    let folder = example();
    let (desk, bench) = ("desk-secret-0123456789abcdef", "bench-secret-0123456789abcdef");
    // A refund at once: nothing for the worker to do.
    std::fs::write(
        folder.path().join("model.yaml"),
        "- calls: [{id: pay, tool: refund, arguments: {order: A-42, amount: 180}}]\n- text: done\n",
    )
    .unwrap();
    let server = start(folder.path(), &ANY_PORT, &[("DESK_TOKEN", desk), ("BENCH_TOKEN", bench)]);
    let client = server.client().with_token(desk);
    let url = format!("http://{}", client.address);
    let terminal = |token: &str, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
        command.args(arguments).current_dir(folder.path()).env("HOLDPOINT_TOKEN", token);
        let output = command.output().unwrap();
        let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        (output.status.code().unwrap(), out, err)
    };
    let there = |arguments: &[&str]| terminal(desk, &[arguments, &["--server", &url]].concat());
    let run = begun(&client, "support");
    let id = run["id"].as_str().unwrap();
    let (code, listed, err) = there(&["approvals", "list", "--json"]);
    assert_eq!(code, 0, "{err}");
    let question: Value = serde_json::from_str(listed.trim()).unwrap();
    let approval = question["id"].as_str().unwrap();
    assert!(there(&["approvals", "show", approval]).1.contains(r#"{"amount":180,"order":"A-42"}"#));
    // Whoever may not is refused by the server, with its code.
    let (code, _, err) = terminal("nobody-secret-0123456789abcdef", &["runs", "list", "--server", &url]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("HOLDPOINT_TOKEN"), "{err}");
    assert_eq!(terminal(bench, &["approvals", "allow", approval, "--server", &url]).0, 1);
    // The token says who acts: whoever says something else is not overheard.
    for person in [["--as", "ana"], ["--role", "finance"]] {
        let (code, _, err) = there(&[&["approvals", "allow", approval], &person[..]].concat());
        assert!(code == 2 && err.contains("--as and --role mean nothing with --server"), "{err}");
    }
    assert_eq!(there(&["approvals", "list", "--status", "gone"]).0, 0);
    let (code, _, err) = there(&["approvals", "allow", approval, "--digest", &"0".repeat(64)]);
    assert!(code == 1 && err.contains("error[digest_mismatch]"), "{err}");
    let (code, _, err) = there(&["approvals", "allow", approval]);
    assert!(code == 0 && err.ends_with("allowed\n"), "{err}");
    in_state(&client, id, "finished");
    let (_, told, _) = there(&["runs", "tail", id]);
    assert!(told.contains("actor=support-desk") && told.trim_end().ends_with("stop_reason=end_turn"), "{told}");
    let (_, exported, err) = there(&["runs", "export", id]);
    let (_, from_store, _) = terminal(desk, &["runs", "export", id]);
    let whole: Value = serde_json::from_str(&exported).unwrap_or_else(|_| panic!("{err}"));
    assert_eq!(whole, serde_json::from_str::<Value>(&from_store).unwrap(), "the same from both");
    assert!(there(&["runs", "list"]).1.contains(id));
    assert!(there(&["runs", "show", id]).1.contains("paid 180 back for A-42"));
    let waiting = begun(&client, "support");
    assert_eq!(there(&["runs", "cancel", waiting["id"].as_str().unwrap()]).0, 0);
    in_state(&client, waiting["id"].as_str().unwrap(), "cancelled");
    assert!(server.end().success());
    let (code, _, err) = there(&["runs", "list"]);
    assert!(code == 1 && err.contains("cannot be reached"), "{err}");
}

#[test]
fn traces_reach_the_collector_that_the_configuration_names() {
    let collector = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", collector.local_addr().unwrap());
    let received = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut stream, _) = collector.accept().unwrap();
        let (mut all, mut piece) = (Vec::new(), [0; 16 * 1024]);
        // The body ends where its length says; what matters is in it long before the connection ends.
        loop {
            let count = stream.read(&mut piece).unwrap();
            all.extend_from_slice(&piece[..count]);
            let text = String::from_utf8_lossy(&all).into_owned();
            let length = text
                .split_once("content-length: ")
                .and_then(|(_, rest)| rest.split("\r\n").next()?.parse::<usize>().ok());
            let begins = all.windows(4).position(|window| window == b"\r\n\r\n");
            if count == 0 || length.zip(begins).is_some_and(|(length, begins)| all.len() >= begins + 4 + length) {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
                return text;
            }
        }
    });
    let folder = example();
    let config = folder.path().join("holdpoint.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("[server]", &format!("[server]\notlp_endpoint = \"{endpoint}\""))).unwrap();
    let (desk, bench) = ("desk-secret-0123456789abcdef", "bench-secret-0123456789abcdef");
    let server = start(folder.path(), &ANY_PORT, &[("DESK_TOKEN", desk), ("BENCH_TOKEN", bench)]);
    begun(&server.client().with_token(desk), "support");
    assert!(server.end().success());
    let told = received.join().unwrap();
    assert!(told.starts_with("POST /v1/traces"), "{}", &told[..told.len().min(200)]);
    assert!(told.contains("gen_ai.operation.name") && told.contains("find_order"), "the spans of a run");
    assert!(!told.contains("A-42") && !told.contains(desk), "no arguments, no secrets");
}

/// A copy of the example, so that its database and its key are nobody else's.
fn example() -> TempDir {
    let folder = TempDir::new().unwrap();
    let copied =
        Command::new("cp").arg("-r").arg(Path::new(ROOT).join("examples/config/.")).arg(folder.path()).status();
    assert!(copied.unwrap().success());
    folder
}

#[cfg(feature = "server-tests")]
#[test]
fn the_example_runs_with_a_worker_in_python_and_a_person_of_finance() {
    use std::process::Stdio;

    let folder = example();
    let (desk, bench) = ("desk-secret-0123456789abcdef", "bench-secret-0123456789abcdef");
    let secrets = [("DESK_TOKEN", desk), ("BENCH_TOKEN", bench)];
    let server = start(folder.path(), &ANY_PORT, &secrets);
    let anybody = server.client();
    assert_eq!(anybody.get("/v1/runs").0, 401);
    let client = anybody.with_token(desk);
    let mut command = Command::new("python3");
    command.arg(Path::new(ROOT).join("examples/workers/worker.py")).stdin(Stdio::null());
    command.env("HOLDPOINT_URL", format!("http://{}", anybody.address)).env("HOLDPOINT_TOKEN", bench);
    let (status, run) =
        client.post("/v1/runs", &json!({ "agent": "support", "input": "hello", "context": { "user_id": "7" } }));
    assert_eq!(status, 201, "{run}");
    let worker = common::server::started({
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    });
    assert!(worker.first_line.starts_with("done: inspect"), "{}{}", worker.first_line, worker.said());
    let id = run["id"].as_str().unwrap();
    let paused = in_state(&client, id, "awaiting_tool_confirmation");
    let question = &paused["pending"][0];
    assert_eq!(question["approvers"], json!(["finance"]));
    let answer = json!({ "continuation_id": paused["continuation_id"], "decisions": [
        { "call_id": question["id"], "decision": "allow", "digest": question["digest"] }] });
    assert_eq!(anybody.with_token(bench).post(&format!("/v1/runs/{id}/answers"), &answer).0, 403);
    let (status, answered) = client.post(&format!("/v1/runs/{id}/answers"), &answer);
    assert!(status < 300, "{answered}");
    let finished = in_state(&client, id, "finished");
    assert_eq!(finished["text"], "Your kettle was broken; the money is on its way.");
    let (_, messages) = client.get(&format!("/v1/runs/{id}/messages"));
    let said = messages.to_string();
    assert!(said.contains("the lid is cracked") && said.contains("paid 180 back for A-42"), "{said}");
    assert!(server.end().success());
}

#[test]
fn a_server_with_another_key_than_the_others_of_its_database_does_not_start() {
    let folder = TempDir::new().unwrap();
    let key = folder.path().join("holdpoint.key");
    let first = start(folder.path(), &ANY_PORT, &[]);
    assert!(first.end().success());
    std::fs::rename(&key, folder.path().join("old.key")).unwrap();

    let refused = Command::new(env!("CARGO_BIN_EXE_holdpoint")).args(ANY_PORT).current_dir(folder.path()).output();
    let refused = refused.unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("error[store_other_key]") && said.contains("hint: copy the key file"), "{said}");

    let changed = start(folder.path(), &[&ANY_PORT[..], &["--new-key"]].concat(), &[]);
    assert!(changed.end().success());
    assert!(start(folder.path(), &ANY_PORT, &[]).end().success(), "the new key is the one of the database");
    std::fs::rename(folder.path().join("old.key"), &key).unwrap();
    let refused = Command::new(env!("CARGO_BIN_EXE_holdpoint")).args(ANY_PORT).current_dir(folder.path()).output();
    assert_eq!(refused.unwrap().status.code(), Some(2), "the old key is not believed any more");
    // Whoever signs in the database in another way needs the same key.
    let run = ["run", "--agent", "sample", "--yes", "--store", "sqlite:holdpoint.db"];
    let refused = Command::new(env!("CARGO_BIN_EXE_holdpoint")).args(run).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("error[store_other_key]"), "{said}");
}
