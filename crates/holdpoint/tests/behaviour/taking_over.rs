//! Runs that somebody else holds, held, or wants: taken ids, races, takeovers, callers that go away.

use crate::common;

use std::sync::{Arc, Mutex};

use common::{Counter, asking, by_name, echo};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::tools::{ToolCall, raw_tool};
use holdpoint::{Actor, Agent, Code, Repeat, RunId, RunRequest, Status};
use holdpoint_store::{MemoryStore, Store};
use serde_json::json;
use tokio::sync::Notify;

/// A tool that tells when it started and waits until it is let go.
struct Gate {
    started: Arc<Notify>,
    go: Arc<Notify>,
}

fn gated(name: &str, counter: &Counter) -> (holdpoint::tools::MadeTool, Gate) {
    let gate = Gate { started: Arc::default(), go: Arc::default() };
    let (started, go, counter) = (Arc::clone(&gate.started), Arc::clone(&gate.go), counter.clone());
    let tool = raw_tool(name, "Waits at a gate", json!({"type": "object"}), move |_: ToolCall| {
        let (started, go) = (Arc::clone(&started), Arc::clone(&go));
        counter.add();
        async move {
            started.notify_one();
            go.notified().await;
            "through"
        }
    });
    (tool, gate)
}

fn request(id: &str) -> RunRequest {
    RunRequest::new("go").with_run_id(RunId::new(id))
}

#[tokio::test]
async fn a_run_id_that_is_taken_is_refused_and_the_run_stays_as_it_is() {
    let model = ScriptedModel::new(vec![ScriptedReply::text("one"), ScriptedReply::text("two")]);
    let agent = Agent::builder().model(model.clone()).build().unwrap();
    agent.chat(request("r")).await.unwrap();
    assert_eq!(agent.chat(request("r")).await.unwrap_err().code(), Code::RunExists);
    let stream = agent.chat(request("r")).stream();
    assert_eq!(stream.result().await.unwrap_err().code(), Code::RunExists);
    assert_eq!(model.requests(), 1);
    assert_eq!(agent.runner().result(&RunId::new("r")).await.unwrap().text().as_deref(), Some("one"));
}

#[tokio::test]
async fn a_blank_run_id_is_refused() {
    let agent = asking(&[]).0.build().unwrap();
    assert_eq!(agent.chat(request(" ")).await.unwrap_err().code(), Code::InvalidConfig);
}

#[tokio::test]
async fn a_session_does_not_take_over_the_conversation_of_a_run_whose_id_is_taken() {
    let agent = asking(&[]).0.build().unwrap();
    agent.chat(RunRequest::new("private").with_run_id(RunId::new("r"))).await.unwrap();
    let session = agent.session();
    assert_eq!(session.chat(request("r")).await.unwrap_err().code(), Code::RunExists);
    assert!(session.history().is_empty());
}

#[tokio::test]
async fn of_a_resume_and_a_cancel_at_once_each_ends_in_a_state_that_fits_the_other() {
    for round in 0..24 {
        let counter = Counter::default();
        let (builder, _) = asking(&[("c", "ask_pay", "{}")]);
        let agent = builder.tool(echo("ask_pay", &counter)).store(common::yielding()).build().unwrap();
        let paused = agent.chat("pay").await.unwrap();
        let id = paused.run_id().clone();
        let resume = {
            let (agent, paused) = (agent.clone(), paused.clone());
            async move { agent.resume(&paused, [("c", true)]).await }
        };
        let cancel = {
            let (agent, id) = (agent.clone(), id.clone());
            async move { agent.runner().cancel(&id, Actor::default()).await }
        };
        let (resumed, cancelled) = if round % 2 == 0 {
            let (one, other) = (tokio::spawn(resume), tokio::spawn(cancel));
            (one.await.unwrap(), other.await.unwrap())
        } else {
            let (other, one) = (tokio::spawn(cancel), tokio::spawn(resume));
            (one.await.unwrap(), other.await.unwrap())
        };
        let end = agent.runner().result(&id).await.unwrap();
        assert_eq!(cancelled.unwrap().status(), end.status());
        match resumed {
            Ok(result) => assert_eq!(result.status(), end.status()),
            Err(error) => {
                assert_eq!(error.code(), Code::RunCancelled);
                assert_eq!((end.status(), counter.count()), (Status::Cancelled, 0));
            }
        }
    }
}

#[tokio::test]
async fn a_driver_whose_run_was_taken_over_cannot_write_any_more() {
    let counter = Counter::default();
    let store = Store::from(MemoryStore::new());
    let (tool, gate) = gated("work", &counter);
    let script = vec![ScriptedReply::call("c", "work", "{}"), ScriptedReply::text("done"), ScriptedReply::text("done")];
    let model = ScriptedModel::new(script);
    let builder = Agent::builder().model(model.clone()).policy(by_name()).store(store.clone());
    let old = builder.tool(tool.repeat(Repeat::Safe)).build().unwrap();
    let running = {
        let old = old.clone();
        tokio::spawn(async move { old.chat(request("r")).await })
    };
    gate.started.notified().await;
    let builder = Agent::builder().model(model).policy(by_name()).store(store);
    let new = builder.tool(echo("work", &counter).repeat(Repeat::Safe)).build().unwrap();
    let done = new.runner().recover(&RunId::new("r")).await.unwrap();
    assert_eq!((done.status(), done.records()[0].attempts.0), (Status::Finished, 2));
    gate.go.notify_one();
    assert_eq!(running.await.unwrap().unwrap_err().code(), Code::LeaseLost);
    assert_eq!(new.runner().result(&RunId::new("r")).await.unwrap().messages().len(), done.messages().len());
}

