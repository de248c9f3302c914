//! A rate limit: calls above it wait their turn, or are refused with a text that the model understands.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use holdpoint::hooks::{Around, RateLimit};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::AllowAll;
use holdpoint::tools::tool;
use holdpoint::{Agent, Code, RunResult, Source};

async fn three_searches(limit: Arc<dyn Around>) -> Result<RunResult, holdpoint::Error> {
    let calls = ScriptedReply::calls(&[("a", "search", "{}"), ("b", "search", "{}"), ("c", "search", "{}")]);
    let agent = Agent::builder()
        .model(ScriptedModel::new(vec![calls, ScriptedReply::text("done")]))
        .tool(tool("search", "Searches the web", async || "found"))
        .policy(AllowAll)
        .around(limit)
        .build()?;
    agent.chat("search three times").await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Ten a second, one at once: the second and the third call wait a tenth of a second each.
    let started = Instant::now();
    let waited = three_searches(RateLimit::per_second(10).burst(1).build()?).await?;
    assert_eq!(waited.tool_executions(), 3);
    assert!(started.elapsed() >= Duration::from_millis(190));

    // Two an hour, and no waiting: the third call is refused, and the run goes on.
    let hourly = RateLimit::builder(2, Duration::from_secs(3600)).refuse().build()?;
    let refused = three_searches(hourly).await?;
    let third = &refused.records()[2];
    println!("the third call: {:?} from {:?}", third.code, third.source);
    assert_eq!((third.code, third.source), (Some(Code::RateLimited), Some(Source::Hook)));
    assert_eq!(refused.tool_executions(), 2);

    // A rate at which nothing could ever pass is refused when it is built.
    let impossible = RateLimit::per_second(0).build().map_err(|error| error.field).err();
    assert_eq!(impossible, Some("per_second"));
    Ok(())
}
