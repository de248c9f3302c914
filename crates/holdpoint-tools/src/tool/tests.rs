//! Making tools from functions, and what they may return.

use std::sync::Arc;
use std::time::Duration;

use holdpoint_core::{Block, Repeat, ResultKind, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::*;
use crate::ToolMetadata;
use crate::testing::call;

#[derive(Deserialize, JsonSchema)]
struct Refund {
    /// Which order.
    order: String,
    amount: u32,
}

const ARGUMENTS: &str = r#"{"order": "42", "amount": 7}"#;

async fn run(tool: MadeTool, arguments: &str) -> Result<ToolResult, ToolError> {
    let call = call(tool.definition().name.as_str(), arguments);
    tool.call(call).await
}

#[tokio::test]
async fn async_functions_of_every_form_are_tools() {
    let with_call = tool("a", "", async |r: Refund, call: ToolCall| format!("{} {} {}", r.order, r.amount, call.id()));
    assert_eq!(run(with_call, ARGUMENTS).await.unwrap().text(), "42 7 tc_1");
    let without_call = tool("b", "", async |r: Refund| r.amount + 1);
    assert_eq!(run(without_call, ARGUMENTS).await.unwrap().text(), "8");
    let nothing = tool("c", "", async || "pong");
    assert_eq!(run(nothing, "{}").await.unwrap().text(), "pong");
    async fn named(r: Refund) -> Result<String, std::io::Error> {
        Ok(r.order)
    }
    assert_eq!(run(tool("d", "", named), ARGUMENTS).await.unwrap().text(), "42");
}

#[tokio::test]
async fn plain_functions_of_every_form_are_blocking_tools() {
    let with_call = blocking_tool("a", "", |r: Refund, call: ToolCall| format!("{} {}", r.order, call.tool()));
    assert_eq!(with_call.blocking(), Blocking::Yes);
    assert_eq!(run(with_call, ARGUMENTS).await.unwrap().text(), "42 a");
    assert_eq!(run(blocking_tool("b", "", |r: Refund| r.amount), ARGUMENTS).await.unwrap().text(), "7");
    assert_eq!(run(blocking_tool("c", "", || true), "{}").await.unwrap().text(), "true");
}

#[tokio::test]
async fn a_closure_with_a_raw_schema_gets_the_call() {
    let schema = json!({ "type": "object" });
    let echo = raw_tool("echo", "", schema.clone(), async |call: ToolCall| call.arguments().expose().to_owned());
    assert_eq!(run(echo, r#"{"b": 1, "a": 2}"#).await.unwrap().text(), r#"{"a":2,"b":1}"#);
    let blocking = raw_blocking_tool("echo", "", schema, |call: ToolCall| call.arguments_as::<Value>().map(Json));
    assert_eq!(run(blocking, r#"{"b": 1}"#).await.unwrap().text(), r#"{"b":1}"#);
}

#[tokio::test]
async fn a_closure_may_keep_something_of_its_own() {
    let shelf = Arc::new(vec!["a", "b"]);
    let tool = tool("take", "", move |r: Refund| {
        let shelf = Arc::clone(&shelf);
        async move { shelf.get(r.amount as usize).copied().ok_or("no such place") }
    });
    assert_eq!(run(tool.clone(), r#"{"order": "", "amount": 1}"#).await.unwrap().text(), "b");
    let error = run(tool, r#"{"order": "", "amount": 9}"#).await.unwrap_err();
    assert_eq!((error.fault(), error.message()), (ToolFault::Failed, "no such place"));
}

#[tokio::test]
async fn arguments_that_do_not_fit_the_type_are_invalid_and_not_run() {
    let tool = tool("a", "", async |_: Refund| -> String { panic!("must not run") });
    let error = run(tool, r#"{"order": 7}"#).await.unwrap_err();
    assert_eq!(error.fault(), ToolFault::InvalidArguments);
}

#[test]
fn metadata_is_said_on_the_tool() {
    let made = tool("a", "does a", async || ())
        .parallelizable(true)
        .repeat(Repeat::Safe)
        .timeout(Duration::from_secs(5))
        .source("mcp:files")
        .version("2");
    let metadata = &made.definition().metadata;
    assert_eq!(metadata.parallelizable, Some(true));
    assert_eq!(metadata.repeat, Repeat::Safe);
    assert_eq!(metadata.timeout, Some(Duration::from_secs(5)));
    assert_eq!(metadata.version.as_deref(), Some("2"));
    assert!(metadata.is_from_mcp());
    assert_eq!(&*made.definition().facts().source, "mcp:files");
}

#[test]
fn metadata_says_nothing_by_default() {
    let made = tool("a", "", async || ());
    assert_eq!(made.definition().metadata, ToolMetadata::default());
    assert_eq!(&*made.definition().metadata.source, "native");
    assert_eq!(made.definition().metadata.repeat, Repeat::Never);
}

#[test]
fn many_types_can_be_results() {
    fn text(result: impl IntoToolResult) -> String {
        result.into_tool_result().unwrap().text()
    }
    assert_eq!(text("a"), "a");
    assert_eq!(text(String::from("a")), "a");
    assert_eq!(text(Arc::<str>::from("a")), "a");
    assert_eq!(text(()), "done");
    assert_eq!(text(1.5), "1.5");
    assert_eq!(text(json!({ "b": 1, "a": null })), r#"{"a":null,"b":1}"#);
    assert_eq!(text(Json(vec![1, 2])), "[1,2]");
    assert_eq!(text(Block::text("a")), "a");
    assert_eq!(text(vec![Block::text("a"), Block::text("b")]), "a\nb");
    assert_eq!(text(Ok::<_, String>("a")), "a");
    assert_eq!(ToolResult::halt("a").into_tool_result().unwrap().kind, ResultKind::Halt);
}

#[test]
fn a_result_that_cannot_be_serialised_is_unusable() {
    struct Broken;
    impl Serialize for Broken {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("no"))
        }
    }
    let error = Json(Broken).into_tool_result().unwrap_err();
    assert_eq!(error.fault(), ToolFault::Unusable);
}

#[test]
fn any_displayed_error_becomes_a_tool_error_by_question_mark() {
    fn number(text: &str) -> Result<u32, ToolError> {
        Ok(text.parse::<u32>()?)
    }
    assert_eq!(number("x").unwrap_err().message(), "invalid digit found in string");
    assert_eq!(ToolError::from("a").message(), "a");
    assert_eq!(ToolError::from(String::from("a")).message(), "a");
}

#[test]
fn debug_hides_arguments_context_and_messages() {
    let shown = format!("{:?} {:?}", call("a", r#"{"secret": "s3cret"}"#), ToolError::new("s3cret"));
    assert!(!shown.contains("secret") && !shown.contains("s3cret"), "{shown}");
    assert!(shown.contains("tc_1"), "{shown}");
}

#[test]
fn extensions_are_found_by_type_and_replaced_by_type() {
    let extensions = Extensions::new().with(7_u32).with("a").with(8_u32);
    let call = call("a", "{}").with_extensions(extensions);
    assert_eq!(call.extension::<u32>().as_deref(), Some(&8));
    assert_eq!(call.extension::<&str>().as_deref(), Some(&"a"));
    assert!(call.extension::<String>().is_none());
}

#[test]
fn progress_reaches_those_who_listen_and_nobody_else() {
    let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
    let ears = Arc::clone(&heard);
    call("a", "{}").progress("unheard");
    call("a", "{}").with_progress(Arc::new(move |text| ears.lock().unwrap().push(text.to_owned()))).progress("half");
    assert_eq!(*heard.lock().unwrap(), ["half"]);
}
