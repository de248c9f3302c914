//! Context: who asks and what the program says about them, for filter, policy, hooks and tools, over resumes.

use crate::common;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use common::{Counter, asking, echo};
use holdpoint::hooks::around_fn;
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::{AuthorizeRequest, Policy, PolicyError};
use holdpoint::tools::{ToolCall, ToolDefinition, raw_tool};
use holdpoint::{Actor, Agent, Code, Context, Decision, Decisions, ExportOptions, Results, RunRequest, ToolResult};
use serde_json::{Value, json};

fn actor(id: &str) -> Actor {
    Actor { id: Some(id.into()), ..Actor::default() }
}

/// Shows tools whose name begins with the attribute `sees`, and asks about those that begin with `ask`.
struct Shows;

#[async_trait]
impl Policy for Shows {
    async fn filter(
        &self,
        tools: Vec<Arc<ToolDefinition>>,
        context: &Context,
    ) -> Result<Vec<Arc<ToolDefinition>>, PolicyError> {
        let prefix = context.attribute("sees").and_then(Value::as_str).unwrap_or("nothing").to_owned();
        assert!(context.run_id().is_some());
        Ok(tools.into_iter().filter(|tool| tool.name.as_str().starts_with(&prefix)).collect())
    }

    async fn authorize(&self, request: &AuthorizeRequest<'_>) -> Result<Decision, PolicyError> {
        Ok(if request.tool.as_str().starts_with("ask") { Decision::confirm("?") } else { Decision::allow() })
    }
}

#[tokio::test]
async fn the_context_decides_what_is_visible_and_a_hidden_tool_is_not_found() {
    let counter = Counter::default();
    let calls = ScriptedReply::calls(&[("a", "read.it", "{}"), ("b", "write_it", "{}")]);
    let model = ScriptedModel::new(vec![calls, ScriptedReply::text("done")]);
    let builder = Agent::builder().model(model.clone()).policy(Shows);
    let agent = builder.tool(echo("read_it", &counter)).tool(echo("write_it", &counter)).build().unwrap();
    let result = agent.chat("go").with_context(Context::new().with("sees", "read")).await.unwrap();
    assert_eq!(model.latest().unwrap().tools, ["read_it".into()]);
    assert_eq!(result.records()[1].code, Some(Code::ToolNotFound));
    let record = &result.records()[0];
    assert_eq!((record.name.as_str(), record.tool.as_ref().unwrap().as_str()), ("read.it", "read_it"));
    assert_eq!(counter.count(), 1);
}

type Log = Arc<Mutex<Vec<String>>>;

/// A tool and a hook that note the context they see.
fn noting(log: &Log) -> (holdpoint::tools::MadeTool, Arc<dyn holdpoint::hooks::Around>) {
    let shown = |context: &Context| {
        let value = |name| context.attribute(name).map_or("-".into(), Value::to_string);
        let id = context.actor().id.as_deref().unwrap_or("nobody");
        format!("{id} kept={} other={} loose={}", value("kept"), value("other"), value("loose"))
    };
    let (of_tool, of_hook) = (Arc::clone(log), Arc::clone(log));
    let tool = raw_tool("ask_it", "Notes its context", json!({"type": "object"}), move |call: ToolCall| {
        of_tool.lock().unwrap().push(format!("tool {}", shown(call.context())));
        async { "ok" }
    });
    let hook = around_fn(move |call, next| {
        of_hook.lock().unwrap().push(format!("hook {}", shown(call.call().context())));
        Box::pin(next.run())
    });
    (tool, hook)
}

fn agent(log: &Log) -> Agent {
    let (tool, hook) = noting(log);
    let (builder, _) = asking(&[("c", "ask_it", "{}")]);
    builder.tool(tool).around(hook).context_keys(["kept", "other"]).build().unwrap()
}

fn context() -> Context {
    Context::new().with("kept", 7).with("other", "old").with("loose", 1).by(actor("ana"))
}

