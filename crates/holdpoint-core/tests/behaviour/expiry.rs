//! Questions with a deadline.

use crate::support::check;

#[test]
fn an_expired_call_needs_no_decision() {
    check(
        "model asks: a(confirm within=100), b(confirm)
         at 100
         ana allows b
         b -> two
         ? messages",
        "call model
         pause p1 for people: a b
         execute b
         start b
         call model: a=expired b=two
         user(go) assistant(a b) tool(a: The request for approval expired before anyone answered it. The call was not executed.) tool(b: two)",
    );
}

#[test]
fn whatever_is_decided_for_an_expired_call_it_is_expired() {
    for answer in ["allows a", "denies a", "answers a with x", "edits a to 2", "allows a seen 9", "allows a; denies a"]
    {
        check(
            &format!("model asks: a(confirm by=finance within=100)\nat 101\nana {answer}"),
            "call model\npause p1 for people: a\ncall model: a=expired",
        );
    }
}

#[test]
fn before_its_deadline_a_question_is_open() {
    check(
        "model asks: a(confirm within=100)
         at 99
         timer
         ana allows a",
        "call model
         pause p1 for people: a
         nothing changes
         execute a",
    );
}

#[test]
fn an_approval_in_time_stays_good() {
    check(
        "model asks: a(confirm within=100), b(confirm)
         partly ana allows a
         at 200
         ana allows b
         a -> one",
        "call model
         pause p1 for people: a b
         pause p2 after p1 for people: b
         execute a b
         start a",
    );
}

#[test]
fn a_timer_resumes_the_run() {
    check(
        "model asks: a(confirm within=100), b
         ? owed
         at 100
         timer
         ? events
         b -> two",
        "call model
         pause p1 for people: a
         timer at 100 Pause { reason: AwaitingToolConfirmation }
         execute b
         run_started turn_started message_completed call_decided call_decided turn_ended authorization_required paused done resumed call_expired
         start b
         call model: a=expired b=two",
    );
}

#[test]
fn a_timer_lets_one_question_expire_and_a_new_pause_shows_the_others() {
    check(
        "model asks: a(confirm within=100), b(confirm within=200)
         ? owed
         at 150
         timer
         from=p1 ana allows a; allows b
         from=p2 ana allows b",
        "call model
         pause p1 for people: a b
         timer at 100 Pause { reason: AwaitingToolConfirmation }
         pause p2 after p1 for people: b
         rejected stale_continuation: now p2
         execute b",
    );
}

#[test]
fn a_question_without_a_deadline_outlives_those_that_have_one() {
    check(
        "model asks: a(confirm within=100), b(confirm)
         at 150
         timer
         ? owed
         timer",
        "call model
         pause p1 for people: a b
         pause p2 after p1 for people: b
         Pause { reason: AwaitingToolConfirmation }
         nothing changes",
    );
}

#[test]
fn a_partial_resume_that_only_lets_questions_expire_is_a_resume() {
    check(
        "model asks: a(confirm within=100), b(confirm)
         at 100
         partly ana waits
         partly ana allows a
         ana allows b",
        "call model
         pause p1 for people: a b
         pause p2 after p1 for people: b
         rejected unknown_tool_call: a
         execute b",
    );
}

#[test]
fn an_expired_quorum_is_not_saved_by_its_last_vote() {
    check(
        "model asks: a(confirm quorum=2 within=100)
         ana allows a
         at 100
         ben allows a",
        "call model
         pause p1 for people: a(0/2)
         pause p2 after p1 for people: a(1/2)
         call model: a=expired",
    );
}

#[test]
fn an_unknown_call_is_rejected_even_when_others_expired() {
    check(
        "model asks: a(confirm within=100)
         at 100
         ana allows ghost
         ana waits",
        "call model
         pause p1 for people: a
         rejected unknown_tool_call: ghost
         call model: a=expired",
    );
}

#[test]
fn questions_expire_at_the_delivery_of_results_too() {
    check(
        "given siblings run
         model asks: a(defer), b(confirm within=100)
         at 100
         batch results: a=one",
        "call model
         execute a
         pause p1 for people: b
         call model: a=one b=expired",
    );
}

#[test]
fn time_does_nothing_to_a_run_that_does_not_wait() {
    check(
        "timer
         model says done
         timer",
        "call model
         nothing changes
         finish end_turn: done
         nothing changes",
    );
}
