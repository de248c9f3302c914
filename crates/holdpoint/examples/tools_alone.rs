//! Tools without a model: execute by name, or from a provider's tool call. It never fails and never panics.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use holdpoint::Context;
use holdpoint::tools::{ToolExecutor, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Sum {
    a: i64,
    b: i64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut executor = ToolExecutor::new();
    executor.register(tool("add", "Adds two numbers", async |sum: Sum| sum.a + sum.b))?;

    let result = executor.execute("add", json!({"a": 5, "b": 3}), &Context::new()).await;
    println!("{} in {:.3} ms", result.output, result.latency_ms);

    let call = json!({"function": {"name": "add", "arguments": "{\"a\": 1, \"b\": 2}"}});
    println!("{}", executor.execute_tool_call(&call).await.to_json());

    let blocked = executor.execute("rm_rf", json!({"path": "/"}), &Context::new()).await;
    println!("{}", blocked.error.unwrap_or_default());
    Ok(())
}
