//! A failed run goes on where it stopped.

use crate::common;

use std::sync::{Arc, Mutex};

use common::{Counter, by_name, echo};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::tools::{ToolCall, raw_tool};
use holdpoint::{Actor, Agent, AgentBuilder, Code, Context, RunRequest, Status};
use holdpoint_store::{MemoryStore, Store};
use serde_json::json;

fn builder(script: Vec<ScriptedReply>, counter: &Counter) -> (AgentBuilder, ScriptedModel) {
    let model = ScriptedModel::new(script);
    (Agent::builder().model(model.clone()).policy(by_name()).tool(echo("work", counter)), model)
}

#[tokio::test]
async fn a_provider_that_failed_is_asked_again_and_no_call_is_repeated() {
    let counter = Counter::default();
    let script =
        vec![ScriptedReply::call("c", "work", "{}"), ScriptedReply::Fail("down".into()), ScriptedReply::text("done")];
    let agent = builder(script, &counter).0.build().unwrap();
    let failed = agent.chat("go").await.unwrap();
    assert_eq!((failed.status(), failed.model_calls()), (Status::Failed, 2));
    let done = agent.runner().retry(failed.run_id()).await.unwrap();
    assert_eq!((done.text().as_deref(), counter.count(), done.model_calls()), (Some("done"), 1, 3));
    assert_eq!(agent.runner().retry(done.run_id()).await.unwrap_err().code(), Code::NotRetryable);
}

#[tokio::test]
async fn a_model_that_said_nothing_is_asked_again() {
    let agent = builder(vec![ScriptedReply::Nothing, ScriptedReply::text("done")], &Counter::default()).0;
    let agent = agent.build().unwrap();
    let failed = agent.chat("go").await.unwrap();
    assert_eq!(failed.stop_reason().unwrap().as_str(), "error");
    assert_eq!(agent.runner().retry(failed.run_id()).await.unwrap().text().as_deref(), Some("done"));
}

#[tokio::test]
async fn a_conversation_that_was_too_long_goes_on_with_an_agent_that_has_more_room() {
    let store = Store::from(MemoryStore::new());
    let script = vec![ScriptedReply::text("done")];
    let (small, model) = builder(script, &Counter::default());
    let small = small.store(store.clone()).context_window(100, 10).build().unwrap();
    let failed = small.chat("x".repeat(800)).await.unwrap();
    assert_eq!(failed.stop_reason().unwrap().as_str(), "context_window_exceeded");
    assert_eq!(model.requests(), 0);
    let again = small.runner().retry(failed.run_id()).await.unwrap();
    assert_eq!(again.stop_reason().unwrap().as_str(), "context_window_exceeded");
    let large = Agent::builder().model(model.clone()).policy(by_name()).tool(echo("work", &Counter::default()));
    let large = large.store(store).context_window(10_000, 10).build().unwrap();
    let done = large.runner().retry(failed.run_id()).await.unwrap();
    assert_eq!((done.text().as_deref(), model.requests()), (Some("done"), 1));
}

#[tokio::test]
async fn paused_running_and_finished_runs_are_not_retryable() {
    let script = vec![ScriptedReply::call("c", "ask_pay", "{}"), ScriptedReply::text("done")];
    let agent = builder(script, &Counter::default()).0.tool(echo("ask_pay", &Counter::default())).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    assert_eq!(agent.runner().retry(paused.run_id()).await.unwrap_err().code(), Code::NotRetryable);
    let unknown = holdpoint::RunId::new("nobody");
    assert_eq!(agent.runner().retry(&unknown).await.unwrap_err().code(), Code::ContinuationNotFound);
}

#[tokio::test]
async fn a_model_that_panics_fails_the_run_and_not_the_caller() {
    struct Panicking;
    #[async_trait::async_trait]
    impl holdpoint::model::Model for Panicking {
        async fn reply(
            &self,
            _: &holdpoint::model::ModelRequest<'_>,
            _: &dyn holdpoint::model::DeltaSink,
        ) -> Result<Option<holdpoint::model::ModelReply>, holdpoint::model::ModelError> {
            panic!("oh no")
        }
    }
    let agent = Agent::builder().model(Panicking).build().unwrap();
    let failed = agent.chat("go").await.unwrap();
    assert_eq!(failed.stop_reason().unwrap().as_str(), "provider_error");
}

#[tokio::test]
async fn whoever_started_the_run_is_its_actor_again_after_a_retry_a_recovery_and_a_resume() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let tool = raw_tool("ask_who", "Says who asks", json!({"type": "object"}), move |call: ToolCall| {
        let context = call.context();
        let user = context.attribute("user_id").cloned().unwrap_or_default();
        log.lock().unwrap().push(format!("{} {user}", context.actor().id.as_deref().unwrap_or("nobody")));
        async { "ok" }
    });
    let script = vec![
        ScriptedReply::Fail("down".into()),
        ScriptedReply::call("a", "ask_who", "{}"),
        ScriptedReply::call("b", "who", "{}"),
        ScriptedReply::text("done"),
    ];
    let log = Arc::clone(&seen);
    let policy = holdpoint::policy::policy_fn(move |request| {
        log.lock().unwrap().push(format!("policy {}", request.context.actor().id.as_deref().unwrap_or("nobody")));
        if request.tool.as_str() == "ask_who" {
            holdpoint::Decision::confirm("?")
        } else {
            holdpoint::Decision::allow()
        }
    });
    let agent = Agent::builder().model(ScriptedModel::new(script)).policy(policy).tool(tool).context_keys(["user_id"]);
    let agent = agent.recheck_policy(holdpoint_core::Recheck::Off).build().unwrap();
    let ana = Actor { id: Some("ana".into()), ..Actor::default() };
    let context = Context::new().with("user_id", 7).by(ana);
    let failed = agent.chat(RunRequest::new("go").with_context(context)).await.unwrap();
    let paused = agent.runner().retry(failed.run_id()).await.unwrap();
    agent.resume(&paused, holdpoint::Decisions::new().allow("a").by("bob")).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), ["policy ana", "ana 7"]);
}
