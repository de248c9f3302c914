//! Every route of the document, with nobody's token, with a token that lacks the role, and with another tenant's.

use std::collections::BTreeMap;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::stage::{ADMIN, Answered, CLERK, FINANCE, READER, STRANGER, SUBMITTER, Setting, Stage, WORKER, tokens};

/// A token that may not use a route, for every route that needs more than being known.
fn lacking(operation: &str) -> Option<&'static str> {
    Some(match operation {
        "start_run" | "cancel_run" | "retry_run" | "deliver_results" => READER,
        "list_runs" | "list_sessions" => SUBMITTER,
        "metrics" => READER,
        "show_run" | "show_messages" | "follow_run" => WORKER,
        "answer_run" | "revoke_grant" => READER,
        "list_approvals" | "follow_approvals" | "list_grants" => SUBMITTER,
        "list_tasks" | "list_workers" => FINANCE,
        "lease_tasks" | "heartbeat_task" | "complete_task" | "fail_task" => READER,
        "requeue_task" => WORKER,
        "read_audit" | "verify_audit" => CLERK,
        "list_agents" | "list_tools" | "explain_policy" | "list_keys" => return None,
        "login" | "logout" | "who" | "health" | "ready" => return None,
        other => panic!("`{other}` is not in the matrix: say who may not use it"),
    })
}

struct Route {
    operation: String,
    method: Method,
    path: String,
    open: bool,
}

fn routes() -> Vec<Route> {
    let document = serde_json::to_value(holdpoint_server::openapi()).unwrap();
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let Ok(method) = method.to_uppercase().parse::<Method>() else { continue };
            routes.push(Route {
                operation: operation["operationId"].as_str().unwrap().to_owned(),
                method,
                path: path.clone(),
                open: operation["security"].is_null(),
            });
        }
    }
    assert!(routes.len() > 25, "{}", routes.len());
    routes
}

/// Objects of one tenant.
struct Objects {
    run: Value,
    task: Value,
    grant: String,
}

async fn objects(stage: &Stage) -> Objects {
    let granted = stage.run_as(ADMIN, "use ask_first {\"a\":1}").await;
    let mut body = crate::stage::allow(&granted);
    body["decisions"][0]["remember"] = json!(true);
    let path = format!("/v1/runs/{}/answers?wait_ms=20000", granted["id"].as_str().unwrap());
    stage.post_as(ADMIN, &path, body).await.expect(StatusCode::OK);
    let grants = stage.get_as(ADMIN, "/v1/grants").await.expect(StatusCode::OK);
    let grant = grants["grants"][0]["id"].as_str().unwrap().to_owned();
    stage.run_as(ADMIN, "use remote {}").await;
    let leased = stage.post_as(WORKER, "/v1/tasks/lease", json!({})).await.expect(StatusCode::OK);
    let run = stage.run_as(ADMIN, "use refund {\"amount\":250}").await;
    Objects { run, task: leased["tasks"][0].clone(), grant }
}

fn request(stage: &Stage, route: &Route, objects: &Objects) -> reqwest::RequestBuilder {
    let id = match route.path.split('/').nth(2) {
        Some("runs") => objects.run["id"].as_str().unwrap(),
        Some("tasks") => objects.task["id"].as_str().unwrap(),
        Some("grants") => &objects.grant,
        _ => "",
    };
    let path = route.path.replace("{id}", id);
    let request = stage.request(route.method.clone(), &path);
    let lease = &objects.task["lease"];
    let body = match route.operation.as_str() {
        "start_run" => json!({"agent": "support", "input": "say x"}),
        "answer_run" => crate::stage::allow(&objects.run),
        "deliver_results" => json!({"continuation_id": objects.run["continuation_id"], "results": []}),
        "lease_tasks" => json!({}),
        "heartbeat_task" => json!({"lease": lease}),
        "complete_task" => json!({"lease": lease, "text": "x"}),
        "fail_task" => json!({"lease": lease, "started": false}),
        "requeue_task" => json!({"digest": "00".repeat(32)}),
        "explain_policy" => json!({"agent": "support", "tool": "echo"}),
        _ => json!({}),
    };
    if route.method == Method::POST { request.json(&body) } else { request }
}

async fn stage() -> Stage {
    Stage::with(Setting { tokens: tokens(), without_worker: true, ..Setting::default() }).await
}

/// Everything that the tenant has, as its admin sees it.
async fn all(stage: &Stage) -> BTreeMap<String, Value> {
    let mut seen = BTreeMap::new();
    for path in ["/v1/runs", "/v1/approvals", "/v1/tasks", "/v1/grants", "/v1/audit"] {
        seen.insert(path.to_owned(), stage.get_as(ADMIN, path).await.expect(StatusCode::OK));
    }
    seen
}

#[tokio::test]
async fn without_a_token_nothing_is_told() {
    let stage = stage().await;
    let objects = objects(&stage).await;
    let before = all(&stage).await;
    for route in routes().iter().filter(|route| !route.open) {
        let answered = Answered::of(request(&stage, route, &objects).send().await.unwrap()).await;
        answered.problem(401, "unauthenticated");
        let wrong = request(&stage, route, &objects).bearer_auth("nobody-knows-this-secret");
        Answered::of(wrong.send().await.unwrap()).await.problem(401, "unauthenticated");
    }
    assert_eq!(all(&stage).await, before);
}

#[tokio::test]
async fn without_the_role_nothing_is_done() {
    let stage = stage().await;
    let objects = objects(&stage).await;
    let before = all(&stage).await;
    for route in routes() {
        let Some(secret) = lacking(&route.operation) else { continue };
        let answered = Answered::of(request(&stage, &route, &objects).bearer_auth(secret).send().await.unwrap()).await;
        assert_eq!(answered.body["code"], "forbidden", "{}: {}", route.operation, answered.text);
        answered.problem(403, "forbidden");
    }
    assert_eq!(all(&stage).await, before);
}

#[tokio::test]
async fn another_tenants_objects_are_as_if_they_were_not_there() {
    let stage = stage().await;
    let objects = objects(&stage).await;
    let nobody = Objects {
        run: json!({"id": "0199f0c1-0000-7000-8000-000000000000", "continuation_id": "0199f0c1-0000-7000-8000-000000000000.p1",
            "pending": [{"id": "tc_1", "digest": "00".repeat(32)}]}),
        task: json!({"id": "0199f0c1-0000-7000-8000-000000000000.b1.c0", "lease": objects.task["lease"]}),
        grant: "0199f0c1-0000-7000-8000-000000000000.g1".to_owned(),
    };
    let before = all(&stage).await;
    for route in routes().iter().filter(|route| !route.open) {
        let ask = |objects| request(&stage, route, objects).bearer_auth(STRANGER);
        let foreign = Answered::of(ask(&objects).send().await.unwrap()).await;
        let missing = Answered::of(ask(&nobody).send().await.unwrap()).await;
        let named = route.path.contains("{id}");
        assert_eq!(foreign.status, missing.status, "{}: {}", route.operation, foreign.text);
        assert_eq!(foreign.body["code"], missing.body["code"], "{}", route.operation);
        assert_eq!(foreign.body["detail"], missing.body["detail"], "{}", route.operation);
        if named {
            let refused = matches!(foreign.status.as_u16(), 404 | 409);
            assert!(refused, "{}: {}", route.operation, foreign.text);
        } else {
            for id in [&objects.run["id"], &objects.task["run_id"]] {
                assert!(!foreign.text.contains(id.as_str().unwrap()), "{}: {}", route.operation, foreign.text);
            }
        }
    }
    assert_eq!(all(&stage).await, before);
}
