//! Resumes that answer some questions and leave others.

use crate::support::check;

#[test]
fn partial_decisions_are_kept_and_nothing_runs_until_none_is_missing() {
    check(
        "model asks: a(confirm), b(confirm), c
         partly ana allows a
         ben denies b
         a -> one
         c -> two",
        "call model
         pause p1 for people: a b
         pause p2 after p1 for people: b
         execute a c
         start a
         start c
         call model: a=one b=refused c=two",
    );
}

#[test]
fn a_partial_resume_that_adds_nothing_uses_nothing_up() {
    check(
        "model asks: a(confirm), b(confirm)
         partly ana waits
         partly ana allows a
         partly ana allows a
         partly ana waits
         ana allows b",
        "call model
         pause p1 for people: a b
         nothing changes
         pause p2 after p1 for people: b
         nothing changes
         nothing changes
         execute a b",
    );
}

#[test]
fn kept_decisions_cannot_be_turned_round() {
    check(
        "model asks: a(confirm), b(confirm), c(confirm), d(confirm)
         partly ana allows a; denies b; answers c with 1
         partly ana denies a
         partly ben denies a
         partly ana allows b
         partly ana answers c with 2
         partly ana allows c
         partly ana denies c
         partly ana answers a with 1",
        "call model
         pause p1 for people: a b c d
         pause p2 after p1 for people: d
         rejected conflicting_decision: a
         rejected conflicting_decision: a
         rejected conflicting_decision: b
         rejected conflicting_decision: c
         rejected conflicting_decision: c
         rejected conflicting_decision: c
         rejected conflicting_decision: a",
    );
}

#[test]
fn kept_decisions_can_be_repeated() {
    check(
        "model asks: a(confirm), b(confirm), c(confirm), d(confirm)
         partly ana allows a; denies b because x; answers c with 1
         partly ana allows a; denies b because y; answers c with 1
         ana allows a; denies b; answers c with 1; allows d",
        "call model
         pause p1 for people: a b c d
         pause p2 after p1 for people: d
         nothing changes
         execute a d",
    );
}

#[test]
fn a_full_resume_needs_no_decision_for_kept_calls() {
    check(
        "model asks: a(confirm), b(confirm)
         partly ana denies a
         ana denies b",
        "call model
         pause p1 for people: a b
         pause p2 after p1 for people: b
         call model: a=refused b=refused",
    );
}

#[test]
fn a_conflict_spoils_the_good_answers_beside_it() {
    check(
        "model asks: a(confirm), b(confirm)
         partly ana denies a
         partly ana allows b; allows a
         ana allows b",
        "call model
         pause p1 for people: a b
         pause p2 after p1 for people: b
         rejected conflicting_decision: a
         execute b",
    );
}

#[test]
fn people_who_name_the_batch_do_not_collide() {
    check(
        "model asks: a(confirm), b(confirm)
         batch ana allows a
         batch ben allows b",
        "call model
         pause p1 for people: a b
         pause p2 after p1 for people: b
         execute a b",
    );
}

#[test]
fn a_batch_is_guarded_by_call_and_digest() {
    check(
        "model asks: a(confirm), b(confirm)
         batch ana allows a
         batch ben denies a
         batch ben allows b seen 9
         batch ben allows c",
        "call model
         pause p1 for people: a b
         pause p2 after p1 for people: b
         rejected conflicting_decision: a
         rejected digest_mismatch: b
         rejected unknown_tool_call: c",
    );
}

#[test]
fn only_a_partial_resume_may_name_the_batch() {
    check(
        "model asks: a(confirm)
         wholebatch=1 ana allows a
         batch ana allows a",
        "call model
         pause p1 for people: a
         rejected: a batch needs partly
         execute a",
    );
}
