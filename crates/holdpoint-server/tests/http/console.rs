use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::approvals::Frames;
use crate::stage::{ADMIN, Answered, FINANCE, Setting, Stage, tokens};

#[tokio::test]
async fn a_browser_logs_in_and_proves_each_change() {
    let stage = Stage::guarded().await;
    stage.post("/v1/login", json!({"token": "not a token at all"})).await.problem(401, "unauthenticated");
    let answered = stage.post("/v1/login", json!({"token": ADMIN})).await;
    let cookie = answered.headers["set-cookie"].to_str().unwrap().to_owned();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let login = answered.expect(StatusCode::OK);
    assert_eq!(
        (&login["name"], &login["tenant"], &login["roles"]),
        (&json!("boss"), &json!("acme"), &json!(["admin"]))
    );
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let csrf = login["csrf_token"].as_str().unwrap().to_owned();

    let with = |method: Method, path: &str| stage.request(method, path).header("cookie", &cookie);
    let read = Answered::of(with(Method::GET, "/v1/runs").send().await.unwrap()).await;
    read.expect(StatusCode::OK);
    let body = json!({"agent": "support", "input": "say x"});
    let without = with(Method::POST, "/v1/runs").json(&body).send().await.unwrap();
    Answered::of(without).await.problem(403, "csrf_token_missing");
    let wrong = with(Method::POST, "/v1/runs").header("x-csrf-token", "x").json(&body).send().await.unwrap();
    Answered::of(wrong).await.problem(403, "csrf_token_missing");
    let foreign = with(Method::POST, "/v1/runs").header("x-csrf-token", &csrf).header("origin", "http://evil.example");
    Answered::of(foreign.json(&body).send().await.unwrap()).await.problem(403, "origin_not_allowed");
    let right = with(Method::POST, "/v1/runs").header("x-csrf-token", &csrf).json(&body).send().await.unwrap();
    Answered::of(right).await.expect(StatusCode::CREATED);

    // A session of somebody else has another proof.
    let other = stage.post("/v1/login", json!({"token": FINANCE})).await.expect(StatusCode::OK);
    let borrowed = with(Method::POST, "/v1/runs").header("x-csrf-token", other["csrf_token"].as_str().unwrap());
    Answered::of(borrowed.json(&body).send().await.unwrap()).await.problem(403, "csrf_token_missing");

    let forged = stage.request(Method::GET, "/v1/runs").header("cookie", "holdpoint_session=eyJ0IjoiYm9zcyJ9.AAAA");
    Answered::of(forged.send().await.unwrap()).await.problem(401, "unauthenticated");
    let out = stage.request(Method::DELETE, "/v1/login").send().await.unwrap();
    assert_eq!(out.status(), StatusCode::NO_CONTENT);
    assert!(out.headers()["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
}

#[tokio::test]
async fn a_session_that_was_ended_is_over_wherever_its_cookie_is() {
    let store = holdpoint_store::Store::from(holdpoint_store::MemoryStore::new());
    let setting = || Setting { tokens: tokens(), store: Some(store.clone()), ..Setting::default() };
    let (stage, other) = (Stage::with(setting()).await, Stage::with(setting()).await);
    let cookie_of =
        |answered: &Answered| answered.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let first = cookie_of(&stage.post("/v1/login", json!({"token": ADMIN})).await);
    let second = cookie_of(&stage.post("/v1/login", json!({"token": ADMIN})).await);
    assert_ne!(first, second, "each login is a session of its own");
    let asked = |stage: &Stage, cookie: &str| stage.request(Method::GET, "/v1/runs").header("cookie", cookie);
    for stage in [&stage, &other] {
        Answered::of(asked(stage, &first).send().await.unwrap()).await.expect(StatusCode::OK);
    }
    let stream = stage.request(Method::GET, "/v1/approvals/events").header("cookie", &first);
    let mut stream = Frames::of(stream.header("accept", "text/event-stream").send().await.unwrap());
    stream.frame().await.expect("it is open");

    let out = stage.request(Method::DELETE, "/v1/login").header("cookie", &first).send().await.unwrap();
    assert_eq!(out.status(), StatusCode::NO_CONTENT);
    for stage in [&stage, &other] {
        Answered::of(asked(stage, &first).send().await.unwrap()).await.problem(401, "unauthenticated");
        Answered::of(asked(stage, &second).send().await.unwrap()).await.expect(StatusCode::OK);
    }
    assert_eq!(stream.frame().await, None, "what it followed is told no more");
}

#[tokio::test]
async fn whoever_guesses_is_slowed_down_and_nobody_else() {
    let limits =
        holdpoint_server::Limits { requests_per_second: 1, requests_burst: 3, ..holdpoint_server::Limits::default() };
    let stage = Stage::with(Setting { tokens: tokens(), limits: Some(limits), ..Setting::default() }).await;
    let mut statuses = Vec::new();
    for _ in 0..6 {
        statuses.push(stage.get_as("a secret that nobody has", "/v1/runs").await.status.as_u16());
    }
    assert_eq!((statuses[0], statuses[5]), (401, 429), "{statuses:?}");
    // It is refused before anything of the body is read.
    let large = "x".repeat(5 << 20);
    let login = |client: &reqwest::Client, body: String| {
        let request = client.post(format!("{}/v1/login", stage.base)).header("content-type", "application/json");
        request.body(body).send()
    };
    let refused = Answered::of(login(&stage.client, large.clone()).await.unwrap()).await;
    assert!(refused.headers.contains_key("retry-after"));
    refused.problem(429, "too_many_requests");
    // Who has a token is let in from there all the same, and others come from elsewhere.
    stage.get_as(ADMIN, "/v1/agents").await.expect(StatusCode::OK);
    let elsewhere = reqwest::Client::builder().local_address(std::net::IpAddr::from([127, 0, 0, 9])).build().unwrap();
    let body = json!({"token": ADMIN}).to_string();
    Answered::of(login(&elsewhere, body).await.unwrap()).await.expect(StatusCode::OK);
    let answered = Answered::of(login(&elsewhere, "x".repeat(9 << 10)).await.unwrap()).await;
    answered.problem(413, "body_too_large");
}

#[tokio::test]
async fn a_request_says_once_who_sends_it() {
    let stage = Stage::guarded().await;
    let twice = stage.request(Method::GET, "/v1/runs").header("authorization", format!("Bearer {ADMIN}"));
    let twice = twice.header("authorization", "Bearer other").send().await.unwrap();
    Answered::of(twice).await.problem(400, "invalid_request");
    let basic = stage.request(Method::GET, "/v1/runs").basic_auth("boss", Some(ADMIN)).send().await.unwrap();
    let refused = Answered::of(basic).await;
    assert_eq!(refused.headers["www-authenticate"], "Bearer");
    refused.problem(401, "unauthenticated");
}

#[tokio::test]
async fn whoever_asks_is_told_who_they_are() {
    let stage = Stage::guarded().await;
    stage.get("/v1/login").await.problem(401, "unauthenticated");
    let program = stage.get_as(FINANCE, "/v1/login").await.expect(StatusCode::OK);
    assert_eq!((&program["csrf_token"], &program["expires_at"]), (&json!(null), &json!(null)));
    let answered = stage.post("/v1/login", json!({"token": ADMIN})).await;
    let cookie = answered.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let login = answered.expect(StatusCode::OK);
    // A page that is loaded again finds what it needs to go on.
    let again = stage.request(Method::GET, "/v1/login").header("cookie", &cookie).send().await.unwrap();
    let again = Answered::of(again).await.expect(StatusCode::OK);
    for field in ["name", "tenant", "roles", "approves_as", "csrf_token", "expires_at"] {
        assert_eq!(again[field], login[field], "{field}");
    }
    let local = Stage::local().await.get("/v1/login").await.expect(StatusCode::OK);
    assert_eq!((&local["name"], &local["tenant"], &local["csrf_token"]), (&json!("local"), &json!(null), &json!(null)));
}

#[tokio::test]
async fn pages_come_with_a_strict_policy_and_are_not_sent_twice() {
    let stage = Stage::guarded().await;
    let page = stage.get("/").await;
    assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
    let policy = page.headers["content-security-policy"].to_str().unwrap().to_owned();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe"), "{policy}");
    // What the page asks for is kept for good: its address changes with any of the files.
    let begins = page.text.find("/console/").unwrap();
    let address = &page.text[begins..begins + page.text[begins..].find("/icon.svg").unwrap()];
    assert_eq!(address.len(), "/console/0123456789abcdef".len(), "{}", page.text);
    let kept = stage.get(&format!("{address}/app.js")).await;
    assert_eq!(kept.headers["cache-control"], "public, max-age=31536000, immutable");
    let old = stage.get("/console/0000000000000000/app.js").await;
    assert_eq!(old.headers["cache-control"], "no-cache");
    stage.get(&format!("{address}/nothing.js")).await.problem(404, "not_found");
    let script = stage.get("/console/app.js").await;
    assert_eq!(script.headers["content-type"], "text/javascript; charset=utf-8");
    assert_eq!(script.headers["cache-control"], "no-cache");
    let tag = script.headers["etag"].to_str().unwrap().to_owned();
    let known = stage.request(Method::GET, "/console/app.js").header("if-none-match", tag).send().await.unwrap();
    assert_eq!(known.status(), StatusCode::NOT_MODIFIED);
    // What was packed a client unpacks by itself, and takes the header away.
    assert_eq!(script.headers["vary"], "accept-encoding");
    stage.get("/console/nothing.js").await.problem(404, "not_found");
    stage.get("/console/..%2FCargo.toml").await.problem(404, "not_found");
}
