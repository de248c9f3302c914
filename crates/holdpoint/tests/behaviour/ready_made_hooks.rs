//! Ready-made hooks inside a run: what they do is on record.

use crate::common;

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use common::{Counter, asking, echo, lines};
use holdpoint::hooks::around_fn;
use holdpoint::hooks::{CircuitBreaker, DryRun, Instrumentation, Lease, ResourcePool, Retry};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::tools::{MadeTool, ToolCall, raw_tool};
use holdpoint::{Agent, Code, Repeat, Source};
use holdpoint_core::Revision;
use serde_json::json;

/// Fails so often, and succeeds from then on.
fn failing(times: u32, counter: &Counter) -> MadeTool {
    let counter = counter.clone();
    raw_tool("work", "", json!({"type": "object"}), move |call: ToolCall| {
        counter.add();
        let result = if counter.count() <= times { Err("not yet") } else { Ok(format!("attempt {}", call.attempt())) };
        async move { result }
    })
}

#[tokio::test]
async fn a_retry_is_a_new_attempt_with_an_intent_of_its_own() {
    let counter = Counter::default();
    let (builder, _) = asking(&[("a", "work", "{}")]);
    let retry = Retry::builder(3, 1).build().unwrap();
    let agent = builder.tool(failing(2, &counter).repeat(Repeat::Safe)).around(retry).build().unwrap();
    let result = agent.chat("go").await.unwrap();
    let record = &result.records()[0];
    assert_eq!((record.attempts.0, record.source), (3, Some(Source::Tool)));
    assert!(lines(&result).iter().any(|line| line.contains("attempt 3")), "{:?}", lines(&result));
    let events = agent.runner().events(result.run_id(), Revision(0)).await.unwrap();
    assert_eq!(events.iter().filter(|event| event["event"] == "tool_started").count(), 3);
}

#[tokio::test]
async fn a_tool_that_may_not_be_repeated_is_not_retried() {
    let counter = Counter::default();
    let (builder, _) = asking(&[("a", "work", "{}")]);
    let retry = Retry::builder(3, 1).build().unwrap();
    let agent = builder.tool(failing(2, &counter)).around(retry).build().unwrap();
    let result = agent.chat("go").await.unwrap();
    assert_eq!((counter.count(), result.records()[0].code), (1, Some(Code::ToolError)));
}

#[tokio::test]
async fn a_tool_finds_the_resource_that_a_hook_lends_it() {
    let (builder, _) = asking(&[("a", "query", "{}"), ("b", "query", "{}")]);
    let pool = ResourcePool::builder(1, || async { Ok::<_, Infallible>("connection".to_owned()) }).build().unwrap();
    let query = raw_tool("query", "", json!({"type": "object"}), async |call: ToolCall| {
        call.extension::<Lease<String>>().map(|lease| lease.to_string()).ok_or("nothing was lent")
    });
    let result = builder.tool(query).around(pool.clone()).build().unwrap().chat("go").await.unwrap();
    assert!(result.records().iter().all(|record| record.progress.as_str() == "succeeded"));
    assert_eq!((pool.idle(), pool.in_use()), (1, 0));
}

#[tokio::test]
async fn an_open_circuit_is_a_failed_result_and_the_run_goes_on() {
    let counter = Counter::default();
    let (builder, _) = asking(&[("a", "work", "{}"), ("b", "work", "{}")]);
    let breaker = CircuitBreaker::builder(1, 60_000).build().unwrap();
    let agent = builder.tool(failing(9, &counter)).around(breaker).build().unwrap();
    let result = agent.chat("go").await.unwrap();
    assert_eq!((counter.count(), result.text().as_deref()), (1, Some("done")));
    let refused = &result.records()[1];
    assert_eq!((refused.code, refused.source), (Some(Code::CircuitOpen), Some(Source::Hook)));
    assert_eq!(refused.attempts.0, 0);
}

#[tokio::test]
async fn a_dry_run_is_counted_by_its_source_and_never_as_an_execution() {
    let counter = Counter::default();
    let (builder, _) = asking(&[("a", "work", r#"{"x":1}"#)]);
    let instrumentation = Instrumentation::new();
    let builder = builder.tool(echo("work", &counter)).around(instrumentation.clone()).around(DryRun::new());
    let result = builder.build().unwrap().chat("go").await.unwrap();
    assert_eq!((counter.count(), result.tool_executions()), (0, 0));
    assert_eq!(result.records()[0].source, Some(Source::DryRun));
    let statistics = instrumentation.of(&"work".into()).unwrap();
    assert_eq!((statistics.total, statistics.succeeded), (1, 0));
    assert_eq!(statistics.by_source["dry_run"], 1);
}

#[tokio::test]
async fn a_hook_can_be_for_the_agent_for_one_tool_or_for_one_run() {
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let noting = |name: &'static str| {
        let log = Arc::clone(&log);
        around_fn(move |call, next| {
            log.lock().unwrap().push(format!("{name} {}", call.call().id()));
            Box::pin(next.run())
        })
    };
    let calls = ScriptedReply::calls(&[("a", "one", "{}"), ("b", "two", "{}")]);
    let model = ScriptedModel::repeating(vec![calls, ScriptedReply::text("done")]);
    let agent = Agent::builder()
        .model(model)
        .policy(common::by_name())
        .tool(echo("one", &Counter::default()))
        .tool(echo("two", &Counter::default()))
        .around(noting("agent"))
        .around_tool("two", noting("tool"))
        .build()
        .unwrap();
    agent.with_around(noting("run")).chat("go").await.unwrap();
    agent.chat("go").await.unwrap();
    let log = log.lock().unwrap();
    assert_eq!(
        *log,
        ["agent a", "run a", "agent b", "tool b", "run b", "agent a", "agent b", "tool b"],
        "outermost first, and the run's hook is gone with the run"
    );
}
