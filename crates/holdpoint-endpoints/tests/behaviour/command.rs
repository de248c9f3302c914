//! Command tools with real programs.
#![cfg(unix)]

use crate::support;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use holdpoint_core::{Code, ErrorDetail, Outcome};
use holdpoint_endpoints::Surroundings;
use holdpoint_tools::{Asking, Gate, Invocation, Place, Tool, Unsettled, invoke_gated};
use serde_json::{Value, json};
use support::{call, settle, text, tool, tool_in};

fn table(command: Value, more: &Value) -> Value {
    let mut table = json!({ "kind": "command", "command": command, "parameters": { "type": "object" } });
    table.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    table
}

fn command(command: Value) -> Arc<dyn Tool> {
    tool(table(command, &json!({})))
}

/// A script is a fixed argument here; values of a call are never part of one.
fn shell(script: &str, more: &Value) -> Arc<dyn Tool> {
    tool(table(json!(["sh", "-c", script.replace('{', "{{").replace('}', "}}")]), more))
}

#[tokio::test]
async fn values_reach_the_program_as_they_are() {
    let tool = command(json!(["printf", "<%s>", "fixed", "--", "{a}", "{list}", "n={n}"]));
    let nasty = "$(id) `id` ; rm -rf / | & > x * ? ~ \"'\\ \n ä";
    let arguments = json!({ "a": nasty, "list": ["-x", "y z"], "n": 3 });
    assert_eq!(text(&tool, arguments).await, format!("<fixed><--><{nasty}><-x><y z><n=3>"));
}

#[tokio::test]
async fn a_value_that_looks_like_an_option_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let touch =
        tool_in(table(json!(["touch", "{file}"]), &json!({})), &Surroundings::default().with_folder(folder.path()));
    let said = text(&touch, json!({ "file": "--reference=/etc/passwd" })).await;
    assert_eq!(said, "InvalidArguments: `file` may not begin with `-`");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    assert_eq!(text(&touch, json!({ "file": "made" })).await, "done");
    assert!(folder.path().join("made").exists());
}

#[tokio::test]
async fn arguments_can_come_as_json_on_standard_input() {
    let tool = tool(table(json!(["cat"]), &json!({ "stdin": "json", "output": "json" })));
    assert_eq!(text(&tool, json!({ "b": 1, "a": "ä" })).await, r#"{"a":"ä","b":1}"#);
    // A program that does not read is not waited for.
    let large = json!({ "a": "x".repeat(190_000) });
    let deaf = support::tool(table(json!(["true"]), &json!({ "stdin": "json" })));
    assert_eq!(text(&deaf, large).await, "done");
    let silent = command(json!(["cat"]));
    assert_eq!(text(&silent, json!({ "a": 1 })).await, "done");
}

#[tokio::test]
async fn the_environment_has_only_what_is_listed() {
    let surroundings = Surroundings::default().with_environment(|name| match name {
        "PATH" => std::env::var("PATH").ok(),
        "LISTED" => Some("yes".to_owned()),
        "SECRET" => Some("s3cret".to_owned()),
        _ => None,
    });
    let more = json!({ "environment": ["LISTED", "ABSENT"], "set": { "MODE": "test" } });
    let said = text(&tool_in(table(json!(["env"]), &more), &surroundings), json!({})).await;
    let mut lines: Vec<&str> = said.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["LISTED=yes", "MODE=test"]);
    assert_eq!(text(&tool_in(table(json!(["env"]), &json!({})), &surroundings), json!({})).await, "done");
}

#[tokio::test]
async fn the_idempotency_key_is_a_variable_when_the_tool_may_be_repeated_with_it() {
    let tool = tool(table(json!(["env"]), &json!({ "repeat": "with_key" })));
    let call = call(&json!({}));
    let said = tool.call(call.clone()).await.unwrap().text();
    assert_eq!(said.trim_end(), format!("HOLDPOINT_IDEMPOTENCY_KEY={}", call.idempotency_key()));
}

#[tokio::test]
async fn it_runs_in_its_folder() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("inner")).unwrap();
    let surroundings = Surroundings::default().with_folder(root.path());
    let said =
        text(&tool_in(table(json!(["pwd", "-P"]), &json!({ "folder": "inner" })), &surroundings), json!({})).await;
    assert_eq!(Path::new(said.trim_end()), root.path().canonicalize().unwrap().join("inner"));
}

