//! Questions and the answers of people.

use crate::support::check;

#[test]
fn an_allowed_call_runs() {
    check(
        "model asks: a(confirm)
         ana allows a
         a -> ok",
        "call model
         pause p1 for people: a
         execute a
         start a
         call model: a=ok",
    );
}

#[test]
fn refused_call_does_not_block_its_siblings() {
    check(
        "model asks: a, b(confirm)
         ana denies b because no
         a -> ok
         ? messages",
        "call model
         pause p1 for people: b
         execute a
         start a
         call model: a=ok b=refused
         user(go) assistant(a b) tool(a: ok) tool(b: Refused by a person: no.)",
    );
}

#[test]
fn one_question_holds_the_whole_turn() {
    check(
        "model asks: a, b(confirm), c(deny)
         a begins",
        "call model
         pause p1 for people: b
         rejected not_expected: began",
    );
}

#[test]
fn a_person_can_answer_in_the_tools_place() {
    check(
        "model asks: a(confirm)
         ana answers a with 42
         ? records",
        "call model
         pause p1 for people: a
         call model: a=42
         1.a=succeeded/person",
    );
    check(
        "model asks: a(confirm)
         ana answers a with error: out of stock
         ? records",
        "call model
         pause p1 for people: a
         call model: a=failed:tool_error
         1.a=failed:tool_error/person",
    );
}

#[test]
fn every_question_needs_an_answer_unless_partial() {
    check(
        "model asks: a(confirm), b(confirm), c(confirm)
         ana allows b",
        "call model
         pause p1 for people: a b c
         rejected missing_decision: a c",
    );
}

#[test]
fn a_decision_for_a_call_that_does_not_wait_is_unknown() {
    check(
        "model asks: a(confirm), b, c(deny)
         ana allows a; allows b
         ana allows a; allows c
         ana allows a; allows ghost
         ana allows a",
        "call model
         pause p1 for people: a
         rejected unknown_tool_call: b
         rejected unknown_tool_call: c
         rejected unknown_tool_call: ghost
         execute a b",
    );
}

#[test]
fn allowing_and_denying_the_same_call_at_once_conflicts() {
    check(
        "model asks: a(confirm)
         ana allows a; denies a
         ana denies a; allows a
         ana denies a; answers a with x
         ana answers a with x; answers a with y
         ana edits a to 1; edits a to 2
         ana answers a with x; answers a with x",
        "call model
         pause p1 for people: a
         rejected conflicting_decision: a
         rejected conflicting_decision: a
         rejected conflicting_decision: a
         rejected conflicting_decision: a
         rejected conflicting_decision: a
         call model: a=x",
    );
}

#[test]
fn the_same_decision_twice_at_once_is_one() {
    check(
        "model asks: a(confirm)
         ana allows a; allows a",
        "call model
         pause p1 for people: a
         execute a",
    );
}

#[test]
fn a_person_without_the_role_may_neither_allow_nor_deny_nor_answer() {
    check(
        "model asks: a(confirm by=finance+ops)
         ana allows a
         ana[sales] denies a
         ana[sales] answers a with x
         ana[sales] edits a to 2
         ana[sales+ops] allows a",
        "call model
         pause p1 for people: a
         rejected not_an_approver: a
         rejected not_an_approver: a
         rejected not_an_approver: a
         rejected not_an_approver: a
         execute a",
    );
}

#[test]
fn one_bad_answer_spoils_the_whole_resume() {
    check(
        "model asks: a(confirm), b(confirm by=finance)
         ana allows a; allows b
         ana[finance] allows a; allows b",
        "call model
         pause p1 for people: a b
         rejected not_an_approver: b
         execute a b",
    );
}

#[test]
fn an_answer_is_bound_to_what_was_shown() {
    check(
        "model asks: a(confirm args=5)
         ana allows a seen 6
         ana denies a seen 6
         ana answers a with x seen 6
         ana edits a to 7 seen 6
         ana allows a seen 5",
        "call model
         pause p1 for people: a
         rejected digest_mismatch: a
         rejected digest_mismatch: a
         rejected digest_mismatch: a
         rejected digest_mismatch: a
         execute a",
    );
}

#[test]
fn only_a_call_in_doubt_can_have_happened() {
    check(
        "model asks: a(confirm)
         ana knows a gave x",
        "call model
         pause p1 for people: a
         rejected invalid_decision: a",
    );
}

#[test]
fn all_refused_goes_straight_to_the_model() {
    check(
        "model asks: a(confirm), b(confirm)
         ana denies a; denies b because later",
        "call model
         pause p1 for people: a b
         call model: a=refused b=refused",
    );
}

#[test]
fn events_of_a_pause_come_in_order() {
    check(
        "model asks: a(confirm)
         ? events
         ana allows a
         a -> ok
         ? events",
        "call model
         pause p1 for people: a
         run_started turn_started message_completed call_decided turn_ended authorization_required paused done
         execute a
         start a
         call model: a=ok
         resumed call_answered tool_started tool_ended turn_ended turn_started",
    );
}

#[test]
fn whoever_may_not_answer_does_not_learn_what_was_answered() {
    check(
        "model asks: a(confirm by=finance), b(confirm by=finance), c(confirm)
         partly ana[finance] allows a; denies b
         partly ben allows a
         partly ben denies b
         partly ben allows b",
        "call model
         pause p1 for people: a b c
         pause p2 after p1 for people: c
         rejected not_an_approver: a
         rejected not_an_approver: b
         rejected not_an_approver: b",
    );
}
