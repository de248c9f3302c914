//! Payloads for an application's own storage: exported, changed, imported elsewhere.

use crate::common;

use std::sync::Arc;

use common::{Counter, by_name, echo};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::{Agent, AgentBuilder, Code, Context, ExportOptions, RunRequest, SigningKey, Traces, UnsignedImports};
use holdpoint_store::{FaultyStore, MemoryStore};
use serde_json::{Value, json};

fn builder(model: &ScriptedModel, counter: &Counter) -> AgentBuilder {
    Agent::builder().model(model.clone()).policy(by_name()).tool(echo("ask_pay", counter))
}

fn script() -> ScriptedModel {
    ScriptedModel::new(vec![ScriptedReply::call("c", "ask_pay", r#"{"amount": 5}"#), ScriptedReply::text("done")])
}

fn key() -> SigningKey {
    SigningKey::new("k1", [1; 32])
}

async fn export(agent: &Agent, context: Context, options: &ExportOptions) -> String {
    let paused = agent.chat(RunRequest::new("pay").with_context(context)).await.unwrap();
    agent.runner().export(&paused.continuation().unwrap(), options).unwrap()
}

#[tokio::test]
async fn a_signed_payload_goes_on_in_another_process_once() {
    let (model, counter) = (script(), Counter::default());
    let here = builder(&model, &counter).signing_key(key()).build().unwrap();
    let json = export(&here, Context::new(), &ExportOptions::default()).await;
    let there = builder(&model, &counter).signing_key(key()).store(Arc::new(MemoryStore::new())).build().unwrap();
    let done = there.resume(json.as_str(), [("c", true)]).await.unwrap();
    assert_eq!((done.text().as_deref(), counter.count(), done.turns()), (Some("done"), 1, 2));
    let again = there.resume(json.as_str(), [("c", true)]).await.unwrap_err();
    assert_eq!((again.code(), counter.count()), (Code::StaleContinuation, 1));
}

#[tokio::test]
async fn an_unsigned_payload_is_imported_only_by_choice() {
    let (model, counter) = (script(), Counter::default());
    let json = export(&builder(&model, &counter).build().unwrap(), Context::new(), &ExportOptions::default()).await;
    let careful = builder(&model, &counter).build().unwrap();
    assert_eq!(careful.resume(json.as_str(), [("c", true)]).await.unwrap_err().code(), Code::InvalidContinuation);
    let keyed = builder(&model, &counter).signing_key(key()).build().unwrap();
    assert_eq!(keyed.resume(json.as_str(), [("c", true)]).await.unwrap_err().code(), Code::InvalidContinuation);
    let trusting = builder(&model, &counter).unsigned_imports(UnsignedImports::Accept).build().unwrap();
    trusting.resume(json.as_str(), [("c", true)]).await.unwrap();
    assert_eq!(counter.count(), 1);
}

#[tokio::test]
async fn a_changed_payload_changes_nothing() {
    let (model, counter) = (script(), Counter::default());
    let agent = builder(&model, &counter).signing_key(key()).build().unwrap();
    let json = export(&agent, Context::new(), &ExportOptions::default()).await;
    let mut value: Value = serde_json::from_str(&json).unwrap();
    value["pending"][0]["arguments"] = json!({"amount": 5000});
    let changed = agent.resume(&value, [("c", true)]).await.unwrap_err();
    assert_eq!(changed.code(), Code::InvalidContinuation);
    let mut extended: Value = serde_json::from_str(&json).unwrap();
    extended["note"] = json!("added later");
    assert_eq!(agent.resume(&extended, [("c", true)]).await.unwrap_err().code(), Code::InvalidContinuation);
    let garbage = agent.resume("{]", [("c", true)]).await.unwrap_err();
    assert_eq!(garbage.code(), Code::InvalidContinuation);
    assert_eq!(counter.count(), 0);
    agent.resume(json.as_str(), [("c", true)]).await.unwrap();
}

#[tokio::test]
async fn only_listed_context_is_exported_and_it_is_there_again() {
    let (model, counter) = (script(), Counter::default());
    let agent = builder(&model, &counter).signing_key(key()).context_keys(["user_id"]).build().unwrap();
    let context = Context::new().with("user_id", 7).with("api_key", "k-sentinel");
    let json = export(&agent, context, &ExportOptions::default()).await;
    let value: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["context"], json!({"user_id": 7}));
    assert!(!json.contains("k-sentinel"));
}

#[tokio::test]
async fn a_context_value_that_is_too_large_is_refused_before_anything_happens() {
    let (model, counter) = (script(), Counter::default());
    let agent = builder(&model, &counter).context_keys(["note"]).build().unwrap();
    let request = RunRequest::new("pay").with_context(Context::new().with("note", "x".repeat(300)));
    assert_eq!(agent.chat(request).await.unwrap_err().code(), Code::ContextValueTooLarge);
    assert_eq!(model.requests(), 0);
}

#[tokio::test]
async fn traces_are_included_only_when_asked_for() {
    let (model, counter) = (script(), Counter::default());
    let agent = builder(&model, &counter).build().unwrap();
    let paused = agent.chat("pay").await.unwrap().continuation().unwrap();
    let with = ExportOptions::default().traces(Traces::Include);
    let text = agent.runner().export(&paused, &with).unwrap();
    assert!(serde_json::from_str::<Value>(&text).unwrap()["traces"].is_array());
    let text = agent.runner().export(&paused, &ExportOptions::default()).unwrap();
    assert!(serde_json::from_str::<Value>(&text).unwrap().get("traces").is_none_or(Value::is_null));
}

#[tokio::test]
async fn deferred_calls_become_tasks_that_list_only_what_is_missing() {
    let calls = ScriptedReply::calls(&[("a", "work", r#"{"n": 1}"#), ("b", "work", "{}")]);
    let model = ScriptedModel::new(vec![calls, ScriptedReply::text("done")]);
    let builder = Agent::builder().model(model).policy(by_name()).tool(echo("work", &Counter::default()));
    let agent = builder.with_tool_concurrency("defer_all", None).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    let partial = holdpoint::Results::new().result("b", holdpoint::ToolResult::success("x")).partial();
    let paused = agent.resume_with_tool_results(&paused, partial).await.unwrap();
    let tasks = agent.runner().export_tasks(&paused.continuation().unwrap(), &ExportOptions::default()).unwrap();
    let tasks: Value = serde_json::from_str(&tasks).unwrap();
    assert_eq!(tasks["tasks"].as_array().unwrap().len(), 1);
    let task = &tasks["tasks"][0];
    assert_eq!((&task["tool_call_id"], &task["executed_name"]), (&json!("a"), &json!("work")));
    assert_eq!(task["arguments"], json!({"n": 1}));
    assert_eq!(tasks["run_id"], json!(paused.run_id().as_str()));
}

#[tokio::test]
async fn a_pause_writes_what_is_new_and_not_the_history() {
    let store = FaultyStore::new(MemoryStore::new());
    let turns = 40;
    let mut script: Vec<ScriptedReply> = (0..turns).map(|_| ScriptedReply::call("c", "ask_pay", "{}")).collect();
    script.push(ScriptedReply::text("done"));
    let model = ScriptedModel::new(script);
    let agent = builder(&model, &Counter::default()).max_turns(100).store(store.store()).build().unwrap();
    let mut result = agent.chat("x".repeat(10_000)).await.unwrap();
    let mut written = store.bytes();
    let mut costs = Vec::new();
    while result.is_awaiting_confirmation() {
        result = agent.resume(&result, [("c", true)]).await.unwrap();
        costs.push(store.bytes() - written);
        written = store.bytes();
    }
    assert_eq!(costs.len(), turns);
    let (first, last) = (costs[1], costs[turns - 2]);
    assert!(last <= first + 32, "pause {turns} cost {last} bytes, the second {first}");
}

#[tokio::test]
async fn unknown_fields_of_an_unsigned_payload_survive_a_resume_and_a_new_export() {
    let calls = ScriptedReply::calls(&[("a", "ask_pay", "{}"), ("b", "ask_pay", "{}")]);
    let model = ScriptedModel::new(vec![calls, ScriptedReply::text("done")]);
    let counter = Counter::default();
    let agent = builder(&model, &counter).unsigned_imports(UnsignedImports::Accept).build().unwrap();
    let json = export(&agent, Context::new(), &ExportOptions::default()).await;
    let mut value: Value = serde_json::from_str(&json).unwrap();
    value["ticket"] = json!({"number": 7});
    let continuation = agent.runner().read(&value.to_string()).unwrap();
    let again = agent.runner().export(&continuation, &ExportOptions::default()).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap()["ticket"], json!({"number": 7}));
    let partial = || holdpoint::Decisions::new().allow("a").partial();
    let elsewhere = builder(&model, &counter).unsigned_imports(UnsignedImports::Accept).build().unwrap();
    for agent in [agent, elsewhere] {
        let paused = agent.resume(&value, partial()).await.unwrap();
        let text = agent.runner().export(&paused.continuation().unwrap(), &ExportOptions::default()).unwrap();
        let exported: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(exported["ticket"], json!({"number": 7}));
        assert_ne!(exported["continuation_id"], value["continuation_id"]);
    }
}

#[tokio::test]
async fn a_payload_that_was_read_is_no_way_around_the_signature() {
    let (model, counter) = (script(), Counter::default());
    let here = builder(&model, &counter).build().unwrap();
    let json = export(&here, Context::new(), &ExportOptions::default()).await;
    let careful = builder(&model, &counter).build().unwrap();
    let read = careful.runner().read(&json).unwrap();
    assert_eq!((read.run_id().as_str().is_empty(), read.pending().len()), (false, 1));
    assert_eq!(careful.resume(&read, [("c", true)]).await.unwrap_err().code(), Code::InvalidContinuation);
    assert_eq!(careful.runner().read("{}").unwrap_err().code(), Code::InvalidContinuation);
    here.resume(here.runner().read(&json).unwrap(), [("c", true)]).await.unwrap();
    assert_eq!(counter.count(), 1);
}

#[tokio::test]
async fn the_executor_goes_with_the_run() {
    let store = holdpoint_store::Store::from(MemoryStore::new());
    let (model, counter) = (script(), Counter::default());
    let far = builder(&model, &counter).store(store.clone()).with_tool_concurrency("defer_all", None).build().unwrap();
    let paused = far.chat("pay").await.unwrap();
    let near = builder(&model, &counter).store(store).with_tool_concurrency("inline", None).build().unwrap();
    let still_far = near.resume(&paused, [("c", true)]).await.unwrap();
    assert!(still_far.is_awaiting_results());
    assert_eq!(counter.count(), 0);
}

#[tokio::test]
async fn an_executor_that_is_not_known_here_is_refused_and_nothing_changes() {
    struct Mine;
    #[async_trait::async_trait]
    impl holdpoint::tools::Execute for Mine {
        async fn execute(&self, batch: holdpoint::tools::Batch) {
            for call in batch.calls() {
                batch.run(call.index).await;
            }
        }
    }
    let store = holdpoint_store::Store::from(MemoryStore::new());
    let (model, counter) = (script(), Counter::default());
    let with = builder(&model, &counter).store(store.clone()).register_executor("mine", Arc::new(Mine));
    let with = with.with_tool_concurrency("mine", None).build().unwrap();
    let paused = with.chat("pay").await.unwrap();
    let without = builder(&model, &counter).store(store).build().unwrap();
    for decision in [true, false] {
        let error = without.resume(&paused, [("c", decision)]).await.unwrap_err();
        assert_eq!(error.code(), Code::UnknownExecutor);
        assert!(error.to_string().contains("mine"), "{error}");
    }
    assert_eq!(with.resume(&paused, [("c", true)]).await.unwrap().text().as_deref(), Some("done"));
    assert_eq!(counter.count(), 1);
}
