//! Tools without a model.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdpoint_codec::Context;
use holdpoint_core::{RunId, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::{blocking_tool, raw_tool, tool};

#[derive(Deserialize, JsonSchema)]
struct Sum {
    a: i64,
    b: i64,
}

fn executor(tool: impl Tool + 'static) -> ToolExecutor {
    let mut executor = ToolExecutor::new();
    executor.register(tool).expect("a tool");
    executor
}

fn adding() -> ToolExecutor {
    executor(tool("add", "Adds two numbers", async |sum: Sum| sum.a + sum.b))
}

async fn run(executor: &ToolExecutor, name: &str, arguments: Value) -> ToolExecutionResult {
    executor.execute(name, arguments, &Context::new()).await
}

#[tokio::test]
async fn a_registered_tool_runs_and_its_output_is_text() {
    let result = run(&adding(), "add", json!({ "a": 5, "b": 3 })).await;
    assert!(result.success);
    assert_eq!((result.tool_name.as_str(), result.output.as_str(), &result.error), ("add", "8", &None));
}

#[tokio::test(start_paused = true)]
async fn a_result_has_the_latency_of_its_tool() {
    let slow = tool("slow", "Takes a while", async || tokio::time::sleep(Duration::from_millis(1500)).await);
    assert_eq!(run(&executor(slow), "slow", json!({})).await.latency_ms, 1500.0);
}

#[tokio::test(start_paused = true)]
async fn latency_is_in_milliseconds() {
    let slow = executor(tool("slow", "", async || tokio::time::sleep(Duration::from_millis(1500)).await));
    assert_eq!(run(&slow, "slow", Value::Null).await.latency_ms, 1500.0);
}

#[tokio::test]
async fn an_unregistered_tool_is_blocked_with_an_explanation() {
    let result = run(&adding(), "rm_rf", json!({ "path": "/" })).await;
    assert!(!result.success);
    assert_eq!(result.output, "");
    assert_eq!(result.error.as_deref(), Some("tool not registered: `rm_rf`"));
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

struct Words<'a>(&'a mut String);

impl tracing::field::Visit for Words<'_> {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn fmt::Debug) {
        self.0.push_str(&format!(" {field}={value:?}"));
    }
}

impl tracing::Subscriber for Lines {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = event.metadata().level().to_string();
        event.record(&mut Words(&mut line));
        self.0.lock().unwrap().push(line);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test]
async fn a_blocked_tool_is_warned_of_with_its_name_only() {
    let lines = Lines::default();
    let _listening = tracing::subscriber::set_default(lines.clone());
    run(&adding(), "rm\n_rf", json!({ "path": "s3cret" })).await;
    let lines = lines.0.lock().unwrap().clone();
    let warning = lines.iter().find(|line| line.starts_with("WARN")).expect("a warning");
    assert!(warning.contains("security") && warning.contains("rm\\\\n_rf"), "{warning}");
    assert!(!lines.concat().contains("s3cret"));
}

#[tokio::test]
async fn the_tools_own_message_is_the_error_and_the_output_is_empty() {
    let failing = executor(tool("pay", "", async || Err::<(), _>("no money left")));
    let result = run(&failing, "pay", Value::Null).await;
    assert_eq!((result.success, result.output.as_str()), (false, ""));
    assert_eq!(result.error.as_deref(), Some("no money left"));
    let made = executor(tool("pay", "", async || ToolResult::error("no money left")));
    let result = run(&made, "pay", Value::Null).await;
    assert_eq!((result.success, result.error.as_deref()), (false, Some("no money left")));
}

