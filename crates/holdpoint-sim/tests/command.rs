//! The command: exit codes, the replay line, and the trace.

use std::process::{Command, Output};

fn sim(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_holdpoint-sim")).args(arguments).output().expect("the command starts")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn sound_seeds_end_well_and_print_the_table() {
    let output = sim(&["--from", "5", "--seeds", "20", "--threads", "2"]);
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("paused_doubt"));
    assert!(text(&output).contains("20 seeds, "));
}

#[test]
fn a_trace_tells_what_happened() {
    let output = sim(&["--from", "5", "--seeds", "1", "--trace"]);
    assert!(text(&output).contains("opens log 0 for `started`"));
    assert!(text(&output).contains("--- faults stop"));
}

#[test]
fn worlds_can_be_kept_in_a_store() {
    let output = sim(&["--from", "5", "--seeds", "20", "--store", "memory"]);
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("20 seeds, "));
}

#[test]
fn an_address_of_no_store_ends_badly_with_a_hint() {
    let output = sim(&["--seeds", "1", "--store", "elsewhere"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("hint: write `sqlite:PATH`"), "{}", text(&output));
}

#[test]
fn a_failing_seed_ends_badly_and_says_how_to_replay_it() {
    let output = sim(&["--seeds", "20", "--mistake", "AnnouncesBeforeCommit"]);
    assert_eq!(output.status.code(), Some(1));
    let text = text(&output);
    assert!(text.contains("i14_announced_after: "), "{text}");
    assert!(text.contains("cargo run --release -p holdpoint-sim -- --from "), "{text}");
}
