use holdpoint::ReceiptKeys;
use holdpoint_codec::receipt::ReceiptClaim;
use holdpoint_core::{CallId, CallKey, Timestamp, ToolName};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::stage::{ADMIN, READER, STRANGER, SUBMITTER, Setting, Stage, WORKER, receipt_key, tokens};

async fn stage() -> Stage {
    Stage::with(Setting { tokens: tokens(), without_worker: true, ..Setting::default() }).await
}

async fn finished(stage: &Stage, id: &str) -> Value {
    let request = stage.request(reqwest::Method::GET, &format!("/v1/runs/{id}/events")).bearer_auth(ADMIN);
    request.header("accept", "text/event-stream").send().await.unwrap().text().await.unwrap();
    stage.get_as(ADMIN, &format!("/v1/runs/{id}")).await.expect(StatusCode::OK)
}

#[tokio::test]
async fn a_worker_of_any_language_does_a_task() {
    let stage = stage().await;
    // It waits until there is something to do.
    let waiting = stage.request(reqwest::Method::POST, "/v1/tasks/lease").bearer_auth(WORKER);
    let waiting = tokio::spawn(waiting.json(&json!({"max": 4, "wait_ms": 20000})).send());
    let paused = stage.run_as(SUBMITTER, "use remote {\"x\":1}").await;
    let leased: Value = waiting.await.unwrap().unwrap().json().await.unwrap();
    let task = &leased["tasks"][0];
    assert_eq!(task["run_id"], paused["id"]);
    assert_eq!((&task["executed_name"], &task["tool_source"]), (&json!("remote"), &json!("worker")));
    assert_eq!(task["arguments"], json!({"x": 1}));
    assert_eq!(task["attempt"], 1);
    verify_receipt(task);

    let listed = stage.get_as(READER, "/v1/tasks?state=leased").await.expect(StatusCode::OK);
    assert_eq!((&listed["tasks"][0]["id"], &listed["tasks"][0]["worker"]), (&task["id"], &json!("hands")));
    let workers = stage.get_as(READER, "/v1/workers").await.expect(StatusCode::OK);
    assert_eq!((&workers["workers"][0]["name"], &workers["workers"][0]["leases"]), (&json!("hands"), &json!(1)));

    let path = format!("/v1/tasks/{}", task["id"].as_str().unwrap());
    let lease = &task["lease"];
    let beat = stage.post_as(WORKER, &format!("{path}/heartbeat"), json!({"lease": lease, "lease_ms": 60000})).await;
    assert_eq!(beat.expect(StatusCode::OK)["lease_ms"], 60000);
    let done = json!({"lease": lease, "json": {"ok": true}});
    stage.post_as(WORKER, &format!("{path}/complete"), done.clone()).await.expect(StatusCode::NO_CONTENT);
    let run = finished(&stage, paused["id"].as_str().unwrap()).await;
    assert_eq!(run["text"], "done: {\"ok\":true}");
    // A worker that did not hear the answer sends its result again. Another result is not accepted.
    stage.post_as(WORKER, &format!("{path}/complete"), done).await.expect(StatusCode::NO_CONTENT);
    let other = json!({"lease": lease, "json": {"ok": false}});
    stage.post_as(WORKER, &format!("{path}/complete"), other).await.problem(409, "lease_lost");
    stage.post_as(WORKER, &format!("{path}/heartbeat"), json!({"lease": lease})).await.problem(409, "lease_lost");
}

fn verify_receipt(task: &Value) {
    let keys = ReceiptKeys::new().with(receipt_key().public());
    let canonical = holdpoint_codec::parse_arguments(Some(&task["arguments"].to_string())).unwrap();
    let claim = ReceiptClaim {
        key: &CallKey::parse(task["id"].as_str().unwrap()).unwrap(),
        id: &CallId::new(task["tool_call_id"].as_str().unwrap()),
        tool: &ToolName::new("remote"),
        arguments: &holdpoint_codec::arguments_for("remote", &canonical),
        at: Timestamp(0),
    };
    keys.verify(task["receipt"].as_str(), &claim).unwrap();
}

