use std::collections::BTreeSet;

use holdpoint_core::PauseReason;

use super::sample;

#[test]
fn the_sample_pauses_for_people_and_for_results() {
    let sample = sample();
    assert_eq!(sample.for_people.pause_reason(), Some(PauseReason::AwaitingToolConfirmation));
    assert_eq!(sample.for_results.pause_reason(), Some(PauseReason::AwaitingToolResults));
    assert!(sample.for_people.calls().iter().any(holdpoint_core::Call::is_uncertain));
}

#[test]
fn the_sample_has_nearly_every_kind_of_event() {
    let names: BTreeSet<&str> = sample().log.iter().map(|entry| entry.event.name()).collect();
    assert!(names.len() >= 25, "only {names:?}");
}
