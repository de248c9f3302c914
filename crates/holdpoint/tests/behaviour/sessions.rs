//! Sessions keep one conversation over several runs.

use crate::common;

use std::sync::Arc;

use common::{Counter, by_name, echo};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::{Agent, Code, Message, Session, ToolResult};

fn agent(script: Vec<ScriptedReply>) -> (Agent, ScriptedModel) {
    let model = ScriptedModel::new(script);
    let tool = echo("ask_pay", &Counter::default());
    (
        Agent::builder().model(model.clone()).policy(by_name()).tool(tool).system_prompt("be kind").build().unwrap(),
        model,
    )
}

#[tokio::test]
async fn a_second_message_sees_the_first() {
    let (agent, model) = agent(vec![ScriptedReply::text("one"), ScriptedReply::text("two")]);
    let session = agent.session();
    session.chat("first").await.unwrap();
    session.chat("second").await.unwrap();
    let texts: Vec<String> = model.latest().unwrap().messages.iter().map(|m| m.text()).collect();
    assert_eq!(texts, ["be kind", "first", "one", "second"]);
    assert_eq!(session.history().len(), 5);
}

#[tokio::test]
async fn a_session_starts_from_a_given_history() {
    let (agent, model) = agent(vec![ScriptedReply::text("ok")]);
    let history = vec![Arc::new(Message::user("before")), Arc::new(Message::assistant("noted"))];
    let session = Session::from_history(&agent, history);
    session.chat("now").await.unwrap();
    assert_eq!(model.latest().unwrap().messages.len(), 4);
}

#[tokio::test]
async fn a_paused_run_refuses_a_new_message_until_it_is_resumed() {
    let (agent, _) = agent(vec![ScriptedReply::call("c", "ask_pay", "{}"), ScriptedReply::text("paid")]);
    let session = agent.session();
    let paused = session.chat("pay").await.unwrap();
    assert_eq!(session.chat("and now?").await.unwrap_err().code(), Code::RunPaused);
    assert!(session.paused().is_some());
    let done = session.resume(&paused, [("c", true)]).await.unwrap();
    assert_eq!(done.text().as_deref(), Some("paid"));
    assert!(session.paused().is_none());
}

#[tokio::test]
async fn closing_the_open_calls_lets_a_new_message_through() {
    let (agent, model) = agent(vec![ScriptedReply::call("c", "ask_pay", "{}"), ScriptedReply::text("fine")]);
    let session = agent.session();
    let paused = session.chat("pay").await.unwrap();
    session.chat_closing("never mind").await.unwrap();
    let roles: Vec<String> = model.latest().unwrap().messages.iter().map(|m| format!("{:?}", m.role())).collect();
    assert_eq!(roles, ["System", "User", "Assistant", "Tool", "User"]);
    assert_eq!(session.resume(&paused, [("c", true)]).await.unwrap_err().code(), Code::RunCancelled);
}

#[tokio::test]
async fn a_running_run_refuses_a_new_message() {
    let (started, wait) = tokio::sync::oneshot::channel::<()>();
    let (release, released) = tokio::sync::oneshot::channel::<()>();
    let gate = std::sync::Mutex::new(Some((started, released)));
    let tool = holdpoint::tools::raw_tool("slow", "Waits", serde_json::json!({"type": "object"}), move |_| {
        let gate = gate.lock().unwrap().take();
        async move {
            if let Some((started, released)) = gate {
                started.send(()).unwrap();
                released.await.unwrap();
            }
            "ok"
        }
    });
    let model = ScriptedModel::new(vec![ScriptedReply::call("c", "slow", "{}"), ScriptedReply::text("done")]);
    let agent = Agent::builder().model(model).policy(by_name()).tool(tool).build().unwrap();
    let session = agent.session();
    let running = {
        let session = session.clone();
        tokio::spawn(async move { session.chat("go").await })
    };
    wait.await.unwrap();
    assert_eq!(session.chat("and?").await.unwrap_err().code(), Code::RunBusy);
    release.send(()).unwrap();
    assert_eq!(running.await.unwrap().unwrap().text().as_deref(), Some("done"));
}

#[tokio::test]
async fn after_a_failure_the_history_is_what_was_durable() {
    let (agent, model) =
        agent(vec![ScriptedReply::Fail("the provider is down".into()), ScriptedReply::text("hello again")]);
    let session = agent.session();
    let failed = session.chat("hi").await.unwrap();
    assert_eq!(failed.stop_reason().unwrap().as_str(), "provider_error");
    assert_eq!(session.history().len(), 2);
    session.chat("are you there?").await.unwrap();
    assert_eq!(model.latest().unwrap().messages.len(), 3);
}

#[tokio::test]
async fn all_six_entry_points_work_in_a_session() {
    let script = vec![ScriptedReply::call("c", "ask_pay", "{}"), ScriptedReply::text("done")];
    let model = ScriptedModel::repeating(script);
    let builder = Agent::builder().model(model).policy(by_name()).tool(echo("ask_pay", &Counter::default()));
    let agent = builder.with_tool_concurrency("defer_all", None).build().unwrap();
    let session = agent.session();
    let confirm = session.chat("one").await.unwrap();
    let results = session.resume(&confirm, [("c", true)]).await.unwrap();
    assert!(results.is_awaiting_results());
    session.resume_with_tool_results(&results, [("c", ToolResult::success("x"))]).await.unwrap();
    let confirm = session.chat("two").stream().result().await.unwrap();
    let results = session.resume(&confirm, [("c", true)]).stream().result().await.unwrap();
    let last = session.resume_with_tool_results(&results, [("c", ToolResult::success("x"))]).stream();
    assert_eq!(last.result().await.unwrap().text().as_deref(), Some("done"));
}