#[tokio::test]
async fn saved_attributes_are_there_again_and_those_of_the_caller_replace_the_same_names() {
    let log = Log::default();
    let agent = agent(&log);
    let paused = agent.chat(RunRequest::new("go").with_context(context())).await.unwrap();
    let json = agent.runner().export(&paused.continuation().unwrap(), &ExportOptions::default()).unwrap();
    let resumed = agent.resume(json.as_str(), Decisions::new().allow("c").by("bob"));
    resumed.with_context(Context::new().with("other", "new")).await.unwrap();
    let seen = "ana kept=7 other=\"new\" loose=-";
    assert_eq!(*log.lock().unwrap(), [format!("hook {seen}"), format!("tool {seen}")]);
    // What replaced it is stored in its place.
    let stored = agent.runner().result(paused.run_id()).await.unwrap();
    assert_eq!(stored.run().context().get("other").unwrap().expose(), "\"new\"");
}

#[tokio::test]
async fn an_object_of_this_process_keeps_what_is_not_stored_too() {
    let log = Log::default();
    let agent = agent(&log);
    let paused = agent.chat(RunRequest::new("go").with_context(context())).await.unwrap();
    agent.resume(&paused, [("c", true)]).await.unwrap();
    assert_eq!(log.lock().unwrap()[1], "tool ana kept=7 other=\"old\" loose=1");
}

#[tokio::test]
async fn whoever_answers_is_recorded_and_the_run_stays_with_whoever_started_it() {
    let log = Log::default();
    let agent = agent(&log);
    let paused = agent.chat(RunRequest::new("go").by(actor("ana")).with_context(Context::new())).await.unwrap();
    // The actor of the context answers when nobody else is named.
    agent.resume(&paused, [("c", true)]).with_context(Context::new().by(actor("bob"))).await.unwrap();
    assert!(log.lock().unwrap()[1].starts_with("tool ana"));
    let events = agent.runner().events(paused.run_id(), holdpoint_core::Revision(0)).await.unwrap();
    let answered = events.iter().find(|event| event["event"] == "call_answered").unwrap();
    assert_eq!(answered["actor"]["id"], "bob");
    let result = agent.runner().result(paused.run_id()).await.unwrap();
    assert_eq!(result.run().actor().id.as_deref(), Some("ana"));
}

#[tokio::test]
async fn a_partial_resume_that_adds_nothing_changes_nothing_and_loses_nothing() {
    let (builder, _) = asking(&[("a", "work", "{}"), ("b", "work", "{}")]);
    let builder = builder.tool(echo("work", &Counter::default())).context_keys(["kept"]);
    let agent = builder.with_tool_concurrency("defer_all", None).build().unwrap();
    let request = RunRequest::new("go").with_context(context());
    let first = agent.chat(request).await.unwrap();
    let same = agent.resume_with_tool_results(&first, Results::new().partial()).await.unwrap();
    assert_eq!(same.continuation().unwrap().id(), first.continuation().unwrap().id());
    assert_eq!((same.pending().len(), same.messages().len()), (2, first.messages().len()));
    assert_eq!(same.continuation().unwrap().context().attribute("loose"), Some(&json!(1)));
    let one = Results::new().result("a", ToolResult::success("x")).partial();
    let second = agent.resume_with_tool_results(&first, one.clone()).await.unwrap();
    // The same once more: known, accepted, and the continuation is not used up.
    let again = agent.resume_with_tool_results(&second, one).await.unwrap();
    assert_eq!(again.continuation().unwrap().id(), second.continuation().unwrap().id());
    let done = agent.resume_with_tool_results(&second, [("b", ToolResult::success("y"))]).await.unwrap();
    assert_eq!(done.text().as_deref(), Some("done"));
}

#[tokio::test]
async fn a_context_can_be_made_outside_a_run() {
    let mut executor = holdpoint::tools::ToolExecutor::new();
    let tool = raw_tool("who", "Says who asks", json!({"type": "object"}), |call: ToolCall| {
        let run = call.context().run_id().map(ToString::to_string);
        async move {
            format!("{} {}", run.unwrap_or_default(), call.context().attribute("user_id").cloned().unwrap_or_default())
        }
    });
    executor.register(tool).unwrap();
    let context = Context::new().with("user_id", 7).with_run_id(holdpoint::RunId::new("r1"));
    assert_eq!(executor.execute("who", json!({}), &context).await.output, "r1 7");
}
