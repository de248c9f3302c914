//! Every part that can be your own: a model, a tool, a policy, a hook and an executor.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use async_trait::async_trait;
use holdpoint::hooks::{Around, AroundCall, HookError, Next};
use holdpoint::model::{DeltaSink, Model, ModelCall, ModelError, ModelReply, ModelRequest};
use holdpoint::policy::{AuthorizeRequest, Policy, PolicyError};
use holdpoint::tools::{Batch, Execute, Tool, ToolCall, ToolDefinition, ToolError};
use holdpoint::{Agent, Decision, Message, Settlement, ToolResult};
use serde_json::json;

/// Asks for the time once, then repeats what the tool said.
struct Echo;

#[async_trait]
impl Model for Echo {
    async fn reply(
        &self,
        request: &ModelRequest<'_>,
        _deltas: &dyn DeltaSink,
    ) -> Result<Option<ModelReply>, ModelError> {
        let last = request.messages.last().ok_or_else(|| ModelError::new("no message"))?;
        Ok(Some(match &**last {
            Message::Tool(answer) => ModelReply { text: answer.result.text().into(), ..ModelReply::default() },
            _ => {
                let call = ModelCall { id: None, name: "clock".into(), arguments: None };
                ModelReply { calls: vec![call], ..ModelReply::default() }
            }
        }))
    }
}

struct Clock {
    definition: ToolDefinition,
}

#[async_trait]
impl Tool for Clock {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError> {
        call.progress("looking at the clock");
        Ok(ToolResult::success("a quarter past nine"))
    }
}

/// Allows what only reads.
struct OnlyReads;

#[async_trait]
impl Policy for OnlyReads {
    async fn authorize(&self, request: &AuthorizeRequest<'_>) -> Result<Decision, PolicyError> {
        Ok(if request.tool.as_str() == "clock" { Decision::allow() } else { Decision::deny("only reads are allowed") })
    }
}

/// Prints how each call ended.
struct Print;

#[async_trait]
impl Around for Print {
    async fn around(&self, call: &AroundCall, next: Next<'_>) -> Result<Settlement, HookError> {
        let settled = next.run().await?;
        println!("{}: {} after {} µs", call.definition().name, settled.outcome.as_str(), settled.latency_us);
        Ok(settled)
    }
}

/// Runs the calls from the last to the first. The model still gets the results in the order in which it asked.
struct Backwards;

#[async_trait]
impl Execute for Backwards {
    async fn execute(&self, batch: Batch) {
        for call in batch.calls().iter().rev() {
            batch.run(call.index).await;
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let definition = ToolDefinition::new("clock", "Says what time it is", json!({"type": "object"}));
    let agent = Agent::builder()
        .model(Echo)
        .tool(Clock { definition })
        .policy(OnlyReads)
        .around(Arc::new(Print))
        .register_executor("backwards", Arc::new(Backwards))
        .with_tool_concurrency("backwards", None)
        .build()?;
    let done = agent.chat("What time is it?").await?;
    println!("{}", done.text().unwrap_or_default());
    assert_eq!(done.text().as_deref(), Some("a quarter past nine"));
    Ok(())
}
