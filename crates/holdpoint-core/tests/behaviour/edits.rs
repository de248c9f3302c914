//! Approvals with other arguments than the model's.

use crate::support::{Stage, check};

fn exposed(stage: &Stage) -> String {
    stage.run().calls()[0].canonical().unwrap().expose().to_owned()
}

#[test]
fn edited_arguments_are_what_runs() {
    let mut stage = Stage::new();
    stage.play("model asks: a(confirm args=5)");
    stage.play("ana edits a to 6 seen 5");
    assert_eq!(exposed(&stage), "6");
    assert_eq!(stage.transcript().last().unwrap(), "execute a");
}

#[test]
fn edited_arguments_that_policy_denies_are_answered_as_denied() {
    check(
        "model asks: a(confirm), b(confirm)
         ana edits a to 9 (deny); allows b
         b -> ok
         ? records",
        "call model
         pause p1 for people: a b
         execute b
         start b
         call model: a=denied b=ok
         1.a=denied:denied 1.b=succeeded/tool",
    );
}

#[test]
fn edited_arguments_that_policy_would_confirm_with_the_same_approvers_count_as_answered() {
    check(
        "model asks: a(confirm by=finance)
         ana[finance] edits a to 9 (confirm by=finance)",
        "call model
         pause p1 for people: a
         execute a",
    );
}

#[test]
fn edited_arguments_under_other_approvers_are_asked_again() {
    check(
        "model asks: a(confirm by=finance)
         ana[finance] edits a to 9 (confirm by=board)
         ana[finance] allows a
         cid[board] allows a seen 0
         cid[board] allows a seen 9",
        "call model
         pause p1 for people: a
         pause p2 after p1 for people: a
         rejected not_an_approver: a
         rejected digest_mismatch: a
         execute a",
    );
}

#[test]
fn a_question_under_other_approvers_has_its_own_deadline() {
    check(
        "model asks: a(confirm by=finance)
         at 50
         ana[finance] edits a to 9 (confirm by=board within=100)
         at 149
         timer
         at 150
         timer",
        "call model
         pause p1 for people: a
         pause p2 after p1 for people: a
         nothing changes
         call model: a=expired",
    );
}

#[test]
fn an_edit_under_the_same_approvers_does_not_move_the_deadline() {
    check(
        "model asks: a(confirm quorum=2 within=100)
         at 50
         ana edits a to 9 (confirm quorum=2 within=100)
         at 100
         ben allows a",
        "call model
         pause p1 for people: a(0/2)
         pause p2 after p1 for people: a(1/2)
         call model: a=expired",
    );
}

#[test]
fn an_edit_whose_rule_leaves_less_time_brings_the_deadline_forward() {
    check(
        "model asks: a(confirm quorum=2 within=100)
         ana edits a to 9 (confirm quorum=2 within=20)
         at 20
         ben allows a",
        "call model
         pause p1 for people: a(0/2)
         pause p2 after p1 for people: a(1/2)
         call model: a=expired",
    );
}

#[test]
fn an_edit_that_policy_was_not_asked_about_is_no_decision() {
    check(
        "model asks: a(confirm)
         ana edits a to 9 (unasked)
         ana allows a",
        "call model
         pause p1 for people: a
         rejected invalid_decision: a
         execute a",
    );
}

#[test]
fn a_kept_edit_can_be_repeated_and_not_changed() {
    check(
        "model asks: a(confirm), b(confirm)
         partly ana edits a to 9
         partly ana edits a to 9 seen q1
         partly ana edits a to 8
         partly ana allows a
         partly ana allows a seen 0
         partly ana denies a",
        "call model
         pause p1 for people: a b
         pause p2 after p1 for people: b
         nothing changes
         rejected conflicting_decision: a
         nothing changes
         rejected digest_mismatch: a
         rejected conflicting_decision: a",
    );
}

#[test]
fn a_denied_edit_can_be_repeated_and_not_changed() {
    check(
        "model asks: a(confirm), b(confirm)
         partly ana edits a to 9 (deny)
         partly ana edits a to 9 (deny)
         partly ana edits a to 8
         partly ana allows a",
        "call model
         pause p1 for people: a b
         pause p2 after p1 for people: b
         nothing changes
         rejected conflicting_decision: a
         rejected conflicting_decision: a",
    );
}

#[test]
fn the_message_keeps_what_the_model_wrote() {
    let mut stage = Stage::new();
    stage.play("model asks: a(confirm args=5)");
    stage.play("ana edits a to 6");
    let message = stage.run().messages().last().unwrap();
    let holdpoint_core::Message::Assistant(assistant) = &**message else { panic!("not the assistant's") };
    assert_eq!(assistant.calls[0].arguments.canonical().unwrap().expose(), "5");
}
