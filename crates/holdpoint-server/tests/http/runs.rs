use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::stage::{ADMIN, Answered, READER, STRANGER, SUBMITTER, Setting, Stage};

#[tokio::test]
async fn a_run_is_started_shown_and_listed() {
    let stage = Stage::local().await;
    let started = stage.post("/v1/runs", json!({"agent": "support", "input": "say hello"})).await;
    let location = started.headers["location"].to_str().unwrap().to_owned();
    let run = started.expect(StatusCode::CREATED);
    assert_eq!(location, format!("/v1/runs/{}", run["id"].as_str().unwrap()));
    assert_eq!(run["agent"], "support");

    let over = stage.run("say good bye").await;
    assert_eq!(over["status"], "finished");
    assert_eq!(over["stop_reason"], "end_turn");
    assert_eq!(over["text"], "good bye");
    let path = format!("/v1/runs/{}", over["id"].as_str().unwrap());
    assert_eq!(stage.get(&path).await.expect(StatusCode::OK), over);

    let page = stage.get("/v1/runs").await.expect(StatusCode::OK);
    assert_eq!(page["runs"][0]["id"], over["id"]);
    assert_eq!(page["runs"].as_array().unwrap().len(), 2);
    assert_eq!(page["next"], json!(null));
}

#[tokio::test]
async fn a_list_goes_on_where_it_ended_and_only_for_its_owner() {
    let stage = Stage::guarded().await;
    for number in 0..5 {
        stage.run_as(ADMIN, &format!("say {number}")).await;
    }
    let mut seen = Vec::new();
    let mut path = "/v1/runs?limit=2".to_owned();
    loop {
        let page = stage.get_as(ADMIN, &path).await.expect(StatusCode::OK);
        seen.extend(page["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/v1/runs?limit=2&cursor={next}");
        stage.get_as(STRANGER, &path).await.problem(422, "invalid_cursor");
        stage.get_as(ADMIN, &format!("/v1/tasks?cursor={next}")).await.problem(422, "invalid_cursor");
    }
    assert_eq!(seen.len(), 5);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 5);
    stage.get_as(ADMIN, "/v1/runs?cursor=made.up").await.problem(422, "invalid_cursor");
    stage.get_as(ADMIN, "/v1/runs?limit=201").await.problem(400, "invalid_request");
    stage.get_as(ADMIN, "/v1/runs?wait_ms=1").await.problem(400, "invalid_request");
    stage.get_as(ADMIN, "/v1/runs?limit=0").await.problem(400, "invalid_request");
    stage.get_as(ADMIN, "/v1/runs?unknown=1").await.problem(400, "invalid_request");
}

#[tokio::test]
async fn a_dropped_connection_does_not_stop_a_run() {
    let stage = Stage::local().await;
    let waiting =
        stage.request(Method::POST, "/v1/runs?wait_ms=20000").json(&json!({"agent": "support", "input": "wait"}));
    let waiting = tokio::spawn(waiting.send());
    let id = loop {
        let page = stage.get("/v1/runs").await.expect(StatusCode::OK);
        if let Some(id) = page["runs"][0]["id"].as_str() {
            break id.to_owned();
        }
        tokio::task::yield_now().await;
    };
    waiting.abort();
    stage.gate.add_permits(1);
    let run = over(&stage, &id).await;
    assert_eq!(run["text"], "one two");
}

#[tokio::test]
async fn what_finds_no_room_is_left_to_the_keeper() {
    let limits = holdpoint_server::Limits { runs_max: 1, ..holdpoint_server::Limits::default() };
    let stage = Stage::with(Setting { limits: Some(limits), ..Setting::default() }).await;
    let paused = stage.run("use ask_first {}").await;
    let body = json!({"agent": "support", "input": "wait"});
    // The first has the room of requests. The others are durable, and wait for nobody.
    let first = stage.post("/v1/runs", body.clone()).await.expect(StatusCode::CREATED);
    let driven = || async { stage.get("/metrics").await.text.contains("holdpoint_runs_driven 1\n") };
    assert!(driven().await);
    // The keeper does what else is asked for, and the answer waits for it as for any other.
    assert_eq!(stage.run("say hello").await["text"], "hello");
    let path = format!("/v1/runs/{}/answers?wait_ms=20000", paused["id"].as_str().unwrap());
    assert_eq!(stage.post(&path, crate::stage::allow(&paused)).await.expect(StatusCode::OK)["status"], "finished");
    let failed = stage.run("fail").await;
    let path = format!("/v1/runs/{}/retry?wait_ms=20000", failed["id"].as_str().unwrap());
    let again = stage.post(&path, json!({})).await.expect(StatusCode::OK);
    assert!(again["revision"].as_u64() > failed["revision"].as_u64());
    stage.post(&path, json!({"x": 1})).await.problem(400, "invalid_request");
    let request = stage.request(Method::POST, "/v1/runs").header("accept", "text/event-stream");
    let response = request.json(&json!({"agent": "support", "input": "say streamed"})).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::CREATED);
    let told = response.text().await.unwrap();
    assert!(told.contains("\"run_started\"") && told.contains("\"done\""), "{told}");
    let (second, third) = (stage.post("/v1/runs", body.clone()).await, stage.post("/v1/runs", body).await);
    assert!(driven().await);
    stage.gate.add_permits(3);
    for run in [first, second.expect(StatusCode::CREATED), third.expect(StatusCode::CREATED)] {
        assert_eq!(over(&stage, run["id"].as_str().unwrap()).await["text"], "one two");
    }
}

