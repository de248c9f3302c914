//! An executor of one's own: each call runs in a child process. Hooks, timeout and intent stay around it.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::process::Stdio;
use std::sync::Arc;

use async_trait::async_trait;
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::AllowAll;
use holdpoint::tools::{Batch, Execute, Invoke, Place, Tool, ToolCall, ToolError, raw_tool};
use holdpoint::{Agent, ToolResult};
use serde_json::json;
use tokio::io::AsyncWriteExt;

/// Decides when and where: one after another, each in a child.
struct Children;

#[async_trait]
impl Execute for Children {
    async fn execute(&self, batch: Batch) {
        for call in batch.calls() {
            batch.run_in(call.index, Place::Custom(Arc::new(Child))).await;
        }
    }
}

/// Gives the arguments to a program and takes what it prints.
struct Child;

#[async_trait]
impl Invoke for Child {
    async fn invoke(&self, _: Arc<dyn Tool>, call: ToolCall) -> Result<ToolResult, ToolError> {
        let mut command = tokio::process::Command::new("sort");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            let lines: Vec<String> = call.arguments_as::<Lines>()?.lines;
            stdin.write_all(lines.join("\n").as_bytes()).await?;
        }
        let output = child.wait_with_output().await?;
        Ok(ToolResult::success(String::from_utf8_lossy(&output.stdout).trim().to_owned()))
    }
}

#[derive(serde::Deserialize)]
struct Lines {
    lines: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = ScriptedModel::new(vec![
        ScriptedReply::call("s", "sort", r#"{"lines": ["pear", "apple"]}"#),
        ScriptedReply::text("sorted"),
    ]);
    let agent = Agent::builder()
        .model(model)
        .policy(AllowAll)
        .tool(raw_tool("sort", "Sorts lines", json!({"type": "object"}), async |_| "the child does it"))
        .register_executor("children", Arc::new(Children))
        .with_tool_concurrency("children", None)
        .build()?;
    let result = agent.chat("sort these").await?;
    println!("{}", result.new_messages()[1].text());
    Ok(())
}
