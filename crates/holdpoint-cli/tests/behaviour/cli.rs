//! The binary is run, and what it says is compared with what it said. `UPDATE_GOLDEN=1` writes the files anew.

use crate::common;

use common::{said, snapshot};

/// Digests and receipts differ from run to run.
fn without_ids(text: &str) -> String {
    let receipt = text.find("(receipt ").map(|at| at + "(receipt ".len());
    match receipt {
        Some(at) => format!("{}…{}", &text[..at], &text[at + 8..]),
        None => text.to_owned(),
    }
}

#[test]
fn help_teaches_by_example() {
    snapshot("help", &said(&["--help"], ""));
    for command in [
        "serve",
        "worker",
        "run",
        "approvals",
        "approvals list",
        "approvals show",
        "approvals allow",
        "approvals deny",
        "runs",
        "runs list",
        "runs show",
        "runs tail",
        "runs cancel",
        "runs export",
        "init",
        "check",
        "tools",
        "test",
        "migrate",
        "prune",
        "openapi",
    ] {
        let arguments: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let help = said(&arguments, "");
        assert!(help.contains("Examples:\n  holdpoint "), "`{command}` has no example");
        snapshot(&format!("help_{}", command.replace(' ', "_")), &help);
    }
}

#[test]
fn a_command_that_is_not_there_is_bad_usage() {
    let said = said(&["tset"], "");
    assert!(said.starts_with("exit 2\n"), "{said}");
}

#[test]
fn the_sample_agent_asks_and_obeys() {
    let run = ["run", "--agent", "sample"];
    snapshot("sample_yes", &without_ids(&said(&run, "maybe\ny\n")));
    snapshot("sample_no", &said(&run, "n\n"));
    snapshot("sample_all", &without_ids(&said(&["run", "--yes"], "")));
    let nobody = said(&run, "");
    let id = nobody.split("the run ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    snapshot("sample_nobody", &nobody.replace(id, "RUN"));
}

#[test]
fn a_run_that_cannot_begin_is_bad_usage() {
    snapshot("run_no_agent", &said(&["run", "--agent", "suport", "hello"], ""));
    snapshot("run_context", &said(&["run", "--context", "user_id=7"], ""));
    let both = said(&["run", "--yes", "--ask"], "");
    assert!(both.starts_with("exit 2\n"), "{both}");
}

#[test]
fn scenarios_report_one_line_each() {
    snapshot("test_ok", &said(&["test", "crates/holdpoint-cli/tests/scenarios/holds.yaml"], ""));
    snapshot("test_failed", &said(&["test", "crates/holdpoint-cli/tests/scenarios/fails.yaml"], ""));
    snapshot("test_failed_json", &said(&["test", "crates/holdpoint-cli/tests/scenarios/fails.yaml", "--json"], ""));
    snapshot("test_broken", &said(&["test", "crates/holdpoint-cli/tests/scenarios/broken.yaml"], ""));
    snapshot("test_missing", &said(&["test", "crates/holdpoint-cli/tests/scenarios/nowhere.yaml"], ""));
}