#[tokio::test]
async fn exit_codes_are_mapped() {
    let more = json!({ "success_codes": [0, 3], "messages": { "4": "There is no such order." } });
    assert_eq!(text(&shell("echo out; exit 3", &more), json!({})).await, "out\n");
    assert_eq!(text(&shell("exit 4", &more), json!({})).await, "failed: There is no such order.");
    let said = text(&shell("echo s3cret >&2; echo s3cret; exit 5", &more), json!({})).await;
    assert_eq!(said, "failed: The program ended with code 5.");
    let shown = shell("echo why >&2; exit 5", &json!({ "show_stderr": true }));
    assert_eq!(text(&shown, json!({})).await, "failed: The program ended with code 5.\nwhy");
    let killed = text(&shell("kill -TERM $$", &json!({})), json!({})).await;
    assert_eq!(killed, "failed: The program was ended by signal 15. It may have taken effect.");
    let settled = settle(&shell("exit 1", &json!({})), call(&json!({}))).await;
    assert_eq!((settled.outcome, settled.code), (Outcome::Failed, Some(Code::ToolError)));
}

#[tokio::test]
async fn output_is_cut_at_the_limit_and_the_program_still_ends_by_itself() {
    let more = json!({ "max_output_bytes": 10 });
    let long = shell("head -c 3000000 /dev/zero | tr '\\0' a; exit 0", &more);
    assert_eq!(text(&long, json!({})).await, "aaaaaaaaaa[truncated]");
    let through_a_letter = shell("printf '123456789\\303\\244'", &more);
    assert_eq!(text(&through_a_letter, json!({})).await, "123456789[truncated]");
    let loud = json!({ "show_stderr": true });
    let said = text(&shell("head -c 3000000 /dev/zero | tr '\\0' e >&2; exit 1", &loud), json!({})).await;
    assert_eq!(said.matches('e').count() - "failed: The program ended with code 1.".matches('e').count(), 16 * 1024);
    let json = shell("echo '[1, 2, 3, 4, 5]'", &json!({ "output": "json", "max_output_bytes": 5 }));
    assert_eq!(text(&json, json!({})).await, "failed: The program succeeded, but wrote more than 5 bytes.");
}

#[tokio::test]
async fn output_that_is_not_what_it_should_be_is_unusable_or_replaced() {
    let json = shell("echo 'not json'", &json!({ "output": "json" }));
    assert_eq!(text(&json, json!({})).await, "Unusable: the program did not write one JSON value");
    assert_eq!(text(&shell("true", &json!({ "output": "json" })), json!({})).await, "done");
    assert_eq!(text(&shell("printf 'a\\377b'", &json!({})), json!({})).await, "a\u{fffd}b");
}

/// Whether a process is there and is more than a name in a list.
fn is_alive(pid: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    let state = state.as_deref().and_then(|stat| stat.rsplit_once(") ")).map(|(_, rest)| rest.starts_with('Z'));
    state == Some(false)
}

/// Looks until there is what it looks for.
async fn found<T>(mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = look() {
            return found;
        }
        // tidy: sleeps because other processes, their ends and their files can only be looked for
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn all_gone(pids: &[String]) {
    found(|| (!pids.iter().any(|pid| is_alive(pid))).then_some(())).await;
}

/// A shell that starts a child and a grandchild, writes all three numbers to a file, and waits.
fn family(folder: &Path, more: &Value) -> Arc<dyn Tool> {
    let script = "echo $$ > pids; (sleep 1000 & echo $! >> pids; wait) & echo $! >> pids; \
                  while [ $(wc -l < pids) -lt 3 ]; do :; done; mv pids ready; wait";
    let table = table(json!(["sh", "-c", script]), more);
    tool_in(table, &Surroundings::default().with_folder(folder))
}

async fn pids_of(folder: &Path) -> Vec<String> {
    found(|| {
        let text = std::fs::read_to_string(folder.join("ready")).unwrap_or_default();
        let pids: Vec<String> = text.lines().map(str::to_owned).collect();
        (pids.len() == 3 && pids.iter().all(|pid| is_alive(pid))).then_some(pids)
    })
    .await
}

#[tokio::test]
async fn a_timeout_kills_the_program_and_its_children() {
    // A busy machine may need longer than the limit to start all three; then the limit is too short for this test.
    for timeout_ms in [500, 4_000, 30_000] {
        let folder = tempfile::tempdir().unwrap();
        let tool = family(folder.path(), &json!({ "timeout_ms": timeout_ms }));
        let settled = settle(&tool, call(&json!({}))).await;
        assert_eq!((settled.outcome, settled.code), (Outcome::TimedOut, Some(Code::TimedOut)));
        let ready = std::fs::read_to_string(folder.path().join("ready")).unwrap_or_default();
        let pids: Vec<String> = ready.lines().map(str::to_owned).collect();
        if let [first, _, _] = &pids[..] {
            all_gone(&pids).await;
            return is_reaped(first).await;
        }
    }
    panic!("the program never started its children");
}

#[tokio::test]
async fn a_tool_without_a_caller_that_has_a_limit_has_its_own() {
    let tool = shell("sleep 1000", &json!({ "timeout_ms": 100 }));
    assert_eq!(text(&tool, json!({})).await, "failed: The program did not end in time. It may have taken effect.");
}

#[tokio::test]
async fn a_cancelled_call_kills_the_program_and_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let tool = family(folder.path(), &json!({}));
    let call = call(&json!({}));
    let cancel = call.cancellation().clone();
    let running = tokio::spawn(async move { settle(&tool, call).await });
    let pids = pids_of(folder.path()).await;
    cancel.cancel();
    assert_eq!(running.await.unwrap().outcome, Outcome::Cancelled);
    all_gone(&pids).await;
    is_reaped(&pids[0]).await;
}

