//! The providers' own Python SDKs read a stream, and we read the same one: both must find the same in it.
//!
//! The streams `*_text` and `*_call` were recorded from llama.cpp's server; the others are in the form of the providers'
//! own documentation.

#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

#[path = "faults/server.rs"]
#[allow(dead_code, reason = "the server of the fault tests can do more")]
mod server;

use std::path::Path;
use std::sync::Arc;

use holdpoint_core::{Message, ModelStop};
use holdpoint_model::{ModelChoice, ModelReply, ModelRequest, NoDeltas};
use serde::Deserialize;
use serde_json::Value;
use server::{FaultServer, stream};

/// What the SDK found.
#[derive(Debug, Deserialize)]
struct Found {
    text: String,
    thinking: Option<String>,
    calls: Vec<FoundCall>,
    stop: String,
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    reasoning: u64,
}

#[derive(Debug, Deserialize)]
struct FoundCall {
    id: String,
    name: String,
    arguments: String,
}

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sdk"))
}

fn frames(name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder().join(format!("{name}.sse"))).unwrap();
    text.split_inclusive("\n\n").map(str::to_owned).collect()
}

/// The SDK takes seconds to start, so one process reads all of them.
async fn theirs(api: &str, names: &[&str]) -> Vec<Found> {
    let python = std::env::var("HOLDPOINT_TEST_PYTHON")
        .expect("HOLDPOINT_TEST_PYTHON is not set: run ./scripts/test, or set it to what ./scripts/llm install prints");
    let mut servers = Vec::new();
    for name in names {
        servers.push(FaultServer::start(vec![stream(&frames(name))]).await);
    }
    let mut command = std::process::Command::new(python);
    command.arg(folder().join("parse.py")).arg(api).args(servers.iter().map(|server| &server.url));
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    assert!(output.status.success(), "{names:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

async fn ours(provider: &str, name: &str) -> ModelReply {
    let server = FaultServer::start(vec![stream(&frames(name))]).await;
    let choice = ModelChoice::parse(&format!("{provider}:m")).unwrap().base_url(format!("{}/v1", server.url));
    let messages = [Arc::new(Message::user("hello"))];
    choice.open().unwrap().reply(&ModelRequest::new(&messages, &[]), &NoDeltas).await.unwrap().unwrap()
}

/// Anthropic's SDK gives a value, the others the text as it came.
fn same_arguments(api: &str, ours: Option<&str>, theirs: &str) -> bool {
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    match api {
        "anthropic" => value(ours.unwrap_or("{}")) == value(theirs),
        _ => ours == Some(theirs),
    }
}

async fn compare_all(api: &str, provider: &str, names: [&str; 3]) {
    let found = theirs(api, &names).await;
    assert_eq!(found.len(), names.len());
    for (name, theirs) in names.into_iter().zip(found) {
        compare(api, name, &theirs, &ours(provider, name).await);
    }
}

fn compare(api: &str, name: &str, theirs: &Found, ours: &ModelReply) {
    assert_eq!(*ours.text, *theirs.text, "{name}");
    assert_eq!(ours.thinking.as_deref(), theirs.thinking.as_deref(), "{name}");
    assert_eq!(ours.calls.len(), theirs.calls.len(), "{name}");
    for (ours, theirs) in ours.calls.iter().zip(&theirs.calls) {
        assert_eq!((ours.id.as_deref(), &*ours.name), (Some(&*theirs.id), &*theirs.name), "{name}");
        assert!(same_arguments(api, ours.arguments.as_deref(), &theirs.arguments), "{name}: {ours:?} {theirs:?}");
    }
    let stop = match &*theirs.stop {
        "stop" | "end_turn" => ModelStop::EndTurn,
        "tool_calls" | "tool_use" => ModelStop::ToolUse,
        "length" | "max_tokens" => ModelStop::MaxTokens,
        other => panic!("{name}: {other}"),
    };
    let default = if ours.calls.is_empty() { ModelStop::EndTurn } else { ModelStop::ToolUse };
    assert_eq!(ours.stop.clone().unwrap_or(default), stop, "{name}");
    let usage = ours.usage;
    let found = (theirs.input, theirs.output, theirs.cache_read, theirs.cache_write, theirs.reasoning);
    assert_eq!((usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning), found, "{name}");
}

#[tokio::test]
async fn chat_completions_are_read_as_the_openai_sdk_reads_them() {
    compare_all("chat", "openai", ["chat_text", "chat_call", "chat_parallel"]).await;
}

#[tokio::test]
async fn responses_are_read_as_the_openai_sdk_reads_them() {
    compare_all("responses", "openai-responses", ["responses_text", "responses_call", "responses_reasoning"]).await;
}

#[tokio::test]
async fn messages_are_read_as_the_anthropic_sdk_reads_them() {
    compare_all("anthropic", "anthropic", ["anthropic_text", "anthropic_call", "anthropic_thinking"]).await;
}
