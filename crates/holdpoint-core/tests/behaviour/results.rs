//! Results that somebody outside delivers.

use std::sync::Arc;

use holdpoint_core::{Delivered, Input, JsonText, Missing, Target, ToolResult};

use crate::support::{Stage, check};

#[test]
fn delivered_results_go_back_to_the_model() {
    check(
        "model asks: a(defer), b(defer)
         results: b=two, a=one
         ? records
         ? usage",
        "call model
         execute a b
         pause p1 for results: a b
         call model: a=one b=two
         1.a=succeeded/external 1.b=succeeded/external
         10 + 1 tokens, 1 model calls, 2 executions",
    );
}

#[test]
fn delivered_errors_are_results_too() {
    check(
        "model asks: a(defer)
         results: a=error:boom",
        "call model
         execute a
         pause p1 for results: a
         call model: a=failed:tool_error",
    );
}

#[test]
fn every_awaited_result_must_come_unless_partial() {
    check(
        "model asks: a(defer), b(defer), c(defer)
         results: b=two",
        "call model
         execute a b c
         pause p1 for results: a b c
         rejected missing_result: a c",
    );
}

#[test]
fn partial_results_are_kept_and_the_model_waits() {
    check(
        "model asks: a(defer), b(defer)
         partly results: b=two
         results: a=one",
        "call model
         execute a b
         pause p1 for results: a b
         pause p2 after p1 for results: a
         call model: a=one b=two",
    );
}

#[test]
fn a_partial_delivery_that_adds_nothing_uses_nothing_up() {
    check(
        "model asks: a(defer), b(defer)
         partly results:
         partly results: b=two
         partly results: b=two
         partly results:
         results: a=one, b=two",
        "call model
         execute a b
         pause p1 for results: a b
         nothing changes
         pause p2 after p1 for results: a
         nothing changes
         nothing changes
         call model: a=one b=two",
    );
}

#[test]
fn a_result_that_nobody_awaits_is_unexpected() {
    check(
        "model asks: a(defer), b(deny), c
         c -> ok
         partly results: b=x
         partly results: c=ok
         partly results: ghost=x",
        "call model
         execute a c
         start c
         pause p1 for results: a
         rejected unexpected_result: b
         rejected unexpected_result: c
         rejected unexpected_result: ghost",
    );
}

#[test]
fn a_result_without_an_id_is_invalid() {
    check(
        "model asks: a(defer)
         results: a=y, =x",
        "call model
         execute a
         pause p1 for results: a
         rejected invalid_result: blank",
    );
}

#[test]
fn another_result_for_a_call_that_has_one_conflicts() {
    check(
        "model asks: a(defer), b(defer)
         partly results: a=one
         partly results: a=two
         partly results: a=error:one
         partly results: b=x, a=two
         partly results: b=x, b=y",
        "call model
         execute a b
         pause p1 for results: a b
         pause p2 after p1 for results: b
         rejected conflicting_result: a
         rejected conflicting_result: a
         rejected conflicting_result: a
         rejected conflicting_result: b",
    );
}

#[test]
fn equal_results_at_once_are_one() {
    check(
        "model asks: a(defer)
         results: a=one, a=one",
        "call model
         execute a
         pause p1 for results: a
         call model: a=one",
    );
}

#[test]
fn metadata_does_not_make_a_result_different() {
    let mut stage = Stage::new();
    stage.play("model asks: a(defer), b(defer)");
    stage.play("partly results: a=one");
    let again = ToolResult::success("one").with_metadata("duration_ms", JsonText::new("7"));
    let fed = stage.feed(Input::Delivered(Box::new(Delivered {
        target: Target::Batch(stage.run().batch()),
        results: vec![("a".into(), Arc::new(again))],
        missing: Missing::Wait,
        context: Default::default(),
        request: None,
    })));
    assert_eq!(fed, Ok(0));
}

#[test]
fn workers_who_name_the_batch_do_not_collide() {
    check(
        "model asks: a(defer), b(defer)
         batch results: a=one
         from=p1 results: b=two
         batch results: b=two",
        "call model
         execute a b
         pause p1 for results: a b
         pause p2 after p1 for results: b
         rejected stale_continuation: now p2
         call model: a=one b=two",
    );
}

#[test]
fn events_of_a_pause_for_results_come_in_order() {
    check(
        "model asks: a(defer)
         ? events
         results: a=ok
         ? events",
        "call model
         execute a
         pause p1 for results: a
         run_started turn_started message_completed call_decided call_deferred turn_ended execution_required paused done
         call model: a=ok
         resumed tool_ended turn_ended turn_started",
    );
}
