use reqwest::StatusCode;
use serde_json::json;

use crate::stage::{ADMIN, Answered, CLERK, FINANCE, SUBMITTER, Setting, Stage, allow, tokens};

#[tokio::test]
async fn an_answer_lets_the_call_run() {
    let stage = Stage::local().await;
    let paused = stage.run("use refund {\"amount\":250}").await;
    assert_eq!(paused["status"], "awaiting_tool_confirmation");
    assert_eq!(paused["pending"][0]["reason"], "refund above 100");
    let path = format!("/v1/runs/{}/answers?wait_ms=20000", paused["id"].as_str().unwrap());
    let run = stage.post(&path, allow(&paused)).await.expect(StatusCode::OK);
    assert_eq!(run["text"], "done: {\"amount\":250}");
    // The same again is too late, and says what there is now.
    let problem = stage.post(&path, allow(&paused)).await.problem(409, "stale_continuation");
    assert_eq!(problem["current_continuation_id"], json!(null));
}

#[tokio::test]
async fn only_a_person_with_the_role_may_answer() {
    let stage = Stage::guarded().await;
    let paused = stage.run_as(SUBMITTER, "use refund {\"amount\":250}").await;
    let path = format!("/v1/runs/{}/answers?wait_ms=20000", paused["id"].as_str().unwrap());
    stage.post_as(SUBMITTER, &path, allow(&paused)).await.problem(403, "forbidden");
    stage.post_as(CLERK, &path, allow(&paused)).await.problem(403, "not_an_approver");
    let run = stage.post_as(FINANCE, &path, allow(&paused)).await.expect(StatusCode::OK);
    assert_eq!(run["status"], "finished");
}

#[tokio::test]
async fn each_way_to_answer_wrongly_has_its_code_and_changes_nothing() {
    let stage = Stage::local().await;
    let paused = stage.run("use refund {\"amount\":250}\nuse ask_first {}").await;
    let id = paused["id"].as_str().unwrap();
    let path = format!("/v1/runs/{id}/answers");
    let (first, second) = (&paused["pending"][0], &paused["pending"][1]);
    let with =
        |decisions: serde_json::Value| json!({"continuation_id": paused["continuation_id"], "decisions": decisions});
    let yes = |call: &serde_json::Value| json!({"call_id": call["id"], "decision": "allow", "digest": call["digest"]});
    let cases = [
        (with(json!([yes(first)])), 422, "missing_decision"),
        (with(json!([yes(first), {"call_id": "tc_9", "decision": "deny"}])), 422, "unknown_tool_call"),
        (with(json!([{"call_id": "tc_1", "decision": "allow"}])), 422, "invalid_field"),
        (with(json!([{"call_id": "tc_1", "decision": "maybe"}])), 422, "invalid_decision"),
        (with(json!([{"call_id": "tc_1", "decision": 7}, yes(second)])), 422, "invalid_decision"),
        (with(json!([{"call_id": "tc_1", "decision": null}, yes(second)])), 422, "invalid_decision"),
        (with(json!([{"call_id": "tc_1"}, yes(second)])), 400, "invalid_request"),
        (with(json!([{"call_id": "tc_1", "decision": "deny", "arguments": {}}, yes(second)])), 422, "invalid_decision"),
        (
            with(json!([{"call_id": "tc_1", "decision": "allow", "digest": "00".repeat(32)}, yes(second)])),
            422,
            "digest_mismatch",
        ),
        (with(json!([{"call_id": "tc_1", "decision": "allow", "digest": "zz"}])), 422, "invalid_field"),
        (with(json!([yes(first), {"call_id": "tc_1", "decision": "deny"}, yes(second)])), 409, "conflicting_decision"),
        (json!({"decisions": []}), 422, "invalid_field"),
        (json!({"continuation_id": "other.p1", "decisions": []}), 404, "continuation_not_found"),
        (json!({"continuation_id": format!("{id}.p7"), "decisions": []}), 404, "continuation_not_found"),
        (json!({"batch_id": paused["batch_id"], "decisions": [yes(first)]}), 422, "invalid_decision"),
    ];
    for (body, status, code) in cases {
        stage.post(&path, body).await.problem(status, code);
    }
    let results = json!({"continuation_id": paused["continuation_id"], "results": []});
    stage.post(&format!("/v1/runs/{id}/results"), results).await.problem(409, "wrong_pause");
    assert_eq!(stage.get(&format!("/v1/runs/{id}")).await.expect(StatusCode::OK), paused);
}

