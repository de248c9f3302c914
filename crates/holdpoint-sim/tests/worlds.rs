//! A seed is a world: the same one each time, sound in every part.

use holdpoint_sim::{Coverage, Tracing, simulate};

#[test]
fn the_same_seed_gives_the_same_world() {
    for seed in 0..20 {
        let (one, other) = (simulate(seed, Tracing::On), simulate(seed, Tracing::On));
        assert_eq!(one.trace, other.trace, "seed {seed}");
        assert_eq!(one.coverage, other.coverage, "seed {seed}");
    }
}

#[test]
fn a_trace_does_not_change_the_world() {
    for seed in 0..20 {
        let (traced, silent) = (simulate(seed, Tracing::On), simulate(seed, Tracing::Off));
        assert_eq!(traced.coverage, silent.coverage, "seed {seed}");
        assert!(!traced.trace.is_empty());
        assert!(silent.trace.is_empty());
    }
}

#[test]
fn different_seeds_give_different_worlds() {
    let traces: std::collections::HashSet<_> = (0..20).map(|seed| simulate(seed, Tracing::On).trace).collect();
    assert_eq!(traces.len(), 20);
}

#[test]
fn no_invariant_breaks_in_a_thousand_worlds_and_every_state_meets_every_input() {
    let mut coverage = Coverage::default();
    for seed in 0..1000 {
        let report = simulate(seed, Tracing::Off);
        assert_eq!(report.violations, [], "seed {seed}");
        coverage.add(&report.coverage);
    }
    assert_eq!(coverage.missing(), []);
}

#[test]
fn workers_die_lose_repeat_and_come_too_late_in_these_worlds() {
    let mut seen: Vec<(&str, usize)> = [
        "leases: ",
        "prolongs: ",
        "gives back: ",
        " dies: ",
        "a worker dies",
        "handed out again: ",
        "delivers: ",
        "is late: ",
        "lost a lease",
        "is claimed",
        "is due",
        "renews: Held",
        "renews: Lost",
        "\"task_taken\", \"tool_ended\"",
        "\"task_taken\", \"call_doubted\"",
        "\"task_taken\", \"call_expired\"",
        "\"evidence_given\"",
    ]
    .map(|words| (words, 0))
    .into();
    for seed in 0..300 {
        let trace = simulate(seed, Tracing::On).trace;
        for (words, count) in &mut seen {
            *count += trace.iter().filter(|line| line.contains(*words)).count();
        }
    }
    assert!(seen.iter().all(|(_, count)| *count > 0), "{seen:?}");
}

#[test]
fn people_say_more_than_yes_and_tools_change_in_these_worlds() {
    let mut seen: Vec<(&str, usize)> = [
        "\"grant_given\"",
        "\"grant_used\"",
        "[\"grant_revoked\"]",
        "taken back: ",
        "` changes",
        "finds another tool: ",
        "[\"tool_changed\", \"call_decided\"",
        "[\"tool_changed\", \"tool_ended\"",
        "[\"resumed\", \"tool_changed\"",
        "this person may not answer it",
        "metadata: {} }) }) -> [\"call_doubted\"",
        "asks: None }) -> [\"call_doubted\"",
    ]
    .map(|words| (words, 0))
    .into();
    for seed in 0..300 {
        let trace = simulate(seed, Tracing::On).trace;
        for (words, count) in &mut seen {
            *count += trace.iter().filter(|line| line.contains(*words)).count();
        }
    }
    assert!(seen.iter().all(|(_, count)| *count > 0), "{seen:?}");
}

#[test]
fn a_state_that_met_no_input_is_named() {
    let missing = Coverage::default().missing();
    assert!(missing.contains(&("paused_doubt", "delivered")));
    assert_eq!(missing.len(), 13 * 23);
}
