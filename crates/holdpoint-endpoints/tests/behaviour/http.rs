//! HTTP tools against a real server: where arguments go, what comes back.

use crate::support;

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use holdpoint_core::{Block, Code, Outcome};
use holdpoint_endpoints::Surroundings;
use holdpoint_tools::Tool;
use serde_json::{Value, json};
use support::{Names, Server, call, call_with, run, serve, settle, text, tool, tool_in};

/// Says what arrived: method, URI, chosen headers, body.
async fn echo(request: Request) -> String {
    let (parts, body) = request.into_parts();
    let shown = ["authorization", "x-team", "idempotency-key", "content-type", "accept", "user-agent", "host"];
    let headers: Vec<String> = shown
        .iter()
        .filter_map(|name| Some(format!("{name}={}", parts.headers.get(*name)?.to_str().unwrap())))
        .collect();
    let body = axum::body::to_bytes(body, 1_000_000).await.unwrap();
    format!("{} {} [{}] {}", parts.method, parts.uri, headers.join(" "), str::from_utf8(&body).unwrap())
}

async fn echo_server() -> Server {
    serve(Router::new().fallback(any(echo))).await
}

fn refund(server: &Server, more: &Value) -> Value {
    let mut table = json!({
        "kind": "http",
        "url": server.url("/orders/{order}/refund"),
        "allow_private": true,
        "query": ["reason"],
        "parameters": {
            "type": "object",
            "properties": { "order": {}, "reason": {}, "amount": {}, "note": {} },
        },
    });
    table.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    table
}

/// What arrived, without the headers that every request has.
async fn arrived(tool: &Arc<dyn Tool>, arguments: Value) -> String {
    let text = text(tool, arguments).await;
    let (line, body) = text.split_once(" [").map(|(line, rest)| (line, rest.split_once("] ").unwrap().1)).unwrap();
    format!("{line} {body}")
}

#[tokio::test]
async fn arguments_go_to_the_path_the_query_and_the_body() {
    let server = echo_server().await;
    let post = tool(refund(&server, &json!({})));
    let arguments = json!({ "order": "a 1", "reason": "late & cold", "amount": 5, "note": null });
    assert_eq!(
        arrived(&post, arguments.clone()).await,
        r#"POST /orders/a%201/refund?reason=late+%26+cold {"amount":5,"note":null}"#
    );
    let form = tool(refund(&server, &json!({ "body": "form" })));
    assert_eq!(
        arrived(&form, json!({ "order": 7, "amount": [1, 2], "note": "ä" })).await,
        "POST /orders/7/refund amount=1&amount=2&note=%C3%A4"
    );
    for method in ["GET", "DELETE"] {
        let plain = tool(refund(&server, &json!({ "method": method })));
        let wanted = format!("{method} /orders/a%201/refund?reason=late+%26+cold&amount=5 ");
        assert_eq!(arrived(&plain, arguments.clone()).await, wanted);
    }
    for method in ["PUT", "PATCH"] {
        let body = tool(refund(&server, &json!({ "method": method })));
        assert_eq!(arrived(&body, json!({ "order": 1 })).await, format!("{method} /orders/1/refund {{}}"));
    }
}

#[tokio::test]
async fn a_body_is_the_approved_text_with_every_digit() {
    let server = echo_server().await;
    let table =
        json!({ "kind": "http", "url": server.url("/"), "allow_private": true, "parameters": { "type": "object" } });
    let whole = r#"{"b": 123456789012345678901234567890, "a": 0.1, "c": {"z": 1, "y": 2}}"#;
    let call = call_with(whole);
    assert!(call.arguments().expose().contains("123456789012345678901234567890"));
    let sent = tool(table).call(call.clone()).await.unwrap().text();
    assert!(sent.ends_with(call.arguments().expose()), "{sent}");
}

