//! Workers that had a call and bring no result.

use crate::support::check;

#[test]
fn a_lost_task_becomes_a_question_that_says_what_is_known() {
    check(
        "model asks: a(defer), b(defer)
         at 50
         worker w1 loses a
         ? records
         ? doubts
         ? usage",
        "call model
         execute a b
         pause p1 for results: a b
         pause p2 after p1 for people: a?
         1.a=uncertain 1.b=pending
         a#1 lease_lapsed by w1 at 50 (the worker that had it stopped answering: it is not known whether this call took effect)
         10 + 1 tokens, 1 model calls, 1 executions",
    );
}

#[test]
fn the_question_says_how_the_task_was_lost() {
    check(
        "model asks: a(defer), b(defer safe)
         worker w1 fails a
         worker w2 exhausts b#3
         ? doubts",
        "call model
         execute a b
         pause p1 for results: a b
         pause p2 after p1 for people: a?
         pause p3 after p2 for people: a? b?
         a#1 worker_failed by w1 at 0 (the worker that had it failed after it had started: it is not known whether this call took effect) b#3 out_of_attempts by w2 at 0 (it was tried as often as it may be and has no result: it may have taken effect)",
    );
}

#[test]
fn a_lost_call_is_handed_out_again_when_a_person_says_so() {
    check(
        "model asks: a(defer)
         worker w1 loses a
         ana allows a
         worker w1 returns a#1=old
         worker w2 returns a#2=new
         ? records
         ? usage",
        "call model
         execute a
         pause p1 for results: a
         pause p2 after p1 for people: a?
         execute a
         pause p3 after p2 for results: a
         nothing changes
         call model: a=new
         1.a=succeeded/external#2
         10 + 1 tokens, 1 model calls, 2 executions",
    );
}

#[test]
fn attempts_go_on_from_where_the_lost_task_was() {
    check(
        "model asks: a(defer safe)
         worker w1 exhausts a#3
         ana allows a
         worker w2 returns a#3=old
         worker w2 loses a#3
         worker w2 exhausts a#6
         ana knows a gave paid
         ? records",
        "call model
         execute a
         pause p1 for results: a
         pause p2 after p1 for people: a?
         execute a
         pause p3 after p2 for results: a
         nothing changes
         rejected lease_lost
         pause p4 after p3 for people: a?
         call model: a=paid
         1.a=succeeded/person#6",
    );
}

#[test]
fn a_lost_call_may_have_happened() {
    check(
        "model asks: a(defer)
         worker w1 loses a
         ana knows a gave paid
         ? records",
        "call model
         execute a
         pause p1 for results: a
         pause p2 after p1 for people: a?
         call model: a=paid
         1.a=succeeded/person",
    );
}

#[test]
fn a_lost_call_can_be_given_up() {
    check(
        "model asks: a(defer)
         worker w1 loses a
         ana denies a because it was paid
         ? messages",
        "call model
         execute a
         pause p1 for results: a
         pause p2 after p1 for people: a?
         call model: a=refused
         user(go) assistant(a) tool(a: It is not known whether this call took effect, and a person decided not to run it again: it was paid.)",
    );
}

#[test]
fn only_what_is_out_of_attempts_takes_an_answer_in_the_tools_place() {
    check(
        "model asks: a(defer), b(defer safe)
         worker w1 loses a
         worker w1 exhausts b#3
         partly ana answers a with x
         partly ana answers b with by hand
         ana edits a to 2
         ana denies a",
        "call model
         execute a b
         pause p1 for results: a b
         pause p2 after p1 for people: a?
         pause p3 after p2 for people: a? b?
         rejected invalid_decision: a
         pause p4 after p3 for people: a?
         rejected invalid_decision: a
         call model: a=refused b=by hand",
    );
}

#[test]
fn whoever_had_to_approve_a_call_is_asked_when_it_is_lost() {
    check(
        "model asks: a(confirm by=finance defer)
         ana[finance] allows a
         worker w1 loses a
         ben allows a
         ana[finance] allows a
         worker w2 returns a=one",
        "call model
         pause p1 for people: a
         execute a
         pause p2 after p1 for results: a
         pause p3 after p2 for people: a?
         rejected not_an_approver: a
         execute a
         pause p4 after p3 for results: a
         call model: a=one",
    );
}

#[test]
fn policy_is_asked_anew_when_a_lost_call_is_handed_out_again() {
    check(
        "model asks: a
         a defers
         worker w1 loses a
         ana allows a
         a defers (deny)
         ? records",
        "call model
         execute a
         pause p1 for results: a
         pause p2 after p1 for people: a?
         execute a
         call model: a=denied
         1.a=denied:policy_revoked",
    );
}

#[test]
fn results_of_others_are_folded_while_a_question_is_open() {
    check(
        "model asks: a(defer), b(defer)
         worker w1 loses a
         worker w2 returns b=two
         worker w2 returns b=three
         ana knows a gave paid",
        "call model
         execute a b
         pause p1 for results: a b
         pause p2 after p1 for people: a?
         pause p3 after p2 for people: a?
         nothing changes
         call model: a=paid b=two",
    );
}

#[test]
fn what_is_not_out_cannot_be_lost() {
    check(
        "given siblings run
         model asks: a(defer), b(confirm)
         worker w1 loses b
         worker w1 loses 7.a
         worker w1 loses a#0
         worker w1 loses a
         worker w1 loses a
         ana denies b; knows a gave paid
         worker w1 loses 1.a",
        "call model
         execute a
         pause p1 for people: b
         rejected lease_lost
         rejected lease_lost
         rejected lease_lost
         pause p2 after p1 for people: a? b
         rejected lease_lost
         call model: a=paid b=refused
         rejected lease_lost",
    );
}

#[test]
fn a_lost_call_is_still_asked_about_in_another_store() {
    check(
        "model asks: a(defer)
         worker w1 loses a
         worker w1 late a=one
         move
         ? doubts
         ana knows a gave one",
        "call model
         execute a
         pause p1 for results: a
         pause p2 after p1 for people: a?
         pause p2 after p1 for people: a?
         pause p2 after p1 for people: a?
         a#1 lease_lapsed by w1 at 0 w1#1=one at 0 (the worker that had it stopped answering: it is not known whether this call took effect)
         call model: a=one",
    );
}
