//! The binary is run, and what it says is compared with what it said. `UPDATE_GOLDEN=1` writes the files anew.

#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Runs the binary in the project's folder with this input; gives back everything that it said.
fn said(arguments: &[&str], input: &str) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_holdpoint"))
        .args(arguments)
        .current_dir(ROOT)
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that refuses its arguments does not read.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    format!(
        "exit {}\n--- stdout\n{}--- stderr\n{}",
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap()
    )
}

fn snapshot(name: &str, text: &str) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(before, text, "`{name}` is not what it was; if that is right: UPDATE_GOLDEN=1");
}

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
    snapshot("help_test", &said(&["test", "--help"], ""));
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