#[tokio::test]
async fn a_lease_is_good_for_its_task_and_tenant_only() {
    let stage = stage().await;
    stage.run_as(SUBMITTER, "use remote {\"x\":1}\nuse remote {\"x\":2}").await;
    stage.run_as(STRANGER, "use remote {\"x\":3}").await;
    let leased = stage.post_as(WORKER, "/v1/tasks/lease", json!({"max": 10})).await.expect(StatusCode::OK);
    let tasks = leased["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 2, "not the other tenant's");
    let path = |task: &Value| format!("/v1/tasks/{}/complete", task["id"].as_str().unwrap());
    let done = |lease: &Value| json!({"lease": lease, "text": "x"});
    stage.post_as(WORKER, &path(&tasks[0]), done(&tasks[1]["lease"])).await.problem(409, "lease_lost");
    stage.post_as(STRANGER, &path(&tasks[0]), done(&tasks[0]["lease"])).await.problem(409, "lease_lost");
    stage.post_as(WORKER, &path(&tasks[0]), done(&json!("forged.token"))).await.problem(409, "lease_lost");
    stage.post_as(WORKER, "/v1/tasks/nonsense/complete", done(&tasks[0]["lease"])).await.problem(404, "not_found");
    let nothing = json!({"lease": tasks[0]["lease"]});
    stage.post_as(WORKER, &path(&tasks[0]), nothing).await.problem(422, "invalid_result");
    stage.post_as(WORKER, &path(&tasks[0]), done(&tasks[0]["lease"])).await.expect(StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn a_task_that_was_not_started_goes_to_the_next_worker() {
    let stage = stage().await;
    let paused = stage.run_as(SUBMITTER, "use remote {}").await;
    let lease = json!({"worker": "one"});
    let first = stage.post_as(WORKER, "/v1/tasks/lease", lease.clone()).await.expect(StatusCode::OK);
    let path = format!("/v1/tasks/{}", first["tasks"][0]["id"].as_str().unwrap());
    let body = json!({"lease": first["tasks"][0]["lease"], "started": false});
    for _ in 0..2 {
        stage.post_as(WORKER, &format!("{path}/fail"), body.clone()).await.expect(StatusCode::NO_CONTENT);
    }
    let second = stage.post_as(WORKER, "/v1/tasks/lease", lease).await.expect(StatusCode::OK);
    assert_eq!(second["tasks"][0]["attempt"], 1, "an attempt that was not started does not count");
    // The first lease is nobody's now.
    let late = json!({"lease": first["tasks"][0]["lease"], "text": "late"});
    stage.post_as(WORKER, &format!("{path}/complete"), late).await.problem(409, "lease_lost");
    // One that was started and lost, of a tool that may not be repeated, is a question.
    let body = json!({"lease": second["tasks"][0]["lease"], "started": true});
    stage.post_as(WORKER, &format!("{path}/fail"), body).await.expect(StatusCode::NO_CONTENT);
    let run = stage.get_as(ADMIN, &format!("/v1/runs/{}", paused["id"].as_str().unwrap())).await.expect(StatusCode::OK);
    assert_eq!(run["pending"][0]["uncertain"], true);
    let dead = stage.get_as(READER, "/v1/tasks?state=dead").await.expect(StatusCode::OK);
    assert_eq!(format!("/v1/tasks/{}", dead["tasks"][0]["id"].as_str().unwrap()), path);
    for (tool, count) in [("remote", 1), ("other", 0)] {
        let dead = stage.get_as(READER, &format!("/v1/tasks?state=dead&tool={tool}")).await.expect(StatusCode::OK);
        assert_eq!(dead["tasks"].as_array().unwrap().len(), count, "{tool}");
    }
    let seen = json!({"digest": dead["tasks"][0]["digest"]});
    assert_eq!(seen["digest"], run["pending"][0]["digest"]);
    stage.post_as(WORKER, &format!("{path}/requeue"), seen.clone()).await.problem(403, "forbidden");
    stage.post_as(STRANGER, &format!("{path}/requeue"), seen.clone()).await.problem(404, "not_found");
    stage.post_as(ADMIN, &format!("{path}/requeue"), json!({})).await.problem(400, "invalid_request");
    let earlier = json!({"digest": run["pending"][0]["arguments_digest"]});
    stage.post_as(ADMIN, &format!("{path}/requeue"), earlier).await.problem(422, "digest_mismatch");
    stage.post_as(ADMIN, &format!("{path}/requeue"), seen.clone()).await.expect(StatusCode::OK);
    let third = stage.post_as(WORKER, "/v1/tasks/lease", json!({"wait_ms": 20000})).await.expect(StatusCode::OK);
    assert_eq!(format!("/v1/tasks/{}", third["tasks"][0]["id"].as_str().unwrap()), path);
    stage.post_as(ADMIN, &format!("{path}/requeue"), seen).await.problem(409, "not_retryable");
}

#[tokio::test]
async fn what_a_worker_asks_for_is_within_limits() {
    let stage = stage().await;
    for body in
        [json!({"max": 0}), json!({"max": 257}), json!({"lease_ms": 1}), json!({"wait_ms": 60001}), json!({"max": 1.5})]
    {
        stage.post_as(WORKER, "/v1/tasks/lease", body).await.problem(400, "invalid_request");
    }
    for body in [json!({"worker": ""}), json!({"tools": ["["]})] {
        stage.post_as(WORKER, "/v1/tasks/lease", body).await.problem(422, "invalid_field");
    }
    stage.post_as(WORKER, "/v1/tasks/lease", json!({"max": 2.0})).await.expect(StatusCode::OK);
    let none = stage.post_as(WORKER, "/v1/tasks/lease", json!({"tools": ["no_such_*"]})).await.expect(StatusCode::OK);
    assert_eq!(none["tasks"], json!([]));
}
