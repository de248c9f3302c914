//! What is counted, and as what.

use holdpoint_core::Repeat;

use super::*;
use crate::around_fn;
use crate::hooks::per_tool::TOOLS_MAX;
use crate::hooks::testing::{Stage, around_call, failed, settlement, succeeded};
use crate::testing::waits;

fn stage(instrumentation: &Arc<Instrumentation>, tool: &str) -> Stage {
    Stage::new(vec![instrumentation.clone()], around_call(tool, Repeat::Safe))
}

async fn counted(results: Vec<Settlement>) -> ToolStatistics {
    let instrumentation = Instrumentation::new();
    let count = results.len();
    let stage = stage(&instrumentation, "search").giving(results);
    for _ in 0..count {
        stage.run().await;
    }
    instrumentation.of(&"search".into()).unwrap()
}

#[tokio::test]
async fn executions_are_counted_with_their_latency_and_last_error() {
    let slow = Settlement { latency_us: 8_000_000, ..settlement(Outcome::TimedOut, Some(Code::TimedOut)) };
    let statistics = counted(vec![failed(), succeeded(), slow, succeeded()]).await;
    assert_eq!((statistics.total, statistics.succeeded, statistics.failed), (4, 2, 2));
    assert_eq!(statistics.success_rate(), Some(0.5));
    assert_eq!(statistics.last_error, Some(Code::TimedOut));
    let (p50, p95) = (statistics.p50_us.unwrap(), statistics.p95_us.unwrap());
    assert!((100..107).contains(&p50), "{p50}");
    assert!((8_000_000..8_500_001).contains(&p95), "{p95}");
    assert_eq!(statistics.in_flight, 0);
}

#[tokio::test]
async fn what_was_not_executed_is_counted_by_its_source_only() {
    let from = |source| Settlement { source, ..succeeded() };
    let refused = Settlement { source: Some(Source::Hook), ..settlement(Outcome::Failed, Some(Code::RateLimited)) };
    let results = vec![from(Some(Source::Cache)), from(Some(Source::DryRun)), refused, from(None), succeeded()];
    let statistics = counted(results).await;
    assert_eq!((statistics.total, statistics.succeeded, statistics.failed), (5, 1, 0));
    let by_source = BTreeMap::from([("cache", 1), ("dry_run", 1), ("hook", 1), ("tool", 1)]);
    assert_eq!(statistics.by_source, by_source);
    assert_eq!((statistics.success_rate(), statistics.last_error), (Some(1.0), None));
}

#[tokio::test]
async fn a_call_is_in_flight_until_it_ends_or_is_dropped() {
    let instrumentation = Instrumentation::new();
    let hanging = around_fn(|_, _| Box::pin(std::future::pending()));
    let stage = Stage::new(vec![instrumentation.clone(), hanging], around_call("search", Repeat::Safe));
    let mut call = Box::pin(stage.run());
    assert!(waits(&mut call).await);
    let of = || instrumentation.of(&"search".into()).unwrap();
    assert_eq!((of().in_flight, of().total), (1, 0));
    drop(call);
    assert_eq!((of().in_flight, of().total, of().abandoned), (0, 1, 1));
    assert_eq!((of().success_rate(), of().p50_us), (None, None));
}

#[tokio::test]
async fn a_hook_that_fails_and_a_cancelled_execution_are_no_failures_of_the_tool() {
    let instrumentation = Instrumentation::new();
    let failing = around_fn(|_, _| Box::pin(async { Err(HookError::new("down")) }));
    let broken = Stage::new(vec![instrumentation.clone(), failing], around_call("search", Repeat::Safe));
    assert!(broken.result().await.is_err());
    let cancelled = settlement(Outcome::Cancelled, Some(Code::RunCancelled));
    stage(&instrumentation, "search").giving([cancelled]).run().await;
    let statistics = instrumentation.of(&"search".into()).unwrap();
    assert_eq!((statistics.total, statistics.failed, statistics.abandoned), (2, 0, 2));
}

#[tokio::test]
async fn statistics_are_by_registered_name_in_order_and_readable_as_json() {
    let instrumentation = Instrumentation::new();
    stage(&instrumentation, "search").giving([failed()]).run().await;
    stage(&instrumentation, "pay").run().await;
    let names: Vec<_> = instrumentation.stats().into_iter().map(|statistics| statistics.tool).collect();
    assert_eq!(names, ["pay".into(), "search".into()]);
    let json = instrumentation.to_json();
    assert_eq!(json["tools"][1]["last_error"], "tool_error");
    assert_eq!(json["tools"][1]["by_source"], json!({"tool": 1}));
    assert_eq!(json["tools"][0]["success_rate"], 1.0);
    assert!(instrumentation.of(&"nothing".into()).is_none());
}

#[tokio::test]
async fn tools_that_it_is_not_for_are_not_counted() {
    let instrumentation = Instrumentation::for_tool("pay").unwrap();
    stage(&instrumentation, "search").run().await;
    assert_eq!(instrumentation.stats(), []);
    assert_eq!(Instrumentation::for_tool("").err().unwrap().field, "tool");
}

#[tokio::test]
async fn the_number_of_tools_is_bounded_and_others_still_execute() {
    let instrumentation = Instrumentation::new();
    for number in 0..=TOOLS_MAX {
        let settlement = stage(&instrumentation, &format!("tool_{number}")).run().await;
        assert_eq!(settlement.outcome, Outcome::Succeeded);
    }
    assert_eq!(instrumentation.stats().len(), TOOLS_MAX);
}
