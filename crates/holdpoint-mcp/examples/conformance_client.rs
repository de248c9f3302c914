//! A client that the official conformance suite drives: it reaches the server of a scenario, calls every tool, and says yes
//! to whatever is asked, with nothing but what the server proposes.
//!
//! `conformance client --command target/debug/examples/conformance_client --scenario tools_call`
#![allow(clippy::print_stdout, reason = "the suite shows it when something is wrong")]

use std::sync::Arc;
use std::time::Duration;

use holdpoint_codec::{Context, arguments_for, parse_arguments};
use holdpoint_core::{
    Attempt, CallId, CallIndex, CallKey, ErrorDetail, Given, IdempotencyKey, Outcome, RequestedName, RunId, Settlement,
    Turn,
};
use holdpoint_mcp::{McpServers, ServerConfig};
use holdpoint_tools::{Asking, CallFacts, Invocation, Place, Tool, ToolCall, Unsettled, invoke_gated};
use serde_json::{Map, Value, json};

/// How often a server may ask about one call.
const ASKS_MAX: usize = 5;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().next_back().filter(|argument| argument.starts_with("http")).ok_or("give a URL")?;
    let servers = McpServers::connect([("suite", ServerConfig::http(url))]).await?;
    for tool in servers.tools() {
        let settlement = settle(&tool).await?;
        println!("{}: {}", tool.definition().name, settlement.result.text());
        if settlement.outcome != Outcome::Succeeded {
            return Err(format!("`{}` did not succeed", tool.definition().name).into());
        }
    }
    servers.close().await;
    Ok(())
}

async fn settle(tool: &Arc<dyn Tool>) -> Result<Settlement, Box<dyn std::error::Error>> {
    let mut given = None;
    for _ in 0..ASKS_MAX {
        let invocation = Invocation {
            tool: Arc::clone(tool),
            call: call(tool)?.with_given(given.take().map(Arc::new)),
            timeout: Duration::from_secs(20),
            place: Place::Task,
            output_bytes_max: 200_000,
            error_detail: ErrorDetail::Debug,
        };
        match invoke_gated(&invocation, Asking::Person, Arc::new(|| true)).await {
            Ok(settlement) => return Ok(settlement),
            Err(Unsettled::Asks(inquiry)) => given = Some(Given { asks: Arc::new(inquiry.to_result()), answer: None }),
            Err(Unsettled::Unknown | Unsettled::NotStarted) => return Err("nobody knows what became of it".into()),
        }
    }
    Err("it asked too often".into())
}

fn call(tool: &Arc<dyn Tool>) -> Result<ToolCall, Box<dyn std::error::Error>> {
    let definition = tool.definition();
    let name = &definition.name;
    let arguments = parse_arguments(Some(&sample(&definition.parameters).to_string()))?;
    Ok(ToolCall::new(CallFacts {
        id: CallId::new("tc_1"),
        key: CallKey { run: RunId::new("conformance"), turn: Turn(1), index: CallIndex(0) },
        requested: RequestedName::new(name.as_str()),
        tool: name.clone(),
        arguments: arguments_for(name.as_str(), &arguments),
        context: Arc::new(Context::new()),
        attempt: Attempt(1),
        idempotency_key: IdempotencyKey::new("conformance"),
    }))
}

/// Arguments that fit a simple schema.
fn sample(schema: &Value) -> Value {
    let properties = schema["properties"].as_object().into_iter().flatten();
    let filled: Map<String, Value> = properties.map(|(name, property)| (name.clone(), value(property))).collect();
    Value::Object(filled)
}

fn value(property: &Value) -> Value {
    match property["type"].as_str() {
        Some("number" | "integer") => json!(5),
        Some("boolean") => json!(true),
        _ => json!("text"),
    }
}
