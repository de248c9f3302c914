//! The blocking facade, and the errors when the wrong one is used.

use crate::common;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use common::{Counter, asking, echo};
use holdpoint::{Code, blocking};

fn agent() -> holdpoint::Agent {
    let (builder, _) = asking(&[("c1", "ask_pay", "{}")]);
    builder.tool(echo("ask_pay", &Counter::default())).build().unwrap()
}

#[test]
fn a_program_without_a_runtime_can_run_and_resume() {
    let agent = blocking::Agent::new(agent()).unwrap();
    let mut events = 0;
    let paused = agent.chat_stream("pay", |_| events += 1).unwrap();
    assert!(events > 5);
    let done = agent.resume(&paused, [("c1", true)]).unwrap();
    assert_eq!(done.text().as_deref(), Some("done"));
}

#[test]
fn a_blocking_session_keeps_its_conversation() {
    let agent = blocking::Agent::new(agent()).unwrap();
    let session = agent.session();
    let paused = session.chat("pay").unwrap();
    assert_eq!(session.chat("and?").unwrap_err().code(), Code::RunPaused);
    assert_eq!(session.resume(&paused, [("c1", false)]).unwrap().text().as_deref(), Some("done"));
}

#[test]
fn the_async_entry_points_say_clearly_that_they_need_a_runtime() {
    let agent = agent();
    let chat = pin!(agent.chat("pay"));
    let Poll::Ready(result) = chat.poll(&mut Context::from_waker(Waker::noop())) else { panic!("it waits") };
    let error = result.unwrap_err();
    assert_eq!(error.code(), Code::NoRuntime);
    assert!(error.to_string().contains("holdpoint::blocking"));
    assert_eq!(agent.chat_stream("pay").unwrap_err().code(), Code::NoRuntime);
}

#[tokio::test]
async fn the_blocking_entry_points_say_clearly_that_they_cannot_be_used_within_one() {
    assert_eq!(blocking::Agent::new(agent()).unwrap_err().code(), Code::NoRuntime);
}

#[test]
fn every_entry_point_of_an_agent_and_of_a_session_can_block() {
    use holdpoint::ToolResult;
    let script = vec![
        holdpoint::model::ScriptedReply::call("c", "ask_pay", "{}"),
        holdpoint::model::ScriptedReply::text("done"),
    ];
    let model = holdpoint::model::ScriptedModel::repeating(script);
    let builder = holdpoint::Agent::builder().model(model).policy(common::by_name());
    let builder = builder.tool(echo("ask_pay", &Counter::default())).with_tool_concurrency("defer_all", None);
    let agent = blocking::Agent::new(builder.build().unwrap()).unwrap();
    let result = || [("c", ToolResult::success("x"))];
    let mut events = 0;
    let far = agent.resume(agent.chat("one").unwrap(), [("c", true)]).unwrap();
    assert_eq!(agent.resume_with_tool_results(&far, result()).unwrap().text().as_deref(), Some("done"));
    let paused = agent.chat_stream("two", |_| events += 1).unwrap();
    let far = agent.resume_stream(&paused, [("c", true)], |_| events += 1).unwrap();
    let done = agent.resume_stream_with_tool_results(&far, result(), |_| events += 1).unwrap();
    assert_eq!(done.text().as_deref(), Some("done"));
    assert_eq!(agent.retry(done.run_id()).unwrap_err().code(), Code::NotRetryable);
    assert_eq!(agent.recover(done.run_id()).unwrap().status(), holdpoint::Status::Finished);
    let session = agent.session();
    let far = session.resume(session.chat("one").unwrap(), [("c", true)]).unwrap();
    session.resume_with_tool_results(&far, result()).unwrap();
    let paused = session.chat_stream("two", |_| events += 1).unwrap();
    assert!(session.paused().is_some());
    let far = session.resume_stream(&paused, [("c", true)], |_| events += 1).unwrap();
    let done = session.resume_stream_with_tool_results(&far, result(), |_| events += 1).unwrap();
    assert_eq!(session.history().len(), done.messages().len());
    assert!(events > 30);
}

#[test]
fn a_blocking_agent_may_be_dropped_within_a_runtime() {
    let agent = blocking::Agent::new(agent()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async move { drop(agent) });
}