#[tokio::test]
async fn arguments_that_fit_nowhere_are_the_models_to_correct() {
    let server = echo_server().await;
    let tool = tool(refund(&server, &json!({})));
    for (arguments, problem) in [
        (json!({}), "InvalidArguments: `order` must be a text or a number"),
        (json!({ "order": null }), "InvalidArguments: `order` must be a text or a number"),
        (json!({ "order": ["a"] }), "InvalidArguments: `order` must be a text or a number"),
        (json!({ "order": "../../admin" }), "InvalidArguments: `order` cannot be a part of a path"),
        (json!({ "order": ".." }), "InvalidArguments: `order` cannot be a part of a path"),
        (json!({ "order": "" }), "InvalidArguments: `order` cannot be a part of a path"),
        (
            json!({ "order": 1, "reason": {} }),
            "InvalidArguments: `reason` must be a text, a number, or a list of these",
        ),
        (json!({ "order": 1, "reason": "x".repeat(9000) }), "InvalidArguments: the arguments are too long for a URL"),
    ] {
        assert_eq!(text(&tool, arguments).await, problem);
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn headers_come_from_the_file_the_environment_and_secret_files_and_are_never_shown() {
    let server = echo_server().await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("key"), "file-s3cret\n").unwrap();
    let surroundings = Surroundings::default()
        .with_folder(folder.path())
        .with_environment(|name| (name == "TOKEN").then(|| "env-s3cret".to_owned()));
    let headers = json!({
        "X-Team": "support",
        "Authorization": { "env": "TOKEN", "prefix": "Bearer " },
        "X-Key": { "file": "key" },
    });
    let table = refund(&server, &json!({ "headers": headers }));
    let spec = support::spec(table.clone());
    let tool = tool_in(table, &surroundings);
    let sent = text(&tool, json!({ "order": 1 })).await;
    assert!(sent.contains("authorization=Bearer env-s3cret x-team=support"), "{sent}");
    assert!(!sent.contains("idempotency-key"), "{sent}");
    assert!(sent.contains("user-agent=holdpoint/"), "{sent}");
    let shown = format!("{spec:?} {surroundings:?} {:?}", tool.definition());
    assert!(!shown.contains("s3cret"), "{shown}");
}

#[tokio::test]
async fn an_idempotency_key_is_sent_when_the_tool_may_be_repeated_with_it() {
    let server = echo_server().await;
    let tool = tool(refund(&server, &json!({ "repeat": "with_key" })));
    let call = call(&json!({ "order": 1 }));
    let sent = tool.call(call.clone()).await.unwrap().text();
    assert!(sent.contains(&format!("idempotency-key={}", call.idempotency_key())), "{sent}");
    assert_eq!(sent, tool.call(call).await.unwrap().text());
}

fn answers() -> Router {
    let with = |kind: &'static str, body: &'static [u8]| get(move || async move { ([("content-type", kind)], body) });
    Router::new()
        .route("/json", with("application/json; charset=utf-8", br#"{"b": [1, {"c": "deep"}], "a": 1e2}"#))
        .route("/problem", with("application/problem+json", b"{}"))
        .route("/text", with("text/plain", "grüße".as_bytes()))
        .route("/png", with("image/png", b"\x89PNG\0"))
        .route("/pdf", with("application/pdf", b"%PDF"))
        .route("/empty", get(|| async { StatusCode::NO_CONTENT }))
        .route("/bad-json", with("application/json", b"{"))
        .route("/status/{code}", get(|uri: Uri| async move { failing(&uri) }))
}

fn failing(uri: &Uri) -> Response {
    let code: u16 = uri.path().rsplit('/').next().unwrap().parse().unwrap();
    let body = json!({ "error": { "message": "order\u{7} is closed", "trace": "s3cret" } }).to_string();
    (StatusCode::from_u16(code).unwrap(), [("content-type", "application/json")], body).into_response()
}

fn getting(server: &Server, path: &str, response: &Value) -> Arc<dyn Tool> {
    tool(json!({
        "kind": "http", "method": "GET", "url": server.url(path), "allow_private": true, "response": response,
    }))
}

#[tokio::test]
async fn answers_become_text_json_images_and_files() {
    let server = serve(answers()).await;
    let blocks = async |path: &str| run(&getting(&server, path, &json!({})), json!({})).await.unwrap().blocks;
    assert!(
        matches!(&blocks("/json").await[..], [Block::Json(json)] if json.expose() == r#"{"a":100,"b":[1,{"c":"deep"}]}"#)
    );
    assert!(matches!(&blocks("/problem").await[..], [Block::Json(_)]));
    assert!(matches!(&blocks("/text").await[..], [Block::Text(text)] if &**text == "grüße"));
    assert!(matches!(&blocks("/png").await[..], [Block::Image(blob)] if &*blob.media_type == "image/png"));
    assert!(matches!(&blocks("/pdf").await[..], [Block::File(blob)] if &*blob.bytes == b"%PDF"));
    assert!(matches!(&blocks("/empty").await[..], [Block::Text(text)] if &**text == "done"));
}

#[tokio::test]
async fn a_pointer_takes_a_part_of_the_answer() {
    let server = serve(answers()).await;
    let at = async |path: &str, response: Value| text(&getting(&server, path, &response), json!({})).await;
    let not_json =
        "failed: The service answered with status 200, but its answer is not JSON. It may have taken effect.";
    assert_eq!(at("/json", json!({ "pointer": "/b/1/c" })).await, "deep");
    assert_eq!(at("/json", json!({ "pointer": "/b" })).await, r#"[1,{"c":"deep"}]"#);
    assert_eq!(
        at("/json", json!({ "pointer": "/x" })).await,
        "failed: The service answered with status 200, but its answer does not have what was agreed on. It may have taken effect."
    );
    assert_eq!(at("/text", json!({ "pointer": "/x" })).await, not_json);
    assert_eq!(at("/bad-json", json!({})).await, not_json);
    assert_eq!(at("/bad-json", json!({ "form": "text" })).await, "{");
    assert_eq!(at("/text", json!({ "form": "json" })).await, not_json);
}

#[tokio::test]
async fn error_statuses_are_failed_results_with_a_safe_text() {
    let server = serve(answers()).await;
    for code in [400, 401, 403, 404, 409, 418, 422, 429, 500, 502, 503] {
        let path = format!("/status/{code}");
        let said = text(&getting(&server, &path, &json!({})), json!({})).await;
        assert!(said.starts_with(&format!("failed: The service answered with status {code}")), "{said}");
        assert!(!said.contains("closed") && !said.contains("s3cret"), "{said}");
        let said = text(&getting(&server, &path, &json!({ "error_pointer": "/error/message" })), json!({})).await;
        assert!(said.ends_with(" It says: order is closed"), "{said}");
    }
    let settled = settle(&getting(&server, "/status/500", &json!({})), call(&json!({}))).await;
    assert_eq!((settled.outcome, settled.code), (Outcome::Failed, Some(Code::ToolError)));
}

/// Redirects that say where they lead: `/to/STATUS?URL`.
fn redirecting() -> Router {
    let to = |uri: Uri| async move {
        let code: u16 = uri.path().rsplit('/').next().unwrap().parse().unwrap();
        let location = uri.query().unwrap_or("/").to_owned();
        (StatusCode::from_u16(code).unwrap(), [("location", location)])
    };
    let count = |uri: Uri| async move {
        let left: u32 = uri.path().rsplit('/').next().unwrap().parse().unwrap();
        match left {
            0 => "arrived".into_response(),
            left => (StatusCode::FOUND, [("location", format!("/count/{}", left - 1))]).into_response(),
        }
    };
    Router::new().route("/to/{status}", any(to)).route("/count/{left}", any(count)).fallback(any(echo))
}

#[tokio::test]
async fn redirects_are_followed_as_often_as_allowed() {
    let server = serve(redirecting()).await;
    let count = async |left: u32, max: Option<u32>| {
        let mut table = json!({ "kind": "http", "url": server.url(&format!("/count/{left}")), "allow_private": true });
        if let Some(max) = max {
            table["max_redirects"] = json!(max);
        }
        text(&tool(table), json!({})).await
    };
    assert_eq!(count(3, None).await, "arrived");
    assert_eq!(
        count(4, None).await,
        "failed: The service points from one address to another too often. It may have taken effect."
    );
    assert_eq!(count(10, Some(10)).await, "arrived");
    assert_eq!(
        count(11, Some(10)).await,
        "failed: The service points from one address to another too often. It may have taken effect."
    );
    assert_eq!(count(0, Some(0)).await, "arrived");
    assert_eq!(
        count(1, Some(0)).await,
        "failed: The service points to another address that may not be followed. It may have taken effect."
    );
}

#[tokio::test]
async fn a_redirect_keeps_or_drops_the_body_as_its_status_says() {
    let server = serve(redirecting()).await;
    let sent = async |status: u16| {
        let table = json!({
            "kind": "http", "url": server.url(&format!("/to/{status}?/there")), "allow_private": true,
            "parameters": { "type": "object", "properties": { "a": {} } },
        });
        let said = text(&tool(table), json!({ "a": 1 })).await;
        let (line, rest) = said.split_once(" [").unwrap();
        format!("{line} {}", rest.split_once("] ").unwrap().1)
    };
    for status in [301, 302, 303] {
        assert_eq!(sent(status).await, "GET /there ");
    }
    for status in [307, 308] {
        assert_eq!(sent(status).await, r#"POST /there {"a":1}"#);
    }
}

/// Two names, both of this machine and both the tool's own: as origins they differ, and their addresses are allowed only
/// for the first.
#[tokio::test]
async fn a_redirect_to_another_origin_takes_no_secret_and_no_body_along() {
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let record = {
        let seen = Arc::clone(&seen);
        move |headers: HeaderMap, body: Bytes| async move {
            seen.lock().unwrap().push((headers, body));
            "there"
        }
    };
    let server = serve(redirecting().route("/record", any(record))).await;
    let names = Names::default().with("one.test", &[&["127.0.0.1"]]).with("two.test", &[&["127.0.0.1"]]);
    let surroundings = names.surroundings().with_environment(|_| Some("s3cret".to_owned()));
    let port = server.port();
    let table = |status: u16, to: &str| {
        json!({
            "kind": "http", "url": format!("http://one.test:{port}/to/{status}?{to}"), "allow_private": true,
            "repeat": "with_key", "headers": { "Authorization": { "env": "X" }, "X-Key": { "env": "X" }, "X-Team": "a" },
        })
    };
    let same = format!("http://one.test:{port}/record");
    assert_eq!(text(&tool_in(table(307, &same), &surroundings), json!({})).await, "there");
    let (headers, body) = seen.lock().unwrap().pop().unwrap();
    assert!(headers.contains_key("authorization") && headers.contains_key("x-key") && body == "{}");

    // Another host is another origin, and its private address is not allowed.
    let other = format!("http://two.test:{port}/record");
    for status in [302, 307] {
        let never = {
            let mut table = table(status, &other);
            table["repeat"] = json!("never");
            table
        };
        let said = text(&tool_in(never, &surroundings), json!({})).await;
        // What was asked first was asked, whatever became of the rest.
        assert!(said.starts_with("failed: ") && said.ends_with(" It may have taken effect."), "{said}");
    }
    assert!(seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_redirect_that_cannot_be_followed_is_a_failed_result() {
    let server = serve(redirecting()).await;
    for location in ["", "http://", "ftp://a.example/", "file:///etc/passwd", "http://u:p@127.0.0.1/", "javascript:1"] {
        let table = json!({ "kind": "http", "url": server.url(&format!("/to/302?{location}")), "allow_private": true });
        let said = text(&tool(table), json!({})).await;
        // An empty location is the same place again.
        assert!(said.starts_with("failed: The service points"), "{location}: {said}");
    }
    let bare = serve(Router::new().fallback(any(|| async { (StatusCode::FOUND, Body::empty()) }))).await;
    let table = json!({ "kind": "http", "url": bare.url("/"), "allow_private": true });
    assert_eq!(
        text(&tool(table), json!({})).await,
        "failed: The service points to another address that may not be followed. It may have taken effect."
    );
}

#[tokio::test]
async fn what_the_url_says_cannot_be_said_by_an_argument() {
    let server = serve(Router::new().fallback(any(echo))).await;
    let table = |query: &[&str]| {
        json!({
            "kind": "http", "method": "GET", "url": server.url("/search?tenant=acme&q={q}"), "allow_private": true, "query": query,
            "parameters": { "type": "object", "properties": { "q": { "type": "string" }, "tenant": {} }, "required": ["q"] },
        })
    };
    let said = text(&tool(table(&[])), json!({ "q": "a" })).await;
    assert!(said.starts_with("GET /search?tenant=acme&q=a "), "{said}");
    let said = text(&tool(table(&[])), json!({ "q": "a", "tenant": "other" })).await;
    assert!(said.ends_with("`tenant` is fixed for this tool"), "{said}");
    let error = support::spec(table(&["tenant"])).build("t").err().unwrap();
    assert!(error.to_string().contains("names `tenant`, which the URL has already"), "{error}");
}
