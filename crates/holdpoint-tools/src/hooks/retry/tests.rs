//! What is repeated, how often, and how long it waits in between.

use holdpoint_core::Repeat;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::ToolCall;
use crate::hooks::testing::{Stage, around_call, failed, settlement};

fn stage(builder: RetryBuilder, repeat: Repeat) -> Stage {
    Stage::new(vec![builder.build().unwrap()], around_call("search", repeat))
}

fn stage_with(builder: RetryBuilder, change: impl FnOnce(ToolCall) -> ToolCall) -> Stage {
    let call = around_call("search", Repeat::Safe);
    let changed = AroundCall::new(Arc::clone(call.definition()), change(call.call().clone()));
    Stage::new(vec![builder.build().unwrap()], changed)
}

#[tokio::test(start_paused = true)]
async fn it_repeats_until_it_succeeds_and_waits_twice_as_long_each_time() {
    let begun = Instant::now();
    let stage = stage(Retry::builder(5, 125), Repeat::Safe).giving([failed(), failed(), failed()]);
    assert_eq!(stage.run().await.outcome, Outcome::Succeeded);
    assert_eq!((stage.ran(), begun.elapsed()), (4, Duration::from_millis(125 + 250 + 500)));
}

#[tokio::test(start_paused = true)]
async fn attempts_include_the_first_and_nothing_is_waited_after_the_last() {
    let begun = Instant::now();
    let stage = stage(Retry::builder(2, 100), Repeat::WithKey).giving([failed(), failed(), failed()]);
    assert_eq!(stage.run().await.code, Some(Code::ToolError));
    assert_eq!((stage.ran(), begun.elapsed()), (2, Duration::from_millis(100)));
}

#[tokio::test(start_paused = true)]
async fn a_wait_is_never_longer_than_its_cap() {
    let begun = Instant::now();
    let stage = stage(Retry::builder(4, 100).max_ms(150), Repeat::Safe).giving([failed(), failed(), failed()]);
    stage.run().await;
    assert_eq!((stage.ran(), begun.elapsed()), (4, Duration::from_millis(100 + 150 + 150)));
}

#[tokio::test(start_paused = true)]
async fn chance_lengthens_a_wait_by_at_most_its_own_length() {
    let begun = Instant::now();
    let stage = stage(Retry::builder(2, 100).jitter(Jitter::Random), Repeat::Safe).giving([failed()]);
    stage.run().await;
    let waited = begun.elapsed().as_millis();
    assert!((100..=201).contains(&waited), "{waited}");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_may_not_be_repeated_is_not() {
    let stage = stage(Retry::builder(5, 100), Repeat::Never).giving([failed()]);
    assert_eq!(stage.run().await.outcome, Outcome::Failed);
    assert_eq!(stage.ran(), 1);
}

#[tokio::test(start_paused = true)]
async fn only_failures_that_may_pass_are_repeated() {
    for (outcome, code, ran) in [
        (Outcome::Failed, Some(Code::ToolError), 2),
        (Outcome::Failed, Some(Code::ToolPanicked), 2),
        (Outcome::TimedOut, Some(Code::TimedOut), 2),
        (Outcome::Failed, Some(Code::InvalidArguments), 1),
        (Outcome::Failed, Some(Code::UnusableResult), 1),
        (Outcome::Cancelled, Some(Code::RunCancelled), 1),
        (Outcome::Halted, None, 1),
    ] {
        let stage = stage(Retry::builder(2, 100), Repeat::Safe).giving([settlement(outcome, code)]);
        stage.run().await;
        assert_eq!(stage.ran(), ran, "{outcome:?} {code:?}");
    }
    for source in [Some(Source::Hook), Some(Source::Cache), None] {
        let stage = stage(Retry::builder(2, 100), Repeat::Safe).giving([Settlement { source, ..failed() }]);
        stage.run().await;
        assert_eq!(stage.ran(), 1, "{source:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn it_does_not_wait_past_the_deadline_of_the_call() {
    let begun = Instant::now();
    let deadline = begun + Duration::from_millis(250);
    let stage = stage_with(Retry::builder(5, 100), |call| call.with_deadline(Some(deadline)));
    let stage = stage.giving([failed(), failed(), failed()]);
    assert_eq!(stage.run().await.outcome, Outcome::Failed);
    assert_eq!((stage.ran(), begun.elapsed()), (2, Duration::from_millis(100)));
}

#[tokio::test(start_paused = true)]
async fn it_does_not_wait_longer_than_a_call_may_be_held() {
    let begun = Instant::now();
    let builder = Retry::builder(3, 40_000).max_ms(100_000);
    let stage = stage(builder, Repeat::Safe).giving([failed(), failed(), failed()]);
    assert_eq!(stage.run().await.code, Some(Code::ToolError));
    assert_eq!((stage.ran(), begun.elapsed()), (2, Duration::from_secs(40)));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_is_not_repeated() {
    let token = CancellationToken::new();
    let stage = stage_with(Retry::builder(5, 1_000), |call| call.with_cancellation(token.clone()));
    let stage = stage.giving([failed(), failed()]);
    let begun = Instant::now();
    let (settlement, ()) = tokio::join!(stage.run(), async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        token.cancel();
    });
    assert_eq!(settlement.outcome, Outcome::Failed);
    assert_eq!((stage.ran(), begun.elapsed()), (1, Duration::from_millis(10)));
}

#[test]
fn impossible_settings_are_refused_by_name() {
    let field = |builder: RetryBuilder| builder.build().unwrap_err().field;
    assert_eq!(field(Retry::builder(0, 1)), "attempts");
    assert_eq!(field(Retry::builder(RETRY_ATTEMPTS_MAX + 1, 1)), "attempts");
    assert_eq!(field(Retry::builder(2, HOOK_WAIT_MS_MAX)), "base_ms");
    assert_eq!(field(Retry::builder(2, 100).max_ms(99)), "max_ms");
    assert_eq!(field(Retry::builder(2, 100).tool("a[")), "tool");
    assert!(Retry::builder(2, 20_000).build().is_ok());
}
