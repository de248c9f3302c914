//! Results that workers bring of calls that were handed out.

use holdpoint_core::{AfterLoss, Attempt, LossCause, Repeat, task_loss};

use crate::support::{Stage, check};

#[test]
fn results_of_workers_go_back_to_the_model_in_the_order_of_the_calls() {
    check(
        "model asks: a(defer), b(defer)
         worker w1 returns b=two, a=one
         ? records
         ? usage
         ? events",
        "call model
         execute a b
         pause p1 for results: a b
         call model: a=one b=two
         1.a=succeeded/external 1.b=succeeded/external
         10 + 1 tokens, 1 model calls, 2 executions
         run_started turn_started message_completed call_decided call_decided call_deferred call_deferred turn_ended execution_required paused done resumed task_taken tool_ended task_taken tool_ended turn_ended turn_started",
    );
}

#[test]
fn partial_results_are_folded_in_any_order() {
    for order in [["a", "b", "c"], ["c", "a", "b"], ["b", "c", "a"]] {
        let [first, second, third] = order;
        let left = |gone: &[&str]| {
            let left: Vec<&str> = ["a", "b", "c"].into_iter().filter(|one| !gone.contains(one)).collect();
            left.join(" ")
        };
        check(
            &format!(
                "model asks: a(defer), b(defer), c(defer)
                 worker w1 returns {first}=of {first}
                 worker w2 returns {second}=of {second}
                 worker w3 returns {third}=of {third}"
            ),
            &format!(
                "call model
                 execute a b c
                 pause p1 for results: a b c
                 pause p2 after p1 for results: {}
                 pause p3 after p2 for results: {}
                 call model: a=of a b=of b c=of c",
                left(&[first]),
                left(&[first, second]),
            ),
        );
    }
}

#[test]
fn a_result_that_comes_twice_counts_once() {
    check(
        "model asks: a(defer), b(defer)
         worker w1 returns a=one, a=other
         worker w1 returns a=other
         worker w2 returns b=two",
        "call model
         execute a b
         pause p1 for results: a b
         pause p2 after p1 for results: b
         nothing changes
         call model: a=one b=two",
    );
}

#[test]
fn calls_that_are_not_out_are_passed_over() {
    check(
        "given siblings run
         model asks: a(defer), b(confirm)
         worker w1 returns b=two
         worker w1 returns b=two, a=one
         ana denies b
         model asks: a(defer)
         worker w1 returns 1.a=old
         worker w1 returns a=new",
        "call model
         execute a
         pause p1 for people: b
         nothing changes
         pause p2 after p1 for people: b
         call model: a=one b=refused
         execute a
         pause p3 after p2 for results: a
         nothing changes
         call model: a=new",
    );
}

#[test]
fn siblings_that_wait_for_approval_keep_waiting() {
    check(
        "given siblings run
         model asks: a(defer), b(confirm)
         worker w1 returns a=one
         from=p1 ana allows b
         ana allows b
         b -> two",
        "call model
         execute a
         pause p1 for people: b
         pause p2 after p1 for people: b
         rejected stale_continuation: now p2
         execute b
         start b
         call model: a=one b=two",
    );
}

#[test]
fn a_question_past_its_deadline_expires_with_the_results() {
    check(
        "given siblings run
         model asks: a(defer), b(confirm within=100)
         at 100
         worker w1 returns a=one",
        "call model
         execute a
         pause p1 for people: b
         call model: a=one b=expired",
    );
}

#[test]
fn a_worker_that_needed_several_attempts_says_so() {
    check(
        "model asks: a(defer safe)
         worker w2 returns a#3=one
         ? records
         ? usage",
        "call model
         execute a
         pause p1 for results: a
         call model: a=one
         1.a=succeeded/external#3
         10 + 1 tokens, 1 model calls, 3 executions",
    );
}

#[test]
fn a_worker_that_halts_ends_the_run_when_all_are_in() {
    check(
        "model asks: a(defer), b(defer)
         worker w1 returns a=halt: enough
         worker w1 returns b=two",
        "call model
         execute a b
         pause p1 for results: a b
         pause p2 after p1 for results: b
         finish halted: enough",
    );
}

#[test]
fn a_run_that_does_not_wait_takes_no_results() {
    check(
        "worker w1 returns a=one
         model asks: a
         worker w1 returns a=one
         a -> here
         model says done
         worker w1 returns a=one",
        "call model
         rejected not_expected: tasks_returned
         execute a
         rejected not_expected: tasks_returned
         start a
         call model: a=here
         finish end_turn: done
         rejected not_expected: tasks_returned",
    );
}

