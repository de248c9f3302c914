//! Hostile requests: each has a code, and none changes anything.

use reqwest::{Method, StatusCode};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::stage::{ADMIN, Answered, Setting, Stage, tokens};

async fn runs(stage: &Stage) -> usize {
    stage.get("/v1/runs").await.expect(StatusCode::OK)["runs"].as_array().unwrap().len()
}

#[tokio::test]
async fn every_bad_body_has_its_code() {
    let limits = holdpoint_server::Limits { body_bytes_max: 10_000, ..holdpoint_server::Limits::default() };
    let stage = Stage::with(Setting { limits: Some(limits), ..Setting::default() }).await;
    let deep = format!(r#"{{"agent":"support","input":{}1{}}}"#, "[".repeat(200), "]".repeat(200));
    let large = format!(r#"{{"agent":"support","input":"{}"}}"#, "x".repeat(20_000));
    let good = r#"{"agent":"support","input":"say x"}"#;
    let json = "application/json";
    let cases: Vec<(&str, Vec<u8>, u16, &str)> = vec![
        (json, large.into_bytes(), 413, "body_too_large"),
        (json, deep.into_bytes(), 400, "invalid_request"),
        (json, br#"{"agent":"support","agent":"other","input":"x"}"#.to_vec(), 400, "invalid_request"),
        (
            json,
            br#"{"agent":"support","input":"x","context":{"user_id":1,"user_id":2}}"#.to_vec(),
            400,
            "invalid_request",
        ),
        (json, br#"{"agent":"support","inp"#.to_vec(), 400, "invalid_request"),
        (json, br#"{"agent":"support"}"#.to_vec(), 400, "invalid_request"),
        (json, br#"{"agent":7,"input":"x"}"#.to_vec(), 400, "invalid_request"),
        (json, br#"{"agent":"support","input":7}"#.to_vec(), 400, "invalid_request"),
        (json, br#"{"agent":"support","input":"x","admin":true}"#.to_vec(), 400, "invalid_request"),
        (json, br#"[]"#.to_vec(), 400, "invalid_request"),
        (json, br#"["support","say x",null,null]"#.to_vec(), 400, "invalid_request"),
        (json, b"null".to_vec(), 400, "invalid_request"),
        (json, Vec::new(), 400, "invalid_request"),
        (json, b"{\"agent\":\"support\",\"input\":\"\xff\xfe\"}".to_vec(), 400, "invalid_request"),
        (json, "\u{feff}{}".as_bytes().to_vec(), 400, "invalid_request"),
        ("application/json; charset=utf-16", good.as_bytes().to_vec(), 415, "unsupported_media_type"),
        ("application/json; charset=latin1", good.as_bytes().to_vec(), 415, "unsupported_media_type"),
        ("text/plain", good.as_bytes().to_vec(), 415, "unsupported_media_type"),
        ("application/x-www-form-urlencoded", b"agent=support".to_vec(), 415, "unsupported_media_type"),
        ("", good.as_bytes().to_vec(), 415, "unsupported_media_type"),
    ];
    for (kind, body, status, code) in cases {
        let shown = String::from_utf8_lossy(&body).chars().take(60).collect::<String>();
        let mut request = stage.request(Method::POST, "/v1/runs").body(body);
        if !kind.is_empty() {
            request = request.header("content-type", kind);
        }
        let answered = Answered::of(request.send().await.unwrap()).await;
        assert_eq!((answered.status.as_u16(), answered.body["code"].as_str()), (status, Some(code)), "{kind} {shown}");
    }
    let zipped = stage.request(Method::POST, "/v1/runs").header("content-encoding", "gzip").json(&json!({}));
    Answered::of(zipped.send().await.unwrap()).await.problem(415, "unsupported_media_type");
    let utf8 =
        stage.request(Method::POST, "/v1/runs").header("content-type", "application/json; charset=UTF-8").body(good);
    assert_eq!(utf8.send().await.unwrap().status(), StatusCode::CREATED);
    assert_eq!(runs(&stage).await, 1);
}

/// Sends bytes as they are and reads what comes back until the server closes.
async fn raw(stage: &Stage, request: &str) -> String {
    let address = stage.base.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = Vec::new();
    let read = tokio::time::timeout(crate::stage::PATIENCE, stream.read_to_end(&mut answer)).await;
    let _ = read.expect("the server answers or closes");
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn half_sent_and_smuggled_requests_do_nothing() {
    let stage = Stage::local().await;
    let body = r#"{"agent":"support","input":"say x"}"#;
    let head = "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let cases = [
        // Half sent.
        format!("{head}Content-Length: {}\r\n\r\n{}", body.len(), &body[..10]),
        format!("{head}Transfer-Encoding: chunked\r\n\r\n5\r\n{}", &body[..5]),
        "POST /v1/runs HTTP/1.1\r\nHost: local".to_owned(),
        // Two ways to say how long it is.
        format!("{head}Content-Length: {0}\r\nContent-Length: 5\r\n\r\n{body}", body.len()),
        format!("{head}Content-Length: +{}\r\n\r\n{body}", body.len()),
        format!("{head}Transfer-Encoding: chunked, identity\r\n\r\n{body}"),
        format!("{head}Transfer-Encoding: xchunked\r\n\r\n{body}"),
        // Names and values that are none.
        format!("{head}Content-Length : {}\r\n\r\n{body}", body.len()),
        format!("{head}X-Y: a\r\n b\r\nContent-Length: {}\r\n\r\n{body}", body.len()),
        format!("{head}{}Content-Length: {}\r\n\r\n{body}", "X-A: b\r\n".repeat(200), body.len()),
        format!("{head}X-Long: {}\r\nContent-Length: {}\r\n\r\n{body}", "a".repeat(200_000), body.len()),
        format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(200_000)),
        "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}".to_owned(),
    ];
    for request in cases {
        let answer = raw(&stage, &request).await;
        let shown: String = request.chars().take(150).collect();
        let status = answer.split(' ').nth(1).unwrap_or("closed");
        assert!(status == "closed" || status.starts_with('4'), "{shown}\n{answer}");
    }
    assert_eq!(runs(&stage).await, 0);
}

#[tokio::test]
async fn without_tokens_other_names_and_pages_are_refused() {
    let stage = Stage::local().await;
    let good = json!({"agent": "support", "input": "say x"});
    let send = |name: &'static str, value: &'static str| {
        let request = stage.request(Method::POST, "/v1/runs").header(name, value).json(&good);
        async move { Answered::of(request.send().await.unwrap()).await }
    };
    send("host", "evil.example").await.problem(403, "host_not_allowed");
    send("origin", "http://evil.example").await.problem(403, "origin_not_allowed");
    send("origin", "null").await.problem(403, "origin_not_allowed");
    assert_eq!(runs(&stage).await, 0);
}

#[tokio::test]
async fn a_server_without_tokens_listens_on_this_machine_only() {
    let store = holdpoint_store::Store::from(holdpoint_store::MemoryStore::new());
    let gate = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let serve = |tokens: Vec<holdpoint_server::Token>| {
        let (agent, _) = crate::stage::agent(&store, &gate);
        let builder = holdpoint_server::Server::builder(store.clone());
        let builder = builder.agent(holdpoint_server::ServedAgent::new(agent));
        let server = tokens.into_iter().fold(builder, holdpoint_server::ServerBuilder::token).build().unwrap();
        async move {
            let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
            let stopped = tokio_util::sync::CancellationToken::new();
            stopped.cancel();
            server.serve(listener, stopped).await
        }
    };
    assert!(matches!(serve(Vec::new()).await, Err(holdpoint_server::ServeError::NeedsToken { .. })));
    serve(tokens()).await.unwrap();
}

#[tokio::test]
async fn routes_and_methods_that_are_none_have_codes() {
    let stage = Stage::guarded().await;
    stage.get("/v1/nothing").await.problem(404, "not_found");
    let put = stage.request(Method::PUT, "/v1/runs").bearer_auth(ADMIN).send().await.unwrap();
    Answered::of(put).await.problem(405, "method_not_allowed");
    stage.get_as(ADMIN, &format!("/v1/runs/{}", "a".repeat(550))).await.problem(404, "continuation_not_found");
    stage.get_as(ADMIN, &format!("/v1/runs/{}", "a".repeat(700))).await.problem(404, "continuation_not_found");
    stage.get_as(ADMIN, "/v1/runs/%00").await.problem(404, "continuation_not_found");
    for path in [
        "/v1/runs?agent=%00",
        "/v1/runs?session=%00",
        "/v1/approvals?run=%00",
        "/v1/tasks?tool=%00",
        "/v1/audit?run=%00",
    ] {
        stage.get_as(ADMIN, path).await.problem(422, "invalid_field");
    }
    let body = json!({"agent": "support", "input": "say x", "session": "a\u{0}"});
    stage.post_as(ADMIN, "/v1/runs", body).await.problem(422, "invalid_field");
    stage.post_as(ADMIN, "/v1/tasks/lease", json!({"worker": "a\u{0}"})).await.problem(422, "invalid_field");
    stage.get_as(ADMIN, "/v1/runs/%ff").await.problem(400, "invalid_request");
}

#[tokio::test]
async fn a_request_that_says_twice_where_it_ends_is_refused_with_all_that_follows() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let stage = Stage::local().await;
    let address = stage.base.strip_prefix("http://").unwrap().to_owned();
    let body = json!({"agent": "support", "input": "say x"}).to_string();
    let head = format!("POST /v1/runs HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n");
    let (length, chunked) = (format!("Content-Length: {}\r\n", body.len()), "Transfer-Encoding: chunked\r\n");
    let pieces = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let other = format!("GET /v1/agents HTTP/1.1\r\nHost: {address}\r\n\r\n");
    for both in [format!("{length}{chunked}"), format!("{chunked}{length}")] {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        // What came before on the connection is answered, what comes after is not.
        stream.write_all(other.as_bytes()).await.unwrap();
        let mut first = [0; 12];
        stream.read_exact(&mut first).await.unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        stream.write_all(format!("{head}{both}\r\n{pieces}{other}").as_bytes()).await.unwrap();
        let mut answers = String::new();
        stream.read_to_string(&mut answers).await.unwrap();
        let refused = answers.split_once("HTTP/1.1 400").expect("it is refused").1;
        assert!(refused.contains("invalid_request") && refused.contains("connection: close"), "{answers}");
        assert!(!refused.contains("HTTP/1.1"), "{answers}");
    }
    assert_eq!(stage.get("/v1/runs").await.body["runs"], json!([]));
    let mut stream = TcpStream::connect(&address).await.unwrap();
    stream.write_all(format!("{head}{chunked}Connection: close\r\n\r\n{pieces}").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "one of them is enough: {answer}");
}

#[tokio::test]
async fn a_token_has_a_rate() {
    let limits =
        holdpoint_server::Limits { requests_per_second: 1, requests_burst: 3, ..holdpoint_server::Limits::default() };
    let stage = Stage::with(Setting { tokens: tokens(), limits: Some(limits), ..Setting::default() }).await;
    let mut refused = None;
    for _ in 0..20 {
        let answered = stage.get_as(ADMIN, "/v1/agents").await;
        if answered.status == StatusCode::TOO_MANY_REQUESTS {
            refused = Some(answered);
            break;
        }
    }
    let refused = refused.expect("twenty at once are too many");
    assert!(refused.headers.contains_key("retry-after"));
    refused.problem(429, "too_many_requests");
    // Others are not slower for it.
    stage.get_as(crate::stage::READER, "/v1/agents").await.expect(StatusCode::OK);
}
