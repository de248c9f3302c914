//! Real processes on real databases, killed at the worst moments. `scripts/test extra` does the same for longer.

#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

use std::process::{Command, Output};

use serde_json::Value;

/// Enough to hit every window several times.
const KILLS: &str = "40";

fn torture(store: &str, seed: &str, more: &[&str]) -> (Output, Value) {
    run("torture", store, &[&["--seed", seed], more].concat())
}

fn run(what: &str, store: &str, more: &[&str]) -> (Output, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint-crash"));
    command.args([what, "--store", store]).args(more);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let summary = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}{}", errors(&output)));
    (output, summary)
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn survives(store: &str, seed: &str) {
    let (output, summary) = torture(store, seed, &["--kills", KILLS, "--each", "3", "--overtaken", "1"]);
    assert!(output.status.success(), "{summary:#}\n{}", errors(&output));
    assert_eq!(summary["violations"], 0);
    assert!(summary["kills"]["total"].as_u64() >= Some(40), "{summary:#}");
    assert!(summary["runs"]["finished"].as_u64() >= Some(20), "{summary:#}");
}

#[test]
fn nothing_is_lost_or_done_twice_when_processes_on_sqlite_are_killed() {
    survives("sqlite", "1");
}

#[cfg(feature = "server-tests")]
#[test]
fn nothing_is_lost_or_done_twice_when_processes_on_postgres_are_killed() {
    survives("postgres", "2");
}

/// The exit code must be that of violations, not that of a torture that could not be done.
fn fails(broken: &str, seed: &str, more: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().to_str().unwrap();
    let options = [&["--runs", "12", "--work", work, "--break", broken], more].concat();
    let (output, summary) = torture("sqlite", seed, &options);
    assert_eq!(output.status.code(), Some(1), "{summary:#}\n{}", errors(&output));
    errors(&output)
}

#[test]
fn the_test_fails_when_intents_are_switched_off() {
    let told = fails("intent", "3", &["--kills", "16"]);
    assert!(told.contains("ran twice") || told.contains("no intent"), "{told}");
}

#[test]
fn the_test_fails_when_fences_are_switched_off() {
    // Nearly every worker that comes back too late is one that is found out.
    let told = fails("fence", "3", &["--kills", "10", "--overtaken", "4"]);
    // It says that it gave up, or brings its result: neither may count.
    let found = ["was taken for attempt", "ended as `cancelled`"];
    assert!(found.iter().any(|problem| told.contains(problem)), "{told}");
}

fn campaign_holds(store: &str) {
    let (output, summary) = run("campaign", store, &["--each", "4"]);
    assert!(output.status.success(), "{summary:#}\n{}", errors(&output));
    assert_eq!(summary["violations"], 0);
    for kind in ["stops", "links", "races", "answers"] {
        assert_eq!(summary["cases"][kind]["cases"], 4, "{summary:#}");
    }
}

#[test]
fn suspended_processes_bad_links_races_and_late_answers_do_no_harm_on_sqlite() {
    campaign_holds("sqlite");
}

#[cfg(feature = "server-tests")]
#[test]
fn suspended_processes_bad_links_races_and_late_answers_do_no_harm_on_postgres() {
    campaign_holds("postgres");
}

/// A campaign with something switched off must find it.
fn campaign_fails(broken: &str, more: &[&str]) -> String {
    let (output, summary) = run("campaign", "sqlite", &[&["--break", broken], more].concat());
    assert_eq!(output.status.code(), Some(1), "{summary:#}\n{}", errors(&output));
    errors(&output)
}

#[test]
fn the_campaign_fails_when_a_process_cannot_see_that_its_lease_lapsed() {
    let told = campaign_fails("clock", &["--only", "stops", "--each", "4"]);
    assert!(told.contains("began after a person had looked"), "{told}");
}

#[test]
fn the_campaign_fails_when_lost_tasks_are_closed_unguarded() {
    let told = campaign_fails("fence", &["--only", "races", "--each", "40", "--at-once", "20"]);
    assert!(told.contains("an acknowledged result is nowhere"), "{told}");
}
