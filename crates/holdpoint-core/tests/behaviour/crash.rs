//! A process dies, another takes the run over.

use crate::support::{Stage, check};

#[test]
fn a_call_that_may_not_be_repeated_is_asked_about() {
    check(
        "model asks: a
         a begins
         crash
         ? records
         ana denies a because it was paid
         ? messages",
        "call model
         execute a
         start a
         pause p1 for people: a?
         1.a=uncertain
         call model: a=refused
         user(go) assistant(a) tool(a: It is not known whether this call took effect, and a person decided not to run it again: it was paid.)",
    );
}

#[test]
fn a_call_that_is_safe_or_has_a_key_runs_again() {
    check(
        "model asks: a(safe), b(key)
         a begins
         b begins
         crash
         a -> one
         b -> two
         ? records",
        "call model
         execute a b
         start a
         start b
         execute a b
         start a#2
         start b#2
         call model: a=one b=two
         1.a=succeeded/tool#2 1.b=succeeded/tool#2",
    );
}

#[test]
fn a_call_in_doubt_runs_again_when_a_person_says_so() {
    check(
        "model asks: a
         a begins
         crash
         ana allows a
         a -> one",
        "call model
         execute a
         start a
         pause p1 for people: a?
         execute a
         start a#2
         call model: a=one",
    );
}

#[test]
fn a_call_in_doubt_may_have_happened() {
    check(
        "model asks: a
         a begins
         crash
         ana knows a gave paid
         ? records",
        "call model
         execute a
         start a
         pause p1 for people: a?
         call model: a=paid
         1.a=succeeded/person",
    );
}

#[test]
fn a_call_in_doubt_is_neither_edited_nor_answered() {
    check(
        "model asks: a
         a begins
         crash
         ana edits a to 2
         ana answers a with x
         ana allows a seen 9",
        "call model
         execute a
         start a
         pause p1 for people: a?
         rejected invalid_decision: a
         rejected invalid_decision: a
         rejected digest_mismatch: a",
    );
}

#[test]
fn a_call_that_did_not_start_simply_starts() {
    check(
        "model asks: a, b
         a -> one
         crash
         b -> two",
        "call model
         execute a b
         start a
         execute b
         start b
         call model: a=one b=two",
    );
}

#[test]
fn a_model_call_is_repeated() {
    check(
        "crash
         model says done
         ? usage",
        "call model
         call model
         finish end_turn: done
         10 + 1 tokens, 1 model calls, 0 executions",
    );
}

#[test]
fn a_result_of_the_process_that_died_is_not_merged() {
    check(
        "model asks: a(safe)
         a begins
         crash
         a@1 -> late
         a begins
         a@1 -> late
         a@2 -> new",
        "call model
         execute a
         start a
         execute a
         rejected lease_lost
         start a#2
         rejected lease_lost
         call model: a=new",
    );
}

#[test]
fn a_late_result_does_not_settle_a_doubt() {
    check(
        "model asks: a
         a begins
         crash
         a@1 -> late",
        "call model
         execute a
         start a
         pause p1 for people: a?
         rejected lease_lost",
    );
}

#[test]
fn a_crash_while_paused_failed_or_done_changes_nothing() {
    check("model asks: a(confirm)\ncrash", "call model\npause p1 for people: a\nnothing changes");
    check("model fails\ncrash", "call model\nfail provider_error\nnothing changes");
    check("model says x\ncrash", "call model\nfinish end_turn: x\nnothing changes");
}

#[test]
fn a_takeover_starts_a_new_epoch() {
    let mut stage = Stage::new();
    stage.play("model asks: a(safe)");
    stage.play("crash");
    stage.play("crash");
    assert_eq!(stage.run().epoch().0, 2);
}

#[test]
fn a_call_can_be_in_doubt_twice() {
    check(
        "model asks: a
         a begins
         crash
         ana allows a
         a begins
         crash
         ana knows a gave paid
         ? records",
        "call model
         execute a
         start a
         pause p1 for people: a?
         execute a
         start a#2
         pause p2 after p1 for people: a?
         call model: a=paid
         1.a=succeeded/person#2",
    );
}

#[test]
fn an_approved_call_in_doubt_can_be_refused() {
    check(
        "model asks: a(confirm)
         ana allows a
         a begins
         crash
         ana denies a",
        "call model
         pause p1 for people: a
         execute a
         start a
         pause p2 after p1 for people: a?
         call model: a=refused",
    );
}

#[test]
fn a_crash_after_a_hook_failed_still_stops_the_run() {
    check(
        "model asks: a(safe), b
         a begins
         b hook fails
         a -> lost
         crash",
        "call model
         execute a b
         start a
         fail hook_failed
         nothing changes",
    );
    check(
        "model asks: a(safe), b
         b hook fails
         crash
         retry",
        "call model
         execute a b
         fail hook_failed
         nothing changes
         execute a b",
    );
}
