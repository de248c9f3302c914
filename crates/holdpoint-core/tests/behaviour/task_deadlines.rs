//! Calls that were handed out and must be done by a moment.

use crate::support::check;

#[test]
fn what_nobody_did_in_time_is_expired_by_a_timer() {
    check(
        "given task_deadline 100
         model asks: a(defer), b
         b -> two
         ? owed
         at 99
         timer
         at 100
         timer
         ? records
         ? messages",
        "call model
         execute a b
         start b
         pause p1 for results: a
         timer at 100 Pause { reason: AwaitingToolResults }
         nothing changes
         call model: a=expired b=two
         1.a=expired:expired 1.b=succeeded/tool
         user(go) assistant(a b) tool(a: Nobody did this call in time. It was not executed.) tool(b: two)",
    );
}

#[test]
fn each_call_has_its_own_deadline() {
    check(
        "given task_deadline 100
         given siblings run
         model asks: a(defer), b(confirm defer)
         at 60
         ana allows b
         at 120
         timer
         ? owed
         at 160
         timer",
        "call model
         execute a
         pause p1 for people: b
         execute b
         pause p2 after p1 for results: a b
         pause p3 after p2 for results: b
         timer at 160 Pause { reason: AwaitingToolResults }
         call model: a=expired b=expired",
    );
}

#[test]
fn a_timer_takes_questions_and_tasks_together() {
    check(
        "given task_deadline 100
         given siblings run
         model asks: a(confirm within=50), b(defer), c(confirm)
         ? owed
         at 200
         timer
         ana denies c",
        "call model
         execute b
         pause p1 for people: a c
         timer at 50 Pause { reason: AwaitingToolConfirmation }
         pause p2 after p1 for people: c
         call model: a=expired b=expired c=refused",
    );
}

#[test]
fn a_result_that_is_there_counts_whatever_the_clock_says() {
    check(
        "given task_deadline 100
         model asks: a(defer), b(defer)
         at 200
         worker w1 returns a=one
         results: b=two",
        "call model
         execute a b
         pause p1 for results: a b
         pause p2 after p1 for results: b
         call model: a=one b=two",
    );
}

#[test]
fn only_a_timer_lets_a_task_expire() {
    check(
        "given task_deadline 100
         model asks: a(defer), b(defer)
         at 200
         worker w1 loses b
         ana knows b gave two
         results: a=one",
        "call model
         execute a b
         pause p1 for results: a b
         pause p2 after p1 for people: b?
         pause p3 after p2 for results: a
         call model: a=one b=two",
    );
}

#[test]
fn a_lost_task_past_its_deadline_expires_if_it_could_be_repeated() {
    check(
        "given task_deadline 100
         model asks: a(defer safe), b(defer)
         at 100
         worker w1 loses a
         worker w1 loses b
         ana denies b
         ? messages
         ? usage",
        "call model
         execute a b
         pause p1 for results: a b
         pause p2 after p1 for results: b
         pause p3 after p2 for people: b?
         call model: a=expired b=refused
         user(go) assistant(a b) tool(a: Nobody finished this call in time. It may have taken effect.) tool(b: It is not known whether this call took effect, and a person decided not to run it again: no reason was given.)
         10 + 1 tokens, 1 model calls, 2 executions",
    );
}

#[test]
fn a_lost_task_before_its_deadline_is_asked_about() {
    check(
        "given task_deadline 100
         model asks: a(defer safe)
         at 99
         worker w1 exhausts a#3
         at 500
         timer
         ? owed",
        "call model
         execute a
         pause p1 for results: a
         pause p2 after p1 for people: a?
         nothing changes
         Pause { reason: AwaitingToolConfirmation }",
    );
}

#[test]
fn a_call_that_is_handed_out_again_gets_its_time_anew() {
    check(
        "given task_deadline 100
         model asks: a(defer)
         at 90
         worker w1 loses a
         at 500
         ana allows a
         ? owed",
        "call model
         execute a
         pause p1 for results: a
         pause p2 after p1 for people: a?
         execute a
         pause p3 after p2 for results: a
         timer at 600 Pause { reason: AwaitingToolResults }",
    );
}

#[test]
fn a_deadline_survives_a_move_to_another_store() {
    check(
        "given task_deadline 100
         model asks: a(defer)
         move
         at 100
         timer",
        "call model
         execute a
         pause p1 for results: a
         pause p1 for results: a
         call model: a=expired",
    );
}
