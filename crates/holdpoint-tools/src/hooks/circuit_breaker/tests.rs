//! What opens a circuit, what closes it, and what does neither.

use std::sync::atomic::{AtomicI64, Ordering};

use holdpoint_core::Repeat;

use super::*;
use crate::around_fn;
use crate::hooks::testing::{Stage, around_call, failed, settlement, succeeded};
use crate::testing::waits;

struct Clock(Arc<AtomicI64>);

impl Clock {
    fn new() -> (Self, TimeSource) {
        let now = Arc::new(AtomicI64::new(1_000_000));
        let read = Arc::clone(&now);
        (Self(now), Arc::new(move || Timestamp(read.load(Ordering::Relaxed))))
    }

    fn advance_ms(&self, ms: i64) {
        self.0.fetch_add(ms * 1000, Ordering::Relaxed);
    }
}

fn breaker(failures: u32) -> (Clock, Arc<CircuitBreaker>) {
    let (clock, time) = Clock::new();
    (clock, CircuitBreaker::builder(failures, 1_000).time(time).build().unwrap())
}

fn stage(breaker: &Arc<CircuitBreaker>) -> Stage {
    Stage::new(vec![breaker.clone()], around_call("search", Repeat::Safe))
}

fn state(breaker: &CircuitBreaker) -> CircuitState {
    breaker.state(&"search".into())
}

#[tokio::test]
async fn it_opens_after_so_many_failures_in_a_row_and_refuses_without_running() {
    let (_clock, breaker) = breaker(2);
    let stage = stage(&breaker).giving([failed(), settlement(Outcome::TimedOut, Some(Code::TimedOut))]);
    stage.run().await;
    assert_eq!(state(&breaker), CircuitState::Closed);
    stage.run().await;
    assert_eq!(state(&breaker), CircuitState::Open);

    let refused = stage.run().await;
    assert_eq!((refused.outcome, refused.code), (Outcome::Failed, Some(Code::CircuitOpen)));
    assert_eq!(refused.source, Some(Source::Hook));
    let text = refused.result.text();
    assert!(text.contains("`search`") && text.contains("later"), "{text}");
    assert_eq!(stage.ran(), 2);
}

#[tokio::test]
async fn a_success_in_between_starts_the_count_again() {
    let (_clock, breaker) = breaker(2);
    let stage = stage(&breaker).giving([failed(), succeeded(), failed()]);
    for _ in 0..3 {
        stage.run().await;
    }
    assert_eq!(state(&breaker), CircuitState::Closed);
}

#[tokio::test]
async fn after_the_window_one_trial_that_succeeds_closes_it() {
    let (clock, breaker) = breaker(1);
    let stage = stage(&breaker).giving([failed()]);
    stage.run().await;
    clock.advance_ms(999);
    assert_eq!(stage.run().await.code, Some(Code::CircuitOpen));
    clock.advance_ms(1);
    assert_eq!(state(&breaker), CircuitState::HalfOpen);
    assert_eq!(stage.run().await.outcome, Outcome::Succeeded);
    assert_eq!(state(&breaker), CircuitState::Closed);
}

#[tokio::test]
async fn a_trial_that_fails_opens_it_for_another_window() {
    let (clock, breaker) = breaker(3);
    let stage = stage(&breaker).giving([failed(), failed(), failed(), failed()]);
    for _ in 0..3 {
        stage.run().await;
    }
    clock.advance_ms(1_000);
    assert_eq!(stage.run().await.code, Some(Code::ToolError));
    assert_eq!(state(&breaker), CircuitState::Open);
    clock.advance_ms(999);
    assert_eq!(stage.run().await.code, Some(Code::CircuitOpen));
}

