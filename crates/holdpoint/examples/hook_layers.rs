//! Layers: a limit for the whole process, inside it one for this agent, inside that what measures. The order is the
//! order in which they are added, and each sees what the ones outside of it let through.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use holdpoint::hooks::{ConcurrencyLimit, Instrumentation, RateLimit, around_fn};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::AllowAll;
use holdpoint::tools::tool;
use holdpoint::{Agent, Parallel};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (running, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let highest = Arc::clone(&most);
    // A hook of one's own is a closure: this one sees how many calls come through the two limits.
    let watch = around_fn(move |_call, next| {
        let (running, highest) = (Arc::clone(&running), Arc::clone(&highest));
        Box::pin(async move {
            highest.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let settled = next.run().await;
            running.fetch_sub(1, Ordering::SeqCst);
            settled
        })
    });
    let statistics = Instrumentation::new();

    let calls = [("a", "fetch", "{}"), ("b", "fetch", "{}"), ("c", "fetch", "{}"), ("d", "fetch", "{}")];
    let agent = Agent::builder()
        .model(ScriptedModel::new(vec![ScriptedReply::calls(&calls), ScriptedReply::text("done")]))
        .tool(tool("fetch", "Fetches a page", async || tokio::time::sleep(Duration::from_millis(20)).await))
        .policy(AllowAll)
        .with_tool_concurrency("async", 10)
        .parallel(Parallel::All)
        .around(RateLimit::per_second(100).build()?) // outermost
        .around(ConcurrencyLimit::builder(50).shared("every agent of this process").build()?)
        .around(ConcurrencyLimit::builder(2).tool("fetch*").build()?)
        .around(watch)
        .around(statistics.clone()) // innermost
        .build()?;
    agent.chat("fetch four pages").await?;

    println!("at most {} at once; {}", most.load(Ordering::SeqCst), statistics.to_json());
    assert_eq!(most.load(Ordering::SeqCst), 2);
    assert_eq!(statistics.of(&"fetch".into()).map(|fetch| fetch.succeeded), Some(4));
    Ok(())
}
