//! Order, short circuits, failures and the bound on waiting.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdpoint_core::{Code, Outcome, Settlement, Source, ToolResult};
use tokio::time::Instant;

use super::*;
use crate::testing::call;
use crate::tool;

fn around_call() -> AroundCall {
    let tool = tool("pay", "", async || ());
    AroundCall::new(Arc::new(crate::Tool::definition(&tool).clone()), call("pay", "{}"))
}

fn settled(text: &str) -> Settlement {
    Settlement {
        outcome: Outcome::Succeeded,
        code: None,
        source: Some(Source::Tool),
        result: Arc::new(ToolResult::success(text)),
        latency_us: 1,
    }
}

type Log = Arc<Mutex<Vec<String>>>;

fn noting(log: &Log, name: &'static str) -> Arc<dyn Around> {
    let log = Arc::clone(log);
    around_fn(move |_, next| {
        let log = Arc::clone(&log);
        Box::pin(async move {
            log.lock().unwrap().push(format!("{name} in"));
            let result = next.run().await;
            log.lock().unwrap().push(format!("{name} out"));
            result
        })
    })
}

async fn run(hooks: Vec<Arc<dyn Around>>) -> Result<Settlement, HookError> {
    Chain::new(hooks).run(&around_call(), |_| async { Ok(settled("tool")) }).await
}

#[tokio::test]
async fn without_hooks_only_the_inside_runs() {
    let chain = Chain::default();
    assert!(chain.is_empty());
    let settlement = chain.run(&around_call(), |_| async { Ok(settled("tool")) }).await.unwrap();
    assert_eq!(settlement.result.text(), "tool");
}

#[tokio::test]
async fn hooks_wrap_in_the_order_given_outermost_first() {
    let log = Log::default();
    run(vec![noting(&log, "a"), noting(&log, "b")]).await.unwrap();
    assert_eq!(*log.lock().unwrap(), ["a in", "b in", "b out", "a out"]);
}

#[tokio::test]
async fn a_hook_that_answers_itself_keeps_what_is_inside_from_running() {
    let log = Log::default();
    let cached =
        around_fn(|call, _| Box::pin(async move { Ok(call.answered(Source::Cache, ToolResult::success("cached"))) }));
    let settlement = run(vec![noting(&log, "a"), cached, noting(&log, "never")]).await.unwrap();
    assert_eq!((settlement.outcome, settlement.source), (Outcome::Succeeded, Some(Source::Cache)));
    assert_eq!(settlement.result.text(), "cached");
    assert_eq!(*log.lock().unwrap(), ["a in", "a out"]);
}

#[tokio::test]
async fn a_refusal_on_purpose_is_a_failed_result_of_the_hook() {
    let open = around_fn(|call, _| Box::pin(async move { Ok(call.refused(Code::CircuitOpen, "later")) }));
    let settlement = run(vec![open]).await.unwrap();
    assert_eq!((settlement.outcome, settlement.code), (Outcome::Failed, Some(Code::CircuitOpen)));
    assert_eq!(settlement.source, Some(Source::Hook));
    assert!(settlement.result.is_error());
}

#[tokio::test]
async fn a_hook_sees_definition_metadata_arguments_context_attempt_and_key() {
    let looking = around_fn(|call, _| {
        Box::pin(async move {
            let (definition, seen) = (call.definition(), call.call());
            assert_eq!(definition.metadata.repeat, holdpoint_core::Repeat::Never);
            assert!(!seen.idempotency_key().as_str().is_empty());
            assert!(seen.context().attributes().is_empty());
            let seen = format!("{} {} {}", definition.name, seen.arguments().expose(), seen.attempt());
            Ok(call.answered(Source::Hook, ToolResult::success(seen)))
        })
    });
    assert_eq!(run(vec![looking]).await.unwrap().result.text(), "pay {} 1");
}

