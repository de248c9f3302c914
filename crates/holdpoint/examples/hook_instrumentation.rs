//! Instrumentation: how often each tool is called, how long it takes, and why it failed last.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use holdpoint::hooks::Instrumentation;
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::AllowAll;
use holdpoint::tools::tool;
use holdpoint::{Agent, Code};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let statistics = Instrumentation::new();
    let calls = ScriptedReply::calls(&[("a", "add", "{}"), ("b", "add", "{}"), ("c", "divide", "{}")]);
    let agent = Agent::builder()
        .model(ScriptedModel::new(vec![calls, ScriptedReply::text("done")]))
        .tool(tool("add", "Adds", async || 8))
        .tool(tool("divide", "Divides", async || Err::<u32, _>("division by zero")))
        .policy(AllowAll)
        .around(statistics.clone())
        .build()?;
    agent.chat("calculate").await?;

    for tool in statistics.stats() {
        println!(
            "{}: {} calls, {:?} of them fine, p95 {:?} µs",
            tool.tool,
            tool.total,
            tool.success_rate(),
            tool.p95_us
        );
    }
    let add = statistics.of(&"add".into()).ok_or("it was called")?;
    assert_eq!((add.total, add.succeeded, add.in_flight), (2, 2, 0));
    assert!(add.p50_us <= add.p95_us);
    let divide = statistics.of(&"divide".into()).ok_or("it was called")?;
    assert_eq!((divide.success_rate(), divide.last_error), (Some(0.0), Some(Code::ToolError)));
    Ok(())
}
