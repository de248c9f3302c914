//! What passes through arguments, results, prompts and tokens appears in no log line, metric or problem.
#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

// A file of its own: a subscriber of one thread does not hear call sites that another thread saw first.
#[path = "http/stage.rs"]
#[allow(dead_code, reason = "another test uses the rest")]
mod stage;

use std::io;
use std::sync::{Arc, Mutex};

use reqwest::{Method, StatusCode};
use serde_json::json;
use tracing_subscriber::fmt::format::FmtSpan;

use stage::{ADMIN, Answered, Setting, Stage, WORKER, tokens};

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn canaries_are_seen_nowhere() {
    let written = Written::default();
    let sink = written.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_span_events(FmtSpan::FULL)
        .with_ansi(false)
        .with_writer(move || sink.clone())
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    let stage = Stage::with(Setting { tokens: tokens(), without_worker: true, ..Setting::default() }).await;
    let mut problems = String::new();
    stage.run_as(ADMIN, "say canary-prompt").await;
    let paused = stage.run_as(ADMIN, "use ask_first {\"x\":\"canary-argument\"}").await;
    let path = format!("/v1/runs/{}/answers?wait_ms=20000", paused["id"].as_str().unwrap());
    let mut body = stage::allow(&paused);
    body["decisions"][0]["arguments"] = json!({"x": "canary-edited"});
    stage.post_as(ADMIN, &path, body).await.expect(StatusCode::OK);
    stage.run_as(ADMIN, "use remote {\"x\":\"canary-argument\"}").await;
    let leased = stage.post_as(WORKER, "/v1/tasks/lease", json!({})).await.expect(StatusCode::OK);
    let task = &leased["tasks"][0];
    let complete = format!("/v1/tasks/{}/complete", task["id"].as_str().unwrap());
    stage
        .post_as(WORKER, &complete, json!({"lease": task["lease"], "text": "canary-result"}))
        .await
        .expect(StatusCode::NO_CONTENT);
    for body in [
        json!({"agent": "canary-agent", "input": "x"}),
        json!({"agent": "support", "input": {"canary-input": 1}}),
        json!({"agent": "support", "input": "x", "context": {"user_id": "canary-context".repeat(30)}}),
        json!({"agent": "support", "input": "x", "session": "canary-session".repeat(30)}),
    ] {
        problems.push_str(&stage.post_as(ADMIN, "/v1/runs", body).await.text);
    }
    let typo = stage.request(Method::POST, "/v1/runs").bearer_auth("canary-token-that-is-wrong");
    problems.push_str(&Answered::of(typo.json(&json!({})).send().await.unwrap()).await.text);
    problems.push_str(&stage.get_as(ADMIN, "/v1/runs?canary=query").await.text);
    let metrics = stage.get("/metrics").await.text;
    stage.stop().await;
    drop(guard);
    let log = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("http.request") && log.contains("holdpoint.tool.execute"), "the log is listened to");
    for (name, text) in [("log", &log), ("problems", &problems), ("metrics", &metrics)] {
        let found = text.lines().find(|line| line.contains("canary") || line.contains(ADMIN) || line.contains(WORKER));
        assert_eq!(found, None, "{name}");
    }
}
