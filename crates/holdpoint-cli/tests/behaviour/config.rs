//! A configuration from its first line to its first run: `init`, `check`, `tools`, `run`, `runs`, `approvals`.

use crate::common;

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use common::{holdpoint, snapshot};
use serde_json::Value;
use tempfile::TempDir;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Runs the binary in a folder; gives back everything that it said.
fn said_in(folder: &Path, arguments: &[&str], input: &str) -> String {
    let mut command = holdpoint(arguments);
    command.current_dir(folder).env("USER", "ana").env_remove("DESK_TOKEN").env_remove("BENCH_TOKEN");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    format!(
        "exit {}\n--- stdout\n{}--- stderr\n{}",
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap()
    )
}

fn stdout(said: &str) -> &str {
    said.split_once("--- stdout\n").unwrap().1.split_once("--- stderr\n").unwrap().0
}

/// Moments and ids differ from run to run.
fn without_ids(text: &str, ids: &[&str]) -> String {
    let mut text = text.to_owned();
    for id in ids {
        text = text.replace(id, "RUN");
    }
    let mut out = String::new();
    for (number, line) in text.split('\n').enumerate() {
        let moment = |word: &str| word.len() > 19 && word.starts_with("20") && word.contains('T') && word.contains('Z');
        let words: Vec<&str> =
            line.split(' ').map(|word| if moment(word.trim_matches(['"', ','])) { "TIME" } else { word }).collect();
        if number > 0 {
            out.push('\n');
        }
        // Columns are as wide as their moments, which end in as many zeros as it happens.
        let heading = line.starts_with("APPROVAL") || line.contains("STATUS");
        let line = words.join(" ");
        out.push_str(&if heading { line.split_whitespace().collect::<Vec<_>>().join("  ") } else { line });
    }
    out
}

fn initialised() -> TempDir {
    let folder = TempDir::new().unwrap();
    let said = said_in(folder.path(), &["init"], "");
    assert!(said.starts_with("exit 0\n"), "{said}");
    folder
}

#[test]
fn init_writes_what_works_and_overwrites_nothing() {
    let folder = TempDir::new().unwrap();
    snapshot("init", &said_in(folder.path(), &["init", "support"], ""));
    let support = folder.path().join("support");
    snapshot("check_init", &said_in(&support, &["check"], ""));
    std::fs::write(support.join("policy.toml"), "# mine\n").unwrap();
    std::fs::remove_file(support.join("model.yaml")).unwrap();
    snapshot("init_again", &said_in(folder.path(), &["init", "support"], ""));
    assert_eq!(std::fs::read_to_string(support.join("policy.toml")).unwrap(), "# mine\n");
    assert!(!support.join("model.yaml").exists(), "all or nothing");
}

#[test]
fn check_says_what_is_wrong_and_what_is_missing() {
    let folder = initialised();
    let config = folder.path().join("holdpoint.toml");
    let good = std::fs::read_to_string(&config).unwrap();
    let check = |text: &str, more: &[&str]| {
        std::fs::write(&config, text).unwrap();
        said_in(folder.path(), &[&["check"], more].concat(), "")
    };
    snapshot("check_json", &check(&good, &["--json"]));
    let misspelt = good.replace("max_turns", "max_turn");
    snapshot("check_unknown_key", &check(&misspelt, &[]));
    snapshot("check_unknown_key_json", &check(&misspelt, &["--json"]));
    let secrets = good.replace(
        "# [[tokens]]",
        "[[tokens]]\nname = \"desk\"\ntenant = \"acme\"\nroles = [\"read\"]\nsecret_env = \"HOLDPOINT_NO_SUCH\"",
    );
    snapshot("check_no_secret", &check(&secrets, &[]));
    assert!(check(&secrets, &["--strict"]).starts_with("exit 1\n"));
    let no_policy = good.replace("policy = \"policy.toml\"", "");
    snapshot("check_no_policy", &check(&no_policy, &[]));
    std::fs::write(
        folder.path().join("scenarios/refund.yaml"),
        std::fs::read_to_string(folder.path().join("scenarios/refund.yaml"))
            .unwrap()
            .replace("executed: [refund]", "executed: []"),
    )
    .unwrap();
    let failed = check(&good, &[]);
    assert!(failed.starts_with("exit 1\n") && failed.contains("FAILED"), "{failed}");
    let nowhere = said_in(folder.path(), &["check", "--config", "nowhere.toml"], "");
    snapshot("check_nowhere", &nowhere);
}

