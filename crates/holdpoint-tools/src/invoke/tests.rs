//! Whatever a tool does, it ends in a settlement.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use holdpoint_core::{Block, Code, ErrorDetail, JsonText, Outcome, Repeat, Settlement, Source, ToolResult};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::testing::{invocation, waits};
use crate::{LOST_THREADS_MAX, MadeTool, blocking_tool, raw_tool, tool};

fn ended(settlement: &Settlement) -> (Outcome, Option<Code>, Option<Source>) {
    (settlement.outcome, settlement.code, settlement.source)
}

async fn run(tool: MadeTool) -> Settlement {
    invoke(invocation(tool, "{}")).await
}

async fn run_in_debug(tool: MadeTool) -> Settlement {
    invoke(Invocation { error_detail: ErrorDetail::Debug, ..invocation(tool, "{}") }).await
}

fn places() -> [Place; 2] {
    [Place::Task, Place::Threads(Arc::new(ThreadPool::new(2)))]
}

#[tokio::test]
async fn a_result_is_a_success_with_its_latency_in_every_place() {
    for place in places() {
        for tool in [tool("a", "", async || "ok"), blocking_tool("a", "", || "ok")] {
            let settlement = invoke(Invocation { place: place.clone(), ..invocation(tool, "{}") }).await;
            assert_eq!(ended(&settlement), (Outcome::Succeeded, None, Some(Source::Tool)));
            assert_eq!(settlement.result.text(), "ok");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn latency_is_that_of_the_tool() {
    let slow = tool("a", "", async || tokio::time::sleep(Duration::from_millis(1500)).await);
    assert_eq!(run(slow).await.latency_us, 1_500_000);
}

#[tokio::test]
async fn an_error_is_told_safely_unless_debugging() {
    let failing = tool("pay", "", async || Err::<(), _>("s3cret"));
    let settlement = run(failing.clone()).await;
    assert_eq!(ended(&settlement), (Outcome::Failed, Some(Code::ToolError), Some(Source::Tool)));
    assert!(settlement.result.is_error());
    assert_eq!(settlement.result.text(), "The tool `pay` failed.");
    assert_eq!(run_in_debug(failing).await.result.text(), "s3cret");
}

#[tokio::test]
async fn an_error_result_that_the_tool_made_for_the_model_is_kept() {
    let settlement = run(tool("pay", "", async || ToolResult::error("no such order"))).await;
    assert_eq!(ended(&settlement), (Outcome::Failed, Some(Code::ToolError), Some(Source::Tool)));
    assert_eq!(settlement.result.text(), "no such order");
}

#[tokio::test]
async fn a_panic_is_told_safely_unless_debugging_in_every_place() {
    for place in places() {
        for tool in [
            tool("pay", "", async || -> String { panic!("s3cret") }),
            blocking_tool("pay", "", || -> String { panic!("s3cret") }),
        ] {
            let safe = invoke(Invocation { place: place.clone(), ..invocation(tool.clone(), "{}") }).await;
            assert_eq!(ended(&safe), (Outcome::Failed, Some(Code::ToolPanicked), Some(Source::Tool)));
            assert_eq!(safe.result.text(), "The tool `pay` broke down.");
            let debug = Invocation { place: place.clone(), error_detail: ErrorDetail::Debug, ..invocation(tool, "{}") };
            assert_eq!(invoke(debug).await.result.text(), "s3cret");
        }
    }
}

#[tokio::test]
async fn a_halt_is_halted() {
    let settlement = run(tool("stop", "", async || ToolResult::halt("bye"))).await;
    assert_eq!(ended(&settlement), (Outcome::Halted, None, Some(Source::Tool)));
    assert_eq!(settlement.result.text(), "bye");
}

#[tokio::test]
async fn a_result_that_cannot_be_used_is_told_so() {
    let broken = tool("a", "", async || Block::Json(JsonText::new("{")));
    let settlement = run(broken).await;
    assert_eq!(ended(&settlement), (Outcome::Failed, Some(Code::UnusableResult), Some(Source::Tool)));
    let metadata = tool("a", "", async || ToolResult::success("ok").with_metadata("x", JsonText::new("nope")));
    assert_eq!(run(metadata).await.code, Some(Code::UnusableResult));
}

#[tokio::test]
async fn json_that_is_nested_deeper_than_the_store_can_read_is_not_used() {
    let deep = |depth: usize| (0..depth).fold(serde_json::json!(1), |inner, _| serde_json::json!([inner]));
    let tool_of = |depth| raw_tool("a", "", serde_json::json!({"type": "object"}), move |_| async move { deep(depth) });
    assert_eq!(run(tool_of(150)).await.code, Some(Code::UnusableResult));
    assert_eq!(run(tool_of(50)).await.code, None);
}

#[tokio::test]
async fn arguments_that_do_not_fit_the_type_are_invalid_and_not_echoed() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Pay {
        #[allow(dead_code)]
        amount: u32,
    }
    let pay = tool("pay", "", async |_: Pay| ());
    let settlement = invoke(invocation(pay, r#"{"amount": "s3cret"}"#)).await;
    assert_eq!(settlement.code, Some(Code::InvalidArguments));
    assert_eq!(settlement.result.text(), "The tool `pay` cannot use these arguments.");
}

#[tokio::test]
async fn output_is_cut_at_the_limit_and_debug_messages_too() {
    let long = Invocation { output_bytes_max: 30, ..invocation(tool("a", "", async || "x".repeat(99)), "{}") };
    assert_eq!(invoke(long).await.result.text(), format!("{}[truncated]", "x".repeat(19)));
    let failing = tool("a", "", async || Err::<(), _>("x".repeat(99)));
    let long = Invocation { output_bytes_max: 30, error_detail: ErrorDetail::Debug, ..invocation(failing, "{}") };
    let settlement = invoke(long).await;
    assert_eq!(settlement.result.text().len(), 30);
    assert!(settlement.result.is_error());
}

#[tokio::test(start_paused = true)]
async fn a_timeout_names_the_limit_and_that_it_may_have_taken_effect() {
    let begun = Instant::now();
    let settlement = run(tool("pay", "", async || std::future::pending::<()>().await)).await;
    assert_eq!(ended(&settlement), (Outcome::TimedOut, Some(Code::TimedOut), Some(Source::Tool)));
    let text = "The tool `pay` did not finish within its limit of 30 s. It may have taken effect.";
    assert_eq!(settlement.result.text(), text);
    assert_eq!((begun.elapsed(), settlement.latency_us), (Duration::from_secs(30), 30_000_000));
}

#[tokio::test(start_paused = true)]
async fn the_tools_own_limit_goes_before_the_runs() {
    let begun = Instant::now();
    let own = tool("look", "", async || std::future::pending::<()>().await)
        .timeout(Duration::from_millis(250))
        .repeat(Repeat::Safe);
    let settlement = run(own).await;
    assert_eq!(settlement.result.text(), "The tool `look` did not finish within its limit of 250 ms.");
    assert_eq!(begun.elapsed(), Duration::from_millis(250));
}

#[tokio::test(start_paused = true)]
async fn a_tool_knows_its_deadline_and_is_told_when_nobody_waits() {
    let told = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&told);
    let listening = raw_tool("a", "", serde_json::json!({}), move |call: ToolCall| {
        let flag = Arc::clone(&flag);
        async move {
            assert_eq!(call.time_left(), Some(Duration::from_secs(30)));
            let token = call.cancellation().clone();
            // Outside the tool's task, which is aborted.
            tokio::spawn(async move {
                token.cancelled().await;
                flag.store(true, Ordering::Relaxed);
            });
            std::future::pending::<()>().await;
        }
    });
    assert_eq!(run(listening).await.outcome, Outcome::TimedOut);
    tokio::task::yield_now().await;
    assert!(told.load(Ordering::Relaxed));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_beats_a_tool_that_ignores_cancellation() {
    for place in places() {
        let (release, held) = mpsc::channel::<()>();
        let held = std::sync::Mutex::new(held);
        let deaf =
            blocking_tool("deaf", "", move || held.lock().unwrap().recv().is_ok()).timeout(Duration::from_millis(20));
        let settlement = invoke(Invocation { place, ..invocation(deaf, "{}") }).await;
        assert_eq!(settlement.outcome, Outcome::TimedOut);
        drop(release);
    }
}

#[tokio::test]
async fn an_async_tool_on_a_thread_gives_the_thread_back_after_a_timeout() {
    let pool = Arc::new(ThreadPool::new(1));
    let waiting = tool("a", "", async || std::future::pending::<()>().await).timeout(Duration::from_millis(5));
    let place = Place::Threads(Arc::clone(&pool));
    let settlement = invoke(Invocation { place: place.clone(), ..invocation(waiting, "{}") }).await;
    assert_eq!(settlement.outcome, Outcome::TimedOut);
    let next = invoke(Invocation { place, ..invocation(tool("b", "", async || "ok"), "{}") }).await;
    assert_eq!(next.outcome, Outcome::Succeeded);
}

#[tokio::test]
async fn when_too_many_threads_hang_the_executor_is_saturated() {
    let pool = Arc::new(ThreadPool::new(1));
    let place = Place::Threads(Arc::clone(&pool));
    let (release, held) = mpsc::channel::<()>();
    let held = Arc::new(std::sync::Mutex::new(held));
    let hanging = Arc::new(AtomicUsize::new(0));
    let entered = Arc::clone(&hanging);
    let deaf = blocking_tool("deaf", "", move || {
        entered.fetch_add(1, Ordering::Relaxed);
        held.lock().unwrap().recv().is_ok()
    })
    .timeout(Duration::from_millis(2));
    // On a busy machine a call may time out before its thread has entered the tool: that thread does not hang.
    while hanging.load(Ordering::Relaxed) < LOST_THREADS_MAX {
        invoke(Invocation { place: place.clone(), ..invocation(deaf.clone(), "{}") }).await;
    }
    let settlement = invoke(Invocation { place, ..invocation(deaf, "{}") }).await;
    assert_eq!(ended(&settlement), (Outcome::Failed, Some(Code::ExecutorSaturated), None));
    drop(release);
}

#[tokio::test]
async fn a_cancelled_run_cancels_its_tools_at_once_in_every_place() {
    for place in places() {
        let run = CancellationToken::new();
        let cancels = run.clone();
        let waiting = tool("pay", "", move || {
            cancels.cancel();
            std::future::pending::<()>()
        });
        let mut invocation = Invocation { place, ..invocation(waiting, "{}") };
        invocation.call = invocation.call.with_cancellation(run);
        let settlement = invoke(invocation).await;
        assert_eq!(ended(&settlement), (Outcome::Cancelled, Some(Code::RunCancelled), Some(Source::Tool)));
        assert!(settlement.result.text().contains("may have taken effect"));
    }
}

#[tokio::test]
async fn a_tool_that_says_it_was_cancelled_without_a_reason_failed() {
    let settlement = run(tool("a", "", async || Err::<(), _>(ToolError::cancelled()))).await;
    assert_eq!(settlement.outcome, Outcome::Failed);
}

#[tokio::test]
async fn a_tool_cannot_cancel_its_run() {
    let run = CancellationToken::new();
    let rude = raw_tool("a", "", serde_json::json!({}), async |call: ToolCall| call.cancellation().cancel());
    let mut invocation = invocation(rude, "{}");
    invocation.call = invocation.call.with_cancellation(run.clone());
    assert_eq!(invoke(invocation).await.outcome, Outcome::Succeeded);
    assert!(!run.is_cancelled());
}

#[tokio::test]
async fn a_blocking_tool_may_enter_a_runtime_of_its_own() {
    let nested = blocking_tool("a", "", || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async { "nested" })
    });
    assert_eq!(run(nested).await.result.text(), "nested");
}

#[test]
fn outside_a_runtime_or_without_a_timer_the_tool_is_not_started() {
    let never = || tool("a", "", async || -> String { panic!("must not run") });
    let settlement = futures_util::FutureExt::now_or_never(invoke(invocation(never(), "{}"))).expect("at once");
    assert_eq!(ended(&settlement), (Outcome::Failed, Some(Code::NoRuntime), None));
    let timeless = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let settlement = timeless.block_on(invoke(invocation(never(), "{}")));
    assert_eq!(settlement.code, Some(Code::NoRuntime));
}

#[tokio::test]
async fn dropping_the_invocation_stops_the_tool() {
    let (gone, is_gone) = tokio::sync::oneshot::channel::<()>();
    let gone = std::sync::Mutex::new(Some(gone));
    let holding = tool("a", "", move || {
        let gone = gone.lock().unwrap().take();
        async move {
            let _held = gone;
            std::future::pending::<()>().await;
        }
    });
    let mut work = Box::pin(invoke(invocation(holding, "{}")));
    assert!(waits(&mut work).await);
    tokio::task::yield_now().await;
    drop(work);
    assert!(is_gone.await.is_err());
}

#[tokio::test]
async fn a_tool_that_waits_first_does_not_start_once_its_gate_is_closed() {
    for place in places() {
        let (open, effects) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
        let closing = (Arc::clone(&open), Arc::clone(&effects));
        let waits = raw_tool("a", "", serde_json::json!({"type": "object"}), move |call: ToolCall| {
            let (open, effects) = closing.clone();
            async move {
                // While it waited for a connection, the lease of its call lapsed.
                open.store(false, Ordering::Release);
                call.may_start()?;
                effects.fetch_add(1, Ordering::AcqRel);
                Ok::<_, ToolError>("done")
            }
        });
        let gate: Gate = Arc::new(move || open.load(Ordering::Acquire));
        let ended = invoke_gated(&Invocation { place, ..invocation(waits, "{}") }, Asking::Nobody, gate).await;
        assert!(matches!(ended, Err(Unsettled::NotStarted)), "{ended:?}");
        assert_eq!(effects.load(Ordering::Acquire), 0);
    }
}
