//! Runs the binary and compares what it says.

#![allow(dead_code, reason = "each file of tests uses a part of it")]

pub(crate) mod http;
pub(crate) mod server;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// How long a test waits for another process before it gives up.
const PATIENCE: Duration = Duration::from_secs(90);

/// Asks another process again and again until it is so.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what} did not happen");
        // tidy: sleeps because the other side is another process, which is asked again after a while
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The run, once it is there.
pub(crate) fn in_state(client: &http::Client, id: &str, wanted: &str) -> serde_json::Value {
    until(wanted, || {
        let (status, run) = client.get(&format!("/v1/runs/{id}"));
        assert_eq!(status, 200, "{run}");
        (run["status"] == wanted).then_some(run)
    })
}

/// The binary, in the project's folder.
pub(crate) fn holdpoint(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    command.args(arguments).current_dir(ROOT).env("NO_COLOR", "1").env_remove("HOLDPOINT_LOG");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the binary with this input; gives back everything that it said.
pub(crate) fn said(arguments: &[&str], input: &str) -> String {
    let mut child = holdpoint(arguments).spawn().unwrap();
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

/// Compares with what was said before. `UPDATE_GOLDEN=1` writes the file anew. The digest of a question is another one in
/// each run.
pub(crate) fn snapshot(name: &str, text: &str) {
    let text = &*digests_hidden(text);
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(before, text, "`{name}` is not what it was; if that is right: UPDATE_GOLDEN=1");
}

fn digests_hidden(text: &str) -> String {
    let line = |line: &str| match line.trim_start().strip_prefix("digest") {
        Some(rest) => {
            let digest = rest.trim_start_matches([':', ' ']);
            assert_eq!(digest.trim_end().len(), 64, "{line}");
            line.replace(digest.trim_end(), "DIGEST")
        }
        None => line.to_owned(),
    };
    text.split_inclusive('\n').map(line).collect()
}
