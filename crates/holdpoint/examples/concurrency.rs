//! How tools run is chosen for the agent, not for each tool, and can be changed between runs.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::{Duration, Instant};

use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::AllowAll;
use holdpoint::tools::{MadeTool, tool};
use holdpoint::{Agent, Parallel};

fn slow(name: &str, tenths: u64) -> MadeTool {
    tool(name, "Takes its time", move || async move {
        tokio::time::sleep(Duration::from_millis(tenths * 100)).await;
        "done"
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let calls = ScriptedReply::calls(&[("a", "weather", "{}"), ("b", "stock", "{}"), ("c", "currency", "{}")]);
    let agent = Agent::builder()
        .model(ScriptedModel::repeating(vec![calls, ScriptedReply::text("done")]))
        .policy(AllowAll)
        .tool(slow("weather", 2))
        .tool(slow("stock", 3))
        .tool(slow("currency", 1))
        .build()?;

    let started = Instant::now();
    agent.chat("one after another").await?;
    println!("sequential: {:.1} s", started.elapsed().as_secs_f64());

    let agent = agent.with_tool_concurrency("async", 5)?.with_parallel(Parallel::All)?;
    let started = Instant::now();
    agent.chat("all together").await?;
    println!("async: {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}
