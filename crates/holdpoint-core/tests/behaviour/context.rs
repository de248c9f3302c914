//! Context attributes that are stored with a run.

use crate::support::check;

#[test]
fn only_listed_attributes_are_stored() {
    check(
        "given keys user
         given context user=7 secret=x
         ? context",
        "call model
         user=7",
    );
}

#[test]
fn nothing_is_stored_by_default() {
    check(
        "given context user=7\nmodel asks: a(confirm)\nuser=8 ana allows a\n? context",
        "call model\npause p1 for people: a\nexecute a\nno context",
    );
}

#[test]
fn a_resume_replaces_attributes_of_the_same_name() {
    check(
        "given keys user tenant
         given context user=7 tenant=1
         model asks: a(confirm), b(defer)
         user=8 ana denies a
         ? context
         tenant=2 results: b=ok
         ? context",
        "call model
         pause p1 for people: a
         execute b
         pause p2 after p1 for results: b
         tenant=1 user=8
         call model: a=refused b=ok
         tenant=2 user=8",
    );
}

#[test]
fn attributes_that_are_not_listed_are_not_stored_by_a_resume() {
    check(
        "given keys user
         model asks: a(confirm)
         tenant=2 ana denies a
         ? context
         ? events",
        "call model
         pause p1 for people: a
         call model: a=refused
         no context
         run_started turn_started message_completed call_decided turn_ended authorization_required paused done resumed call_answered turn_ended turn_started",
    );
}

#[test]
fn an_equal_value_is_no_change() {
    check(
        "given keys user
         given context user=7
         model asks: a(confirm)
         user=7 ana denies a
         ? events",
        "call model
         pause p1 for people: a
         call model: a=refused
         run_started turn_started message_completed call_decided turn_ended authorization_required paused done resumed call_answered turn_ended turn_started",
    );
}

#[test]
fn a_rejected_resume_changes_no_attribute() {
    check(
        "given keys user
         given context user=7
         model asks: a(confirm)
         user=8 ana allows ghost
         partly user=9 ana waits
         ? context",
        "call model
         pause p1 for people: a
         rejected unknown_tool_call: ghost
         nothing changes
         user=7",
    );
}