#[tokio::test]
async fn a_dropped_call_kills_the_program_and_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let tool = family(folder.path(), &json!({}));
    let running = tokio::spawn(async move { tool.call(call(&json!({}))).await });
    let pids = pids_of(folder.path()).await;
    running.abort();
    all_gone(&pids).await;
    is_reaped(&pids[0]).await;
}

/// Our own child leaves no entry in the list of processes.
async fn is_reaped(pid: &str) {
    found(|| (!Path::new(&format!("/proc/{pid}")).exists()).then_some(())).await;
}

#[tokio::test]
async fn what_a_program_leaves_behind_is_killed_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(json!(["sh", "-c", "sleep 1000 & echo $! > left; echo out"]), &json!({}));
    let tool = tool_in(table, &Surroundings::default().with_folder(folder.path()));
    assert_eq!(text(&tool, json!({})).await, "out\n");
    let pid = std::fs::read_to_string(folder.path().join("left")).unwrap().trim().to_owned();
    all_gone(&[pid]).await;
}

#[tokio::test]
async fn a_child_that_leaves_the_group_does_not_hold_up_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let script = "setsid sh -c 'echo $$ > left; exec sleep 1000' & while ! [ -s left ]; do :; done; echo out";
    let tool =
        tool_in(table(json!(["sh", "-c", script]), &json!({})), &Surroundings::default().with_folder(folder.path()));
    assert_eq!(text(&tool, json!({})).await, "out\n");
    let pid: i32 = std::fs::read_to_string(folder.path().join("left")).unwrap().trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn many_calls_at_once_leave_no_zombies() {
    // A name of its own: other tests start programs too.
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/bin/true", folder.path().join("quick-true")).unwrap();
    let table = table(json!(["./quick-true"]), &json!({}));
    let tool = tool_in(table, &Surroundings::default().with_folder(folder.path()));
    let calls: Vec<_> = (0..64)
        .map(|_| {
            let tool = Arc::clone(&tool);
            tokio::spawn(async move { text(&tool, json!({})).await })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap(), "done");
    }
    let own = std::process::id().to_string();
    let zombies = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let stat = std::fs::read_to_string(entry.ok()?.path().join("stat")).ok()?;
        let (name, rest) = stat.rsplit_once(") ")?;
        let mut fields = rest.split(' ');
        (name.ends_with("(quick-true") && fields.next()? == "Z" && fields.next()? == own).then_some(())
    });
    assert_eq!(zombies.count(), 0);
}

#[tokio::test]
async fn a_program_is_found_once_and_not_in_the_working_folder() {
    let folder = tempfile::tempdir().unwrap();
    let fake = folder.path().join("true");
    std::fs::write(&fake, "#!/bin/sh\necho fake\n").unwrap();
    std::fs::set_permissions(&fake, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let surroundings = Surroundings::default().with_folder(folder.path());
    assert_eq!(text(&tool_in(table(json!(["true"]), &json!({})), &surroundings), json!({})).await, "done");
    assert_eq!(text(&tool_in(table(json!(["./true"]), &json!({})), &surroundings), json!({})).await, "fake\n");
    let relative = surroundings.clone().with_environment(|name| (name == "PATH").then(|| ".:".to_owned()));
    assert!(support::spec(table(json!(["true"]), &json!({}))).build_in("t", &relative).is_err());
    // One that vanishes later is a failed result.
    let tool = tool_in(table(json!(["./true"]), &json!({})), &surroundings);
    std::fs::remove_file(&fake).unwrap();
    assert_eq!(text(&tool, json!({})).await, "failed: The program cannot be started.");
}

#[tokio::test]
async fn a_program_is_not_started_once_the_gate_of_its_call_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let tool = shell(&format!("touch {}", mark.display()), &json!({}));
    let passed = AtomicBool::new(false);
    // Open when the call begins, closed when the program is about to start.
    let gate: Gate = Arc::new(move || !passed.swap(true, Ordering::AcqRel));
    let invocation = Invocation {
        tool,
        call: call(&json!({})),
        timeout: Duration::from_secs(30),
        place: Place::Task,
        output_bytes_max: 200_000,
        error_detail: ErrorDetail::Safe,
    };
    let ended = invoke_gated(&invocation, Asking::Nobody, gate).await;
    assert!(matches!(ended, Err(Unsettled::NotStarted)), "{ended:?}");
    assert!(!mark.exists());
}
