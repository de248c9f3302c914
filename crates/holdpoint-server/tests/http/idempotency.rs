use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_store::{Clock, Layer, ManualClock, MemoryStore, ResponseKey, ServerStateLayer, Store, StoreError};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::stage::{ADMIN, Answered, STRANGER, Setting, Stage, allow};

async fn send(stage: &Stage, secret: &str, key: &str, path: &str, body: &Value) -> Answered {
    let request = stage.request(Method::POST, path).bearer_auth(secret).header("idempotency-key", key).json(body);
    Answered::of(request.send().await.unwrap()).await
}

#[tokio::test]
async fn the_same_request_gets_the_first_response_again() {
    let stage = Stage::guarded().await;
    let body = json!({"agent": "support", "input": "say once"});
    let path = "/v1/runs?wait_ms=20000";
    let first = send(&stage, ADMIN, "k1", path, &body).await;
    let location = first.headers["location"].clone();
    let run = first.expect(StatusCode::CREATED);
    let again = send(&stage, ADMIN, "k1", path, &body).await;
    assert_eq!(again.headers["idempotent-replayed"], "true");
    assert_eq!(again.headers["location"], location);
    assert_eq!(again.expect(StatusCode::CREATED), run);
    assert_eq!(stage.get_as(ADMIN, "/v1/runs").await.body["runs"].as_array().unwrap().len(), 1);

    // How long to wait is no part of the request.
    let impatient = send(&stage, ADMIN, "k1", "/v1/runs", &body).await;
    assert_eq!(impatient.expect(StatusCode::CREATED)["id"], run["id"]);
    let other = json!({"agent": "support", "input": "say twice"});
    send(&stage, ADMIN, "k1", path, &other).await.problem(422, "idempotency_mismatch");
    // Another key, another sender: another request.
    let second = send(&stage, ADMIN, "k2", path, &body).await.expect(StatusCode::CREATED);
    let strangers = send(&stage, STRANGER, "k1", path, &body).await.expect(StatusCode::CREATED);
    assert!(second["id"] != run["id"] && strangers["id"] != run["id"]);
    send(&stage, ADMIN, " ", path, &body).await.problem(400, "invalid_idempotency_key");
    send(&stage, ADMIN, &"k".repeat(300), path, &body).await.problem(400, "invalid_idempotency_key");
}

#[tokio::test]
async fn no_two_senders_share_a_key_whatever_they_are_called() {
    use holdpoint_server::{Token, TokenRole};
    let token = |name: &str, tenant: &str, secret: &str| {
        Token::new(name, tenant, &secret.to_owned().into()).roles([TokenRole::Admin])
    };
    let (one, two) = ("secret-of-the-one-00001", "secret-of-the-two-00002");
    let tokens = vec![token("b/c", "a", one), token("c", "a/b", two)];
    let stage = Stage::with(Setting { tokens, ..Setting::default() }).await;
    let body = json!({"agent": "support", "input": "say mine"});
    let path = "/v1/runs?wait_ms=20000";
    let first = send(&stage, one, "k", path, &body).await.expect(StatusCode::CREATED);
    let second = send(&stage, two, "k", path, &body).await;
    assert!(!second.headers.contains_key("idempotent-replayed"));
    assert_ne!(second.expect(StatusCode::CREATED)["id"], first["id"]);
}

#[tokio::test]
async fn a_second_click_is_told_that_the_first_is_under_way() {
    let stage = Stage::guarded().await;
    let body = json!({"agent": "support", "input": "wait"});
    let path = "/v1/runs?wait_ms=20000";
    let request = stage.request(Method::POST, path).bearer_auth(ADMIN).header("idempotency-key", "k").json(&body);
    let first = tokio::spawn(request.send());
    while stage.get_as(ADMIN, "/v1/runs").await.body["runs"].as_array().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let refused = send(&stage, ADMIN, "k", path, &body).await;
    assert!(refused.headers.contains_key("retry-after"));
    refused.problem(409, "idempotency_in_progress");
    stage.gate.add_permits(1);
    let run = Answered::of(first.await.unwrap().unwrap()).await.expect(StatusCode::CREATED);
    assert_eq!(send(&stage, ADMIN, "k", path, &body).await.expect(StatusCode::CREATED), run);
}

#[tokio::test]
async fn an_answer_sent_twice_counts_once() {
    let stage = Stage::guarded().await;
    let paused = stage.run_as(ADMIN, "use ask_first {}").await;
    let path = format!("/v1/runs/{}/answers?wait_ms=20000", paused["id"].as_str().unwrap());
    let first = send(&stage, ADMIN, "a", &path, &allow(&paused)).await.expect(StatusCode::OK);
    let again = send(&stage, ADMIN, "a", &path, &allow(&paused)).await.expect(StatusCode::OK);
    assert_eq!(first, again);
    assert_eq!(again["tool_executions"], 1);
    // What was refused may be sent again with the same key, corrected.
    let paused = stage.run_as(ADMIN, "use ask_first {}").await;
    let path = format!("/v1/runs/{}/answers?wait_ms=20000", paused["id"].as_str().unwrap());
    let wrong = json!({"continuation_id": paused["continuation_id"], "decisions": []});
    send(&stage, ADMIN, "b", &path, &wrong).await.problem(422, "missing_decision");
    send(&stage, ADMIN, "b", &path, &allow(&paused)).await.expect(StatusCode::OK);
}

