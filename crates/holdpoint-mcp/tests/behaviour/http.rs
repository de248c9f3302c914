//! Servers over HTTP that forget sessions and answer too much.

use crate::common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::{call, connect, over_http, tool, tool_call};
use holdpoint_core::{ErrorDetail, Outcome};
use holdpoint_mcp::{McpServers, ServerConfig};
use holdpoint_tools::{Asking, Gate, Invocation, Place, Unsettled, invoke_gated};
use serde_json::{Value, json};

async fn counts(servers: &McpServers) -> Value {
    serde_json::from_str(&call(&tool(servers, "s__counts"), json!({})).await.result.text()).unwrap()
}

#[tokio::test]
async fn a_call_in_a_session_that_the_server_forgot_is_made_once_in_a_new_one() {
    let (_server, config) = over_http("plain");
    let servers = connect("s", config).await;
    call(&tool(&servers, "s__forget"), json!({})).await;
    let work = call(&tool(&servers, "s__work"), json!({})).await;
    assert_eq!(work.result.text(), "done");
    let told = counts(&servers).await;
    assert_eq!(told, json!({ "works": 1, "lists": 2, "sessions": 2 }), "the tools are listed before the call");
}

#[tokio::test]
async fn a_tool_that_changed_while_the_session_was_forgotten_does_not_run() {
    let (_server, config) = over_http("plain");
    let servers = connect("s", config).await;
    let work = tool(&servers, "s__work");
    call(&tool(&servers, "s__forget_and_change"), json!({})).await;
    let text = call(&work, json!({})).await.result.text();
    assert!(text.contains("nobody accepted that") && text.contains("not executed"), "{text}");
    assert_eq!(counts(&servers).await["works"], 0);
}

#[tokio::test]
async fn a_body_or_an_event_above_the_limit_ends_the_call_and_the_next_one_works() {
    let (_server, config) = over_http("plain");
    let servers = connect("s", ServerConfig { max_message_bytes: 1_000_000, ..config }).await;
    for name in ["s__large", "s__large_event"] {
        let large = call(&tool(&servers, name), json!({})).await;
        assert_eq!(large.outcome, Outcome::Failed);
        assert!(large.result.text().contains("a message above the limit"), "{name}: {}", large.result.text());
        assert_eq!(call(&tool(&servers, "s__work"), json!({})).await.result.text(), "done");
    }
}

#[tokio::test]
async fn a_call_is_not_sent_once_its_gate_is_closed() {
    let (_server, config) = over_http("plain");
    let servers = connect("s", config).await;
    let work = tool(&servers, "s__work");
    let passed = AtomicBool::new(false);
    // Open when the call begins, closed when there is a connection.
    let gate: Gate = Arc::new(move || !passed.swap(true, Ordering::AcqRel));
    let invocation = Invocation {
        call: tool_call(&work, &json!({})),
        tool: work,
        timeout: Duration::from_secs(60),
        place: Place::Task,
        output_bytes_max: 200_000,
        error_detail: ErrorDetail::Safe,
    };
    let ended = invoke_gated(&invocation, Asking::Nobody, gate).await;
    assert!(matches!(ended, Err(Unsettled::NotStarted)), "{ended:?}");
    assert_eq!(counts(&servers).await["works"], 0);
}
