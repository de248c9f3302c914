//! Streams: the same loop, every event in order, and a consumer that stops reading stops nothing.

use crate::common;

use common::{Counter, asking, echo};
use holdpoint::model::{ModelReply, ScriptedModel, ScriptedReply};
use holdpoint::{Agent, Decisions, RunStream, StreamEvent, ToolResult};

async fn names(mut stream: RunStream) -> (Vec<&'static str>, holdpoint::RunResult) {
    let mut names = Vec::new();
    while let Some(event) = stream.next().await {
        names.push(event.name());
    }
    (names, stream.result().await.unwrap())
}

fn agent(counter: &Counter) -> Agent {
    let (builder, _) = asking(&[("c1", "ask_pay", r#"{"amount": 5}"#)]);
    builder.tool(echo("ask_pay", counter)).build().unwrap()
}

#[tokio::test]
async fn a_pause_ends_the_segment_in_order() {
    let (names, result) = names(agent(&Counter::default()).chat("pay").stream()).await;
    let durable: Vec<_> = names.iter().filter(|name| !name.starts_with("tool_call")).copied().collect();
    assert_eq!(
        durable,
        [
            "run_started",
            "turn_started",
            "message_completed",
            "call_decided",
            "turn_ended",
            "authorization_required",
            "paused",
            "done"
        ]
    );
    assert!(result.is_awaiting_confirmation());
}

#[tokio::test]
async fn a_resumed_stream_shows_the_tool_and_ends_with_done() {
    let agent = agent(&Counter::default());
    let paused = agent.chat("pay").await.unwrap();
    let (names, result) = names(agent.resume(&paused, [("c1", true)]).stream()).await;
    for name in ["resumed", "call_answered", "tool_started", "tool_ended", "turn_ended", "text_delta"] {
        assert!(names.contains(&name), "{name} is missing in {names:?}");
    }
    assert_eq!(names.iter().filter(|name| **name == "done").count(), 1);
    assert_eq!(names.last(), Some(&"done"));
    assert_eq!(result.text().as_deref(), Some("done"));
}

#[tokio::test]
async fn results_can_be_streamed_too() {
    let (builder, _) = asking(&[("a", "work", "{}")]);
    let tool = echo("work", &Counter::default());
    let agent = builder.tool(tool).with_tool_concurrency("defer_all", None).build().unwrap();
    let (names_before, paused) = names(agent.chat("go").stream()).await;
    assert!(names_before.contains(&"execution_required"));
    let stream = agent.resume_with_tool_results(&paused, [("a", ToolResult::success("x"))]).stream();
    let (names, result) = names(stream).await;
    assert_eq!(names.first(), Some(&"resumed"));
    assert_eq!(result.text().as_deref(), Some("done"));
}

#[tokio::test]
async fn durable_events_carry_gapless_numbers_and_the_pending_list() {
    let agent = agent(&Counter::default());
    let mut stream = agent.chat("pay").stream();
    let mut next = 1;
    let mut pending = 0;
    while let Some(event) = stream.next().await {
        if let StreamEvent::Durable(durable) = &event {
            assert_eq!(durable.seq().0, next);
            next += 1;
        }
        if event.name() == "authorization_required" {
            let json = event.to_json();
            pending = json["pending"].as_array().unwrap().len();
            assert_eq!(json["pending"][0]["id"], "c1");
            assert!(json["continuation_id"].is_string());
        }
    }
    assert_eq!(pending, 1);
}

#[tokio::test]
async fn a_late_reader_gets_the_same_events_from_the_store() {
    let agent = agent(&Counter::default());
    let mut stream = agent.chat("pay").stream();
    let mut live = Vec::new();
    while let Some(event) = stream.next().await {
        if let StreamEvent::Durable(_) = event {
            live.push(event.to_json());
        }
    }
    let run = stream.result().await.unwrap().run_id().clone();
    let late = agent.runner().events(&run, holdpoint_core::Revision(0)).await.unwrap();
    assert_eq!(late, live);
    let tail = agent.runner().events(&run, holdpoint_core::Revision(6)).await.unwrap();
    assert_eq!(tail, live[6..]);
}

#[tokio::test]
async fn a_consumer_that_goes_away_does_not_stop_the_run() {
    let counter = Counter::default();
    let (builder, _) = asking(&[("a", "work", "{}")]);
    let agent = builder.tool(echo("work", &counter)).build().unwrap();
    let stream = agent.chat("go").stream();
    let result = stream.result().await.unwrap();
    assert_eq!(result.text().as_deref(), Some("done"));
    assert_eq!(counter.count(), 1);
}

#[tokio::test]
async fn dropped_calls_are_not_shown_while_they_stream() {
    let (builder, _) = asking(&[("a", "work", r#"{"n": 1}"#), ("b", "work", r#"{"n": 2}"#)]);
    let tool = echo("work", &Counter::default());
    let agent = builder.tool(tool).max_tool_calls_per_turn(1).build().unwrap();
    let (names, result) = names(agent.chat("go").stream()).await;
    assert_eq!(names.iter().filter(|name| **name == "tool_call_started").count(), 1);
    assert_eq!(result.records()[1].progress.as_str(), "ignored");
}

#[tokio::test]
async fn reasoning_is_streamed_and_kept() {
    let reply = ModelReply { text: "yes".into(), thinking: Some("let me see".into()), ..ModelReply::default() };
    let model = ScriptedModel::new(vec![ScriptedReply::Say(reply)]);
    let agent = Agent::builder().model(model).build().unwrap();
    let (names, _) = names(agent.chat("hm").stream()).await;
    assert!(names.contains(&"thinking_delta"));
}

#[tokio::test]
async fn a_stream_whose_decisions_are_refused_ends_with_that_error() {
    let agent = agent(&Counter::default());
    let paused = agent.chat("pay").await.unwrap();
    let stream = agent.resume(&paused, Decisions::new().allow("nobody")).stream();
    assert_eq!(stream.result().await.unwrap_err().code(), holdpoint::Code::UnknownToolCall);
}

/// The durable events of a stream.
async fn durable(mut stream: RunStream, live: &mut Vec<serde_json::Value>) -> holdpoint::RunResult {
    while let Some(event) = stream.next().await {
        if let StreamEvent::Durable(_) = event {
            live.push(event.to_json());
        }
    }
    stream.result().await.unwrap()
}

/// Each segment ends with its one `done`.
fn expect_segments(live: &[serde_json::Value], done: usize) {
    assert_eq!(live.iter().filter(|event| event["event"] == "done").count(), done);
    assert_eq!(live.last().unwrap()["event"], "done");
}

async fn late(agent: &Agent, run: &holdpoint::RunId) -> Vec<serde_json::Value> {
    agent.runner().events(run, holdpoint_core::Revision(0)).await.unwrap()
}

#[tokio::test]
async fn live_and_late_events_are_the_same_over_resumes_results_and_a_failure_with_its_retry() {
    let script = vec![
        ScriptedReply::calls(&[("a", "ask_pay", "{}"), ("b", "far", "{}")]),
        ScriptedReply::Fail("down".into()),
        ScriptedReply::text("done"),
    ];
    let builder = Agent::builder().model(ScriptedModel::new(script)).policy(common::by_name());
    let builder = builder.tool(echo("ask_pay", &Counter::default())).tool(echo("far", &Counter::default()));
    let agent = builder.route("far", "defer_all").build().unwrap();
    let mut live = Vec::new();
    let paused = durable(agent.chat("go").stream(), &mut live).await;
    let paused = durable(agent.resume(&paused, [("a", true)]).stream(), &mut live).await;
    let results = [("b", ToolResult::success("x"))];
    let failed = durable(agent.resume_with_tool_results(&paused, results).stream(), &mut live).await;
    assert_eq!(failed.stop_reason().unwrap().as_str(), "provider_error");
    let done = durable(agent.runner().retry(failed.run_id()).stream(), &mut live).await;
    assert_eq!(done.text().as_deref(), Some("done"));
    assert_eq!(late(&agent, done.run_id()).await, live);
    expect_segments(&live, 4);
}

#[tokio::test]
async fn whoever_streams_a_run_sees_that_somebody_else_cancelled_it() {
    let started = std::sync::Arc::new(tokio::sync::Notify::new());
    let notify = std::sync::Arc::clone(&started);
    let object = serde_json::json!({"type": "object"});
    let tool = holdpoint::tools::raw_tool("work", "Never ends", object, move |_| {
        notify.notify_one();
        std::future::pending::<String>()
    });
    let (builder, _) = asking(&[("a", "work", "{}"), ("b", "deny_it", "{}")]);
    let agent = builder.tool(tool).tool(echo("deny_it", &Counter::default())).build().unwrap();
    let id = holdpoint::RunId::new("run-1");
    let stream = agent.chat(holdpoint::RunRequest::new("go").with_run_id(id.clone())).stream();
    started.notified().await;
    agent.runner().cancel(&id, holdpoint::Actor::default()).await.unwrap();
    let mut live = Vec::new();
    let result = durable(stream, &mut live).await;
    assert_eq!(result.status(), holdpoint::Status::Cancelled);
    assert_eq!(late(&agent, &id).await, live);
    expect_segments(&live, 1);
}
