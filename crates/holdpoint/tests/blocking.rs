//! The blocking facade, and the errors when the wrong one is used.

mod common;

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
