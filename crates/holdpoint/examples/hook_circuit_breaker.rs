//! A circuit breaker: a tool that keeps failing is left alone for a while, and the model is told so.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use holdpoint::hooks::{CircuitBreaker, CircuitState};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::AllowAll;
use holdpoint::tools::tool;
use holdpoint::{Agent, Code, Source};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Two failures in a row open it for half a minute; then one call tries again.
    let breaker = CircuitBreaker::builder(2, 30_000).build()?;
    let stock = tool("stock", "The price of a share", async || Err::<&str, _>("connection refused"));

    let call = |id| ScriptedReply::call(id, "stock", "{}");
    let script = vec![call("a"), call("b"), call("c"), ScriptedReply::text("I cannot tell right now.")];
    let agent = Agent::builder()
        .model(ScriptedModel::new(script))
        .tool(stock)
        .policy(AllowAll)
        .around(breaker.clone())
        .build()?;

    let result = agent.chat("What is a share worth?").await?;
    let [first, second, third] = &result.records()[..] else { panic!("three calls") };
    assert_eq!((first.code, first.source), (Some(Code::ToolError), Some(Source::Tool)));
    assert_eq!((second.code, second.source), (Some(Code::ToolError), Some(Source::Tool)));
    assert_eq!((third.code, third.source), (Some(Code::CircuitOpen), Some(Source::Hook)));
    assert_eq!(result.tool_executions(), 2);
    assert_eq!(breaker.state(&"stock".into()), CircuitState::Open);
    println!("{}", result.text().unwrap_or_default());
    Ok(())
}
