//! Tools of MCP servers in an agent: policy, and servers that ask a person in the middle of a call.

#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

#[path = "behaviour/common.rs"]
mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::by_name;
use holdpoint::mcp::{McpServers, ServerConfig};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::{Agent, AgentBuilder, Code, Decision, Decisions, RunResult, Status, ToolResult};
use holdpoint_core::{Block, DoubtCause, JsonText};
use holdpoint_store::MemoryStore;
use serde_json::{Value, json};

const ASKING: &str = "all__trigger-elicitation-request";

fn folder() -> PathBuf {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/mcp-servers");
    let folder = std::env::var_os("HOLDPOINT_TEST_MCP").map_or_else(usual, PathBuf::from);
    assert!(folder.join("installed").exists(), "the MCP servers are missing: run ./scripts/mcp-servers");
    folder.canonicalize().unwrap()
}

fn everything() -> ServerConfig {
    let modules = folder().join("npm/node_modules");
    let server = modules.join("@modelcontextprotocol/server-everything/dist/index.js");
    let path = |path: PathBuf| path.to_str().unwrap().to_owned();
    ServerConfig::stdio([path(modules.join(".bin/node")), path(server), "stdio".to_owned()])
}

async fn servers(config: ServerConfig) -> McpServers {
    McpServers::connect([("all", config)]).await.unwrap()
}

fn builder(calls: &[(&str, &str, &str)], servers: &McpServers) -> AgentBuilder {
    let model = ScriptedModel::new(vec![ScriptedReply::calls(calls), ScriptedReply::text("done")]);
    Agent::builder().model(model).policy(by_name()).tools(servers.tools())
}

fn content(value: &Value) -> ToolResult {
    ToolResult::from_blocks(vec![Block::Json(JsonText::new(value.to_string()))])
}

