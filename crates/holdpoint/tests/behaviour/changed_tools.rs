//! A tool that changed while a run was paused: what was decided about a call was decided about the tool as it was.

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::{Counter, by_name, until};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::tools::{MadeTool, ToolCall, raw_tool};
use holdpoint::{Agent, AgentBuilder, Code, Decisions, Keeper, ResumeFrom, RunResult, Status, Worker};
use holdpoint_core::Progress;
use holdpoint_store::{MemoryStore, Store};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const POLL: Duration = Duration::from_millis(20);

struct World {
    store: Store,
    model: ScriptedModel,
    counter: Counter,
}

impl World {
    fn new(calls: &[(&str, &str, &str)]) -> Self {
        let model = ScriptedModel::new(vec![ScriptedReply::calls(calls), ScriptedReply::text("done")]);
        Self { store: Store::from(MemoryStore::new()), model, counter: Counter::default() }
    }

    fn builder(&self) -> AgentBuilder {
        let model = Arc::new(self.model.clone());
        Agent::builder().name("agent").shared_model(model).policy(by_name()).store(self.store.clone())
    }

    fn tool(&self, name: &str, schema: Value) -> MadeTool {
        let counter = self.counter.clone();
        raw_tool(name, "Counts", schema, move |_: ToolCall| {
            counter.add();
            async { "ran".to_owned() }
        })
    }
}

fn old() -> Value {
    json!({"type": "object"})
}

fn fitting() -> Value {
    json!({"type": "object", "properties": {"amount": {"type": "number", "description": "in cents now"}}})
}

fn unfitting() -> Value {
    json!({"type": "object", "required": ["cents"]})
}

#[tokio::test]
async fn whoever_approved_is_asked_again_and_nothing_runs_before_they_say_so() {
    let world = World::new(&[("tc", "ask_refund", r#"{"amount":5}"#)]);
    let before = world.builder().tool(world.tool("ask_refund", old())).build().unwrap();
    let paused = before.chat("go").await.unwrap();
    let after = world.builder().tool(world.tool("ask_refund", fitting())).build().unwrap();

    let again = after.resume(&paused, Decisions::new().allow("tc").by("ana")).await.unwrap();
    assert_eq!((again.status(), world.counter.count()), (Status::AwaitingToolConfirmation, 0));
    let pending = &again.pending_confirmations()[0];
    assert!(pending.again && pending.answers.is_empty());

    // The first click, sent once more, was meant for the tool as it was.
    let batch = ResumeFrom::Batch(again.continuation().unwrap().batch_id().clone());
    let first = paused.pending_confirmations()[0].digest;
    let late = after.resume(batch, Decisions::new().allow("tc").shown(first).by("ana").partial()).await.unwrap_err();
    assert_eq!(late.code(), Code::DigestMismatch);
    assert_eq!(world.counter.count(), 0);

    let done = after.resume(&again, Decisions::new().allow("tc").by("ana")).await.unwrap();
    assert_eq!((done.status(), world.counter.count()), (Status::Finished, 1));
}

#[tokio::test]
async fn several_calls_of_a_changed_tool_are_all_asked_about_again() {
    let world = World::new(&[("a", "ask_refund", r#"{"amount":5}"#), ("b", "ask_refund", r#"{"amount":6}"#)]);
    let before = world.builder().tool(world.tool("ask_refund", old())).build().unwrap();
    let paused = before.chat("go").await.unwrap();
    let after = world.builder().tool(world.tool("ask_refund", fitting())).build().unwrap();
    let both = || Decisions::new().allow("a").allow("b").by("ana");
    let mut again = after.resume(&paused, both()).await.unwrap();
    let mut asked = Vec::new();
    while again.status() == Status::AwaitingToolConfirmation {
        assert_eq!(world.counter.count(), 0, "one question holds the turn");
        let open: Vec<_> = again.pending_confirmations().iter().map(|pending| pending.id.clone()).collect();
        let answers = open.iter().fold(Decisions::new(), |answers, call| answers.allow(call.clone()));
        asked.extend(open);
        again = after.resume(&again, answers.by("ana")).await.unwrap();
    }
    asked.sort_by_key(|call| call.as_str().to_owned());
    assert_eq!(asked.iter().map(holdpoint_core::CallId::as_str).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!((again.status(), world.counter.count()), (Status::Finished, 2));
}

#[tokio::test]
async fn arguments_that_do_not_fit_any_more_fail_and_the_model_can_correct_them() {
    let world = World::new(&[("tc", "ask_refund", r#"{"amount":5}"#)]);
    let before = world.builder().tool(world.tool("ask_refund", old())).build().unwrap();
    let paused = before.chat("go").await.unwrap();
    let after = world.builder().tool(world.tool("ask_refund", unfitting())).build().unwrap();
    let done = after.resume(&paused, Decisions::new().allow("tc").by("ana")).await.unwrap();
    assert_eq!((done.status(), world.counter.count()), (Status::Finished, 0));
    let record = &done.records()[0];
    assert_eq!(record.code, Some(Code::InvalidArguments));
    assert!(common::lines(&done)[0].contains("has changed since this call was made"), "{:?}", common::lines(&done));
}

#[tokio::test]
async fn what_policy_allowed_by_itself_is_decided_anew_and_runs() {
    let world = World::new(&[("a", "ask_first", "{}"), ("b", "plain", "{}")]);
    let asked = || world.tool("ask_first", old());
    let before = world.builder().tool(asked()).tool(world.tool("plain", old())).build().unwrap();
    let paused = before.chat("go").await.unwrap();
    let after = world.builder().tool(asked()).tool(world.tool("plain", fitting())).build().unwrap();
    let done = after.resume(&paused, Decisions::new().allow("a")).await.unwrap();
    assert_eq!((done.status(), world.counter.count()), (Status::Finished, 2));
}

#[tokio::test]
async fn a_worker_with_another_tool_gives_the_call_back_and_a_person_is_asked_again() {
    let world = World::new(&[("tc", "ask_refund", r#"{"amount":5}"#)]);
    let builder = || world.builder().with_tool_concurrency("defer_all", None);
    let agent = builder().tool(world.tool("ask_refund", old())).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    let out = agent.resume(&paused, Decisions::new().allow("tc").by("ana")).await.unwrap();
    assert_eq!(out.status(), Status::AwaitingToolResults);

    let stop = CancellationToken::new();
    let newer = builder().tool(world.tool("ask_refund", fitting())).build().unwrap();
    tokio::spawn(Keeper::new(newer.runner()).poll(POLL).run(stop.clone()));
    tokio::spawn(Worker::new(newer.runner()).poll(POLL).run(stop.clone()));
    let is_asked = |result: &RunResult| result.status() == Status::AwaitingToolConfirmation;
    let asked = until(&newer, out.run_id(), is_asked).await;
    assert_eq!((world.counter.count(), asked.records()[0].progress), (0, Progress::Pending));
    stop.cancel();
}
