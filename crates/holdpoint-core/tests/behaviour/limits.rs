//! Turn limit, call limits, context window.

use holdpoint_core::{Input, Limits, ModelStop, Replied, Reply, Usage};

use crate::support::{Stage, check};

#[test]
fn the_turn_limit_stops_the_run_without_a_tools_output() {
    check(
        "given max_turns 1
         model asks: a
         a -> secret",
        "call model
         execute a
         start a
         finish max_turns",
    );
}

#[test]
fn the_turn_limit_gives_the_last_text_of_the_model() {
    check(
        "given max_turns 2
         model says thinking and asks: a(deny)
         model asks: b(deny)
         ? status",
        "call model
         call model: a=denied
         finish max_turns: thinking
         finished",
    );
}

#[test]
fn turns_are_counted_over_resumes() {
    check(
        "given max_turns 2
         model asks: a(confirm)
         ana denies a
         model asks: b(confirm)
         ana denies b
         retry",
        "call model
         pause p1 for people: a
         call model: a=refused
         pause p2 after p1 for people: b
         finish max_turns
         rejected not_retryable",
    );
}

#[test]
fn a_retry_does_not_begin_another_turn() {
    check(
        "given max_turns 1
         model fails
         retry
         model fails
         retry
         model says done",
        "call model
         fail provider_error
         call model
         fail provider_error
         call model
         finish end_turn: done",
    );
}

#[test]
fn a_run_that_ends_in_its_last_turn_ends_by_itself() {
    check("given max_turns 1\nmodel says done", "call model\nfinish end_turn: done");
}

#[test]
fn asking_for_a_final_answer_takes_a_turn() {
    check(
        "given max_turns 2
         model asks: a(deny)
         model says nothing",
        "call model
         call model: a=denied
         finish max_turns",
    );
}

#[test]
fn calls_above_the_limit_are_dropped_and_recorded() {
    check(
        "given max_calls 2
         model asks: a, b, c, d(unknown)
         a -> one
         b -> two
         ? records
         ? messages",
        "call model
         execute a b
         start a
         start b
         call model: a=one b=two
         1.a=succeeded/tool 1.b=succeeded/tool 1.c=ignored 1.d=ignored
         user(go) assistant(a b) tool(a: one) tool(b: two)",
    );
}

#[test]
fn one_call_is_kept_when_the_model_may_not_ask_for_several() {
    check(
        "given parallel_calls one
         model asks: a, b
         a -> ok
         model asks: c, d
         c -> ok
         ? records",
        "call model
         execute a
         start a
         call model: a=ok
         execute c
         start c
         call model: c=ok
         1.a=succeeded/tool 1.b=ignored 2.c=succeeded/tool 2.d=ignored",
    );
}

#[test]
fn a_reply_whose_calls_were_all_dropped_counts_as_one_without_calls() {
    check(
        "given max_calls 0
         model says look and asks: a",
        "call model
         finish tool_use: look",
    );
    check(
        "given max_calls 0
         model asks: a
         model says fine",
        "call model
         call model without tools: user says Please provide your final answer.
         finish end_turn: fine",
    );
}

#[test]
fn no_setting_lifts_the_limit_of_calls() {
    let mut stage = Stage::new();
    stage.play("given max_calls 4000000000");
    stage.play("tokens 0");
    assert_eq!(stage.run().calls_kept_max(), Limits::TOOL_CALLS_PER_TURN_MAX as usize);
}

#[test]
fn a_request_above_the_window_fails_before_the_model_is_called() {
    check(
        "given window 100 keep 20
         tokens 81
         ? usage
         retry
         tokens 80
         model says fits",
        "call model
         fail context_window_exceeded
         0 + 0 tokens, 0 model calls, 0 executions
         call model
         nothing changes
         finish end_turn: fits",
    );
}

#[test]
fn without_a_window_nothing_is_too_large() {
    check("tokens 99999999", "call model\nnothing changes");
}

#[test]
fn a_reservation_above_the_window_leaves_no_room() {
    check("given window 10 keep 20\ntokens 1", "call model\nfail context_window_exceeded");
}

#[test]
fn usage_that_no_number_can_hold_does_not_break_the_run() {
    let mut stage = Stage::new();
    stage.play("model asks: a(deny)");
    let usage =
        Usage { input: u64::MAX, output: u64::MAX, cache_read: u64::MAX, cache_write: u64::MAX, reasoning: u64::MAX };
    let (text, stop) = ("done".into(), ModelStop::EndTurn);
    let reply = Some(Reply { text, thinking: None, calls: Vec::new(), usage, stop, provider_state: None });
    stage.feed(Input::Replied(Box::new(Replied { reply, latency_us: 0 }))).unwrap();
    assert_eq!(stage.run().usage().total(), u64::MAX);
}
