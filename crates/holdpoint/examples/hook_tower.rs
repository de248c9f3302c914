//! Tower: any `tower::Layer` is a hook. Its load shedding, buffer, concurrency limit and timeout work unchanged.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use holdpoint::hooks::tower_hook;
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::AllowAll;
use holdpoint::tools::tool;
use holdpoint::{Agent, Code, Parallel};
use tower::ServiceBuilder;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Outermost first, as tower has it. One call at once, a few wait, more are shed.
    let layers = ServiceBuilder::new().load_shed().buffer(1).concurrency_limit(1).timeout(Duration::from_millis(200));

    let calls = ["a", "b", "c", "d", "e", "f"].map(|id| (id, "report", "{}"));
    let agent = Agent::builder()
        .model(ScriptedModel::new(vec![
            ScriptedReply::calls(&calls),
            ScriptedReply::call("g", "slow", "{}"),
            ScriptedReply::text("done"),
        ]))
        .tool(tool("report", "Writes a report", async || tokio::time::sleep(Duration::from_millis(50)).await))
        .tool(tool("slow", "Takes an hour", async || tokio::time::sleep(Duration::from_secs(3600)).await))
        .policy(AllowAll)
        .with_tool_concurrency("async", 10)
        .parallel(Parallel::All)
        .around(tower_hook(layers.into_inner()))
        .build()?;

    let result = agent.chat("Six reports, and the slow one.").await?;
    let records = result.records();
    for call in &records {
        println!("{}: {} {:?}", call.id, call.progress.as_str(), call.code);
    }
    // What is shed was not executed, and the model is told so.
    assert!(records[..6].iter().any(|call| call.progress.as_str() == "succeeded"));
    assert!(records[..6].iter().any(|call| call.code == Some(Code::RateLimited)));
    assert_eq!(records[6].progress.as_str(), "timed_out");
    Ok(())
}