#[test]
fn the_example_of_the_guide_can_be_used() {
    let said = said_in(Path::new(ROOT), &["check", "--config", "examples/config/holdpoint.toml"], "");
    snapshot("check_example", &said);
}

#[test]
fn tools_are_listed_with_what_the_policy_says() {
    let folder = initialised();
    snapshot("tools", &said_in(folder.path(), &["tools"], ""));
    snapshot("tools_json", &said_in(folder.path(), &["tools", "--json"], ""));
    snapshot("tools_sample", &said_in(TempDir::new().unwrap().path(), &["tools"], ""));
    snapshot("tools_no_agent", &said_in(folder.path(), &["tools", "--agent", "nobody"], ""));
}

#[test]
fn a_bad_configuration_stops_every_command_in_the_same_way() {
    let folder = initialised();
    let config = folder.path().join("holdpoint.toml");
    let text = std::fs::read_to_string(&config).unwrap().replace("[server]", "[server]\nlisen = 1");
    std::fs::write(&config, text).unwrap();
    let serve = said_in(folder.path(), &["serve"], "");
    snapshot("bad_config", &serve);
    for command in [&["worker"][..], &["run", "hello"], &["tools"], &["runs", "list"], &["approvals", "list"], &[]] {
        assert_eq!(said_in(folder.path(), command, ""), serve, "{command:?}");
    }
    assert!(!folder.path().join("holdpoint.key").exists() && !folder.path().join("holdpoint.db").exists());
}

