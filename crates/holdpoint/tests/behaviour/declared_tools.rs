//! Tools that are only declared, and tools that a configuration describes, in an agent.

use std::sync::Arc;

use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::AllowAll;
use holdpoint::tools::{Tool, tool};
use holdpoint::{Agent, Status, ToolResult, Worker};
use holdpoint_endpoints::ToolSpec;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

fn described(name: &str, table: Value) -> Arc<dyn Tool> {
    ToolSpec::from_json(table).expect("a table").build(name).expect("a tool")
}

fn agent() -> Agent {
    let model = ScriptedModel::new(vec![
        ScriptedReply::calls(&[("a", "add", "{}"), ("b", "inspect", "{}"), ("c", "say", r#"{"word": "hello"}"#)]),
        ScriptedReply::text("done"),
    ]);
    let say = json!({
        "kind": "command", "command": ["printf", "%s", "{word}"],
        "parameters": { "type": "object", "properties": { "word": { "type": "string" } } },
    });
    Agent::builder()
        .model(model)
        .tool(tool("add", "Adds", async || 3))
        .tools([described("inspect", json!({ "kind": "worker" })), described("say", say)])
        .policy(AllowAll)
        .build()
        .expect("an agent")
}

#[tokio::test]
async fn a_call_of_a_declared_tool_is_deferred_and_its_siblings_run() {
    let agent = agent();
    let paused = agent.chat("go").await.expect("a run");
    assert_eq!(paused.status(), Status::AwaitingToolResults);
    let pending = paused.pending_executions();
    assert_eq!(pending.len(), 1);
    assert_eq!((pending[0].tool.as_str(), &*pending[0].tool_source), ("inspect", "worker"));
    assert_eq!(paused.tool_executions(), 2);
    let done = agent.resume_with_tool_results(&paused, [("b", ToolResult::success("looks fine"))]).await;
    assert_eq!(done.expect("a run").text().as_deref(), Some("done"));
}

#[tokio::test]
async fn a_worker_with_nothing_but_declarations_takes_no_task() {
    let agent = agent();
    // Only what it could do counts as its tools: with none, it refuses to start.
    let worker = Worker::new(agent.runner()).tools("inspect");
    let refused = worker.run(CancellationToken::new()).await;
    assert!(refused.is_err());
}
