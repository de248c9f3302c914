//! A cache: the same question again is answered without the tool, and of equal questions at once one is asked.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use holdpoint::hooks::Cache;
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::AllowAll;
use holdpoint::tools::{Tool, tool};
use holdpoint::{Agent, Parallel, Repeat, Source};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let asked = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&asked);
    let weather = tool("weather", "The weather of today", move || {
        counter.fetch_add(1, Ordering::Relaxed);
        async { "sunny" }
    });
    // Only what is safe to repeat may be answered from memory.
    let weather = weather.repeat(Repeat::Safe);
    let cache = Cache::builder().tool(weather.definition()).ttl(Duration::from_secs(60)).build()?;

    let together = ScriptedReply::calls(&[("a", "weather", "{}"), ("b", "weather", "{}")]);
    let later = ScriptedReply::call("c", "weather", "{}");
    let agent = Agent::builder()
        .model(ScriptedModel::new(vec![together, later, ScriptedReply::text("Sunny, as I said.")]))
        .tool(weather)
        .policy(AllowAll)
        .with_tool_concurrency("async", None)
        .parallel(Parallel::All)
        .around(cache)
        .build()?;

    let result = agent.chat("How is the weather? Are you sure?").await?;
    for call in result.records() {
        println!("{}: {:?}", call.id, call.source);
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    assert_eq!(result.records()[2].source, Some(Source::Cache));

    // A cache that names a tool with an effect is refused when it is built.
    let refund = tool("refund", "Pays money back", async || "paid");
    let impossible = Cache::builder().tool(refund.definition()).build().map_err(|error| error.field).err();
    assert_eq!(impossible, Some("tool"));
    Ok(())
}