#[tokio::test]
async fn while_a_trial_is_under_way_others_are_refused_and_a_cancelled_trial_leaves_room_for_another() {
    let (clock, breaker) = breaker(1);
    stage(&breaker).giving([failed()]).run().await;
    clock.advance_ms(1_000);

    let hanging = around_fn(|_, _| Box::pin(std::future::pending()));
    let trial_stage = Stage::new(vec![breaker.clone(), hanging], around_call("search", Repeat::Safe));
    let mut trial = Box::pin(trial_stage.run());
    assert!(waits(&mut trial).await);
    assert_eq!(state(&breaker), CircuitState::HalfOpen);
    assert_eq!(stage(&breaker).run().await.code, Some(Code::CircuitOpen));

    drop(trial);
    assert_eq!(stage(&breaker).run().await.outcome, Outcome::Succeeded);
    assert_eq!(state(&breaker), CircuitState::Closed);
}

#[tokio::test]
async fn a_call_from_before_it_opened_counts_neither_for_nor_against() {
    let (clock, breaker) = breaker(1);
    let waiting = Arc::new(tokio::sync::Notify::new());
    let release = Arc::clone(&waiting);
    let slow = around_fn(move |_, next| {
        let waiting = Arc::clone(&waiting);
        Box::pin(async move {
            waiting.notified().await;
            next.run().await
        })
    });
    let old_stage = Stage::new(vec![breaker.clone(), slow], around_call("search", Repeat::Safe));
    let mut old = Box::pin(old_stage.run());
    assert!(waits(&mut old).await);

    stage(&breaker).giving([failed()]).run().await;
    release.notify_one();
    assert_eq!(old.await.outcome, Outcome::Succeeded);
    assert_eq!(state(&breaker), CircuitState::Open);
    clock.advance_ms(1_000);
    assert_eq!(state(&breaker), CircuitState::HalfOpen);
}

#[tokio::test]
async fn only_what_the_tool_did_counts() {
    let (_clock, breaker) = breaker(1);
    let mut refused = settlement(Outcome::Failed, Some(Code::RateLimited));
    refused.source = Some(Source::Hook);
    let mut saturated = settlement(Outcome::Failed, Some(Code::ExecutorSaturated));
    saturated.source = None;
    let others = [
        refused,
        saturated,
        settlement(Outcome::Failed, Some(Code::InvalidArguments)),
        settlement(Outcome::Cancelled, Some(Code::RunCancelled)),
        settlement(Outcome::Halted, None),
    ];
    let count = others.len();
    let stage = stage(&breaker).giving(others);
    for _ in 0..count {
        stage.run().await;
        assert_eq!(state(&breaker), CircuitState::Closed);
    }
}

#[tokio::test]
async fn each_tool_has_its_own_circuit_and_others_pass_through() {
    let (_clock, time) = Clock::new();
    let breaker = CircuitBreaker::builder(1, 1_000).tool("search*").time(time).build().unwrap();
    let of = |tool: &str| Stage::new(vec![breaker.clone()], around_call(tool, Repeat::Safe));
    of("search_a").giving([failed()]).run().await;
    of("pay").giving([failed()]).run().await;
    assert_eq!(of("search_a").run().await.code, Some(Code::CircuitOpen));
    assert_eq!(of("search_b").run().await.outcome, Outcome::Succeeded);
    assert_eq!(of("pay").run().await.outcome, Outcome::Succeeded);
}

#[tokio::test]
async fn a_clock_set_back_does_not_keep_it_open() {
    let (clock, breaker) = breaker(1);
    let stage = stage(&breaker).giving([failed()]);
    stage.run().await;
    clock.advance_ms(-500_000);
    assert_eq!(stage.run().await.outcome, Outcome::Succeeded);
}

#[test]
fn impossible_settings_are_refused_by_name() {
    let field = |builder: CircuitBreakerBuilder| builder.build().err().unwrap().field;
    assert_eq!(field(CircuitBreaker::builder(0, 1)), "failures");
    assert_eq!(field(CircuitBreaker::builder(1, 0)), "open_ms");
    assert_eq!(field(CircuitBreaker::builder(1, 1).tool("")), "tool");
}
