//! Tools that take other arguments by now than when the model asked for a call of them.

use crate::support::{Stage, check};

#[test]
fn whoever_approved_is_asked_again() {
    check(
        "model asks: a(confirm args=5 definition=v1)
         ana allows a
         a changes to v2
         ? reasons
         ben allows a
         a -> ok
         ? approvals
         ? records",
        "call model
         pause p1 for people: a
         execute a
         pause p2 after p1 for people: a
         a again: the tool has changed since this call was approved
         execute a
         start a
         call model: a=ok
         none
         1.a=succeeded/tool",
    );
}

#[test]
fn what_was_said_about_the_tool_as_it_was_counts_no_more() {
    check(
        "model asks: a(confirm definition=v1 quorum=2)
         ana allows a
         ben allows a
         ? approvals
         a changes to v2
         ? approvals
         ana allows a
         ana allows a
         cid allows a
         ? approvals",
        "call model
         pause p1 for people: a(0/2)
         pause p2 after p1 for people: a(1/2)
         execute a
         a:ana+ben
         pause p3 after p2 for people: a(0/2)
         a:
         pause p4 after p3 for people: a(1/2)
         nothing changes
         execute a
         a:ana+cid",
    );
}

#[test]
fn it_is_asked_again_on_the_terms_of_what_was_approved() {
    check(
        "given requester zoe
         model asks: a(confirm definition=v1 by=finance four_eyes within=100)
         ana[finance] allows a
         at 50
         a changes to v2
         ana allows a
         zoe[finance] allows a
         at 150
         timer",
        "call model
         pause p1 for people: a
         execute a
         pause p2 after p1 for people: a
         rejected not_an_approver: a
         rejected not_an_approver: a
         call model: a=expired",
    );
}

#[test]
fn the_quorum_of_what_was_edited_is_the_quorum_when_it_is_asked_again() {
    check(
        "model asks: a(confirm definition=v1)
         ana edits a to 1000 (confirm quorum=2)
         ben allows a
         a changes to v2",
        "call model
         pause p1 for people: a
         pause p2 after p1 for people: a(1/2)
         execute a
         pause p3 after p2 for people: a(0/2)",
    );
}

#[test]
fn policy_is_asked_anew_and_its_denial_counts() {
    check(
        "model asks: a(confirm definition=v1), b
         ana allows a
         a changes to v2 (deny)
         b -> ok",
        "call model
         pause p1 for people: a
         execute a b
         start b
         call model: a=denied b=ok",
    );
}

#[test]
fn a_question_of_policy_about_the_new_tool_replaces_the_old_one() {
    check(
        "model asks: a(confirm definition=v1 by=finance)
         ana[finance] allows a
         a changes to v2 (confirm by=board quorum=2)
         ? reasons
         ana[finance] allows a
         cid[board] allows a
         dan[board] allows a",
        "call model
         pause p1 for people: a
         execute a
         pause p2 after p1 for people: a(0/2)
         a again: be careful
         rejected not_an_approver: a
         pause p3 after p2 for people: a(1/2)
         execute a",
    );
}

#[test]
fn a_call_that_policy_allowed_runs_on_if_it_still_does() {
    check(
        "model asks: a(definition=v1)
         a changes to v2
         a -> ok",
        "call model
         execute a
         start a
         call model: a=ok",
    );
}

#[test]
fn a_call_that_policy_allowed_is_asked_about_if_policy_wants_it_by_now() {
    check(
        "model asks: a(definition=v1)
         a changes to v2 (confirm)
         ? reasons
         batch ana allows a",
        "call model
         execute a
         pause p1 for people: a
         a: be careful
         execute a",
    );
}

#[test]
fn arguments_that_do_not_fit_any_more_fail_the_call_and_nobody_is_asked() {
    check(
        "model asks: a(confirm definition=v1)
         ana allows a
         a changes to v2 (unfit)
         ? records",
        "call model
         pause p1 for people: a
         execute a
         call model: a=failed:invalid_arguments
         1.a=failed:invalid_arguments",
    );
}

#[test]
fn an_approval_of_the_tool_as_it_was_does_not_count_for_what_it_is_now() {
    check(
        "model asks: a(confirm definition=v1)
         batch ana allows a
         a changes to v2
         batch ana allows a seen q1
         batch ana edits a to 9 seen q1
         batch ana allows a seen nothing
         from=p1 ana allows a
         from=p2 ana allows a",
        "call model
         pause p1 for people: a
         execute a
         pause p2 after p1 for people: a
         rejected digest_mismatch: a
         rejected digest_mismatch: a
         rejected digest_mismatch: a
         rejected stale_continuation: now p2
         execute a",
    );
}

#[test]
fn a_batch_is_enough_to_refuse_it_or_to_answer_in_its_place() {
    for (answer, said) in [("denies a", "refused"), ("answers a with x", "x")] {
        check(
            &format!(
                "model asks: a(confirm definition=v1)
                 ana allows a
                 a changes to v2
                 batch ana {answer}"
            ),
            &format!(
                "call model
                 pause p1 for people: a
                 execute a
                 pause p2 after p1 for people: a
                 call model: a={said}"
            ),
        );
    }
}

