//! Questions that the one who started the run may not answer.

use crate::support::check;

#[test]
fn whoever_started_the_run_may_neither_approve_refuse_edit_nor_answer() {
    check(
        "given requester zoe
         model asks: a(confirm four_eyes)
         zoe allows a
         zoe denies a
         zoe edits a to 9
         zoe edits a to 9 (deny)
         zoe answers a with x
         partly zoe allows a
         batch zoe denies a
         ana allows a",
        "call model
         pause p1 for people: a
         rejected not_an_approver: a
         rejected not_an_approver: a
         rejected not_an_approver: a
         rejected not_an_approver: a
         rejected not_an_approver: a
         rejected not_an_approver: a
         rejected not_an_approver: a
         execute a",
    );
}

#[test]
fn without_four_eyes_they_may() {
    check(
        "given requester zoe
         model asks: a(confirm)
         zoe allows a",
        "call model
         pause p1 for people: a
         execute a",
    );
}

#[test]
fn a_role_does_not_help_whoever_started_the_run_and_others_still_need_it() {
    check(
        "given requester zoe[finance]
         model asks: a(confirm by=finance four_eyes)
         zoe[finance] allows a
         ana allows a
         ana[finance] allows a",
        "call model
         pause p1 for people: a
         rejected not_an_approver: a
         rejected not_an_approver: a
         execute a",
    );
}

#[test]
fn nobody_in_particular_could_be_whoever_started_the_run() {
    check(
        "given requester zoe
         model asks: a(confirm four_eyes)
         nobody allows a
         nobody denies a
         ana allows a",
        "call model
         pause p1 for people: a
         rejected not_an_approver: a
         rejected not_an_approver: a
         execute a",
    );
    check(
        "model asks: a(confirm four_eyes)
         nobody allows a
         ana allows a",
        "call model
         pause p1 for people: a
         rejected not_an_approver: a
         execute a",
    );
}

#[test]
fn they_do_not_count_for_a_quorum_either() {
    check(
        "given requester zoe
         model asks: a(confirm four_eyes quorum=2)
         ana allows a
         zoe allows a
         ana allows a
         ben allows a",
        "call model
         pause p1 for people: a(0/2)
         pause p2 after p1 for people: a(1/2)
         rejected not_an_approver: a
         nothing changes
         execute a",
    );
}

#[test]
fn a_doubt_about_such_a_call_is_not_theirs_to_answer() {
    check(
        "given requester zoe
         model asks: a(confirm four_eyes)
         ana allows a
         a begins
         crash
         zoe allows a
         zoe denies a
         zoe knows a gave x
         nobody knows a gave x
         ana knows a gave x",
        "call model
         pause p1 for people: a
         execute a
         start a
         pause p2 after p1 for people: a?
         rejected not_an_approver: a
         rejected not_an_approver: a
         rejected not_an_approver: a
         rejected not_an_approver: a
         call model: a=x",
    );
}

#[test]
fn a_doubt_about_a_task_of_such_a_call_is_not_theirs_to_answer() {
    check(
        "given requester zoe
         model asks: a(confirm four_eyes defer)
         ana allows a
         worker w1 exhausts a
         zoe answers a with x
         ana answers a with x",
        "call model
         pause p1 for people: a
         execute a
         pause p2 after p1 for results: a
         pause p3 after p2 for people: a?
         rejected not_an_approver: a
         call model: a=x",
    );
}

#[test]
fn what_was_answered_is_not_told_to_whoever_may_not_answer() {
    check(
        "given requester zoe
         model asks: a(confirm four_eyes), b(confirm)
         partly ana denies a
         partly zoe denies a
         partly zoe allows a
         zoe allows b",
        "call model
         pause p1 for people: a b
         pause p2 after p1 for people: b
         rejected not_an_approver: a
         rejected not_an_approver: a
         execute b",
    );
}

#[test]
fn an_edit_under_four_eyes_is_a_new_question_where_there_were_two() {
    check(
        "given requester zoe
         model asks: a(confirm)
         zoe edits a to 1000 (confirm four_eyes)
         zoe allows a
         ana allows a seen 0
         ana allows a seen 1000",
        "call model
         pause p1 for people: a
         pause p2 after p1 for people: a
         rejected not_an_approver: a
         rejected digest_mismatch: a
         execute a",
    );
}

#[test]
fn a_grant_of_whoever_started_the_run_does_not_count() {
    check(
        "given requester zoe
         model asks: a(confirm)
         zoe allows a remembering any in=tenant
         a -> ok
         model asks: a(confirm four_eyes)
         another run s
         given requester yan
         model asks: a(confirm four_eyes)",
        "call model
         pause p1 for people: a
         execute a
         start a
         call model: a=ok
         pause p2 after p1 for people: a
         call model
         execute a",
    );
}

#[test]
fn it_holds_in_another_store_and_after_a_crash() {
    check(
        "given requester zoe
         model asks: a(confirm four_eyes)
         move
         zoe allows a
         crash
         zoe allows a
         ana allows a",
        "call model
         pause p1 for people: a
         pause p1 for people: a
         rejected not_an_approver: a
         nothing changes
         rejected not_an_approver: a
         execute a",
    );
}

#[test]
fn one_forbidden_answer_rejects_all_that_came_with_it() {
    check(
        "given requester zoe
         model asks: a(confirm), b(confirm four_eyes)
         zoe allows a; allows b
         partly zoe allows a
         ana allows b",
        "call model
         pause p1 for people: a b
         rejected not_an_approver: b
         pause p2 after p1 for people: b
         execute a b",
    );
}
