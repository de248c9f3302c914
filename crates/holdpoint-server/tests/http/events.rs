use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::approvals::Frames;
use crate::stage::{Answered, Setting, Stage, allow};

async fn follow(stage: &Stage, id: &str, last: Option<&str>) -> Frames {
    let request = stage.request(Method::GET, &format!("/v1/runs/{id}/events")).header("accept", "text/event-stream");
    let request = match last {
        Some(last) => request.header("last-event-id", last),
        None => request,
    };
    Frames::of(request.timeout(Duration::from_secs(60)).send().await.unwrap())
}

/// All durable events until the stream ends, by number.
async fn rest(frames: &mut Frames) -> Vec<(u64, Value)> {
    let mut events = Vec::new();
    while let Some(frame) = frames.frame().await {
        if let Some((id, data)) = frame.strip_prefix("id: ").and_then(|rest| rest.split_once("\ndata: ")) {
            events.push((id.parse().unwrap(), serde_json::from_str(data).unwrap()));
        }
    }
    events
}

#[tokio::test]
async fn a_run_can_be_started_as_a_stream_with_its_text_as_it_comes() {
    let stage = Stage::local().await;
    let body = json!({"agent": "support", "input": "say one two three"});
    let request = stage.request(Method::POST, "/v1/runs").header("accept", "text/event-stream").json(&body);
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), StatusCode::CREATED);
    let text = response.text().await.unwrap();
    let events: Vec<Value> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names.first(), Some(&"run_started"));
    assert_eq!(names.last(), Some(&"done"));
    let deltas: String = events
        .iter()
        .filter(|event| event["event"] == "text_delta")
        .map(|event| event["text"].as_str().unwrap())
        .collect();
    assert_eq!(deltas, "one two three");
    let at = |name: &str| names.iter().position(|known| *known == name).unwrap();
    assert!(at("turn_started") < at("text_delta"), "{names:?}");
    assert!(at("text_delta") < at("message_completed"), "{names:?}");
}

#[tokio::test]
async fn a_stream_goes_on_where_it_broke_nothing_missed_nothing_twice() {
    let stage = Stage::local().await;
    let paused = stage.run("use ask_first {}").await;
    let id = paused["id"].as_str().unwrap();
    let mut stream = follow(&stage, id, None).await;
    let mut seen = Vec::new();
    for _ in 0..4 {
        let (id, event) = stream.next().await;
        seen.push((id.parse::<u64>().unwrap(), event));
    }
    drop(stream);
    let mut stream = follow(&stage, id, Some(&seen.last().unwrap().0.to_string())).await;
    let path = format!("/v1/runs/{id}/answers");
    stage.post(&path, allow(&paused)).await.expect(StatusCode::OK);
    seen.extend(rest(&mut stream).await);
    let all = stage.get(&format!("/v1/runs/{id}/events")).await.expect(StatusCode::OK);
    let all: Vec<(u64, Value)> =
        all["events"].as_array().unwrap().iter().map(|event| (event["seq"].as_u64().unwrap(), event.clone())).collect();
    assert_eq!(seen, all);
    assert!(seen.iter().map(|(seq, _)| *seq).eq(1..=u64::try_from(all.len()).unwrap()));
    assert_eq!(all.last().unwrap().1["event"], "done");
}

#[tokio::test]
async fn a_run_that_is_over_has_nothing_more_to_tell() {
    let stage = Stage::local().await;
    let run = stage.run("say hi").await;
    let id = run["id"].as_str().unwrap();
    let events = rest(&mut follow(&stage, id, None).await).await;
    let last = events.last().unwrap().0;
    let request = stage.request(Method::GET, &format!("/v1/runs/{id}/events")).header("accept", "text/event-stream");
    let response = request.header("last-event-id", last.to_string()).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::NO_CONTENT);
    let page = stage.get(&format!("/v1/runs/{id}/events?after={}", last - 1)).await.expect(StatusCode::OK);
    assert_eq!(page["events"].as_array().unwrap().len(), 1);
    assert_eq!(page["revision"], last);
}