#[tokio::test]
async fn recovering_what_nobody_holds_changes_nothing() {
    let (builder, _) = asking(&[("c", "ask_pay", "{}")]);
    let agent = builder.tool(echo("ask_pay", &Counter::default())).build().unwrap();
    let paused = agent.chat("pay").await.unwrap();
    let before = agent.runner().events(paused.run_id(), holdpoint_core::Revision(0)).await.unwrap();
    let again = agent.runner().recover(paused.run_id()).await.unwrap();
    assert_eq!(again.continuation().unwrap().id(), paused.continuation().unwrap().id());
    assert_eq!(agent.runner().events(paused.run_id(), holdpoint_core::Revision(0)).await.unwrap(), before);
    let done = agent.resume(&again, [("c", true)]).await.unwrap();
    let over = agent.runner().recover(done.run_id()).await.unwrap();
    assert_eq!(over.status(), Status::Finished);
    let unknown = agent.runner().recover(&RunId::new("nobody")).await.unwrap_err();
    assert_eq!(unknown.code(), Code::ContinuationNotFound);
}

#[tokio::test]
async fn a_caller_that_goes_away_stops_the_tool_and_the_run_can_be_taken_up() {
    let counter = Counter::default();
    let told = Arc::new(Notify::new());
    let (tool, gate) = gated("inner", &counter);
    let watched = {
        let (told, inner) = (Arc::clone(&told), Arc::new(tool));
        raw_tool("work", "Watches its cancellation", json!({"type": "object"}), move |call: ToolCall| {
            let (told, inner) = (Arc::clone(&told), Arc::clone(&inner));
            let token = call.cancellation().clone();
            tokio::spawn(async move {
                token.cancelled().await;
                told.notify_one();
            });
            async move { holdpoint::tools::Tool::call(&*inner, call).await }
        })
    };
    let script = vec![ScriptedReply::call("c", "work", "{}"), ScriptedReply::text("done")];
    let model = ScriptedModel::new(script);
    let agent = Agent::builder().model(model).policy(by_name()).tool(watched).build().unwrap();
    tokio::select! {
        _ = agent.chat(request("r")) => panic!("the gate is shut"),
        () = gate.started.notified() => {}
    }
    told.notified().await;
    let asked = agent.runner().recover(&RunId::new("r")).await.unwrap();
    assert!(asked.pending()[0].is_uncertain());
    let done = agent.resume(&asked, [("c", false)]).await.unwrap();
    assert_eq!((done.text().as_deref(), counter.count()), (Some("done"), 1));
}

#[tokio::test]
async fn a_stream_that_is_dropped_does_not_stop_its_run() {
    let counter = Counter::default();
    let (tool, gate) = gated("work", &counter);
    let (builder, _) = asking(&[("c", "work", "{}")]);
    let finished = Arc::new(Notify::new());
    let seen = Arc::clone(&finished);
    let builder = builder.tool(tool).on_end_message(move |message| {
        if message.text() == "done" {
            seen.notify_one();
        }
    });
    let agent = builder.build().unwrap();
    drop(agent.chat(request("r")).stream());
    gate.started.notified().await;
    gate.go.notify_one();
    finished.notified().await;
    let mut status = Status::Running;
    while status == Status::Running {
        tokio::task::yield_now().await;
        status = agent.runner().result(&RunId::new("r")).await.unwrap().status();
    }
    assert_eq!((status, counter.count()), (Status::Finished, 1));
}

#[tokio::test]
async fn resumes_that_lose_run_no_hooks() {
    let counter = Counter::default();
    let hooks = Arc::new(Mutex::new(0));
    let seen = Arc::clone(&hooks);
    let hook = holdpoint::hooks::around_fn(move |_, next| {
        *seen.lock().unwrap() += 1;
        Box::pin(next.run())
    });
    let (builder, _) = asking(&[("c", "ask_pay", "{}")]);
    let builder = builder.tool(echo("ask_pay", &counter)).around(hook).store(common::yielding());
    let agent = builder.build().unwrap();
    let paused = agent.chat("pay").await.unwrap();
    let resumes: Vec<_> = (0..8)
        .map(|_| {
            let (agent, paused) = (agent.clone(), paused.clone());
            tokio::spawn(async move { agent.resume(&paused, [("c", true)]).await.is_ok() })
        })
        .collect();
    let mut won = 0;
    for resume in resumes {
        won += u32::from(resume.await.unwrap());
    }
    assert_eq!((won, counter.count(), *hooks.lock().unwrap()), (1, 1, 1));
}
