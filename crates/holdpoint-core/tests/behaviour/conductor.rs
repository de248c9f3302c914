//! The driver's decisions: what is durable before what, and inputs that do not fit.

use holdpoint_core::{
    Authorized, Began, CallIndex, Cancelled, Conductor, Deferred, HookFailed, Input, ModelFailed, Phase, Rejection,
    Returned, Source, Step, Timestamp, ToolResult,
};

use crate::support::{Stage, check, decision, settlement};

const NOW: Timestamp = Timestamp(0);

/// A run in front of its calls, taken by a driver of its own.
fn working(script: &str) -> Conductor {
    let mut stage = Stage::new();
    script.lines().for_each(|line| stage.play(line.trim()));
    Conductor::new(stage.run().clone())
}

fn began(call: u32) -> Input {
    Input::Began(Began { call: CallIndex(call), recheck: None, after: None })
}

fn authorized(decisions: &[(u32, &str)]) -> Input {
    let decisions = decisions.iter().map(|(call, words)| (CallIndex(*call), decision(words))).collect();
    Input::Authorized(Authorized::new(decisions))
}

#[test]
fn commits_come_before_what_they_allow() {
    check(
        "given steps shown
         model asks: a(confirm), b(defer)
         ana allows a
         a -> one
         results: b=two
         model says done",
        "commit
         call model
         authorize a b
         commit
         pause p1 for people: a
         execute a b
         commit
         commit
         start a
         commit
         pause p2 after p1 for results: b
         commit
         call model: a=one b=two
         commit
         finish end_turn: done",
    );
}

#[test]
fn several_intents_share_a_commit() {
    let mut conductor = working("model asks: a, b");
    assert!(matches!(conductor.next(), Step::Execute { .. }));
    conductor.feed(began(0), NOW).unwrap();
    conductor.feed(began(1), NOW).unwrap();
    assert_eq!(conductor.next(), Step::Commit);
    assert_eq!(conductor.committed().len(), 2);
    assert_eq!(conductor.durable(), conductor.run().revision());
    let Step::Start(intents) = conductor.next() else { panic!("nothing starts") };
    assert_eq!(intents.len(), 2);
    assert_eq!(conductor.next(), Step::Wait);
}

#[test]
fn a_call_that_was_cancelled_before_its_intent_was_durable_does_not_start() {
    let mut conductor = working("model asks: a");
    assert!(matches!(conductor.next(), Step::Execute { .. }));
    conductor.feed(began(0), NOW).unwrap();
    conductor.feed(Input::Cancelled(Cancelled::default()), NOW).unwrap();
    assert_eq!(conductor.next(), Step::Commit);
    conductor.committed();
    assert_eq!(conductor.next(), Step::Wait);
    conductor.executor_ended();
    assert!(matches!(conductor.next(), Step::Finish { .. }));
}

#[test]
fn asking_twice_pauses_again_and_hands_out_nothing_again() {
    let mut pausing = working("model asks: a(confirm)");
    assert!(matches!(pausing.next(), Step::Pause { .. }));
    assert!(matches!(pausing.next(), Step::Pause { .. }));
    assert!(pausing.outbox().is_empty());
    let mut executing = working("model asks: a");
    assert_eq!(executing.next(), Step::Execute { calls: vec![CallIndex(0)] });
    assert_eq!(executing.next(), Step::Wait);
    assert!(executing.outbox().is_empty());
}

#[test]
fn a_driver_that_stops_executing_is_given_what_is_left() {
    let mut conductor = working("model asks: a, b");
    assert!(matches!(conductor.next(), Step::Execute { .. }));
    assert!(conductor.is_executing());
    conductor.executor_ended();
    assert_eq!(conductor.next(), Step::Execute { calls: vec![CallIndex(0), CallIndex(1)] });
}

#[test]
fn inputs_that_do_not_fit_change_nothing() {
    let calls = working("model asks: a").run().clone();
    let model = working("tokens 0").run().clone();
    let index = CallIndex(0);
    let returned = |call, attempt| {
        let settlement = settlement(ToolResult::success("x"), Source::Tool);
        Input::Returned(Box::new(Returned { call, attempt, settlement }))
    };
    let reject = |run: &holdpoint_core::Run, input: Input| run.handle(input, NOW).unwrap_err();
    let not_expected = |input| Rejection::NotExpected { input };
    assert_eq!(reject(&calls, Input::ModelFailed(ModelFailed { detail: "x".into() })), not_expected("model_failed"));
    assert_eq!(reject(&model, authorized(&[(0, "")])), not_expected("authorized"));
    assert_eq!(reject(&model, began(0)), not_expected("began"));
    assert_eq!(reject(&calls, began(7)), not_expected("began"));
    let deferred = |call| Input::Deferred(Deferred { call, recheck: None });
    assert_eq!(reject(&model, deferred(index)), not_expected("deferred"));
    assert_eq!(reject(&calls, deferred(CallIndex(7))), not_expected("deferred"));
    assert_eq!(reject(&model, returned(index, None)), Rejection::LeaseLost);
    assert_eq!(reject(&calls, returned(CallIndex(7), None)), not_expected("returned"));
    let failed = HookFailed { call: CallIndex(7), detail: "x".into(), returned: None };
    assert_eq!(reject(&calls, Input::HookFailed(failed)), not_expected("hook_failed"));
}

#[test]
fn policy_decides_once_about_each_call() {
    let run = working("model asks: a, b(confirm)").run().clone();
    let not_expected = Rejection::NotExpected { input: "authorized" };
    assert_eq!(run.handle(authorized(&[(0, "")]), NOW).unwrap_err(), not_expected);
}

#[test]
fn what_policy_has_not_decided_holds_the_turn() {
    let mut stage = Stage::new();
    stage.play("tokens 0");
    stage.play_undecided("a, b");
    let mut run = stage.run().clone();
    assert_eq!(
        run.handle(authorized(&[(0, ""), (0, "")]), NOW).unwrap_err(),
        Rejection::NotExpected { input: "authorized" }
    );
    assert_eq!(run.handle(authorized(&[(9, "")]), NOW).unwrap_err(), Rejection::NotExpected { input: "authorized" });
    run.step(authorized(&[(0, "")]), NOW).unwrap();
    assert_eq!(run.handle(began(0), NOW).unwrap_err(), Rejection::NotExpected { input: "began" });
    run.step(authorized(&[(1, "confirm")]), NOW).unwrap();
    assert!(matches!(run.phase(), Phase::Paused(_)));
}

#[test]
fn debug_and_errors_hide_arguments_and_results() {
    let mut stage = Stage::new();
    stage.play("model asks: a(confirm args=hunter2), b(defer)");
    stage.play("ana edits a to swordfish");
    stage.play("a -> topsecret");
    let shown = format!("{:?} {:?}", stage.run(), stage.log);
    for secret in ["hunter2", "swordfish", "topsecret"] {
        assert!(!shown.contains(secret), "{secret}");
    }
}