#[tokio::test]
async fn a_hook_that_fails_or_panics_is_a_hook_error_and_passes_outwards() {
    let log = Log::default();
    let failing = around_fn(|_, _| Box::pin(async { Err(HookError::new("no connection")) }));
    let error = run(vec![noting(&log, "a"), failing]).await.unwrap_err();
    assert_eq!(error, HookError::new("no connection"));
    assert_eq!(*log.lock().unwrap(), ["a in", "a out"]);

    let panicking = around_fn(|_, _| Box::pin(async { panic!("s3cret") }));
    let error = run(vec![panicking]).await.unwrap_err();
    assert_eq!(error, HookError::new("a hook panicked"));

    let panicking_at_once = around_fn(|_, _| panic!("s3cret"));
    assert_eq!(run(vec![panicking_at_once]).await.unwrap_err(), HookError::new("a hook panicked"));
}

#[tokio::test]
async fn an_interrupted_inside_reaches_the_driver_through_the_hooks() {
    let log = Log::default();
    let chain = Chain::new(vec![noting(&log, "a")]);
    let error = chain.run(&around_call(), |_| async { Err(HookError::Interrupted) }).await.unwrap_err();
    assert_eq!(error, HookError::Interrupted);
}

#[tokio::test]
async fn the_inside_can_be_run_again() {
    let twice = around_fn(|_, next| {
        Box::pin(async move {
            next.run().await?;
            next.run().await
        })
    });
    let attempts = AtomicU32::new(0);
    let chain = Chain::new(vec![twice]);
    let inside = |_| async {
        let attempt = attempts.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(settled(&attempt.to_string()))
    };
    assert_eq!(chain.run(&around_call(), inside).await.unwrap().result.text(), "2");
}

fn waiting(before: u64, after: u64) -> Arc<dyn Around> {
    around_fn(move |_, next| {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_secs(before)).await;
            let result = next.run().await;
            tokio::time::sleep(Duration::from_secs(after)).await;
            result
        })
    })
}

#[tokio::test(start_paused = true)]
async fn a_call_that_hooks_hold_too_long_is_rate_limited_and_does_not_run() {
    let begun = Instant::now();
    let ran = AtomicU32::new(0);
    let chain = Chain::new(vec![waiting(1000, 0)]);
    let inside = |_| async {
        ran.fetch_add(1, Ordering::Relaxed);
        Ok(settled("tool"))
    };
    let settlement = chain.run(&around_call(), inside).await.unwrap();
    assert_eq!((settlement.outcome, settlement.code), (Outcome::Failed, Some(Code::RateLimited)));
    assert_eq!(settlement.source, Some(Source::Hook));
    assert!(settlement.result.text().contains("60 s"));
    assert_eq!(begun.elapsed(), Duration::from_millis(HOOK_WAIT_MS_MAX));
    assert_eq!(ran.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn waiting_below_the_bound_and_a_long_tool_are_not_cut() {
    let begun = Instant::now();
    let chain = Chain::new(vec![waiting(59, 59)]);
    let inside = |_| async {
        tokio::time::sleep(Duration::from_secs(600)).await;
        Ok(settled("tool"))
    };
    let settlement = chain.run(&around_call(), inside).await.unwrap();
    assert_eq!(settlement.result.text(), "tool");
    assert_eq!(begun.elapsed(), Duration::from_secs(718));
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_hangs_after_the_tool_has_failed() {
    let begun = Instant::now();
    let error = run(vec![waiting(0, 100_000)]).await.unwrap_err();
    assert_eq!(error, HookError::new("a hook held a call for too long after its tool had ended"));
    assert_eq!(begun.elapsed(), Duration::from_millis(HOOK_WAIT_MS_MAX));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_moves_when_the_tool_has_run() {
    let deadlines = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&deadlines);
    let noting = around_fn(move |call, next| {
        let noted = Arc::clone(&noted);
        Box::pin(async move {
            noted.lock().unwrap().push(call.deadline());
            let result = next.run().await;
            noted.lock().unwrap().push(call.deadline());
            result
        })
    });
    let begun = Instant::now();
    let inside = |_| async {
        tokio::time::sleep(Duration::from_secs(100)).await;
        Ok(settled("tool"))
    };
    Chain::new(vec![waiting(5, 0), noting]).run(&around_call(), inside).await.unwrap();
    let after = |seconds| begun + Duration::from_secs(seconds);
    assert_eq!(*deadlines.lock().unwrap(), [after(60), after(165)]);
}