#[test]
fn a_cancelled_run_refuses_whatever_workers_bring() {
    for words in ["returns a=one", "loses a", "fails a", "exhausts a", "late a=one", "may not start a (deny)"] {
        check(
            &format!("model asks: a(defer)\ncancel\nworker w1 {words}"),
            "call model\nexecute a\npause p1 for results: a\nfinish cancelled\nrejected run_cancelled",
        );
    }
}

#[test]
fn policy_may_say_no_when_a_worker_is_about_to_start() {
    check(
        "model asks: a(defer), b(defer)
         worker w1 may not start a (deny)
         worker w1 may not start a (deny)
         worker w1 returns b=two
         ? records
         ? usage",
        "call model
         execute a b
         pause p1 for results: a b
         pause p2 after p1 for results: b
         rejected lease_lost
         call model: a=denied b=two
         1.a=denied:policy_revoked 1.b=succeeded/external
         10 + 1 tokens, 1 model calls, 1 executions",
    );
}

#[test]
fn a_task_is_not_taken_back_for_what_people_said_already() {
    for (asked, now) in [("", "allow"), ("confirm by=finance quorum=2", "confirm by=finance")] {
        let mut stage = Stage::new();
        stage.play(&format!("model asks: a({asked} defer)"));
        if !asked.is_empty() {
            stage.play("ana[finance] allows a");
            stage.play("ben[finance] allows a");
        }
        stage.play(&format!("worker w1 may not start a ({now})"));
        assert_eq!(stage.transcript().last().unwrap(), "rejected not_expected: task_revoked");
    }
}

#[test]
fn a_policy_that_wants_more_people_takes_a_task_back_and_asks() {
    check(
        "model asks: a(confirm defer), b(defer)
         ana allows a
         worker w1 may not start a (confirm quorum=2)
         worker w1 returns a=late
         ana allows a
         ben allows a
         worker w2 returns a#2=ok, b=two",
        "call model
         pause p1 for people: a
         execute a b
         pause p2 after p1 for results: a b
         pause p3 after p2 for people: a(0/2)
         nothing changes
         pause p4 after p3 for people: a(1/2)
         execute a
         pause p5 after p4 for results: a b
         call model: a=ok b=two",
    );
}

#[test]
fn what_a_worker_brought_can_be_delivered_again_by_hand() {
    check(
        "model asks: a(defer), b(defer)
         worker w1 returns a=one
         partly results: a=one
         partly results: a=other
         results: b=two",
        "call model
         execute a b
         pause p1 for results: a b
         pause p2 after p1 for results: b
         nothing changes
         rejected conflicting_result: a
         call model: a=one b=two",
    );
}

#[test]
fn results_of_workers_survive_a_move_to_another_store() {
    check(
        "model asks: a(defer), b(defer)
         worker w1 returns a=one
         move
         worker w2 returns b=two",
        "call model
         execute a b
         pause p1 for results: a b
         pause p2 after p1 for results: b
         pause p2 after p1 for results: b
         call model: a=one b=two",
    );
}

#[test]
fn what_may_be_repeated_is_handed_out_again_after_a_while_that_doubles() {
    let after = |attempts, max| task_loss(Repeat::Safe, Attempt(attempts), Attempt(max));
    let delays = [1, 2, 3, 6, 7, 40].map(|attempts| match after(attempts, 100) {
        AfterLoss::Retry { delay_ms } => delay_ms,
        AfterLoss::Ask(cause) => panic!("{cause:?}"),
    });
    assert_eq!(delays, [1_000, 2_000, 4_000, 32_000, 60_000, 60_000]);
    assert_eq!(after(3, 3), AfterLoss::Ask(LossCause::OutOfAttempts));
    assert_eq!(after(u32::MAX, u32::MAX), AfterLoss::Ask(LossCause::OutOfAttempts));
    assert!(matches!(task_loss(Repeat::WithKey, Attempt(1), Attempt(2)), AfterLoss::Retry { .. }));
}

#[test]
fn what_may_not_be_repeated_is_asked_about_however_few_attempts_there_were() {
    assert_eq!(task_loss(Repeat::Never, Attempt(1), Attempt(3)), AfterLoss::Ask(LossCause::LeaseLapsed));
    assert_eq!(task_loss(Repeat::Never, Attempt(3), Attempt(3)), AfterLoss::Ask(LossCause::LeaseLapsed));
}
