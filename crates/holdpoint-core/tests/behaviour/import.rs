//! A paused run is brought into a store that never heard of it.

use std::sync::Arc;

use holdpoint_core::{
    CallArguments, CallIndex, CallState, Input, Message, PauseNumber, PauseReason, Rejection, Snapshot, Timestamp, Turn,
};

use crate::support::{Stage, check, new_run};

#[test]
fn a_moved_run_goes_on() {
    check(
        "model asks: a(confirm), b
         move
         ana allows a
         a -> one
         b -> two
         ? records
         ? usage",
        "call model
         pause p1 for people: a
         pause p1 for people: a
         execute a b
         start a
         start b
         call model: a=one b=two
         1.a=succeeded/tool 1.b=succeeded/tool
         10 + 1 tokens, 1 model calls, 2 executions",
    );
}

#[test]
fn a_moved_run_keeps_what_was_decided_and_the_chain_of_pauses() {
    check(
        "given max_turns 2
         model asks: x(deny)
         model asks: a(confirm), b(confirm), c(confirm quorum=2)
         partly ana allows a; allows c
         move
         partly ben denies a
         ben allows b; allows c
         a -> one
         b -> two
         c -> three
         ? records",
        "call model
         call model: x=denied
         pause p1 for people: a b c(0/2)
         pause p2 after p1 for people: b c(1/2)
         pause p2 after p1 for people: b c(1/2)
         rejected conflicting_decision: a
         execute a b c
         start a
         start b
         start c
         finish max_turns
         1.x=denied:denied 2.a=succeeded/tool 2.b=succeeded/tool 2.c=succeeded/tool",
    );
}

#[test]
fn a_moved_run_enforces_single_use_from_then_on() {
    check(
        "model asks: a(defer), b(defer)
         move
         partly from=p1 results: a=one
         from=p1 results: b=two
         results: b=two",
        "call model
         execute a b
         pause p1 for results: a b
         pause p1 for results: a b
         pause p2 after p1 for results: b
         rejected stale_continuation: now p2
         call model: a=one b=two",
    );
}

#[test]
fn the_final_answer_is_asked_for_once_over_a_move() {
    check(
        "model asks: a(deny)
         model says nothing
         model asks: b(confirm)
         move
         ana denies b
         model says nothing",
        "call model
         call model: a=denied
         call model without tools: user says Please provide your final answer.
         pause p1 for people: b
         pause p1 for people: b
         call model without tools: b=refused
         finish end_turn",
    );
}

#[test]
fn a_deadline_moves_with_the_run() {
    check(
        "model asks: a(confirm within=100)
         move
         at 100
         ana allows a",
        "call model
         pause p1 for people: a
         pause p1 for people: a
         call model: a=expired",
    );
}

#[test]
fn a_run_that_is_known_is_not_replaced() {
    let mut stage = Stage::new();
    stage.play("model asks: a(confirm)");
    let snapshot = Arc::new(stage.run().snapshot().unwrap());
    assert_eq!(stage.feed(Input::Imported(snapshot)), Err(Rejection::RunExists));
}

#[test]
fn only_a_paused_run_can_be_moved() {
    let mut stage = Stage::new();
    for line in ["model asks: a", "a -> one", "model says done"] {
        stage.play(line);
        assert!(stage.run().snapshot().is_none());
    }
}

/// What is said of a snapshot that somebody changed.
fn misfit(script: &str, change: impl FnOnce(&mut Snapshot)) -> &'static str {
    let mut stage = Stage::new();
    script.lines().for_each(|line| stage.play(line.trim()));
    let mut snapshot = stage.run().snapshot().unwrap();
    change(&mut snapshot);
    let run = new_run("r");
    match run.handle(Input::Imported(Arc::new(snapshot)), Timestamp(0)) {
        Err(Rejection::InvalidSnapshot { field }) => field,
        other => panic!("{other:?}"),
    }
}

const ASKED: &str = "model asks: a(confirm), b, c(deny)";
const DEFERRED: &str = "model asks: a(defer), b(deny)";

#[test]
fn pauses_are_counted_from_one() {
    assert_eq!(misfit(ASKED, |it| it.pause = PauseNumber(0)), "continuation_id");
    assert_eq!(misfit(ASKED, |it| it.pause = PauseNumber(u32::MAX)), "continuation_id");
    assert_eq!(misfit(ASKED, |it| it.parent = Some(PauseNumber(1))), "parent_continuation_id");
    assert_eq!(misfit(ASKED, |it| it.parent = Some(PauseNumber(0))), "parent_continuation_id");
    assert_eq!(misfit(ASKED, |it| it.turn = Turn(0)), "turn");
}

#[test]
fn the_last_message_asked_for_the_calls() {
    assert_eq!(misfit(ASKED, |it| it.messages.clear()), "messages");
    assert_eq!(misfit(ASKED, |it| it.messages.push(Arc::new(Message::user("x")))), "messages");
    assert_eq!(misfit(ASKED, |it| it.history_len = 9), "messages");
    assert_eq!(misfit(ASKED, |it| it.calls[0].id = "other".into()), "messages");
    assert_eq!(misfit(ASKED, |it| drop(it.calls.pop())), "messages");
}

#[test]
fn nothing_is_half_done_at_a_pause() {
    assert_eq!(misfit(ASKED, |it| it.calls[1].state = CallState::Proposed), "pending");
    let running = CallState::Running { attempt: Default::default(), started_at: Timestamp(0), worker: None };
    assert_eq!(misfit(ASKED, |it| it.calls[1].state = running), "pending");
    assert_eq!(misfit(ASKED, |it| it.calls[1].tool = None), "pending");
    assert_eq!(misfit(ASKED, |it| it.calls[0].arguments = CallArguments::Unusable("[".into())), "pending");
}

#[test]
fn the_reason_fits_the_calls() {
    assert_eq!(misfit(ASKED, |it| it.reason = PauseReason::AwaitingToolResults), "reason");
    assert_eq!(misfit(ASKED, |it| it.calls[0].state = CallState::Ready), "reason");
    assert_eq!(misfit(DEFERRED, |it| it.reason = PauseReason::AwaitingToolConfirmation), "reason");
    assert_eq!(misfit(DEFERRED, |it| it.calls[0].state = CallState::Ready), "reason");
}

#[test]
fn the_order_of_completion_names_each_settled_call_once() {
    assert_eq!(misfit(ASKED, |it| it.completion.clear()), "completion");
    assert_eq!(misfit(ASKED, |it| it.completion.push(CallIndex(99))), "completion");
    assert_eq!(misfit(ASKED, |it| it.completion.push(CallIndex(2))), "completion");
    assert_eq!(misfit(ASKED, |it| it.completion = vec![CallIndex(1)]), "completion");
}