#[test]
fn a_worker_that_finds_another_tool_brings_the_question_back() {
    check(
        "model asks: a(confirm definition=v1 defer), b(definition=v1 defer)
         ana allows a
         worker w1 finds a changed to v2
         batch ana allows a seen q1
         ana allows a
         worker w1 returns a#1=old
         worker w1 returns a#2=new, b=ok",
        "call model
         pause p1 for people: a
         execute a b
         pause p2 after p1 for results: a b
         pause p3 after p2 for people: a
         rejected digest_mismatch: a
         execute a
         pause p4 after p3 for results: a b
         nothing changes
         call model: a=new b=ok",
    );
}

#[test]
fn a_worker_that_finds_another_tool_may_find_that_nothing_fits_or_that_policy_says_no() {
    for (words, said) in [("unfit", "failed:invalid_arguments"), ("deny", "denied")] {
        check(
            &format!(
                "model asks: a(confirm definition=v1 defer)
                 ana allows a
                 worker w1 finds a changed to v2 ({words})"
            ),
            &format!(
                "call model
                 pause p1 for people: a
                 execute a
                 pause p2 after p1 for results: a
                 call model: a={said}"
            ),
        );
    }
}

#[test]
fn a_worker_that_had_it_before_cannot_bring_anything_back() {
    check(
        "model asks: a(confirm definition=v1 defer safe)
         ana allows a
         worker w1 finds a changed to v2
         worker w1 finds a changed to v3
         worker w1 loses a
         cancel
         worker w1 finds a changed to v2",
        "call model
         pause p1 for people: a
         execute a
         pause p2 after p1 for results: a
         pause p3 after p2 for people: a
         rejected lease_lost
         rejected lease_lost
         finish cancelled
         rejected run_cancelled",
    );
}

#[test]
fn a_tool_that_is_the_same_did_not_change() {
    check(
        "model asks: a(confirm definition=v1), b(definition=v1 defer)
         a changes to v2
         ana allows a
         a changes to v1
         a begins
         a changes to v2
         a -> ok
         worker w1 finds b changed to v1",
        "call model
         pause p1 for people: a
         rejected not_expected: tool_changed
         execute a b
         rejected not_expected: tool_changed
         start a
         rejected not_expected: tool_changed
         pause p2 after p1 for results: b
         rejected not_expected: tool_changed",
    );
}

#[test]
fn a_grant_for_the_tool_as_it_was_does_not_answer_the_question() {
    check(
        "model asks: a(confirm definition=v1)
         ana allows a remembering any
         a changes to v2
         ana allows a remembering any
         a -> ok
         model asks: a(confirm definition=v2)",
        "call model
         pause p1 for people: a
         execute a
         pause p2 after p1 for people: a
         execute a
         start a
         call model: a=ok
         execute a",
    );
}

#[test]
fn what_a_grant_let_through_is_asked_about_again_too() {
    check(
        "model asks: a(confirm definition=v1)
         ana allows a remembering any
         a -> ok
         model asks: a(confirm definition=v1)
         a changes to v2
         ? approvals",
        "call model
         pause p1 for people: a
         execute a
         start a
         call model: a=ok
         execute a
         pause p2 after p1 for people: a
         a:",
    );
}

#[test]
fn a_call_in_doubt_that_may_run_again_is_asked_about_again() {
    check(
        "model asks: a(definition=v1)
         a begins
         crash
         ana allows a
         a changes to v2
         ? reasons
         ben allows a
         a -> ok
         ? records",
        "call model
         execute a
         start a
         pause p1 for people: a?
         execute a
         pause p2 after p1 for people: a
         a again: the tool has changed since this call was approved
         execute a
         start a#2
         call model: a=ok
         1.a=succeeded/tool#2",
    );
}

#[test]
fn a_question_holds_the_turn_again_unless_siblings_run() {
    let script = "model asks: a(confirm definition=v1), b
         ana allows a
         a changes to v2
         b -> ok";
    check(
        script,
        "call model
         pause p1 for people: a
         execute a b
         pause p2 after p1 for people: a
         rejected not_expected: began",
    );
    check(
        "given siblings run
         model asks: a(confirm definition=v1), b
         b -> ok
         ana allows a
         a changes to v2",
        "call model
         execute b
         start b
         pause p1 for people: a
         execute a
         pause p2 after p1 for people: a",
    );
}

#[test]
fn it_is_the_same_in_another_store() {
    let mut stage = Stage::new();
    for line in
        ["model asks: a(confirm definition=v1 quorum=2)", "ana allows a", "ben allows a", "a changes to v2", "move"]
    {
        stage.play(line);
    }
    let question = stage.run().calls()[0].question().unwrap();
    assert_eq!(question.number, 2);
    stage.play("batch ana allows a seen q1");
    assert_eq!(stage.transcript().last().unwrap(), "rejected digest_mismatch: a");
    let facts = stage.run().calls()[0].tool.as_ref().unwrap();
    assert_eq!(facts.definition.as_deref(), Some("v2"));
}

#[test]
fn calls_of_one_changed_tool_are_asked_about_one_after_the_other() {
    check(
        "model asks: one(confirm tool=a definition=v1), two(confirm tool=a definition=v1)
         ana allows one; allows two
         one changes to v2
         two changes to v2
         ana allows one
         two changes to v2
         ana allows two",
        "call model
         pause p1 for people: one two
         execute one two
         pause p2 after p1 for people: one
         rejected not_expected: tool_changed
         execute one two
         pause p3 after p2 for people: two
         execute one two",
    );
}