/// What the tool said to the model.
fn told(result: &RunResult) -> String {
    result.new_messages().iter().map(|message| message.text()).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_tool_of_a_server_is_subject_to_policy_like_any_other() {
    let servers = servers(everything()).await;
    let calls = [("a", "all__echo", r#"{"message": "hi"}"#), ("b", "all__get-sum", r#"{"a": 1, "b": 2}"#)];
    let policy = holdpoint::policy::policy_fn(|request| match request.tool.as_str() {
        "all__echo" => Decision::allow(),
        _ => Decision::deny("not this one"),
    });
    let agent = builder(&calls, &servers).policy(policy).build().unwrap();
    let result = agent.chat("go").await.unwrap();
    assert!(told(&result).contains("Echo: hi") && told(&result).contains("not this one"), "{}", told(&result));
}

#[tokio::test]
async fn what_a_server_asks_a_person_is_a_pause_and_the_answer_goes_back_to_the_server() {
    let servers = servers(everything()).await;
    let calls = [("a", ASKING, "{}"), ("b", "all__echo", r#"{"message": "sibling"}"#)];
    let agent = builder(&calls, &servers).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    assert_eq!(paused.status(), Status::AwaitingToolConfirmation);
    let pending = paused.pending_confirmations();
    let shown = pending.iter().find(|pending| pending.id.as_str() == "a").unwrap();
    assert_eq!(shown.doubt.as_ref().unwrap().cause, DoubtCause::NeedsInput);
    let json = shown.to_json();
    assert_eq!(json["doubt"]["asks"]["message"], "Please provide inputs for the following fields:");
    assert_eq!(json["doubt"]["asks"]["schema"]["required"], json!(["name"]));
    assert_eq!(&*shown.tool_source, "mcp:all");

    let continuation = paused.continuation().unwrap();
    let wrong = agent.resume(&continuation, Decisions::new().answer("a", content(&json!({ "name": 5 })))).await;
    assert_eq!(wrong.unwrap_err().code(), Code::InvalidArguments);
    let nothing = agent.resume(&continuation, Decisions::new().allow("a")).await;
    assert_eq!(nothing.unwrap_err().code(), Code::InvalidArguments);

    let answer = content(&json!({ "name": "Ana Lima", "integer": 7 }));
    let result = agent.resume(&continuation, Decisions::new().answer("a", answer)).await.unwrap();
    assert_eq!(result.status(), Status::Finished);
    let told = told(&result);
    assert!(told.contains("User provided the requested information"), "{told}");
    assert!(told.contains("- Name: Ana Lima") && told.contains("- Favorite Integer: 7"), "{told}");
    assert!(told.contains("- Favorite Number: 3.14"), "what the server proposed is kept: {told}");
    assert!(told.contains("Echo: sibling"), "{told}");
}

#[tokio::test]
async fn a_person_who_does_not_answer_ends_the_call_and_not_the_run() {
    let servers = servers(everything()).await;
    let agent = builder(&[("a", ASKING, "{}")], &servers).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    let refuse = Decisions::new().deny("a", "that is private");
    let result = agent.resume(paused.continuation().unwrap(), refuse).await.unwrap();
    assert_eq!(result.status(), Status::Finished);
    assert!(told(&result).contains("that is private"), "{}", told(&result));
}

#[tokio::test]
async fn an_answer_that_comes_after_the_process_died_puts_the_call_in_doubt() {
    let store = Arc::new(MemoryStore::new());
    let before = servers(everything()).await;
    let agent = builder(&[("a", ASKING, "{}")], &before).store(store.clone()).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    let id = paused.continuation().unwrap().id().clone();
    before.close().await;
    drop((agent, before));

    let after = servers(everything()).await;
    let model = ScriptedModel::new(vec![ScriptedReply::text("done")]);
    let agent = Agent::builder().model(model).policy(by_name()).tools(after.tools()).store(store).build().unwrap();
    let answer = Decisions::new().answer("a", content(&json!({ "name": "Ana" })));
    let doubted = agent.resume(id, answer).await.unwrap();
    assert_eq!(doubted.status(), Status::AwaitingToolConfirmation);
    let doubt = doubted.pending_confirmations()[0].doubt.clone().unwrap();
    assert_eq!((doubt.cause, doubt.asks.is_none()), (DoubtCause::Crashed, true));

    // It did not happen, says a person: it begins again, and so the server asks again.
    let again = agent.resume(doubted.continuation().unwrap(), Decisions::new().allow("a")).await.unwrap();
    assert_eq!(again.pending_confirmations()[0].doubt.clone().unwrap().cause, DoubtCause::NeedsInput);
}

#[tokio::test]
async fn a_call_that_may_be_repeated_is_repeated_with_the_answer_after_the_process_died() {
    let store = Arc::new(MemoryStore::new());
    let config = ServerConfig { repeat_safe: vec!["trigger-elicitation-request".to_owned()], ..everything() };
    let before = servers(config.clone()).await;
    let agent = builder(&[("a", ASKING, "{}")], &before).store(store.clone()).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    let id = paused.continuation().unwrap().id().clone();
    before.close().await;
    drop((agent, before));

    let after = servers(config).await;
    let model = ScriptedModel::new(vec![ScriptedReply::text("done")]);
    let agent = Agent::builder().model(model).policy(by_name()).tools(after.tools()).store(store).build().unwrap();
    let answer = Decisions::new().answer("a", content(&json!({ "name": "Ana" })));
    let result = agent.resume(id, answer).await.unwrap();
    assert!(told(&result).contains("- Name: Ana"), "{}", told(&result));
}

#[tokio::test]
async fn a_link_that_a_server_wants_opened_is_answered_by_yes() {
    let servers = servers(everything()).await;
    let arguments = r#"{"url": "https://example.com/login", "message": "log in"}"#;
    let agent = builder(&[("a", "all__trigger-url-elicitation", arguments)], &servers).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    let asks = paused.pending_confirmations()[0].to_json()["doubt"]["asks"]["message"].clone();
    assert_eq!(asks, "log in\nhttps://example.com/login");
    let result = agent.resume(paused.continuation().unwrap(), Decisions::new().allow("a")).await.unwrap();
    assert_eq!(result.status(), Status::Finished);
    assert!(told(&result).to_lowercase().contains("accept"), "{}", told(&result));
}

#[tokio::test]
async fn an_agent_takes_the_tools_that_are_offered_now() {
    let servers = servers(ServerConfig { offer: vec!["echo".to_owned()], ..everything() }).await;
    let agent = builder(&[("a", "all__get-sum", r#"{"a": 1, "b": 2}"#)], &servers).build().unwrap();
    let sum = servers.report().remove(0).tools.into_iter().find(|tool| tool.name == "get-sum").unwrap();
    servers.accept("all", "get-sum", sum.digest).unwrap();
    let agent = agent.with_tools(servers.tools()).unwrap();
    let result = agent.chat("go").await.unwrap();
    assert!(told(&result).contains('3'), "{}", told(&result));
}