#[tokio::test]
async fn people_answer_different_calls_by_the_batch() {
    let stage = Stage::local().await;
    let paused = stage.run("use refund {\"amount\":250}\nuse ask_first {}").await;
    let path = format!("/v1/runs/{}/answers?wait_ms=20000", paused["id"].as_str().unwrap());
    for call in paused["pending"].as_array().unwrap() {
        let decision = json!({"call_id": call["id"], "decision": "allow", "digest": call["digest"]});
        let body = json!({"batch_id": paused["batch_id"], "partial": true, "decisions": [decision]});
        stage.post(&path, body).await.expect(StatusCode::OK);
    }
    let run = stage.get(&format!("/v1/runs/{}", paused["id"].as_str().unwrap())).await.expect(StatusCode::OK);
    assert_eq!(run["status"], "finished");
    assert_eq!(run["tool_executions"], 2);
}

#[tokio::test]
async fn edited_arguments_run_exactly_as_written() {
    let stage = Stage::local().await;
    let paused = stage.run("use ask_first {\"n\":1}").await;
    let path = format!("/v1/runs/{}/answers?wait_ms=20000", paused["id"].as_str().unwrap());
    let call = &paused["pending"][0];
    let text = format!(
        r#"{{"continuation_id":{},"decisions":[{{"call_id":"tc_1","decision":"allow","digest":{},"arguments":{{"n":12345678901234567890123}}}}]}}"#,
        paused["continuation_id"], call["digest"]
    );
    let sent = stage.request(reqwest::Method::POST, &path).header("content-type", "application/json").body(text);
    let run = Answered::of(sent.send().await.unwrap()).await.expect(StatusCode::OK);
    assert_eq!(run["text"], "done: {\"n\":12345678901234567890123}");
}

#[tokio::test]
async fn results_from_outside_resume_a_run() {
    let stage = Stage::with(Setting { without_worker: true, ..Setting::default() }).await;
    let paused = stage.run("use remote {\"x\":1}").await;
    assert_eq!(paused["status"], "awaiting_tool_results");
    let path = format!("/v1/runs/{}/results?wait_ms=20000", paused["id"].as_str().unwrap());
    let with = |result: serde_json::Value| json!({"continuation_id": paused["continuation_id"], "results": [result]});
    let two = with(json!({"call_id": "tc_1", "text": "a", "error": "b"}));
    stage.post(&path, two).await.problem(422, "invalid_result");
    stage.post(&path, with(json!({"call_id": "tc_1"}))).await.problem(422, "invalid_result");
    for (form, value) in [
        ("text", json!(7)),
        ("text", json!(null)),
        ("error", json!({})),
        ("content", json!("a")),
        ("content", json!([7])),
        ("content", json!({"text": "a"})),
        ("json", json!(null)),
    ] {
        let mut result = json!({"call_id": "tc_1"});
        result[form] = value;
        stage.post(&path, with(result)).await.problem(422, "invalid_result");
    }
    stage.post(&path, with(json!({"call_id": "tc_7", "text": "a"}))).await.problem(422, "unexpected_result");
    let run = stage.post(&path, with(json!({"call_id": "tc_1", "json": {"ok": true}}))).await.expect(StatusCode::OK);
    assert_eq!(run["text"], "done: {\"ok\":true}");
}