#[tokio::test]
async fn a_panic_is_an_error() {
    for tool in [
        tool("a", "", async || -> String { panic!("broken") }),
        blocking_tool("a", "", || -> String { panic!("broken") }),
    ] {
        let result = run(&executor(tool), "a", Value::Null).await;
        assert_eq!((result.success, result.error.as_deref()), (false, Some("broken")));
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_an_error_that_names_the_limit() {
    let hanging = || tool("hang", "", async || std::future::pending::<()>().await);
    let result = run(&executor(hanging()), "hang", Value::Null).await;
    assert!(result.error.is_some_and(|error| error.contains("30 s")));
    let mut short = ToolExecutor::new().with_timeout(Duration::from_secs(10));
    short.register(hanging()).unwrap();
    let result = run(&short, "hang", Value::Null).await;
    assert!(result.error.is_some_and(|error| error.contains("10 s")));
    assert_eq!(result.latency_ms, 10_000.0);
}

#[tokio::test]
async fn an_openai_tool_call_is_understood() {
    let executor = adding();
    let call = json!({ "id": "call_1", "type": "function", "function": { "name": "add", "arguments": "{\"a\": 1, \"b\": 2}" } });
    assert_eq!(executor.execute_tool_call(&call).await.output, "3");
    let call = json!({ "function": { "name": "add", "arguments": { "a": 1, "b": 2 } } });
    assert_eq!(executor.execute_tool_call(&call).await.output, "3");
}

#[tokio::test]
async fn broken_tool_calls_are_failed_results() {
    let executor = adding();
    for call in [
        json!(null),
        json!(7),
        json!([]),
        json!({}),
        json!({ "function": 7 }),
        json!({ "function": { "name": 7 } }),
        json!({ "function": { "name": "add" } }),
        json!({ "function": { "name": "add", "arguments": "{" } }),
        json!({ "function": { "name": "add", "arguments": [1] } }),
        json!({ "function": { "name": "add", "arguments": 7 } }),
        json!({ "function": { "name": "add", "arguments": "{\"a\": 1, \"a\": 1, \"b\": 2}" } }),
        json!({ "function": { "name": "add", "arguments": { "a": "s3cret", "b": 2 } } }),
        json!({ "function": { "name": "add", "arguments": format!("{{\"a\": \"{}\"}}", "x".repeat(200_000)) } }),
        json!({ "function": { "name": "add", "arguments": "[".repeat(100_000) } }),
    ] {
        let result = executor.execute_tool_call(&call).await;
        assert_eq!((result.success, result.output.as_str()), (false, ""));
        let error = result.error.expect("an error");
        assert!(!error.is_empty() && !error.contains("s3cret"), "{error}");
    }
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_named_with_their_path() {
    let result = run(&adding(), "add", json!({ "a": "x" })).await;
    let error = result.error.expect("an error");
    assert!(error.contains("/a: is not of type `integer`"), "{error}");
    assert!(error.contains("required property `b` is missing"), "{error}");
}

#[tokio::test]
async fn dots_fall_back_to_underscores_and_the_result_shows_the_requested_name() {
    let executor = executor(raw_tool("shell_exec", "", json!({}), async |call: ToolCall| call.tool().to_string()));
    let result = run(&executor, "shell.exec", Value::Null).await;
    assert_eq!((result.tool_name.as_str(), result.output.as_str()), ("shell.exec", "shell_exec"));
}

#[tokio::test]
async fn the_context_reaches_the_tool_and_every_execution_has_its_own_key() {
    let executor = executor(raw_tool("who", "", json!({}), async |call: ToolCall| {
        format!("{} {:?} {}", call.key().run, call.context().attribute("user"), call.idempotency_key())
    }));
    let context = Context::new().with("user", 7).with_run_id(RunId::new("r7"));
    let first = executor.execute("who", Value::Null, &context).await.output;
    let second = executor.execute("who", Value::Null, &context).await.output;
    assert!(first.starts_with("r7 Some(Number(7))"), "{first}");
    assert_ne!(first, second);
}

#[tokio::test]
async fn json_cuts_the_output_at_two_thousand_characters_and_the_field_does_not() {
    let long = executor(tool("long", "", async || "ä".repeat(2_001)));
    let result = run(&long, "long", Value::Null).await;
    assert_eq!(result.output.chars().count(), 2_001);
    let form = result.to_json();
    assert_eq!(form["output"].as_str().map(|output| output.chars().count()), Some(OUTPUT_CHARS_MAX));
    assert_eq!((&form["tool_name"], &form["success"], &form["error"]), (&json!("long"), &json!(true), &Value::Null));
    assert!(form["latency_ms"].is_f64());
}

#[tokio::test]
async fn debug_hides_output_and_error() {
    let failing = executor(tool("a", "", async || Err::<(), _>("s3cret")));
    let shown = format!("{:?} {:?}", run(&failing, "a", Value::Null).await, failing);
    assert!(!shown.contains("s3cret"), "{shown}");
}

#[test]
fn definitions_are_those_of_the_registered_tools() {
    let executor = adding();
    assert_eq!(executor.definitions()[0].name.as_str(), "add");
    assert_eq!(executor.registry().len(), 1);
}
