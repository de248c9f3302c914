//! Entry points without an async runtime, and the errors when the wrong way to wait is used.

use crate::common;

use std::future::Future;
use std::task::{Context, Poll, Waker};

use common::{Counter, asking, echo};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::{Agent, Code, Segment, ToolResult};

fn agent() -> Agent {
    let (builder, _) = asking(&[("c1", "ask_pay", "{}")]);
    builder.tool(echo("ask_pay", &Counter::default())).build().unwrap()
}

#[test]
fn program_without_a_runtime_can_run_and_resume() {
    let agent = agent();
    let mut events = 0;
    let paused = agent.chat("pay").blocking_stream(|_| events += 1).unwrap();
    assert!(events > 5);
    let done = agent.resume(&paused, [("c1", true)]).blocking().unwrap();
    assert_eq!(done.text().as_deref(), Some("done"));
}

#[test]
fn blocking_session_keeps_its_conversation() {
    let session = agent().session();
    let paused = session.chat("pay").blocking().unwrap();
    assert_eq!(session.chat("and?").blocking().unwrap_err().code(), Code::RunPaused);
    let done = session.resume(&paused, [("c1", false)]).blocking().unwrap();
    assert_eq!(done.text().as_deref(), Some("done"));
    assert_eq!(session.history().len(), done.messages().len());
}

#[test]
fn awaiting_and_streaming_without_a_runtime_is_an_error_with_a_hint() {
    let agent = agent();
    let ready = |future: &mut (dyn Future<Output = _> + Unpin)| match std::pin::Pin::new(future)
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("it waits"),
    };
    let error = ready(&mut agent.chat("pay").into_future()).unwrap_err();
    assert_eq!(error.code(), Code::NoRuntime);
    assert!(error.to_string().contains(".blocking()"));
    let streamed = ready(&mut Box::pin(agent.chat("pay").stream().result()));
    assert_eq!(streamed.unwrap_err().code(), Code::NoRuntime);
}

#[tokio::test]
async fn blocking_within_a_runtime_is_an_error() {
    assert_eq!(agent().chat("pay").blocking().unwrap_err().code(), Code::NoRuntime);
    assert_eq!(agent().chat("pay").blocking_stream(|_| ()).unwrap_err().code(), Code::NoRuntime);
}

#[test]
fn every_entry_point_of_an_agent_and_of_a_session_can_block() {
    let script = vec![ScriptedReply::call("c", "ask_pay", "{}"), ScriptedReply::text("done")];
    let builder = Agent::builder().model(ScriptedModel::repeating(script)).policy(common::by_name());
    let builder = builder.tool(echo("ask_pay", &Counter::default())).with_tool_concurrency("defer_all", None);
    let agent = builder.build().unwrap();
    let result = || [("c", ToolResult::success("x"))];
    let mut events = 0;
    let mut watched = |segment: Segment| segment.blocking_stream(|_| events += 1).unwrap();

    let confirm = agent.chat("one").blocking().unwrap();
    let deferred = agent.resume(&confirm, [("c", true)]).blocking().unwrap();
    let done = agent.resume_with_tool_results(&deferred, result()).blocking().unwrap();
    assert_eq!(done.text().as_deref(), Some("done"));
    let confirm = watched(agent.chat("two"));
    let deferred = watched(agent.resume(&confirm, [("c", true)]));
    let done = watched(agent.resume_with_tool_results(&deferred, result()));
    assert_eq!(agent.retry(done.run_id()).blocking().unwrap_err().code(), Code::NotRetryable);
    assert_eq!(agent.runner().recover(done.run_id()).blocking().unwrap().status(), holdpoint::Status::Finished);

    let session = agent.session();
    let confirm = session.chat("one").blocking().unwrap();
    let deferred = session.resume(&confirm, [("c", true)]).blocking().unwrap();
    session.resume_with_tool_results(&deferred, result()).blocking().unwrap();
    let confirm = watched(session.chat("two"));
    assert!(session.paused().is_some());
    let deferred = watched(session.resume(&confirm, [("c", true)]));
    watched(session.resume_with_tool_results(&deferred, result()));
    watched(session.chat("three"));
    let done = watched(session.chat_closing("four"));
    assert_eq!(done.text().as_deref(), Some("done"));
    assert_eq!(session.history().len(), done.messages().len());
    assert!(events > 30);
}
