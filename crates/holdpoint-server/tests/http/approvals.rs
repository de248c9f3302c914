use std::time::Duration;

use futures_util::StreamExt;
use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::stage::{ADMIN, CLERK, FINANCE, READER, STRANGER, SUBMITTER, Stage, allow};

#[tokio::test]
async fn the_inbox_shows_what_waits_and_what_became_of_it() {
    let stage = Stage::guarded().await;
    let paused = stage.run_as(SUBMITTER, "use refund {\"amount\":250}").await;
    let page = stage.get_as(FINANCE, "/v1/approvals").await.expect(StatusCode::OK);
    let question = &page["approvals"][0];
    for (field, value) in [
        ("run_id", paused["id"].clone()),
        ("continuation_id", paused["continuation_id"].clone()),
        ("batch_id", paused["batch_id"].clone()),
        ("call_id", "tc_1".into()),
        ("tool", "refund".into()),
        ("agent", "support".into()),
        ("status", "pending".into()),
        ("reason", "refund above 100".into()),
        ("digest", paused["pending"][0]["digest"].clone()),
        ("answerable", true.into()),
        ("requester", "desk".into()),
    ] {
        assert_eq!(question[field], value, "{field}");
    }
    assert_eq!(question["arguments"]["amount"], 250);
    let clerk = stage.get_as(CLERK, "/v1/approvals").await.expect(StatusCode::OK);
    assert_eq!(clerk["approvals"], Value::Array(vec![]), "who may not answer and reads nothing else sees nothing");
    let reader = stage.get_as(READER, "/v1/approvals").await.expect(StatusCode::OK);
    assert_eq!(reader["approvals"][0]["answerable"], false);
    let others = stage.get_as(STRANGER, "/v1/approvals").await.expect(StatusCode::OK);
    assert_eq!(others["approvals"], Value::Array(vec![]));

    let path = format!("/v1/runs/{}/answers?wait_ms=20000", paused["id"].as_str().unwrap());
    stage.post_as(FINANCE, &path, allow(&paused)).await.expect(StatusCode::OK);
    let pending = stage.get_as(FINANCE, "/v1/approvals").await.expect(StatusCode::OK);
    assert_eq!(pending["approvals"], Value::Array(vec![]));
    let answered = stage.get_as(FINANCE, "/v1/approvals?status=answered").await.expect(StatusCode::OK);
    assert_eq!(answered["approvals"][0]["id"], question["id"]);
    assert_eq!(answered["approvals"][0]["answer"]["actor"], "fin");
    assert_eq!(answered["approvals"][0]["answer"]["decision"], "allow");
}

#[tokio::test]
async fn the_inbox_can_be_followed_and_goes_on_where_it_broke() {
    let stage = Stage::guarded().await;
    let follow = |last: Option<String>| {
        let request = stage.request(Method::GET, "/v1/approvals/events").bearer_auth(ADMIN);
        let request = request.header("accept", "text/event-stream").timeout(Duration::from_secs(60));
        match last {
            Some(last) => request.header("last-event-id", last),
            None => request,
        }
    };
    let mut stream = Frames::of(follow(None).send().await.unwrap());
    let paused = stage.run_as(SUBMITTER, "use ask_first {}").await;
    let (id, asked) = stream.next().await;
    assert_eq!((&asked["run_id"], &asked["status"]), (&paused["id"], &Value::from("pending")));
    drop(stream);
    // Another tenant's question is not here; the answer comes although nobody listened.
    stage.run_as(STRANGER, "use ask_first {}").await;
    let path = format!("/v1/runs/{}/answers?wait_ms=20000", paused["id"].as_str().unwrap());
    stage.post_as(CLERK, &path, allow(&paused)).await.expect(StatusCode::OK);
    let mut stream = Frames::of(follow(Some(id)).send().await.unwrap());
    let (_, answered) = stream.next().await;
    assert_eq!((&answered["id"], &answered["status"]), (&asked["id"], &Value::from("answered")));
}