#[tokio::test]
async fn a_streamed_run_is_streamed_again() {
    let stage = Stage::guarded().await;
    let body = json!({"agent": "support", "input": "say hello"});
    let stream = || {
        let request = stage.request(Method::POST, "/v1/runs").bearer_auth(ADMIN).header("idempotency-key", "s");
        let request = request.header("accept", "text/event-stream").json(&body);
        async move {
            let response = request.send().await.unwrap();
            assert_eq!(response.status(), StatusCode::CREATED);
            let text = response.text().await.unwrap();
            text.lines().filter(|line| line.starts_with("id: ")).count()
        }
    };
    let first = stream().await;
    assert!(first > 3);
    assert_eq!(stream().await, first);
    assert_eq!(stage.get_as(ADMIN, "/v1/runs").await.body["runs"].as_array().unwrap().len(), 1);
}

/// A server that dies after it did what it was asked and before it keeps the response.
struct KeepsNoResponse(Store);

impl Layer for KeepsNoResponse {
    fn inner(&self) -> &Store {
        &self.0
    }
}

#[async_trait]
impl ServerStateLayer for KeepsNoResponse {
    async fn keep(&self, _: &ResponseKey, _: Vec<u8>) -> Result<(), StoreError> {
        Ok(())
    }

    async fn forget(&self, _: &ResponseKey) -> Result<(), StoreError> {
        Ok(())
    }
}

impl KeepsNoResponse {
    fn store(self: &Arc<Self>) -> Store {
        Store { state: Arc::clone(self) as _, ..self.0.clone() }
    }
}

#[tokio::test]
async fn a_repeat_learns_the_outcome_of_a_request_whose_server_died() {
    let clock = Arc::new(ManualClock::default());
    let store = Store::from(MemoryStore::with_clock(Arc::clone(&clock) as Arc<dyn Clock>));
    let dead: Store = Arc::new(KeepsNoResponse(store.clone())).store();
    let setting = |store| Setting { tokens: crate::stage::tokens(), store: Some(store), ..Setting::default() };
    let (first, second) = (Stage::with(setting(dead)).await, Stage::with(setting(store)).await);
    let paused = first.run_as(ADMIN, "use ask_first {}").await;
    let failed = first.run_as(ADMIN, "fail").await;
    let deferred = first.run_as(ADMIN, "use remote {}").await;
    let of = |run: &Value, what: &str| format!("/v1/runs/{}/{what}?wait_ms=20000", run["id"].as_str().unwrap());
    let results =
        json!({"continuation_id": deferred["continuation_id"], "results": [{"call_id": "tc_1", "text": "x"}]});
    let given_up = first.run_as(ADMIN, "use remote {}").await;
    let leased = first.post_as(ADMIN, "/v1/tasks/lease", json!({"max": 9})).await.expect(StatusCode::OK);
    let tasks = leased["tasks"].as_array().unwrap();
    let task = tasks.iter().find(|task| task["id"].as_str().unwrap().starts_with(given_up["id"].as_str().unwrap()));
    let path = format!("/v1/tasks/{}", task.unwrap()["id"].as_str().unwrap());
    let lost = json!({"lease": task.unwrap()["lease"], "started": true});
    first.post_as(ADMIN, &format!("{path}/fail"), lost).await.expect(StatusCode::NO_CONTENT);
    let dead = first.get_as(ADMIN, "/v1/tasks?state=dead").await.expect(StatusCode::OK);
    let requests = [
        (of(&paused, "answers"), allow(&paused)),
        (of(&deferred, "results"), results),
        (of(&failed, "retry"), json!({})),
        (format!("{path}/requeue"), json!({"digest": dead["tasks"][0]["digest"]})),
    ];
    for (path, body) in &requests {
        let done = send(&first, ADMIN, "k", path, body).await.expect(StatusCode::OK);
        // As long as the first server may be at it, nobody else does it.
        send(&second, ADMIN, "k", path, body).await.problem(409, "idempotency_in_progress");
        clock.advance_ms(2_001);
        let again = send(&second, ADMIN, "k", path, body).await;
        assert_eq!(again.headers["idempotent-replayed"], "true", "{path}: {}", again.text);
        assert_eq!(again.expect(StatusCode::OK)["id"], done["id"]);
    }
    // Without the key it is another request, and rejected.
    for (path, body) in &requests[..2] {
        second.post_as(ADMIN, path, body.clone()).await.problem(409, "stale_continuation");
    }
    for (run, what, count) in
        [(&paused, "tool_executions", 1), (&deferred, "tool_executions", 1), (&failed, "model_calls", 2)]
    {
        let now = second.get_as(ADMIN, &format!("/v1/runs/{}", run["id"].as_str().unwrap())).await;
        assert_eq!(now.expect(StatusCode::OK)[what], count, "{what}");
    }
}
