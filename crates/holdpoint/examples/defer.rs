//! Work that is done elsewhere: the run pauses, tasks go to a queue, results come back in any order.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::AllowAll;
use holdpoint::tools::raw_tool;
use holdpoint::{Agent, ExportOptions, Results, SigningKey, ToolResult};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = ScriptedModel::new(vec![
        ScriptedReply::calls(&[("a", "render", r#"{"page": 1}"#), ("b", "render", r#"{"page": 2}"#)]),
        ScriptedReply::text("Both pages are rendered."),
    ]);
    let agent = Agent::builder()
        .model(model)
        .tool(raw_tool("render", "Renders a page", json!({"type": "object"}), async |_| "not called here"))
        .policy(AllowAll)
        .with_tool_concurrency("defer_all", None)
        .signing_key(SigningKey::new("2026", b"a secret of at least 32 bytes, please"))
        .build()?;

    let paused = agent.chat("render both pages").await?;
    let continuation = paused.continuation().ok_or("the run did not pause")?;

    // What your own scheduler needs, as JSON. It holds raw arguments: treat it as sensitive.
    let tasks: Value = serde_json::from_str(&agent.runner().export_tasks(&continuation, &ExportOptions::default())?)?;
    println!("{} tasks for batch {}", tasks["tasks"].as_array().map_or(0, Vec::len), tasks["batch_id"]);

    // What your own storage needs to go on in another process. It works once.
    let saved = agent.runner().export(&continuation, &ExportOptions::default())?;

    let partial = Results::new().result("b", ToolResult::success("page two")).partial();
    let paused = agent.resume_with_tool_results(saved.as_str(), partial).await?;
    assert_eq!(paused.pending_executions().len(), 1);
    let done = agent.resume_with_tool_results(&paused, [("a", ToolResult::success("page one"))]).await?;
    println!("{}", done.text().unwrap_or_default());
    Ok(())
}
