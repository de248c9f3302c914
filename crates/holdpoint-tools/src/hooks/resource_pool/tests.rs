//! Resources come back however a call ends, and never go to two at once.

use std::convert::Infallible;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use holdpoint_core::{Code, Outcome, Repeat};
use serde_json::json;
use tokio::time::Instant;

use super::*;
use crate::hooks::testing::{Stage, around_call};
use crate::testing::{call, invocation, waits};
use crate::{Chain, Extensions, MadeTool, Tool, ToolCall, invoke, raw_blocking_tool, raw_tool};

/// A numbered resource.
struct Connection(u32);

fn pool(max: u32) -> Arc<ResourcePool<Connection>> {
    builder(max).build().unwrap()
}

fn builder(max: u32) -> ResourcePoolBuilder<Connection> {
    let made = AtomicU32::new(0);
    ResourcePool::builder(max, move || {
        let number = made.fetch_add(1, Ordering::Relaxed) + 1;
        async move { Ok::<_, Infallible>(Connection(number)) }
    })
}

/// Runs a tool inside the pool as a driver does.
async fn run(pool: &Arc<ResourcePool<Connection>>, tool: MadeTool) -> Settlement {
    let definition = Arc::new(tool.definition().clone());
    let around = AroundCall::new(definition, call(tool.definition().name.as_str(), "{}"));
    let inside = |extensions: Extensions| {
        let mut invocation = invocation(tool.clone(), "{}");
        invocation.call = invocation.call.with_extensions(extensions);
        invocation.timeout = Duration::from_secs(1);
        async { Ok(invoke(invocation).await) }
    };
    Chain::new(vec![pool.clone()]).run(&around, inside).await.unwrap()
}

fn lease(call: &ToolCall) -> Arc<Lease<Connection>> {
    call.extension().expect("a connection")
}

fn naming() -> MadeTool {
    raw_tool("query", "", json!({}), async |call: ToolCall| format!("connection {}", lease(&call).0))
}

#[tokio::test]
async fn a_tool_finds_its_resource_and_the_next_call_gets_it_again() {
    let pool = pool(3);
    for _ in 0..2 {
        assert_eq!(run(&pool, naming()).await.result.text(), "connection 1");
        assert_eq!((pool.idle(), pool.in_use()), (1, 0));
    }
}

#[tokio::test]
async fn it_comes_back_after_a_failure_and_a_panic() {
    let pool = pool(1);
    let failing = raw_tool("query", "", json!({}), async |call: ToolCall| {
        let _lease = lease(&call);
        Err::<(), _>("no such table")
    });
    assert_eq!(run(&pool, failing).await.outcome, Outcome::Failed);
    let panicking = raw_tool("query", "", json!({}), async |call: ToolCall| -> String {
        let _lease = lease(&call);
        panic!("lost")
    });
    assert_eq!(run(&pool, panicking).await.code, Some(Code::ToolPanicked));
    assert_eq!(run(&pool, naming()).await.result.text(), "connection 1");
}

#[tokio::test(start_paused = true)]
async fn it_comes_back_after_a_timeout_and_a_cancellation() {
    let pool = pool(1);
    let hanging = raw_tool("query", "", json!({}), async |call: ToolCall| -> String {
        let _lease = lease(&call);
        std::future::pending().await
    });
    assert_eq!(run(&pool, hanging.clone()).await.outcome, Outcome::TimedOut);
    assert_eq!(run(&pool, naming()).await.result.text(), "connection 1");

    let mut dropped = Box::pin(run(&pool, hanging));
    assert!(waits(&mut dropped).await);
    assert_eq!(pool.in_use(), 1);
    drop(dropped);
    assert_eq!(run(&pool, naming()).await.result.text(), "connection 1");
}

#[tokio::test]
async fn a_tool_that_keeps_it_after_a_timeout_is_waited_for() {
    let pool = pool(1);
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = Arc::new(Mutex::new(released));
    let stuck = raw_blocking_tool("query", "", json!({}), move |call: ToolCall| {
        let _lease = lease(&call);
        let _ = released.lock().unwrap().recv();
    });
    let stuck = stuck.timeout(Duration::from_millis(20));
    assert_eq!(run(&pool, stuck).await.outcome, Outcome::TimedOut);
    assert_eq!((pool.idle(), pool.in_use()), (0, 1));

    let mut waiting = Box::pin(run(&pool, naming()));
    assert!(waits(&mut waiting).await);
    release.send(()).unwrap();
    assert_eq!(waiting.await.result.text(), "connection 1");
}

#[tokio::test(start_paused = true)]
async fn no_more_are_lent_than_there_are_and_others_wait() {
    let pool = pool(2);
    let most = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&most);
    let watched = pool.clone();
    let slow = raw_tool("query", "", json!({}), move |call: ToolCall| {
        let (seen, watched) = (Arc::clone(&seen), watched.clone());
        async move {
            let _lease = lease(&call);
            seen.fetch_max(u32::try_from(watched.in_use()).unwrap(), Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    let begun = Instant::now();
    let calls = (0..6).map(|_| run(&pool, slow.clone()));
    let settled = futures_util::future::join_all(calls).await;
    assert!(settled.iter().all(|settlement| settlement.outcome == Outcome::Succeeded));
    assert_eq!(begun.elapsed(), Duration::from_millis(300));
    assert_eq!((most.load(Ordering::Relaxed), pool.idle()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn who_waits_too_long_for_one_is_rate_limited() {
    let pool = pool(1);
    let _held = pool.lease().await.unwrap();
    assert_eq!(run(&pool, naming()).await.code, Some(Code::RateLimited));
}

#[tokio::test]
async fn a_discarded_resource_is_replaced() {
    let pool = pool(1);
    let breaking = raw_tool("query", "", json!({}), async |call: ToolCall| lease(&call).discard());
    run(&pool, breaking).await;
    assert_eq!((pool.idle(), pool.in_use()), (0, 0));
    assert_eq!(run(&pool, naming()).await.result.text(), "connection 2");
}

#[tokio::test]
async fn an_idle_resource_that_does_not_pass_the_check_is_replaced() {
    let pool = builder(1).check(|connection| connection.0 > 1).build().unwrap();
    for expected in ["connection 1", "connection 2", "connection 2"] {
        assert_eq!(run(&pool, naming()).await.result.text(), expected);
    }
}

#[tokio::test]
async fn one_that_cannot_be_made_is_a_failure_of_the_hook_and_blocks_nobody() {
    let pool = ResourcePool::<Connection>::builder(1, || async { Err("refused") }).build().unwrap();
    let stage = Stage::new(vec![pool.clone()], around_call("query", Repeat::Safe));
    for _ in 0..2 {
        let error = stage.result().await.unwrap_err();
        assert_eq!(error.to_string(), "the pool could not make a resource: refused");
    }
    assert_eq!((stage.ran(), pool.in_use()), (0, 0));
}

#[tokio::test]
async fn tools_that_it_is_not_for_get_none() {
    let pool = builder(1).tool("query").build().unwrap();
    let other = raw_tool("other", "", json!({}), async |call: ToolCall| {
        call.extension::<Lease<Connection>>().is_none().to_string()
    });
    assert_eq!(run(&pool, other).await.result.text(), "true");
}

#[test]
fn impossible_settings_are_refused_by_name() {
    assert_eq!(builder(0).build().err().unwrap().field, "max");
    assert_eq!(builder(1).tool("").build().err().unwrap().field, "tool");
}
