//! Streams: the same loop, every event in order, and a consumer that stops reading stops nothing.

mod common;

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
    let (names, result) = names(agent(&Counter::default()).chat_stream("pay").unwrap()).await;
    let durable: Vec<_> = names.iter().filter(|name| !name.starts_with("tool_call")).copied().collect();
    assert_eq!(
        durable,
        [
            "run_started", "turn_started", "message_completed", "call_decided", "turn_ended",
            "authorization_required", "paused", "finished"
        ]
    );
    assert!(result.is_awaiting_confirmation());
}

#[tokio::test]
async fn a_resumed_stream_shows_the_tool_and_ends_with_finished() {
    let agent = agent(&Counter::default());
    let paused = agent.chat("pay").await.unwrap();
    let (names, result) = names(agent.resume_stream(&paused, [("c1", true)]).unwrap()).await;
    for name in ["resumed", "call_answered", "tool_started", "tool_ended", "turn_ended", "text_delta"] {
        assert!(names.contains(&name), "{name} is missing in {names:?}");
    }
    assert_eq!(names.iter().filter(|name| **name == "finished").count(), 1);
    assert_eq!(names.last(), Some(&"finished"));
    assert_eq!(result.text().as_deref(), Some("done"));
}

#[tokio::test]
async fn results_can_be_streamed_too() {
    let (builder, _) = asking(&[("a", "work", "{}")]);
    let tool = echo("work", &Counter::default());
    let agent = builder.tool(tool).with_tool_concurrency("defer_all", None).build().unwrap();
    let (names_before, paused) = names(agent.chat_stream("go").unwrap()).await;
    assert!(names_before.contains(&"execution_required"));
    let stream = agent.resume_stream_with_tool_results(&paused, [("a", ToolResult::success("x"))]).unwrap();
    let (names, result) = names(stream).await;
    assert_eq!(names.first(), Some(&"resumed"));
    assert_eq!(result.text().as_deref(), Some("done"));
}

#[tokio::test]
async fn durable_events_carry_gapless_numbers_and_the_pending_list() {
    let agent = agent(&Counter::default());
    let mut stream = agent.chat_stream("pay").unwrap();
    let mut next = 1;
    let mut pending = 0;
    while let Some(event) = stream.next().await {
        if let StreamEvent::Durable(durable) = &event {
            assert_eq!(durable.seq.0, next);
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
    let mut stream = agent.chat_stream("pay").unwrap();
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
    let stream = agent.chat_stream("go").unwrap();
    let result = stream.result().await.unwrap();
    assert_eq!(result.text().as_deref(), Some("done"));
    assert_eq!(counter.count(), 1);
}

#[tokio::test]
async fn dropped_calls_are_not_shown_while_they_stream() {
    let (builder, _) = asking(&[("a", "work", r#"{"n": 1}"#), ("b", "work", r#"{"n": 2}"#)]);
    let tool = echo("work", &Counter::default());
    let agent = builder.tool(tool).max_tool_calls_per_turn(1).build().unwrap();
    let (names, result) = names(agent.chat_stream("go").unwrap()).await;
    assert_eq!(names.iter().filter(|name| **name == "tool_call_started").count(), 1);
    assert_eq!(result.records()[1].progress.as_str(), "ignored");
}

#[tokio::test]
async fn reasoning_is_streamed_and_kept() {
    let reply = ModelReply { text: "yes".into(), thinking: Some("let me see".into()), ..ModelReply::default() };
    let model = ScriptedModel::new(vec![ScriptedReply::Say(reply)]);
    let agent = Agent::builder().model(model).build().unwrap();
    let (names, _) = names(agent.chat_stream("hm").unwrap()).await;
    assert!(names.contains(&"thinking_delta"));
}

#[tokio::test]
async fn a_stream_whose_decisions_are_refused_ends_with_that_error() {
    let agent = agent(&Counter::default());
    let paused = agent.chat("pay").await.unwrap();
    let stream = agent.resume_stream(&paused, Decisions::new().allow("nobody")).unwrap();
    assert_eq!(stream.result().await.unwrap_err().code(), holdpoint::Code::UnknownToolCall);
}
