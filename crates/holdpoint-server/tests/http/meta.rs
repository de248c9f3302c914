use reqwest::StatusCode;
use serde_json::json;

use crate::stage::{Answered, READER, Stage, WORKER};

#[tokio::test]
async fn health_and_readiness_are_there_without_a_token_and_numbers_with_one() {
    let stage = Stage::guarded().await;
    assert_eq!(stage.get("/healthz").await.expect(StatusCode::OK)["status"], "ok");
    assert_eq!(stage.get("/readyz").await.expect(StatusCode::OK)["status"], "ready");
    stage.run_as(crate::stage::ADMIN, "use echo {}").await;
    stage.run_as(crate::stage::ADMIN, "use ask_first {}").await;
    let odd = stage.request(reqwest::Method::from_bytes(b"MADEUP").unwrap(), "/v1/runs").send().await.unwrap();
    assert_eq!(odd.status(), StatusCode::METHOD_NOT_ALLOWED);
    stage.get("/metrics").await.problem(401, "unauthenticated");
    // They are those of all tenants together.
    for secret in [WORKER, READER] {
        stage.get_as(secret, "/metrics").await.problem(403, "forbidden");
    }
    let numbers = stage.get_as(crate::stage::ADMIN, "/metrics").await.text;
    assert!(numbers.ends_with("# EOF\n"), "{numbers}");
    assert!(!numbers.contains("MADEUP"), "{numbers}");
    for line in [
        r#"holdpoint_tool_calls_total{agent="support",tool="echo",outcome="success"} 1"#,
        r#"holdpoint_pauses_total{agent="support",reason="awaiting_tool_confirmation"} 1"#,
        r#"holdpoint_http_requests_total{method="POST",route="/v1/runs",status="201"} 2"#,
        "holdpoint_approvals_waiting 1",
        r#"holdpoint_runs_open{state="awaiting_tool_confirmation"} 1"#,
        r#"holdpoint_store_seconds_count{operation="commit"}"#,
    ] {
        assert!(numbers.contains(line), "{line}\n{numbers}");
    }
}

#[tokio::test]
async fn without_tokens_anybody_here_reads_the_numbers() {
    let numbers = Stage::local().await.get("/metrics").await;
    assert_eq!(numbers.status, StatusCode::OK);
    assert!(numbers.text.contains("holdpoint_approvals_waiting 0"), "{}", numbers.text);
}

#[tokio::test]
async fn a_request_keeps_the_name_that_its_client_gave_it() {
    let stage = Stage::local().await;
    let named = stage.request(reqwest::Method::GET, "/v1/nothing").header("x-request-id", "my-request.7");
    let named = Answered::of(named.send().await.unwrap()).await;
    assert_eq!(named.headers["x-request-id"], "my-request.7");
    assert_eq!(named.body["request_id"], "my-request.7");
    let odd = stage.request(reqwest::Method::GET, "/v1/nothing").header("x-request-id", "a b<script>");
    let odd = Answered::of(odd.send().await.unwrap()).await;
    assert_ne!(odd.headers["x-request-id"], "a b<script>");
    assert_eq!(odd.headers["x-content-type-options"], "nosniff");
}

#[tokio::test]
async fn the_keys_of_receipts_are_public() {
    let stage = Stage::guarded().await;
    let keys = stage.get_as(READER, "/v1/keys").await.expect(StatusCode::OK);
    assert_eq!(keys["keys"][0]["id"], "test");
    assert_eq!(keys["keys"][0]["public_key"], json!(crate::stage::receipt_key().public().to_text()));
}

#[tokio::test]
async fn a_server_that_stops_begins_nothing_new_and_finishes_what_runs() {
    let stage = Stage::local().await;
    let request = stage.request(reqwest::Method::POST, "/v1/runs?wait_ms=20000");
    let waiting = tokio::spawn(request.json(&json!({"agent": "support", "input": "wait"})).send());
    while stage.get("/v1/runs").await.body["runs"].as_array().is_none_or(Vec::is_empty) {
        tokio::task::yield_now().await;
    }
    stage.begin_to_stop();
    stage.gate.add_permits(1);
    let run = Answered::of(waiting.await.unwrap().unwrap()).await.expect(StatusCode::CREATED);
    assert_eq!(run["text"], "one two");
    stage.stop().await;
}

#[tokio::test]
async fn the_page_of_the_api_needs_nothing_from_elsewhere() {
    let stage = Stage::local().await;
    let page = stage.get("/docs").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"));
    assert!(!page.text.contains("src=") && !page.text.contains("http://") && !page.text.contains("https://"));
    for shown in ["start_run", "id=\"stale_continuation\"", "id=\"schema-RunView\""] {
        assert!(page.text.contains(shown), "{shown}");
    }
}
