//! Policy is asked again when a call goes from ready to running.

use crate::support::{Stage, check};

#[test]
fn a_new_denial_counts() {
    check(
        "model asks: a(confirm), b
         ana allows a
         a begins (deny)
         b -> two
         ? records
         ? messages",
        "call model
         pause p1 for people: a
         execute a b
         start b
         call model: a=denied b=two
         1.a=denied:policy_revoked 1.b=succeeded/tool
         user(go) assistant(a b) tool(a: Denied: the policy says no. The permission was withdrawn before the call ran. Do not repeat this call.) tool(b: two)",
    );
}

#[test]
fn a_new_question_does_not_count() {
    check(
        "model asks: a
         a begins (confirm)",
        "call model
         execute a
         start a",
    );
}

#[test]
fn the_denial_is_recorded_before_anything_follows_from_it() {
    check(
        "model asks: a
         a begins (deny)
         ? events",
        "call model
         execute a
         call model: a=denied
         run_started turn_started message_completed call_decided call_decided turn_ended turn_started",
    );
}

#[test]
fn recovery_uses_the_record_and_does_not_ask_again() {
    check(
        "model asks: a(safe)
         a begins
         crash
         a begins (deny)",
        "call model
         execute a
         start a
         execute a
         start a#2",
    );
}

#[test]
fn a_call_that_a_person_lets_run_again_is_asked_about_again() {
    check(
        "model asks: a
         a begins
         crash
         ana allows a
         a begins (deny)",
        "call model
         execute a
         start a
         pause p1 for people: a?
         execute a
         call model: a=denied",
    );
}

#[test]
fn an_approved_call_that_was_revoked_keeps_its_approval() {
    check(
        "given siblings run
         model asks: a(confirm)
         ana allows a
         a begins (deny)",
        "call model
         pause p1 for people: a
         execute a
         call model: a=denied",
    );
}

#[test]
fn without_a_recheck_the_first_decision_stays() {
    let mut stage = Stage::new();
    stage.play("given recheck off");
    stage.play("model asks: a");
    stage.play("a begins (deny)");
    assert_eq!(stage.transcript().last().unwrap(), "start a");
}
