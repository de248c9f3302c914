//! Calls that run here beside calls that are handed out.

use crate::support::check;

#[test]
fn what_runs_here_is_done_before_the_run_pauses() {
    check(
        "model asks: a(defer), b
         b -> two
         results: a=one",
        "call model
         execute a b
         start b
         pause p1 for results: a
         call model: a=one b=two",
    );
}

#[test]
fn an_executor_may_hand_out_one_by_one() {
    check(
        "model asks: a, b
         a defers
         b -> two
         results: a=one",
        "call model
         execute a b
         start b
         pause p1 for results: a
         call model: a=one b=two",
    );
}

#[test]
fn a_call_is_handed_out_once() {
    check(
        "model asks: a, b
         a defers
         a defers
         a begins
         a@1 -> here",
        "call model
         execute a b
         rejected not_expected: deferred
         rejected not_expected: began
         rejected lease_lost",
    );
}

#[test]
fn a_started_call_cannot_be_handed_out() {
    check(
        "model asks: a
         a begins
         a defers",
        "call model
         execute a
         start a
         rejected not_expected: deferred",
    );
}

#[test]
fn policy_may_say_no_when_a_call_is_handed_out() {
    check(
        "model asks: a, b
         a defers (deny)
         b defers
         results: b=ok
         ? records",
        "call model
         execute a b
         pause p1 for results: b
         call model: a=denied b=ok
         1.a=denied:policy_revoked 1.b=succeeded/external",
    );
}

#[test]
fn questions_come_before_results_when_siblings_run() {
    check(
        "given siblings run
         model asks: a(defer), b(confirm)
         ana allows b
         b -> two
         results: a=one",
        "call model
         execute a
         pause p1 for people: b
         execute b
         start b
         pause p2 after p1 for results: a
         call model: a=one b=two",
    );
}

#[test]
fn a_batch_takes_results_while_a_question_is_open() {
    check(
        "given siblings run
         model asks: a(defer), b(confirm)
         results: a=one
         batch results: a=one
         batch results: a=one
         ana denies b",
        "call model
         execute a
         pause p1 for people: b
         rejected wrong_pause: waits for people, not results
         pause p2 after p1 for people: b
         rejected wrong_pause: waits for people, not results
         call model: a=one b=refused",
    );
}

#[test]
fn a_held_turn_hands_nothing_out() {
    check(
        "model asks: a(defer), b(confirm)
         ana denies b
         results: a=one",
        "call model
         pause p1 for people: b
         execute a
         pause p2 after p1 for results: a
         call model: a=one b=refused",
    );
}

#[test]
fn handed_out_calls_stay_handed_out_after_a_crash() {
    check(
        "model asks: a(defer), b
         b begins
         crash
         ana knows b gave two
         results: a=one",
        "call model
         execute a b
         start b
         pause p1 for people: b?
         pause p2 after p1 for results: a
         call model: a=one b=two",
    );
}
