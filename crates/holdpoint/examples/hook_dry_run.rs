//! A dry run: nothing is executed, and each result says what would have been.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use holdpoint::hooks::DryRun;
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::AllowAll;
use holdpoint::tools::{ToolCall, raw_tool};
use holdpoint::{Agent, Source};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pay = raw_tool("pay", "Pays", json!({"type": "object"}), async |_: ToolCall| -> Result<&str, &str> {
        panic!("nobody pays in a dry run")
    });
    let model = ScriptedModel::new(vec![
        ScriptedReply::call("p", "pay", r#"{"to": "ana", "amount": 7}"#),
        ScriptedReply::text("That would have been 7 for Ana."),
    ]);
    let agent = Agent::builder().model(model).tool(pay).policy(AllowAll).around(DryRun::new()).build()?;

    let result = agent.chat("Pay Ana 7.").await?;
    let told = result.messages()[2].text();
    println!("{told}");
    assert_eq!(told, r#"{"arguments":{"amount":7,"to":"ana"},"simulated":true,"would_call":"pay"}"#);

    // It is marked, and is not counted as an execution.
    assert_eq!(result.records()[0].source, Some(Source::DryRun));
    assert_eq!(result.tool_executions(), 0);
    Ok(())
}
