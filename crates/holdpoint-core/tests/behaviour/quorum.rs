//! Questions that several people must approve.

use crate::support::check;

#[test]
fn an_answer_short_of_the_quorum_is_accepted_and_the_run_pauses_again() {
    check(
        "model asks: a(confirm quorum=2)
         ana allows a
         ben allows a",
        "call model
         pause p1 for people: a(0/2)
         pause p2 after p1 for people: a(1/2)
         execute a",
    );
}

#[test]
fn the_same_person_counts_once() {
    check(
        "model asks: a(confirm quorum=2)
         ana allows a
         ana allows a
         ana[boss] allows a
         partly ana allows a",
        "call model
         pause p1 for people: a(0/2)
         pause p2 after p1 for people: a(1/2)
         nothing changes
         nothing changes
         nothing changes",
    );
}

#[test]
fn nobody_in_particular_counts_once() {
    check(
        "model asks: a(confirm quorum=2)
         nobody allows a
         nobody allows a
         ana allows a",
        "call model
         pause p1 for people: a(0/2)
         pause p2 after p1 for people: a(1/2)
         nothing changes
         execute a",
    );
}

#[test]
fn one_refusal_refuses() {
    check(
        "model asks: a(confirm quorum=3)
         ana allows a
         ben denies a",
        "call model
         pause p1 for people: a(0/3)
         pause p2 after p1 for people: a(1/3)
         call model: a=refused",
    );
}

#[test]
fn whoever_approved_cannot_refuse() {
    check(
        "model asks: a(confirm quorum=2)
         ana allows a
         ana denies a",
        "call model
         pause p1 for people: a(0/2)
         pause p2 after p1 for people: a(1/2)
         rejected conflicting_decision: a",
    );
}

#[test]
fn one_persons_result_in_the_tools_place_cannot_stand_in_for_several() {
    check(
        "model asks: a(confirm quorum=2)
         ana answers a with x
         ana allows a
         ben answers a with x",
        "call model
         pause p1 for people: a(0/2)
         rejected invalid_decision: a
         pause p2 after p1 for people: a(1/2)
         rejected invalid_decision: a",
    );
}

#[test]
fn a_quorum_of_nobody_is_a_quorum_of_one() {
    check(
        "model asks: a(confirm quorum=0)
         ana allows a",
        "call model
         pause p1 for people: a
         execute a",
    );
}

#[test]
fn an_edit_starts_the_quorum_anew() {
    check(
        "model asks: a(confirm quorum=3)
         ana allows a
         ben edits a to 2 (confirm quorum=3)
         ana allows a
         cid allows a",
        "call model
         pause p1 for people: a(0/3)
         pause p2 after p1 for people: a(1/3)
         pause p3 after p2 for people: a(1/3)
         pause p4 after p3 for people: a(2/3)
         execute a",
    );
}

#[test]
fn whoever_edits_counts_for_what_they_wrote() {
    check(
        "model asks: a(confirm quorum=2)
         ben edits a to 2 (confirm quorum=2)
         ben allows a
         ana allows a seen 0
         ana allows a seen 2",
        "call model
         pause p1 for people: a(0/2)
         pause p2 after p1 for people: a(1/2)
         nothing changes
         rejected digest_mismatch: a
         execute a",
    );
}

#[test]
fn an_edit_that_changes_nothing_is_an_approval_like_any_other() {
    check(
        "model asks: a(confirm quorum=2 args=5)
         ana allows a
         ben edits a to 5 (confirm quorum=2)",
        "call model
         pause p1 for people: a(0/2)
         pause p2 after p1 for people: a(1/2)
         execute a",
    );
}

#[test]
fn the_same_edit_by_the_same_person_changes_nothing() {
    check(
        "model asks: a(confirm quorum=2)
         ana edits a to 2 (confirm quorum=2) seen 0
         ana edits a to 2 (confirm quorum=2) seen 0
         ana edits a to 3 (confirm quorum=2) seen 0
         ana edits a to 3 (confirm quorum=2) seen 2",
        "call model
         pause p1 for people: a(0/2)
         pause p2 after p1 for people: a(1/2)
         nothing changes
         rejected digest_mismatch: a
         pause p3 after p2 for people: a(1/2)",
    );
}

#[test]
fn the_policy_can_raise_the_quorum_for_edited_arguments() {
    check(
        "model asks: a(confirm)
         ana edits a to 1000 (confirm quorum=2)
         ben allows a",
        "call model
         pause p1 for people: a
         pause p2 after p1 for people: a(1/2)
         execute a",
    );
}

#[test]
fn quorums_of_siblings_are_counted_apart() {
    check(
        "model asks: a(confirm quorum=2), b(confirm)
         partly ana allows a
         partly ben allows b
         cid allows a",
        "call model
         pause p1 for people: a(0/2) b
         pause p2 after p1 for people: a(1/2) b
         pause p3 after p2 for people: a(1/2)
         execute a b",
    );
}