#[test]
fn a_run_is_kept_and_can_be_looked_at_answered_and_exported() {
    let folder = initialised();
    let ask = |arguments: &[&str]| said_in(folder.path(), arguments, "");
    // Nobody answers at the terminal: the run stays paused in the store.
    let paused = ask(&["run", "My kettle is broken."]);
    let id = paused.split("the run ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().to_owned();
    snapshot("run_paused", &without_ids(&paused, &[&id]));
    snapshot("runs_list", &without_ids(&ask(&["runs", "list"]), &[&id]));
    snapshot("runs_show", &without_ids(&ask(&["runs", "show", &id]), &[&id]));
    snapshot("approvals_list", &without_ids(&ask(&["approvals", "list"]), &[&id]));
    let listed = ask(&["approvals", "list", "--json"]);
    let question: Value = serde_json::from_str(stdout(&listed).trim()).unwrap();
    let approval = question["id"].as_str().unwrap();
    snapshot("approvals_show", &without_ids(&ask(&["approvals", "show", approval]), &[&id]));
    let other = "0".repeat(64);
    snapshot(
        "approvals_other_digest",
        &without_ids(&ask(&["approvals", "allow", approval, "--digest", &other]), &[&id]),
    );
    snapshot("approvals_allow", &without_ids(&ask(&["approvals", "allow", approval]), &[&id]));
    snapshot("approvals_allow_again", &without_ids(&ask(&["approvals", "allow", approval]), &[&id]));
    snapshot("approvals_empty", &ask(&["approvals", "list"]));
    snapshot("runs_tail", &without_ids(&ask(&["runs", "tail", &id, "--no-wait"]), &[&id]));
    let exported: Value = serde_json::from_str(stdout(&ask(&["runs", "export", &id])).trim()).unwrap();
    assert_eq!(exported["run"]["id"], id.as_str());
    assert!(exported["events"].as_array().unwrap().iter().any(|event| event["event"] == "call_answered"));
    snapshot("runs_cancel", &ask(&["runs", "cancel", &id]));
    snapshot("runs_cancel_again", &ask(&["runs", "cancel", &id]));
    snapshot("runs_unknown", &ask(&["runs", "show", "nobody"]));
    snapshot("approvals_unknown", &ask(&["approvals", "show", "nobody"]));
}

#[test]
fn without_a_named_store_every_command_takes_that_of_the_configuration() {
    let folder = initialised();
    let ask = |arguments: &[&str]| said_in(folder.path(), arguments, "");
    let missing = ask(&["prune", "--older-than", "30d"]);
    assert!(missing.contains("store_missing") && !folder.path().join("holdpoint.db").exists(), "{missing}");
    assert!(ask(&["migrate"]).contains("the database was made"));
    ask(&["run", "My kettle is broken."]);
    assert_eq!(ask(&["runs"]), ask(&["runs", "list"]));
    assert_eq!(ask(&["approvals", "--json"]), ask(&["approvals", "list", "--json"]));
    for (arguments, said) in [
        (&["audit", "verify"][..], "1 run"),
        (&["audit", "export"], "\"entries\""),
        (&["audit", "seal"], "sealed"),
        (&["prune", "--older-than", "30d"], "0 runs"),
        (&["policy", "replay", "policy.toml"], "0 of 2 decisions"),
        (&["migrate"], "up to date"),
    ] {
        let told = ask(arguments);
        assert!(told.starts_with("exit 0\n") && told.contains(said), "{arguments:?}: {told}");
    }
}

#[test]
fn a_number_of_any_length_is_shown_as_it_will_run() {
    const LONG: &str = "123456789012345678901234567890";
    let folder = initialised();
    let script = folder.path().join("model.yaml");
    let text = std::fs::read_to_string(&script).unwrap();
    let longer =
        text.replace(r#"{order: "A-42", amount: 180}"#, &format!(r#"'{{"order": "A-42", "amount": {LONG}}}'"#));
    assert_ne!(text, longer, "the script of `init` asks for a refund of 180");
    std::fs::write(&script, longer).unwrap();
    let policy =
        "[[rule]]\ntool = \"find_order\"\ndecide = \"allow\"\n[[rule]]\ntool = \"refund\"\ndecide = \"confirm\"\n";
    std::fs::write(folder.path().join("policy.toml"), policy).unwrap();
    let ask = |arguments: &[&str]| said_in(folder.path(), arguments, "");
    let paused = ask(&["run", "My kettle is broken."]);
    let id = paused.split("the run ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    let exact = format!(r#""amount":{LONG}"#);
    for arguments in [
        &["approvals", "list", "--json"][..],
        &["approvals", "show", &format!("{id}.b2.c0")],
        &["runs", "show", id],
        &["runs", "show", id, "--json"],
        &["runs", "export", id],
    ] {
        let told = ask(arguments);
        assert!(told.contains(&exact), "{arguments:?}: {told}");
    }
}

#[test]
fn a_quorum_waits_for_other_people_and_does_not_ask_the_same_one_for_ever() {
    let folder = initialised();
    let policy = folder.path().join("policy.toml");
    let two =
        std::fs::read_to_string(&policy).unwrap().replace("expires_in = \"4h\"", "expires_in = \"4h\"\nquorum = 2");
    std::fs::write(&policy, two).unwrap();
    for (arguments, input) in [(&["run", "pay", "--yes"][..], ""), (&["run", "pay"], "y\ny\ny\n")] {
        let said = said_in(folder.path(), arguments, input);
        assert!(said.starts_with("exit 0\n") && said.contains("waits for somebody else to answer"), "{said}");
    }
    let listed = said_in(folder.path(), &["approvals", "list", "--json"], "");
    let question: Value = serde_json::from_str(stdout(&listed).lines().next().unwrap()).unwrap();
    assert_eq!(question["approvals"], serde_json::json!(["ana"]), "{listed}");
    let id = question["id"].as_str().unwrap();
    assert!(said_in(folder.path(), &["approvals", "allow", id, "--as", "bo"], "").ends_with("allowed\n"));
    let left = said_in(folder.path(), &["approvals", "list", "--json"], "");
    assert!(!left.contains(id), "{left}");
}

#[test]
fn a_question_that_is_asked_again_is_answered_by_its_digest() {
    let folder = initialised();
    let ask = |arguments: &[&str]| said_in(folder.path(), arguments, "");
    ask(&["run", "My kettle is broken."]);
    let policy = folder.path().join("policy.toml");
    let two =
        std::fs::read_to_string(&policy).unwrap().replace("expires_in = \"4h\"", "expires_in = \"4h\"\nquorum = 2");
    std::fs::write(&policy, two).unwrap();
    let listed = ask(&["approvals", "list", "--json"]);
    let first: Value = serde_json::from_str(stdout(&listed).trim()).unwrap();
    let id = first["id"].as_str().unwrap();
    assert!(ask(&["approvals", "allow", id]).ends_with("allowed\n"));
    // The policy is stricter by now, so the answer asked again: whoever types the same again has not read that.
    let again = ask(&["approvals", "allow", id]);
    assert!(again.starts_with("exit 2\n") && again.contains("pass its digest with `--digest`"), "{again}");
    let listed = ask(&["approvals", "list", "--json"]);
    let second: Value = serde_json::from_str(stdout(&listed).trim()).unwrap();
    assert_eq!(second["again"], true, "{listed}");
    let earlier = ask(&["approvals", "allow", id, "--digest", first["digest"].as_str().unwrap()]);
    assert!(earlier.contains("digest_mismatch"), "{earlier}");
    assert!(ask(&["approvals", "allow", id, "--digest", second["digest"].as_str().unwrap()]).ends_with("allowed\n"));
    // A refusal lets nothing run, whichever question was read.
    assert!(ask(&["approvals", "deny", id, "--reason", "no", "--as", "bo"]).ends_with("denied\n"));
}

#[test]
fn what_is_handed_out_has_a_receipt_if_there_is_a_key() {
    let folder = initialised();
    let config = folder.path().join("holdpoint.toml");
    let deferred =
        std::fs::read_to_string(&config).unwrap().replace("executor = \"concurrent\"", "executor = \"defer_all\"");
    std::fs::write(&config, deferred).unwrap();
    let none = said_in(folder.path(), &["run", "look"], "");
    assert!(none.contains("The run waits for workers: find_order."), "{none}");
    assert!(!folder.path().join("holdpoint.key").exists(), "only a server makes a key");
    assert!(!handed_out(folder.path()).contains("\"receipt\""));
    private(&folder.path().join("holdpoint.key"), "no key");
    let refused = said_in(folder.path(), &["run", "look"], "");
    assert!(refused.starts_with("exit 2\n") && refused.contains("does not hold a key"), "{refused}");
    private(&folder.path().join("holdpoint.key"), &format!("holdpoint-key-1 {}\n", "ab".repeat(32)));
    let some = said_in(folder.path(), &["run", "look"], "");
    assert!(some.starts_with("exit 0\n"), "{some}");
    assert!(handed_out(folder.path()).contains("\"receipt\""));
}

/// Writes a file that only its owner can read.
fn private(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// The next task of the store, as a worker gets it.
fn handed_out(folder: &Path) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = holdpoint::open_store(&format!("sqlite:{}", folder.join("holdpoint.db").display())).await.unwrap();
        let request = holdpoint_store::LeaseRequest {
            worker: "test".into(),
            tools: vec![("support".into(), "find_order".into())],
            tenant: None,
            limit: 1,
            lease_ms: 60_000,
        };
        let leased = store.tasks.lease(&request).await.unwrap();
        String::from_utf8(leased[0].body.to_vec()).unwrap()
    })
}

#[test]
fn what_a_model_writes_cannot_deceive_the_terminal() {
    let folder = initialised();
    let script = "- calls: [{id: pay, tool: refund, arguments: {order: \"A\\u202e42\\u001b[2J\", amount: 180}}]\n- text: \"paid \\u001b[31mred\\u200b\"\n";
    std::fs::write(folder.path().join("model.yaml"), script).unwrap();
    let said = said_in(folder.path(), &["run", "pay", "--yes"], "");
    assert!(said.starts_with("exit 0\n"), "{said}");
    assert!(!said.contains(['\u{202e}', '\u{1b}', '\u{200b}']), "{said:?}");
    assert!(said.contains("\\u{202e}") && said.contains("\\u{1b}") && said.contains("\\u{200b}"), "{said}");
}

#[test]
fn every_event_of_a_run_can_be_had_as_json() {
    let folder = initialised();
    let said = said_in(folder.path(), &["run", "hello", "--yes", "--json"], "");
    let events: Vec<Value> = stdout(&said).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.first().map(|event| &event["event"]), Some(&"run_started".into()));
    assert!(events.iter().any(|event| event["event"] == "text_delta"), "{said}");
    assert_eq!(events.last().map(|event| &event["event"]), Some(&"done".into()));
}
