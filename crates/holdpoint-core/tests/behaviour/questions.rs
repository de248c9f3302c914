//! Every question has a digest of its own, and an answer counts for the question whose digest it names (I16).

use crate::support::check;

#[test]
fn an_approval_of_the_call_says_nothing_about_the_doubt() {
    check(
        "model asks: a(confirm)
         ana allows a
         a begins
         crash
         batch ana allows a seen q1
         batch ben allows a seen q1
         batch ana denies a seen q1
         batch ana knows a gave paid seen q1
         batch ana allows a seen q2",
        "call model
         pause p1 for people: a
         execute a
         start a
         pause p2 after p1 for people: a?
         rejected digest_mismatch: a
         rejected digest_mismatch: a
         rejected digest_mismatch: a
         rejected digest_mismatch: a
         execute a",
    );
}

#[test]
fn an_answer_to_one_doubt_says_nothing_about_the_next() {
    check(
        "model asks: a
         a begins
         crash
         ana allows a
         a begins
         crash
         batch ana allows a seen q1
         batch ana allows a seen q2",
        "call model
         execute a
         start a
         pause p1 for people: a?
         execute a
         start a#2
         pause p2 after p1 for people: a?
         rejected digest_mismatch: a
         execute a",
    );
}

#[test]
fn only_the_denial_of_a_permission_needs_no_digest() {
    check(
        "model asks: a(confirm), b(confirm)
         partly ana allows a seen nothing
         partly ana answers a with x seen nothing
         partly ana edits a to 2 seen nothing
         partly ana denies a seen nothing
         batch ana denies b seen nothing
         ? records",
        "call model
         pause p1 for people: a b
         rejected digest_mismatch: a
         rejected digest_mismatch: a
         rejected digest_mismatch: a
         pause p2 after p1 for people: b
         call model: a=refused b=refused
         1.a=refused:refused 1.b=refused:refused",
    );
}

#[test]
fn an_answer_about_a_doubt_names_it() {
    check(
        "model asks: a
         a begins
         crash
         ana allows a seen nothing
         ana denies a seen nothing
         ana knows a gave paid seen nothing
         ana denies a",
        "call model
         execute a
         start a
         pause p1 for people: a?
         rejected digest_mismatch: a
         rejected digest_mismatch: a
         rejected digest_mismatch: a
         call model: a=refused",
    );
}

#[test]
fn a_doubt_needs_as_many_people_as_the_call_did() {
    check(
        "model asks: a(confirm by=finance quorum=2)
         ana[finance] allows a
         ben[finance] allows a
         a begins
         crash
         zoe allows a
         ana[finance] allows a
         ana[finance] allows a
         ana[finance] denies a
         ben[finance] allows a
         a -> ok",
        "call model
         pause p1 for people: a(0/2)
         pause p2 after p1 for people: a(1/2)
         execute a
         start a
         pause p3 after p2 for people: a?(0/2)
         rejected not_an_approver: a
         pause p4 after p3 for people: a?(1/2)
         nothing changes
         rejected conflicting_decision: a
         execute a
         start a#2
         call model: a=ok",
    );
}

#[test]
fn as_many_people_must_say_alike_that_it_happened() {
    check(
        "model asks: a(confirm quorum=2)
         ana allows a
         ben allows a
         a begins
         crash
         ana allows a
         ana knows a gave paid
         ana knows a gave paid
         ben knows a gave something
         cid allows a
         ben knows a gave paid",
        "call model
         pause p1 for people: a(0/2)
         pause p2 after p1 for people: a(1/2)
         execute a
         start a
         pause p3 after p2 for people: a?(0/2)
         pause p4 after p3 for people: a?(1/2)
         pause p5 after p4 for people: a?(0/2)
         nothing changes
         pause p6 after p5 for people: a?(0/2)
         pause p7 after p6 for people: a?(1/2)
         call model: a=paid",
    );
}

#[test]
fn one_person_gives_up_a_doubt_for_all() {
    check(
        "model asks: a(confirm quorum=2)
         ana allows a
         ben allows a
         a begins
         crash
         ana allows a
         ben denies a",
        "call model
         pause p1 for people: a(0/2)
         pause p2 after p1 for people: a(1/2)
         execute a
         start a
         pause p3 after p2 for people: a?(0/2)
         pause p4 after p3 for people: a?(1/2)
         call model: a=refused",
    );
}

#[test]
fn four_eyes_hold_for_the_doubt() {
    check(
        "given requester zoe
         model asks: a(confirm four_eyes)
         ana allows a
         a begins
         crash
         zoe allows a
         ana allows a",
        "call model
         pause p1 for people: a
         execute a
         start a
         pause p2 after p1 for people: a?
         rejected not_an_approver: a
         execute a",
    );
}

#[test]
fn a_worker_that_fails_after_its_start_opens_another_question() {
    check(
        "model asks: a(confirm defer)
         ana allows a
         worker w1 fails a
         batch ana allows a seen q1
         batch ben allows a seen q1
         batch ben allows a
         worker w2 returns a#2=ok",
        "call model
         pause p1 for people: a
         execute a
         pause p2 after p1 for results: a
         pause p3 after p2 for people: a?
         rejected digest_mismatch: a
         rejected digest_mismatch: a
         execute a
         pause p4 after p3 for results: a
         call model: a=ok",
    );
}

#[test]
fn an_edit_makes_another_question() {
    check(
        "model asks: a(confirm quorum=2)
         ana edits a to 2 (confirm quorum=2)
         ben allows a seen q1
         batch ben allows a seen q1
         ben allows a",
        "call model
         pause p1 for people: a(0/2)
         pause p2 after p1 for people: a(1/2)
         rejected digest_mismatch: a
         rejected digest_mismatch: a
         execute a",
    );
}

#[test]
fn a_repeated_answer_to_a_question_that_is_answered_changes_nothing() {
    check(
        "model asks: a(confirm), b(confirm)
         batch ana allows a seen q1
         batch ana allows a seen q1
         batch ana allows a seen 9
         batch ana denies a seen q1",
        "call model
         pause p1 for people: a b
         pause p2 after p1 for people: b
         nothing changes
         rejected digest_mismatch: a
         rejected conflicting_decision: a",
    );
}
