//! Around everything: the request's id, the access log, metrics, and what becomes of a panic.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use http::{HeaderMap, HeaderName, HeaderValue};
use tracing::Instrument;

use crate::app::App;
use crate::metrics::known;
use crate::refusal::{Refusal, Shown};
use crate::telemetry;

/// The header that names a request.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// How long a client's own name for a request may be.
const REQUEST_ID_BYTES_MAX: usize = 128;
/// What routes are called that do not exist: what clients sent is no name for a metric.
const NO_ROUTE: &str = "(none)";

/// Names the request, runs it, and writes one line about it. Never a body, a query or a header of it.
pub(crate) async fn outer(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request_id(request.headers());
    let route = request.extensions().get::<MatchedPath>().map_or(NO_ROUTE, MatchedPath::as_str).to_owned();
    let method = known(request.method()).to_owned();
    let span = tracing::info_span!(
        target: "holdpoint",
        "http.request",
        request_id = %id,
        http.request.method = %method,
        http.route = %route,
        http.response.status_code = tracing::field::Empty,
        otel.name = format!("{method} {route}"),
        otel.kind = "server",
    );
    if let Some(parent) = request.headers().get("traceparent").and_then(|value| value.to_str().ok()) {
        telemetry::join(&span, parent);
    }
    let running = AssertUnwindSafe(next.run(request)).catch_unwind().instrument(span.clone());
    let mut response = match running.await {
        Ok(response) => response,
        Err(_) => Refusal::internal("a route panicked").into_response(),
    };
    sign(&mut response, &id);
    let status = response.status().as_u16();
    span.record("http.response.status_code", status);
    let elapsed = started.elapsed();
    app.metrics.request(&method, &route, status, elapsed);
    let duration_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    tracing::info!(target: "holdpoint::access", request_id = %id, %method, route, status, duration_ms, "request");
    response
}

/// What the client calls it, if that is a name; else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let sent = headers.get(&REQUEST_ID).and_then(|value| value.to_str().ok());
    let plain = |text: &&str| {
        let letters = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
        !text.is_empty() && text.len() <= REQUEST_ID_BYTES_MAX && letters
    };
    sent.filter(plain).map_or_else(|| uuid::Uuid::now_v7().to_string(), str::to_owned)
}

/// Writes the request's id, and into a problem too; and what keeps browsers from guessing.
fn sign(response: &mut Response, id: &str) {
    if let Some(Shown(mut problem)) = response.extensions_mut().remove::<Shown>() {
        problem.request_id = Some(id.to_owned());
        *response.body_mut() = Body::from(serde_json::to_vec(&problem).unwrap_or_default());
        response.headers_mut().remove(http::header::CONTENT_LENGTH);
    }
    if let Ok(value) = HeaderValue::from_str(id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response.headers_mut().insert(http::header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response.headers_mut().entry(http::header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}
