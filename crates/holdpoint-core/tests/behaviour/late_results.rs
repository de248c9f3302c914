//! Results that come after their worker lost the call: never merged, at most evidence.

use holdpoint_core::Limits;

use crate::support::{Stage, check};

#[test]
fn a_late_result_is_evidence_for_the_open_question() {
    check(
        "model asks: a(defer)
         worker w1 loses a
         ? events
         at 70
         worker w1 late a=paid
         ? events
         ? doubts
         from=p2 ana knows a gave paid
         ? records",
        "call model
         execute a
         pause p1 for results: a
         pause p2 after p1 for people: a?
         run_started turn_started message_completed call_decided call_deferred turn_ended execution_required paused done resumed task_taken call_doubted turn_ended authorization_required paused done
         pause p2 after p1 for people: a?
         evidence_given
         a#1 lease_lapsed by w1 at 0 w1#1=paid at 70 (the worker that had it stopped answering: it is not known whether this call took effect)
         call model: a=paid
         1.a=succeeded/person",
    );
}

#[test]
fn equal_evidence_again_changes_nothing() {
    check(
        "model asks: a(defer)
         worker w1 loses a
         worker w1 late a=paid
         at 9
         worker w1 late a=paid
         worker w1 late a=twice",
        "call model
         execute a
         pause p1 for results: a
         pause p2 after p1 for people: a?
         pause p2 after p1 for people: a?
         nothing changes
         pause p2 after p1 for people: a?",
    );
}

#[test]
fn evidence_is_kept_up_to_a_limit() {
    let mut stage = Stage::new();
    stage.play("model asks: a(defer)");
    stage.play("worker w1 loses a");
    for number in 0..=Limits::EVIDENCE_MAX {
        stage.play(&format!("worker w1 late a={number}"));
    }
    assert_eq!(stage.transcript().last().map(String::as_str), Some("rejected lease_lost"));
    let doubt = stage.run().calls()[0].question().and_then(|question| question.doubt.clone());
    assert_eq!(doubt.unwrap().evidence.len(), Limits::EVIDENCE_MAX);
}

#[test]
fn a_late_result_does_not_settle_a_call_that_is_out_again() {
    check(
        "model asks: a(defer)
         worker w1 loses a
         ana allows a
         worker w1 late a#1=old
         worker w2 returns a#2=new",
        "call model
         execute a
         pause p1 for results: a
         pause p2 after p1 for people: a?
         execute a
         pause p3 after p2 for results: a
         rejected lease_lost
         call model: a=new",
    );
}

#[test]
fn a_late_result_changes_nothing_where_nothing_is_doubted() {
    check(
        "model asks: a(defer), b(confirm), c
         worker w1 late b=two
         ana denies b
         c -> three
         worker w1 late a=one
         results: a=one
         worker w1 late 1.a=other
         model says done
         worker w1 late a=one",
        "call model
         pause p1 for people: b
         rejected lease_lost
         execute a c
         start c
         pause p2 after p1 for results: a
         rejected lease_lost
         call model: a=one b=refused c=three
         rejected lease_lost
         finish end_turn: done
         rejected lease_lost",
    );
}

#[test]
fn evidence_goes_with_the_question_it_was_for() {
    check(
        "model asks: a(defer)
         worker w1 loses a
         worker w1 late a=one
         ana allows a
         worker w2 loses a
         ? doubts",
        "call model
         execute a
         pause p1 for results: a
         pause p2 after p1 for people: a?
         pause p2 after p1 for people: a?
         execute a
         pause p3 after p2 for results: a
         pause p4 after p3 for people: a?
         a#2 lease_lapsed by w2 at 0 (the worker that had it stopped answering: it is not known whether this call took effect)",
    );
}

#[test]
fn a_doubt_after_a_crash_takes_evidence_too() {
    check(
        "model asks: a
         a begins
         crash
         worker w1 late a=paid
         ? doubts",
        "call model
         execute a
         start a
         pause p1 for people: a?
         pause p1 for people: a?
         a#1 crashed at 0 w1#1=paid at 0 (it is not known whether this call took effect)",
    );
}
