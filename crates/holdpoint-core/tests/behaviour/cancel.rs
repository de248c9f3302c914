//! Cancelling, in every state.

use holdpoint_core::{Cancelled, Input, Rejection, Timestamp};

use crate::support::{check, new_run};

#[test]
fn before_the_model_replied() {
    check("cancel\nmodel says late", "call model\nfinish cancelled\nrejected not_expected: replied");
}

#[test]
fn while_calls_run() {
    check(
        "model asks: a, b, c
         a -> one
         b begins
         cancel
         b@1 -> late
         ? records
         ? status",
        "call model
         execute a b c
         start a
         start b
         finish cancelled
         rejected run_cancelled
         1.a=succeeded/tool 1.b=cancelled:run_cancelled 1.c=cancelled:run_cancelled
         cancelled",
    );
}

#[test]
fn while_people_are_asked() {
    check(
        "model asks: a(confirm), b
         cancel
         ? records
         ? events",
        "call model
         pause p1 for people: a
         finish cancelled
         1.a=cancelled:run_cancelled 1.b=cancelled:run_cancelled
         run_started turn_started message_completed call_decided call_decided turn_ended authorization_required paused done cancelled turn_ended done",
    );
}

#[test]
fn while_results_are_awaited() {
    check(
        "model asks: a(defer), b(defer)
         partly results: a=one
         cancel
         ? records",
        "call model
         execute a b
         pause p1 for results: a b
         pause p2 after p1 for results: b
         finish cancelled
         1.a=succeeded/external 1.b=cancelled:run_cancelled",
    );
}

#[test]
fn after_a_failure() {
    check("model asks: a\na hook fails\ncancel", "call model\nexecute a\nfail hook_failed\nfinish cancelled");
}

#[test]
fn every_call_has_its_answer_in_the_conversation() {
    check(
        "model asks: a, b(defer), c(deny)
         a -> one
         cancel
         ? messages",
        "call model
         execute a b
         start a
         pause p1 for results: b
         finish cancelled
         user(go) assistant(a b c) tool(a: one) tool(b: The run was cancelled.) tool(c: Denied: the policy says no. Do not repeat this call.)",
    );
}

#[test]
fn between_two_turns_no_answer_is_given_twice() {
    check(
        "model asks: a(deny)
         cancel
         ? messages",
        "call model
         call model: a=denied
         finish cancelled
         user(go) assistant(a) tool(a: Denied: the policy says no. Do not repeat this call.)",
    );
}

#[test]
fn twice_or_too_late() {
    check("cancel\ncancel", "call model\nfinish cancelled\nnothing changes");
    check("model says x\ncancel\n? status", "call model\nfinish end_turn: x\nnothing changes\nfinished");
}

#[test]
fn a_call_in_doubt() {
    check(
        "model asks: a
         a begins
         crash
         cancel
         ? records",
        "call model
         execute a
         start a
         pause p1 for people: a?
         finish cancelled
         1.a=cancelled:run_cancelled",
    );
}

#[test]
fn the_text_is_what_the_model_said_last() {
    check(
        "model says thinking and asks: a(confirm)\ncancel",
        "call model\npause p1 for people: a\nfinish cancelled: thinking",
    );
}

#[test]
fn a_run_that_never_began() {
    let run = new_run("r");
    let rejected = run.handle(Input::Cancelled(Cancelled::default()), Timestamp(0)).unwrap_err();
    assert_eq!(rejected, Rejection::ContinuationNotFound);
    let rejected = run.handle(Input::Retried(holdpoint_core::Retried::default()), Timestamp(0)).unwrap_err();
    assert_eq!(rejected, Rejection::ContinuationNotFound);
    let rejected = run.handle(Input::Recovered(holdpoint_core::Recovered::default()), Timestamp(0)).unwrap_err();
    assert_eq!(rejected, Rejection::ContinuationNotFound);
}