#[cfg(feature = "server-tests")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_break_between_two_questions_of_one_commit_loses_none() {
    let scratch = holdpoint_store_postgres::testing::Scratch::new().await.unwrap();
    let store = holdpoint::open_store(scratch.url()).await.unwrap();
    let stage = Stage::with(crate::stage::Setting { store: Some(store), ..crate::stage::Setting::default() }).await;
    let follow = |last: &str| {
        let request = stage.request(Method::GET, "/v1/approvals/events").header("accept", "text/event-stream");
        request.header("last-event-id", last.to_owned()).timeout(Duration::from_secs(60))
    };
    let mut stream = Frames::of(follow("").send().await.unwrap());
    let opening = stream.frame().await.unwrap();
    let place = opening.rsplit_once("id: ").expect("a stream has a place before its first event").1;
    let paused = stage.run("use ask_first {\"n\":1}\nuse ask_first {\"n\":2}").await;
    let (none, first) = stream.told().await;
    assert_eq!(none, None, "the rest of the commit is not told yet");
    drop(stream);
    let mut stream = Frames::of(follow(place).send().await.unwrap());
    let (again, second) = (stream.told().await, stream.told().await);
    assert_eq!(again, (None, first));
    assert_eq!((&second.1["run_id"], &second.1["call_id"]), (&paused["id"], &Value::from("tc_2")));
    drop(stream);
    // From there on there is nothing more until something happens.
    let mut stream = Frames::of(follow(&second.0.expect("the last of a commit has its number")).send().await.unwrap());
    let later = stage.run("use ask_first {}").await;
    assert_eq!(stream.told().await.1["run_id"], later["id"]);
    drop(stream);
    stage.stop().await;
    scratch.close().await.unwrap();
}

#[tokio::test]
async fn what_is_of_no_use_any_more_is_listed_too() {
    let stage = Stage::local().await;
    let paused = stage.run("use ask_first {}").await;
    let path = format!("/v1/runs/{}/cancel", paused["id"].as_str().unwrap());
    stage.post(&path, serde_json::json!({})).await.expect(StatusCode::OK);
    let gone = stage.get("/v1/approvals?status=gone").await.expect(StatusCode::OK);
    let question = &gone["approvals"][0];
    assert_eq!((&question["run_id"], &question["status"]), (&paused["id"], &Value::from("gone")));
}

#[tokio::test]
async fn nobody_is_told_that_they_may_answer_where_somebody_else_must() {
    let stage = Stage::local().await;
    let paused = stage.run("use ask_another {}\nuse ask_first {}").await;
    let page = stage.get("/v1/approvals").await.expect(StatusCode::OK);
    let answerable = |call: &str| {
        let all = page["approvals"].as_array().unwrap();
        all.iter().find(|question| question["call_id"] == call).unwrap()["answerable"].clone()
    };
    assert_eq!((answerable("tc_1"), answerable("tc_2")), (Value::from(false), Value::from(true)));
    let path = format!("/v1/runs/{}/answers", paused["id"].as_str().unwrap());
    let call = &paused["pending"][0];
    let decision = serde_json::json!({"call_id": "tc_1", "decision": "allow", "digest": call["digest"]});
    let body = serde_json::json!({"batch_id": paused["batch_id"], "partial": true, "decisions": [decision]});
    stage.post(&path, body).await.problem(403, "not_an_approver");
}

/// Reads events with an id.
pub(crate) struct Frames {
    stream: std::pin::Pin<Box<dyn futures_util::Stream<Item = reqwest::Result<bytes::Bytes>> + Send>>,
    text: String,
}

impl Frames {
    pub(crate) fn of(response: reqwest::Response) -> Self {
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { stream: Box::pin(response.bytes_stream()), text: String::new() }
    }

    /// The next frame, whatever it is. Nothing when the stream ended or broke.
    pub(crate) async fn frame(&mut self) -> Option<String> {
        loop {
            if let Some((frame, rest)) = self.text.split_once("\n\n") {
                let (frame, rest) = (frame.to_owned(), rest.to_owned());
                self.text = rest;
                return Some(frame);
            }
            let bytes =
                tokio::time::timeout(crate::stage::PATIENCE, self.stream.next()).await.expect("something comes");
            self.text.push_str(std::str::from_utf8(&bytes?.ok()?).unwrap());
        }
    }

    /// The next event, and its number if it has one.
    pub(crate) async fn told(&mut self) -> (Option<String>, Value) {
        loop {
            let frame = self.frame().await.expect("the stream goes on");
            let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
            if let Some(data) = field("data: ") {
                return (field("id: "), serde_json::from_str(&data).unwrap());
            }
        }
    }

    /// The next durable event.
    pub(crate) async fn next(&mut self) -> (String, Value) {
        loop {
            let frame = self.frame().await.expect("the stream goes on");
            if let Some((id, data)) = frame.strip_prefix("id: ").and_then(|rest| rest.split_once("\ndata: ")) {
                return (id.to_owned(), serde_json::from_str(data).unwrap());
            }
        }
    }
}
