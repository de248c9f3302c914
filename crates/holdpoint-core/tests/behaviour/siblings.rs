//! `siblings = run`: what was allowed does not wait for the questions beside it.

use crate::support::check;

#[test]
fn allowed_siblings_run_at_once() {
    check(
        "given siblings run
         model asks: a, b(confirm), c
         a -> one
         c -> three
         ana allows b
         b -> two",
        "call model
         execute a c
         start a
         start c
         pause p1 for people: b
         execute b
         start b
         call model: a=one b=two c=three",
    );
}

#[test]
fn a_call_that_is_asked_about_does_not_start() {
    check(
        "given siblings run
         model asks: a, b(confirm)
         b begins
         b defers
         b cached -> x",
        "call model
         execute a
         rejected not_expected: began
         rejected not_expected: deferred
         rejected lease_lost",
    );
}

#[test]
fn approved_calls_wait_until_no_decision_is_missing() {
    check(
        "given siblings run
         model asks: a(confirm), b(confirm)
         partly ana allows a
         ben denies b
         a -> one",
        "call model
         pause p1 for people: a b
         pause p2 after p1 for people: b
         execute a
         start a
         call model: a=one b=refused",
    );
}

#[test]
fn nobody_can_answer_while_siblings_run() {
    check(
        "given siblings run
         model asks: a, b(confirm)
         batch ana allows b
         a -> one
         batch ana allows b",
        "call model
         execute a
         rejected stale_continuation: waits for nothing
         start a
         pause p1 for people: b
         execute b",
    );
}

#[test]
fn a_call_in_doubt_does_not_hold_what_was_allowed() {
    check(
        "given siblings run
         model asks: a, b, c(confirm)
         a begins
         crash
         b -> two
         ana denies a; denies c",
        "call model
         execute a b
         start a
         execute b
         start b
         pause p1 for people: a? c
         call model: a=refused b=two c=refused",
    );
}