#[tokio::test]
async fn a_run_that_was_tried_again_is_told_to_its_real_end() {
    let stage = Stage::local().await;
    let failed = stage.run("fail").await;
    let id = failed["id"].as_str().unwrap();
    let again = stage.post(&format!("/v1/runs/{id}/retry?wait_ms=20000"), json!({})).await.expect(StatusCode::OK);
    let events = rest(&mut follow(&stage, id, None).await).await;
    assert_eq!(events.last().unwrap().0, again["revision"].as_u64().unwrap());
}

#[tokio::test]
async fn what_the_model_says_is_heard_while_it_says_it() {
    let stage = Stage::local().await;
    let started =
        stage.post("/v1/runs", json!({"agent": "support", "input": "wait"})).await.expect(StatusCode::CREATED);
    let id = started["id"].as_str().unwrap().to_owned();
    // The model has begun to speak by the time the gate opens; later listeners hear what follows.
    let mut stream = follow(&stage, &id, None).await;
    stream.next().await;
    stage.gate.add_permits(1);
    let mut heard = String::new();
    while let Some(frame) = stream.frame().await {
        if let Some(data) = frame.strip_prefix("data: ") {
            let event: Value = serde_json::from_str(data).unwrap();
            heard.push_str(event["text"].as_str().unwrap_or_default());
        }
    }
    assert!(heard.ends_with("one two"), "{heard}");
}

#[tokio::test]
async fn streams_are_told_when_the_server_stops() {
    let stage = Stage::local().await;
    let paused = stage.run("use ask_first {}").await;
    let mut stream = follow(&stage, paused["id"].as_str().unwrap(), None).await;
    stream.next().await;
    stage.begin_to_stop();
    let mut last = String::new();
    while let Some(frame) = stream.frame().await {
        last = frame;
    }
    assert_eq!(last, ": the server stops; connect again");
    stage.stop().await;
}

#[tokio::test]
async fn streams_have_a_limit() {
    let limits = holdpoint_server::Limits { streams_per_token_max: 2, ..holdpoint_server::Limits::default() };
    let stage = Stage::with(Setting { limits: Some(limits), ..Setting::default() }).await;
    let paused = stage.run("use ask_first {}").await;
    let id = paused["id"].as_str().unwrap();
    let (first, _second) = (follow(&stage, id, None).await, follow(&stage, id, None).await);
    let path = format!("/v1/runs/{id}/events");
    let refused = || async {
        let request = stage.request(Method::GET, &path).header("accept", "text/event-stream");
        Answered::of(request.send().await.unwrap()).await
    };
    let answered = refused().await;
    assert!(answered.headers.contains_key("retry-after"));
    answered.problem(429, "too_many_streams");
    // Nothing is begun whose stream would be refused.
    let body = json!({"agent": "support", "input": "say x"});
    let start = stage.request(Method::POST, "/v1/runs").header("accept", "text/event-stream").json(&body);
    Answered::of(start.send().await.unwrap()).await.problem(429, "too_many_streams");
    assert_eq!(stage.get("/v1/runs").await.body["runs"].as_array().unwrap().len(), 1);
    drop(first);
    // One that is closed makes room as soon as the server sees it.
    let deadline = tokio::time::Instant::now() + crate::stage::PATIENCE;
    loop {
        let request = stage.request(Method::GET, &path).header("accept", "text/event-stream");
        let status = request.timeout(Duration::from_secs(60)).send().await.unwrap().status();
        if status == StatusCode::OK {
            break;
        }
        assert!(tokio::time::Instant::now() < deadline, "{status}");
        // tidy: sleeps because the server notices a closed connection in its own time
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_last_event_that_is_no_number_is_refused() {
    let stage = Stage::local().await;
    let run = stage.run("say hello").await;
    let path = format!("/v1/runs/{}/events", run["id"].as_str().unwrap());
    for id in [&b"-1"[..], b"+1", b"1.0", b"x", b"\xc2\x84", b"9223372036854775808"] {
        let request = stage.request(Method::GET, &path).header("last-event-id", id);
        Answered::of(request.send().await.unwrap()).await.problem(400, "invalid_request");
    }
    for id in ["", "null", "1", "000000000000000001"] {
        let request = stage.request(Method::GET, &path).header("last-event-id", id);
        Answered::of(request.send().await.unwrap()).await.expect(StatusCode::OK);
    }
}
