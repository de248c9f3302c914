//! What a collector gets: one trace over request, run, worker and resume, with the names of the conventions, and no raw value.
#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

// A file of its own: a subscriber of one thread does not hear call sites that another thread saw first.
#[path = "http/stage.rs"]
#[allow(dead_code, reason = "another test uses the rest")]
mod stage;

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use bytes::Bytes;
use holdpoint_server::Otlp;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Kind;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use reqwest::{Method, StatusCode};
use serde_json::json;
use tracing_subscriber::layer::SubscriberExt;

use stage::{ADMIN, Setting, Stage, WORKER, allow, tokens};

type Received = Arc<Mutex<Vec<Bytes>>>;

async fn collector() -> (String, Received) {
    let received = Received::default();
    let take = |State(received): State<Received>, body: Bytes| async move { received.lock().unwrap().push(body) };
    let router = Router::new().route("/v1/traces", post(take)).with_state(Arc::clone(&received));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    // It must answer while the test's own thread waits for the last spans.
    std::thread::spawn({
        let listener = listener.into_std().unwrap();
        move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                axum::serve(listener, router).await.unwrap();
            });
        }
    });
    (address, received)
}

fn spans(received: &Received) -> Vec<Span> {
    let requests = received.lock().unwrap();
    let decoded = requests.iter().map(|body| ExportTraceServiceRequest::decode(body.clone()).unwrap());
    let scopes = decoded.flat_map(|request| request.resource_spans).flat_map(|resource| resource.scope_spans);
    scopes.flat_map(|scope| scope.spans).collect()
}

fn attribute(span: &Span, name: &str) -> Option<String> {
    let value = span.attributes.iter().find(|attribute| attribute.key == name)?.value.clone()?;
    match value.value? {
        Kind::StringValue(text) => Some(text),
        Kind::IntValue(number) => Some(number.to_string()),
        other => Some(format!("{other:?}")),
    }
}

// One test: a subscriber of one thread must not be in the way of another's.
#[tokio::test]
async fn one_trace_reaches_over_request_worker_and_resume() {
    a_resumed_run().await;
    a_run_of_a_worker().await;
}

/// A client without a trace of its own, with a key; its call is done by a worker, and the keeper goes on.
async fn a_run_of_a_worker() {
    let (address, received) = collector().await;
    let otlp = Otlp::start(&address).unwrap();
    let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(otlp.layer()));
    let stage = Stage::with(Setting { executor: Some("defer_all"), ..Setting::default() }).await;
    let body = json!({"agent": "support", "input": "use echo {}"});
    let request = stage.request(Method::POST, "/v1/runs").header("idempotency-key", "k").json(&body);
    let started = stage::Answered::of(request.send().await.unwrap()).await.expect(StatusCode::CREATED);
    let events = stage.request(Method::GET, &format!("/v1/runs/{}/events", started["id"].as_str().unwrap()));
    let told = events.header("accept", "text/event-stream").send().await.unwrap().text().await.unwrap();
    assert!(told.contains("end_turn"), "{told}");
    stage.stop().await;
    drop(guard);
    tokio::task::spawn_blocking(move || otlp.shutdown()).await.unwrap();

    let spans = spans(&received);
    let trace = |name: &str| {
        let traces: Vec<_> = spans.iter().filter(|span| span.name == name).map(|span| span.trace_id.clone()).collect();
        assert!(!traces.is_empty(), "{name}");
        assert!(traces.iter().all(|trace| *trace == traces[0]), "{name}");
        traces[0].clone()
    };
    let request = trace("POST /v1/runs");
    assert_eq!(trace("invoke_agent support"), request, "the run is in the trace of its request");
    assert_eq!(trace("execute_tool echo"), request, "so is what its worker did");
    let tools: Vec<_> = spans.iter().filter(|span| span.name == "execute_tool echo").collect();
    let runs: Vec<_> = spans.iter().filter(|span| span.name == "invoke_agent support").collect();
    assert_eq!((tools.len(), runs.len()), (1, 2), "a worker did it between two segments");
}

async fn a_resumed_run() {
    let (address, received) = collector().await;
    let otlp = Otlp::start(&address).unwrap();
    let subscriber = tracing_subscriber::registry().with(otlp.layer());
    let guard = tracing::subscriber::set_default(subscriber);
    let stage = Stage::with(Setting { tokens: tokens(), without_worker: true, ..Setting::default() }).await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let body = json!({"agent": "support", "input": "use ask_first {\"x\":\"canary-argument\"}"});
    let request = stage.request(Method::POST, "/v1/runs?wait_ms=20000").bearer_auth(ADMIN).json(&body);
    let started = request.header("traceparent", format!("00-{trace}-00f067aa0ba902b7-01")).send().await.unwrap();
    let paused = stage::Answered::of(started).await.expect(StatusCode::CREATED);
    // Somebody else answers, in a trace of their own.
    let path = format!("/v1/runs/{}/answers?wait_ms=20000", paused["id"].as_str().unwrap());
    stage.post_as(ADMIN, &path, allow(&paused)).await.expect(StatusCode::OK);
    stage.post_as(WORKER, "/v1/tasks/lease", json!({})).await.expect(StatusCode::OK);
    stage.stop().await;
    drop(guard);
    tokio::task::spawn_blocking(move || otlp.shutdown()).await.unwrap();

    let spans = spans(&received);
    let named = |name: &str| spans.iter().filter(|span| span.name == name).collect::<Vec<_>>();
    let in_trace = |span: &&Span| span.trace_id.iter().map(|byte| format!("{byte:02x}")).collect::<String>() == trace;
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    let agents = named("invoke_agent support");
    assert_eq!(agents.len(), 2, "a segment each: {names:?}");
    assert!(agents.iter().all(in_trace), "the resume is in the trace in which the run began");
    let http = named("POST /v1/runs");
    assert!(http.iter().all(in_trace));
    assert_eq!(agents[0].parent_span_id, http[0].span_id);
    let chats = named("chat obedient");
    assert_eq!((chats.len(), chats.iter().all(in_trace)), (2, true));
    let tools = named("execute_tool ask_first");
    assert_eq!((tools.len(), tools.iter().all(in_trace)), (1, true));
    for (span, name, value) in [
        (agents[0], "gen_ai.operation.name", "invoke_agent"),
        (agents[0], "gen_ai.agent.name", "support"),
        (chats[0], "gen_ai.operation.name", "chat"),
        (chats[0], "gen_ai.request.model", "obedient"),
        (tools[0], "gen_ai.operation.name", "execute_tool"),
        (tools[0], "gen_ai.tool.name", "ask_first"),
        (tools[0], "gen_ai.tool.call.id", "tc_1"),
        (http[0], "http.response.status_code", "201"),
    ] {
        assert_eq!(attribute(span, name).as_deref(), Some(value), "{name}");
    }
    let all: Vec<u8> = received.lock().unwrap().iter().flat_map(|body| body.to_vec()).collect();
    let all = String::from_utf8_lossy(&all);
    assert!(!all.contains("canary") && !all.contains(ADMIN));
}

#[test]
fn an_address_that_is_none_is_refused() {
    for address in ["", "collector", "ftp://x", "http://"] {
        assert!(Otlp::start(address).is_err(), "{address}");
    }
}