/// A session in the middle of a call of `slow`, whose caller went away.
async fn left() -> (Session, ScriptedModel, Counter) {
    let counter = Counter::default();
    let started = Arc::new(tokio::sync::Notify::new());
    let (notify, count) = (Arc::clone(&started), counter.clone());
    let object = serde_json::json!({"type": "object"});
    let tool = holdpoint::tools::raw_tool("slow", "Hangs once", object, move |_| {
        count.add();
        let first = count.count() == 1;
        notify.notify_one();
        async move {
            if first {
                std::future::pending::<()>().await;
            }
            "ok"
        }
    });
    let script =
        vec![ScriptedReply::call("c", "slow", "{}"), ScriptedReply::text("done"), ScriptedReply::text("hello")];
    let model = ScriptedModel::new(script);
    let tool = tool.repeat(holdpoint::Repeat::Safe);
    let agent = Agent::builder().model(model.clone()).policy(by_name()).tool(tool).build().unwrap();
    let session = agent.session();
    tokio::select! {
        _ = session.chat("go") => panic!("it hangs"),
        () = started.notified() => {}
    }
    (session, model, counter)
}

#[tokio::test]
async fn a_run_that_was_left_is_busy_until_it_is_recovered() {
    let (session, _, counter) = left().await;
    assert_eq!(session.chat("and?").await.unwrap_err().code(), Code::RunBusy);
    assert_eq!(session.chat("and?").stream().result().await.unwrap_err().code(), Code::RunBusy);
    let done = session.recover().await.unwrap();
    assert_eq!((done.text().as_deref(), counter.count()), (Some("done"), 2));
    assert_eq!(session.chat("and?").await.unwrap().text().as_deref(), Some("hello"));
    assert_eq!(session.recover().await.unwrap_err().code(), Code::NotRetryable);
}

#[tokio::test]
async fn a_run_that_was_left_can_be_closed() {
    let (session, model, counter) = left().await;
    assert_eq!(session.chat_closing("never mind").await.unwrap().text().as_deref(), Some("done"));
    let roles: Vec<String> = model.latest().unwrap().messages.iter().map(|m| format!("{:?}", m.role())).collect();
    assert_eq!(roles, ["User", "Assistant", "Tool", "User"]);
    assert_eq!(counter.count(), 1);
}

#[tokio::test]
async fn a_caller_that_goes_away_before_anything_was_durable_leaves_nothing() {
    let model = ScriptedModel::new(vec![ScriptedReply::text("hello")]);
    let agent = Agent::builder().model(model).store(common::yielding()).build().unwrap();
    let session = agent.session();
    {
        let chat = session.chat("first").into_future();
        assert!(futures_util::FutureExt::now_or_never(chat).is_none());
    }
    assert_eq!(session.chat("second").await.unwrap().text().as_deref(), Some("hello"));
    assert_eq!(session.history().len(), 2);
}

#[tokio::test]
async fn another_run_is_not_resumed_in_the_place_of_the_paused_one() {
    let script = vec![
        ScriptedReply::call("c", "ask_pay", "{}"),
        ScriptedReply::call("c", "ask_pay", "{}"),
        ScriptedReply::text("x"),
    ];
    let (agent, _) = agent(script);
    let session = agent.session();
    let other = agent.chat("other").await.unwrap();
    session.chat("mine").await.unwrap();
    assert_eq!(session.resume(&other, [("c", true)]).await.unwrap_err().code(), Code::RunPaused);
    assert_eq!(session.history()[1].text(), "mine");
    assert!(session.paused().is_some());
}

#[tokio::test]
async fn what_ran_before_a_failure_is_told_as_it_was() {
    let counter = Counter::default();
    let calls = ScriptedReply::calls(&[("a", "work", r#"{"n": 1}"#), ("b", "fragile", "{}")]);
    let model = ScriptedModel::new(vec![calls, ScriptedReply::text("ok")]);
    let hook = holdpoint::hooks::around_fn(|call, next| {
        let fails = call.definition().name.as_str() == "fragile";
        Box::pin(async move { if fails { Err(holdpoint::hooks::HookError::new("down")) } else { next.run().await } })
    });
    let builder = Agent::builder().model(model.clone()).policy(by_name()).around(hook);
    let agent = builder.tool(echo("work", &counter)).tool(echo("fragile", &counter)).build().unwrap();
    let session = agent.session();
    session.chat("go").await.unwrap();
    session.chat("what happened?").await.unwrap();
    let texts: Vec<String> = model.latest().unwrap().messages.iter().map(|m| m.text()).collect();
    assert_eq!(texts[2], r#"{"n":1}"#);
    assert!(texts[3].contains("before this call gave a result"), "{texts:?}");
}

#[tokio::test]
async fn a_resume_that_lost_brings_the_session_up_to_date() {
    let (agent, _) = agent(vec![ScriptedReply::call("c", "ask_pay", "{}"), ScriptedReply::text("paid")]);
    let session = agent.session();
    let paused = session.chat("pay").await.unwrap();
    agent.resume(&paused, [("c", true)]).await.unwrap();
    assert_eq!(session.resume(&paused, [("c", true)]).await.unwrap_err().code(), Code::StaleContinuation);
    assert!(session.paused().is_none());
    assert_eq!(session.history().last().unwrap().text(), "paid");
}