#[tokio::test]
async fn a_remembered_answer_is_a_grant_that_can_be_taken_back() {
    let stage = Stage::with(Setting { tokens: tokens(), ..Setting::default() }).await;
    let paused = stage.run_as(SUBMITTER, "use ask_first {}").await;
    let path = format!("/v1/runs/{}/answers?wait_ms=20000", paused["id"].as_str().unwrap());
    let mut body = allow(&paused);
    body["decisions"][0]["remember"] = json!({"scope": "tenant", "arguments": "any"});
    stage.post_as(CLERK, &path, body).await.expect(StatusCode::OK);
    let free = stage.run_as(SUBMITTER, "use ask_first {}").await;
    assert_eq!(free["status"], "finished");
    let grants = stage.get_as(CLERK, "/v1/grants").await.expect(StatusCode::OK);
    assert_eq!((&grants["grants"][0]["actor"], &grants["grants"][0]["valid"]), (&json!("clerk"), &json!(true)));
    let path = format!("/v1/grants/{}", grants["grants"][0]["id"].as_str().unwrap());
    let taken = stage.request(reqwest::Method::DELETE, &path).bearer_auth(ADMIN).send().await.unwrap();
    assert_eq!(taken.status(), StatusCode::NO_CONTENT);
    let held = stage.run_as(SUBMITTER, "use ask_first {}").await;
    assert_eq!(held["status"], "awaiting_tool_confirmation");
}

/// Who may answer some questions sees those, and nothing else of a run that it may not see.
#[tokio::test]
async fn an_answer_shows_a_run_only_to_those_who_may_see_it() {
    let stage = Stage::guarded().await;
    let paused = stage.run_as(SUBMITTER, "use refund {\"amount\":250}\nuse ask_first {\"secret\":1}").await;
    let id = paused["id"].as_str().unwrap();
    stage.get_as(CLERK, &format!("/v1/runs/{id}")).await.problem(403, "forbidden");
    let path = format!("/v1/runs/{id}/answers?wait_ms=20000");
    let nothing = json!({"batch_id": paused["batch_id"], "partial": true, "decisions": []});
    // A stream is refused before anything is done.
    let yes = |call: &serde_json::Value| {
        let decision = json!({"call_id": call["id"], "decision": "allow", "digest": call["digest"]});
        json!({"batch_id": paused["batch_id"], "partial": true, "decisions": [decision]})
    };
    let stream = stage.request(reqwest::Method::POST, &path).bearer_auth(CLERK).header("accept", "text/event-stream");
    let stream = stream.json(&yes(&paused["pending"][1])).send().await.unwrap();
    Answered::of(stream).await.problem(403, "forbidden");
    assert_eq!(stage.get_as(ADMIN, &format!("/v1/runs/{id}")).await.expect(StatusCode::OK), paused);

    let seen = stage.post_as(CLERK, &path, nothing).await;
    assert!(!seen.text.contains("250"), "{}", seen.text);
    let seen = seen.expect(StatusCode::OK);
    let tools: Vec<_> = seen["pending"].as_array().unwrap().iter().map(|call| call["tool"].clone()).collect();
    assert_eq!(tools, [json!("ask_first")]);
    let seen = stage.post_as(CLERK, &path, yes(&paused["pending"][1])).await.expect(StatusCode::OK);
    assert_eq!((&seen["status"], &seen["pending"]), (&json!("awaiting_tool_confirmation"), &json!([])));
    let over = stage.post_as(FINANCE, &path, yes(&paused["pending"][0])).await.expect(StatusCode::OK);
    assert_eq!((&over["status"], &over["text"]), (&json!("finished"), &json!(null)));
    let whole = stage.get_as(ADMIN, &format!("/v1/runs/{id}")).await.expect(StatusCode::OK);
    assert!(whole["text"].is_string(), "{whole}");
}

const LONG: &str = "123456789012345678901234";

async fn send(stage: &Stage, path: &str, body: String) -> Answered {
    let request = stage.request(reqwest::Method::POST, path).header("content-type", "application/json").body(body);
    Answered::of(request.send().await.unwrap()).await
}

