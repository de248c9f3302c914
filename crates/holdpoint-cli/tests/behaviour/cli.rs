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
    for command in ["test", "worker", "migrate", "prune"] {
        snapshot(&format!("help_{command}"), &said(&[command, "--help"], ""));
    }
}

#[test]
fn a_command_that_is_not_there_is_bad_usage() {
    let said = said(&["tset"], "");
    assert!(said.starts_with("exit 2\n"), "{said}");
}

#[test]
fn the_sample_agent_asks_and_obeys() {
    snapshot("sample_yes", &without_ids(&said(&[], "maybe\ny\n")));
    snapshot("sample_no", &said(&[], "n\n"));
    snapshot("sample_nobody", &said(&[], ""));
}

#[test]
fn scenarios_report_one_line_each() {
    snapshot("test_ok", &said(&["test", "crates/holdpoint-cli/tests/scenarios/holds.yaml"], ""));
    snapshot("test_failed", &said(&["test", "crates/holdpoint-cli/tests/scenarios/fails.yaml"], ""));
    snapshot("test_failed_json", &said(&["test", "crates/holdpoint-cli/tests/scenarios/fails.yaml", "--json"], ""));
    snapshot("test_broken", &said(&["test", "crates/holdpoint-cli/tests/scenarios/broken.yaml"], ""));
    snapshot("test_missing", &said(&["test", "crates/holdpoint-cli/tests/scenarios/nowhere.yaml"], ""));
}