async fn over(stage: &Stage, id: &str) -> serde_json::Value {
    let stream = stage.request(Method::GET, &format!("/v1/runs/{id}/events")).header("accept", "text/event-stream");
    stream.send().await.unwrap().text().await.unwrap();
    stage.get(&format!("/v1/runs/{id}")).await.expect(StatusCode::OK)
}

#[tokio::test]
async fn the_conversation_of_a_run_can_be_read() {
    let stage = Stage::local().await;
    let run = stage.run("use echo {\"x\":1}").await;
    let path = format!("/v1/runs/{}/messages", run["id"].as_str().unwrap());
    let messages = stage.get(&path).await.expect(StatusCode::OK);
    let roles: Vec<_> =
        messages["messages"].as_array().unwrap().iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
}

#[tokio::test]
async fn a_failed_run_is_tried_again_and_a_finished_one_is_not() {
    let stage = Stage::local().await;
    let failed = stage.run("fail").await;
    assert_eq!(failed["status"], "failed");
    let path = format!("/v1/runs/{}/retry?wait_ms=20000", failed["id"].as_str().unwrap());
    let again = stage.post(&path, json!({})).await.expect(StatusCode::OK);
    assert_eq!(again["status"], "failed");
    assert!(again["revision"].as_u64() > failed["revision"].as_u64());
    let over = stage.run("say hi").await;
    let path = format!("/v1/runs/{}/retry", over["id"].as_str().unwrap());
    stage.post(&path, json!({})).await.problem(409, "not_retryable");
}

#[tokio::test]
async fn a_cancelled_run_takes_no_answers() {
    let stage = Stage::local().await;
    let paused = stage.run("use ask_first {}").await;
    let id = paused["id"].as_str().unwrap();
    let cancelled = stage.post(&format!("/v1/runs/{id}/cancel"), json!({})).await.expect(StatusCode::OK);
    assert_eq!(cancelled["status"], "cancelled");
    let answered = stage.post(&format!("/v1/runs/{id}/answers"), crate::stage::allow(&paused)).await;
    answered.problem(410, "run_cancelled");
    // Again changes nothing.
    let path = format!("/v1/runs/{id}/cancel");
    let again = Answered::of(stage.request(Method::POST, &path).send().await.unwrap()).await.expect(StatusCode::OK);
    assert_eq!(again, cancelled);
}

#[tokio::test]
async fn what_the_agent_does_not_know_is_refused() {
    let stage = Stage::local().await;
    stage.post("/v1/runs", json!({"agent": "nobody", "input": "x"})).await.problem(422, "unknown_agent");
    let body = json!({"agent": "support", "input": "x", "context": {"user_id": 7, "is_admin": true}});
    let problem = stage.post("/v1/runs", body).await.problem(422, "unknown_context_key");
    assert_eq!(problem["field"], "context.is_admin");
    let body = json!({"agent": "support", "input": "x", "context": {"user_id": "u".repeat(300)}});
    stage.post("/v1/runs", body).await.problem(422, "context_value_too_large");
    let body = json!({"agent": "support", "input": "say fine", "context": {"user_id": 7}});
    stage.post("/v1/runs", body).await.expect(StatusCode::CREATED);
    assert_eq!(stage.get("/v1/runs").await.body["runs"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_session_remembers_and_has_one_run_at_a_time() {
    let stage = Stage::guarded().await;
    let say = |input: &str| json!({"agent": "support", "input": input, "session": "s1"});
    let first = stage.post_as(ADMIN, "/v1/runs?wait_ms=20000", say("say one")).await.expect(StatusCode::CREATED);
    assert_eq!(first["session"], "s1");
    let second =
        stage.post_as(ADMIN, "/v1/runs?wait_ms=20000", say("use ask_first {}")).await.expect(StatusCode::CREATED);
    let path = format!("/v1/runs/{}/messages", second["id"].as_str().unwrap());
    let messages = stage.get_as(ADMIN, &path).await.expect(StatusCode::OK);
    assert_eq!(messages["messages"].as_array().unwrap().len(), 4);
    let refused = stage.post_as(ADMIN, "/v1/runs", say("say three")).await.problem(409, "run_paused");
    assert_eq!(refused["current_continuation_id"], second["continuation_id"]);
    // Another tenant's session of the same name is another session.
    stage.post_as(STRANGER, "/v1/runs", say("say mine")).await.expect(StatusCode::CREATED);
    let sessions = stage.get_as(READER, "/v1/sessions").await.expect(StatusCode::OK);
    assert_eq!(sessions["sessions"][0]["id"], "s1");
    assert_eq!(sessions["sessions"][0]["runs"], 2);
    let listed = stage.get_as(READER, "/v1/runs?session=s1").await.expect(StatusCode::OK);
    assert_eq!(listed["runs"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_submitter_sees_its_own_runs_only() {
    let stage = Stage::guarded().await;
    let own = stage.run_as(SUBMITTER, "say mine").await;
    let others = stage.run_as(ADMIN, "say not yours").await;
    stage.get_as(SUBMITTER, &format!("/v1/runs/{}", own["id"].as_str().unwrap())).await.expect(StatusCode::OK);
    let path = format!("/v1/runs/{}", others["id"].as_str().unwrap());
    stage.get_as(SUBMITTER, &path).await.problem(404, "continuation_not_found");
    stage.post_as(SUBMITTER, &format!("{path}/cancel"), json!({})).await.problem(404, "continuation_not_found");
    stage.get_as(SUBMITTER, "/v1/runs").await.problem(403, "forbidden");
    stage.get_as(READER, &path).await.expect(StatusCode::OK);
}