#[tokio::test]
async fn results_that_people_and_programs_give_keep_every_digit() {
    let stage = Stage::with(Setting { without_worker: true, ..Setting::default() }).await;
    let forms = [
        format!(r#"{{"json":{{"n":{LONG}}}}}"#),
        format!(r#"{{"content":[{{"json":{{"n":{LONG}}}}}]}}"#),
        format!(r#"{{"schema_version":1,"error":false,"blocks":[{{"json":{{"n":{LONG}}}}}]}}"#),
    ];
    for form in forms {
        let paused = stage.run("use ask_first {}").await;
        let (id, pending) = (paused["id"].as_str().unwrap(), &paused["pending"][0]);
        let body = format!(
            r#"{{"continuation_id":{},"decisions":[{{"call_id":"tc_1","decision":"answer","digest":{},"result":{form}}}]}}"#,
            paused["continuation_id"], pending["digest"]
        );
        let run = send(&stage, &format!("/v1/runs/{id}/answers?wait_ms=20000"), body).await.expect(StatusCode::OK);
        assert_eq!(run["text"], format!("done: {{\"n\":{LONG}}}"), "{form}");
    }
    for form in [format!(r#""json":{{"n":{LONG}}}"#), format!(r#""content":[{{"json":{{"n":{LONG}}}}}]"#)] {
        let paused = stage.run("use remote {}").await;
        let id = paused["id"].as_str().unwrap();
        let body =
            format!(r#"{{"continuation_id":{},"results":[{{"call_id":"tc_1",{form}}}]}}"#, paused["continuation_id"]);
        let run = send(&stage, &format!("/v1/runs/{id}/results?wait_ms=20000"), body).await.expect(StatusCode::OK);
        assert_eq!(run["text"], format!("done: {{\"n\":{LONG}}}"), "{form}");
    }
}

#[tokio::test]
async fn what_is_shown_of_a_call_keeps_every_digit() {
    let stage = Stage::with(Setting { without_worker: true, ..Setting::default() }).await;
    let paused = stage.run(&format!("use ask_first {{\"n\":{LONG}}}")).await;
    let id = paused["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/runs/{id}/answers?wait_ms=20000");
    let answered = stage.post(&path, allow(&paused)).await;
    assert!(answered.text.contains(LONG), "{}", answered.text);
    for path in ["", "/events", "/messages"] {
        let shown = stage.get(&format!("/v1/runs/{id}{path}")).await.text;
        assert!(shown.contains(LONG), "{path}: {shown}");
    }
    let shown = stage.get("/v1/approvals?status=answered").await.text;
    assert!(shown.contains(LONG), "{shown}");
    // A worker elsewhere gets it as it was written, and gives it back so.
    let paused = stage.run(&format!("use remote {{\"n\":{LONG}}}")).await;
    let leased = stage.post("/v1/tasks/lease", json!({})).await;
    assert!(leased.text.contains(&format!("\"n\":{LONG}")), "{}", leased.text);
    let task = &leased.body["tasks"][0];
    let body = format!(r#"{{"lease":{},"json":{{"n":{LONG}}}}}"#, task["lease"]);
    let path = format!("/v1/tasks/{}/complete", task["id"].as_str().unwrap());
    send(&stage, &path, body).await.expect(StatusCode::NO_CONTENT);
    let id = paused["id"].as_str().unwrap();
    let request = stage.request(reqwest::Method::GET, &format!("/v1/runs/{id}/events"));
    let told = request.header("accept", "text/event-stream").send().await.unwrap().text().await.unwrap();
    assert!(told.contains(LONG), "{told}");
    let messages = stage.get(&format!("/v1/runs/{id}/messages")).await.text;
    assert!(messages.matches(LONG).count() >= 2, "{messages}");
}

#[tokio::test]
async fn a_context_number_that_rules_would_see_as_another_is_refused() {
    let stage = Stage::local().await;
    for (number, status) in [(LONG, 422), ("18446744073709551616", 422), ("18446744073709551615", 201), ("-7.5e3", 201)]
    {
        let body = format!(r#"{{"agent":"support","input":"say x","context":{{"user_id":{number}}}}}"#);
        let answered = send(&stage, "/v1/runs", body).await;
        assert_eq!(answered.status.as_u16(), status, "{number}: {}", answered.text);
        if status == 422 {
            assert_eq!(answered.problem(422, "invalid_field")["field"], "context.user_id");
        }
    }
    let body = format!(r#"{{"agent":"support","tool":"refund","context":{{"user_id":[{LONG}]}}}}"#);
    send(&stage, "/v1/policy/explain", body).await.problem(422, "invalid_field");
}
