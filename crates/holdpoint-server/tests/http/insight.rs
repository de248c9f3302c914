use reqwest::StatusCode;
use serde_json::json;

use crate::stage::{ADMIN, READER, STRANGER, SUBMITTER, Stage};

#[tokio::test]
async fn agents_and_tools_are_listed_with_what_they_did() {
    let stage = Stage::guarded().await;
    let agents = stage.get_as(SUBMITTER, "/v1/agents").await.expect(StatusCode::OK);
    let agent = &agents["agents"][0];
    assert_eq!((&agent["name"], &agent["model"]), (&json!("support"), &json!("obedient")));
    assert_eq!(agent["context_keys"], json!(["user_id"]));
    assert!(agent["policy"].is_string());
    stage.run_as(ADMIN, "use echo {}").await;
    let tools = stage.get_as(READER, "/v1/tools").await.expect(StatusCode::OK);
    let tools = tools["tools"].as_array().unwrap();
    let echo = tools.iter().find(|tool| tool["name"] == "echo").unwrap();
    assert_eq!(echo["statistics"]["calls"], 1);
    assert_eq!(echo["statistics"]["errors"], 0);
    assert!(echo["statistics"]["duration_us"].as_u64() > Some(0));
    let others = stage.get_as(STRANGER, "/v1/tools").await.expect(StatusCode::OK);
    let others = others["tools"].as_array().unwrap();
    assert_eq!(others.len(), tools.len());
    assert!(others.iter().all(|tool| tool["statistics"]["calls"] == 0), "no tenant learns of another's calls");
    let remote = tools.iter().find(|tool| tool["name"] == "remote").unwrap();
    assert_eq!((&remote["source"], &remote["repeat"]), (&json!("worker"), &json!("never")));
}

#[tokio::test]
async fn a_decision_is_explained() {
    let stage = Stage::guarded().await;
    let ask = |amount: u32| json!({"agent": "support", "tool": "refund", "arguments": {"amount": amount}});
    let dear = stage.post_as(SUBMITTER, "/v1/policy/explain", ask(250)).await.expect(StatusCode::OK);
    assert_eq!((&dear["decides"], &dear["reason"]), (&json!("confirm"), &json!("refund above 100")));
    let cheap = stage.post_as(SUBMITTER, "/v1/policy/explain", ask(50)).await.expect(StatusCode::OK);
    assert_eq!(cheap["decides"], "allow");
    let said = format!("{} {}", cheap["rule"], cheap["passed_over"]);
    assert!(!said.contains("50"), "values are shown only to those who ask for them");
    let body = json!({"agent": "support", "tool": "refund", "arguments": [1]});
    stage.post_as(SUBMITTER, "/v1/policy/explain", body).await.problem(422, "invalid_arguments");
}

#[tokio::test]
async fn the_audit_log_is_read_and_verified_per_tenant() {
    let stage = Stage::guarded().await;
    let run = stage.run_as(ADMIN, "use echo {}").await;
    let foreign = stage.run_as(STRANGER, "use echo {}").await;
    let page = stage.get_as(ADMIN, "/v1/audit").await.expect(StatusCode::OK);
    let entries = page["entries"].as_array().unwrap();
    assert!(!entries.is_empty());
    assert!(entries.iter().all(|entry| entry["run_id"] == run["id"]), "only this tenant's");
    assert!(entries.iter().all(|entry| entry["decisions"].is_array()));
    let mut path = format!("/v1/audit?limit=1&run={}", run["id"].as_str().unwrap());
    let mut of_run = Vec::new();
    loop {
        let page = stage.get_as(ADMIN, &path).await.expect(StatusCode::OK);
        assert_eq!(page["entries"].as_array().unwrap().len(), 1);
        of_run.push(page["entries"][0].clone());
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/v1/audit?limit=1&run={}&cursor={next}", run["id"].as_str().unwrap());
    }
    assert_eq!(&of_run, entries);
    let path = format!("/v1/audit?run={}", foreign["id"].as_str().unwrap());
    assert_eq!(stage.get_as(ADMIN, &path).await.expect(StatusCode::OK)["entries"], json!([]));
    let verdict = stage.get_as(ADMIN, "/v1/audit/verify").await.expect(StatusCode::OK);
    assert_eq!((&verdict["ok"], &verdict["runs"]), (&json!(true), &json!(1)));
}
