//! Hooks that answer in the tool's place, and hooks that fail.

use crate::support::check;

#[test]
fn a_hook_may_answer_before_the_tool_starts() {
    check(
        "model asks: a, b
         a cached -> one
         b -> two
         ? records
         ? usage",
        "call model
         execute a b
         start b
         call model: a=one b=two
         1.a=succeeded/cache 1.b=succeeded/tool
         10 + 1 tokens, 1 model calls, 1 executions",
    );
}

#[test]
fn a_hook_cannot_answer_a_call_that_started() {
    check(
        "model asks: a
         a begins
         a cached -> x",
        "call model
         execute a
         start a
         rejected lease_lost",
    );
}

#[test]
fn a_failing_hook_stops_the_run_and_the_model_sees_nothing() {
    check(
        "model asks: a
         a hook fails
         ? messages
         ? events",
        "call model
         execute a
         fail hook_failed
         user(go) assistant(a)
         run_started turn_started message_completed call_decided hook_failed turn_ended failed done",
    );
}

#[test]
fn started_siblings_settle_first_and_nothing_new_starts() {
    check(
        "model asks: a, b, c
         a begins
         b hook fails
         c begins
         c defers
         c cached -> x
         a -> one
         ? records",
        "call model
         execute a b c
         start a
         rejected: the run stops
         rejected: the run stops
         rejected lease_lost
         fail hook_failed
         1.a=succeeded/tool 1.b=pending 1.c=pending",
    );
}

#[test]
fn a_retry_runs_what_is_left_and_nothing_twice() {
    check(
        "model asks: a, b
         a -> one
         b hook fails
         retry
         b -> two
         ? usage",
        "call model
         execute a b
         start a
         fail hook_failed
         execute b
         start b
         call model: a=one b=two
         10 + 1 tokens, 1 model calls, 2 executions",
    );
}

#[test]
fn a_hook_that_fails_after_its_tool_started_leaves_the_call_in_doubt() {
    check(
        "model asks: a, b(safe)
         a begins
         b begins
         a hook fails
         b hook fails
         retry
         a@1 -> late
         ana knows a gave one
         b -> two",
        "call model
         execute a b
         start a
         start b
         fail hook_failed
         pause p1 for people: a?
         rejected lease_lost
         execute b
         start b#2
         call model: a=one b=two",
    );
}

#[test]
fn a_hook_that_fails_after_the_result_keeps_the_result() {
    check(
        "model asks: a, b
         a -> one
         a hook fails
         retry
         b -> two",
        "call model
         execute a b
         start a
         fail hook_failed
         execute b
         start b
         call model: a=one b=two",
    );
}

#[test]
fn hooks_of_several_calls_may_fail_at_once() {
    check(
        "model asks: a, b, c
         a hook fails
         b hook fails
         b begins
         c defers
         retry
         a begins
         b hook fails
         c hook fails
         a -> one",
        "call model
         execute a b c
         fail hook_failed
         nothing changes
         rejected: the run stops
         rejected: the run stops
         execute a b c
         start a
         fail hook_failed",
    );
}

#[test]
fn a_hook_that_fails_after_a_cancellation_changes_nothing() {
    check(
        "model asks: a
         a begins
         cancel
         a hook fails",
        "call model
         execute a
         start a
         finish cancelled
         rejected run_cancelled",
    );
}

#[test]
fn open_questions_wait_for_the_retry() {
    check(
        "given siblings run
         model asks: a, b(confirm)
         a hook fails
         batch ana allows b
         retry
         a -> one
         ana denies b",
        "call model
         execute a
         fail hook_failed
         rejected stale_continuation: waits for nothing
         execute a
         start a
         pause p1 for people: b
         call model: a=one b=refused",
    );
}

#[test]
fn calls_that_were_handed_out_wait_for_the_retry() {
    check(
        "model asks: a(defer), b
         b hook fails
         batch results: a=one
         retry
         b -> two
         results: a=one",
        "call model
         execute a b
         fail hook_failed
         rejected stale_continuation: waits for nothing
         execute b
         start b
         pause p1 for results: a
         call model: a=one b=two",
    );
}

#[test]
fn a_hook_cannot_fail_when_no_calls_are_worked_on() {
    check(
        "model asks: a(confirm)
         a hook fails",
        "call model
         pause p1 for people: a
         rejected not_expected: hook_failed",
    );
}
