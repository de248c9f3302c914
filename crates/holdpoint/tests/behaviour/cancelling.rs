//! Cancelling a run in any state.

use crate::common;

use std::sync::{Arc, Mutex};

use common::{Counter, asking, by_name, echo};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::tools::{ToolCall, raw_tool};
use holdpoint::{Actor, Agent, Code, RunId, RunRequest, Status};
use serde_json::json;

#[tokio::test]
async fn a_paused_run_is_cancelled_and_refuses_answers() {
    let counter = Counter::default();
    let (builder, _) = asking(&[("c1", "ask_pay", "{}")]);
    let agent = builder.tool(echo("ask_pay", &counter)).build().unwrap();
    let paused = agent.chat("pay").await.unwrap();
    let cancelled = agent.runner().cancel(paused.run_id(), Actor::default()).await.unwrap();
    assert_eq!(cancelled.status(), Status::Cancelled);
    assert_eq!(cancelled.records()[0].progress.as_str(), "cancelled");
    assert_eq!(agent.resume(&paused, [("c1", true)]).await.unwrap_err().code(), Code::RunCancelled);
    assert_eq!(agent.runner().retry(paused.run_id()).await.unwrap_err().code(), Code::NotRetryable);
    assert_eq!(counter.count(), 0);
}

#[tokio::test]
async fn a_running_tool_is_told_and_its_late_result_is_refused() {
    let (started, wait) = tokio::sync::oneshot::channel::<()>();
    let started = Mutex::new(Some(started));
    let (noticed, notice) = tokio::sync::oneshot::channel::<()>();
    let noticed = Arc::new(Mutex::new(Some(noticed)));
    let tool = raw_tool("slow", "Waits to be told", json!({"type": "object"}), move |call: ToolCall| {
        let started = started.lock().unwrap().take();
        let noticed = Arc::clone(&noticed);
        async move {
            // The guard notices even when the body is dropped at its next await.
            let _told = call.cancellation().clone().drop_guard();
            let watch = call.cancellation().clone();
            tokio::spawn(async move {
                watch.cancelled().await;
                noticed.lock().unwrap().take().map(|noticed| noticed.send(()));
            });
            started.map(|started| started.send(()));
            std::future::pending::<()>().await;
            "late"
        }
    });
    let script = vec![ScriptedReply::call("c", "slow", "{}"), ScriptedReply::text("done")];
    let agent = Agent::builder().model(ScriptedModel::new(script)).policy(by_name()).tool(tool).build().unwrap();
    let id = RunId::new("run-1");
    let request = RunRequest::new("go").with_run_id(id.clone());
    let running = {
        let agent = agent.clone();
        tokio::spawn(async move { agent.chat(request).await })
    };
    wait.await.unwrap();
    agent.runner().cancel(&id, Actor::default()).await.unwrap();
    notice.await.unwrap();
    let result = running.await.unwrap().unwrap();
    assert_eq!(result.status(), Status::Cancelled);
    assert_eq!(agent.runner().result(&id).await.unwrap().status(), Status::Cancelled);
}

#[tokio::test]
async fn cancelling_what_is_over_changes_nothing() {
    let (builder, _) = asking(&[]);
    let agent = builder.build().unwrap();
    let done = agent.chat("hi").await.unwrap();
    let again = agent.runner().cancel(done.run_id(), Actor::default()).await.unwrap();
    assert_eq!(again.status(), Status::Finished);
    let unknown = agent.runner().cancel(&RunId::new("nobody"), Actor::default()).await.unwrap_err();
    assert_eq!(unknown.code(), Code::ContinuationNotFound);
}
