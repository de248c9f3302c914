//! Servers that ask a person in the middle of a call, and do nothing else until they have an answer.

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::{Calling, call, connect, faulty, tool, tool_call, try_call};
use holdpoint_core::{Block, ErrorDetail, Given, JsonText, Outcome, ToolResult};
use holdpoint_mcp::ServerConfig;
use holdpoint_tools::{Inquiry, Invocation, Place, Tool, Unsettled, invoke};
use serde_json::{Value, json};

async fn asked(tool: &Arc<dyn Tool>) -> Arc<Inquiry> {
    match try_call(tool, json!({}), Calling::default()).await {
        Err(Unsettled::Asks(inquiry)) => inquiry,
        other => panic!("{other:?}"),
    }
}

fn given(inquiry: &Inquiry, answer: ToolResult) -> Calling {
    let given = Given { asks: Arc::new(inquiry.to_result()), answer: Some(Arc::new(answer)) };
    Calling { given: Some(given), ..Calling::default() }
}

fn name(name: &str) -> ToolResult {
    ToolResult::from_blocks(vec![Block::Json(JsonText::new(json!({ "name": name }).to_string()))])
}

async fn counts(tool: &Arc<dyn Tool>) -> Value {
    serde_json::from_str(&call(tool, json!({})).await.result.text()).unwrap()
}

#[tokio::test]
async fn a_call_that_is_abandoned_leaves_the_server_free_for_the_next() {
    let servers = connect("s", faulty("asks")).await;
    let ask = tool(&servers, "s__ask");
    asked(&ask).await;
    let quick = || Calling { timeout: Duration::from_millis(300), ..Calling::default() };
    let stuck = try_call(&tool(&servers, "s__work"), json!({}), quick()).await.unwrap();
    assert_eq!(stuck.outcome, Outcome::TimedOut, "the server waits for a person and does nothing else");
    ask.abandon(tool_call(&ask, &json!({})).key());
    assert_eq!(call(&tool(&servers, "s__work"), json!({})).await.result.text(), "done");
    // The one that was stuck, and the one that was abandoned.
    assert_eq!(counts(&tool(&servers, "s__counts")).await["cancelled"], 2);
}

#[tokio::test]
async fn where_nobody_can_be_asked_the_call_fails_and_the_server_is_free() {
    let servers = connect("s", faulty("asks")).await;
    let ask = tool(&servers, "s__ask");
    let settlement = invoke(Invocation {
        call: tool_call(&ask, &json!({})),
        tool: Arc::clone(&ask),
        timeout: Duration::from_secs(60),
        place: Place::Task,
        output_bytes_max: 200_000,
        error_detail: ErrorDetail::Safe,
    })
    .await;
    assert_eq!(settlement.outcome, Outcome::Failed);
    assert_eq!(call(&tool(&servers, "s__work"), json!({})).await.result.text(), "done");
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_back_is_never_a_call_that_begins_again() {
    for repeat_safe in [vec![], vec!["ask".to_owned()]] {
        let servers = connect("s", ServerConfig { repeat_safe, ..faulty("asks") }).await;
        let ask = tool(&servers, "s__ask");
        let inquiry = asked(&ask).await;
        let cut = ToolResult::success("Left out because it is too large");
        let unknown = try_call(&ask, json!({}), given(&inquiry, cut)).await;
        assert!(matches!(unknown, Err(Unsettled::Unknown)), "{unknown:?}");
        // The call still waits, and what can be read answers it.
        let answered = try_call(&ask, json!({}), given(&inquiry, name("ana"))).await.unwrap();
        assert_eq!(answered.result.text(), r#"accept {"name": "ana"}"#);
        assert_eq!(counts(&tool(&servers, "s__counts")).await["calls"], 2);
    }
}

#[tokio::test]
async fn the_result_that_comes_in_the_last_round_counts() {
    let servers = connect("s", faulty("asks")).await;
    let nag = tool(&servers, "s__nag");
    assert_eq!(call(&nag, json!({ "times": 10 })).await.result.text(), "asked 10 times");
    let text = call(&nag, json!({ "times": 11 })).await.result.text();
    assert!(text.contains("asked too often"), "{text}");
}
