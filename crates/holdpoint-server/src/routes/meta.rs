//! The server itself.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use holdpoint_api::{Health, HealthStatus, KeyList, KeyView, Readiness, ReadyCheck, ReadyStatus};
use holdpoint_store::RunFilter;
use http::{StatusCode, header};
use tokio::sync::Mutex;

use super::Problems;
use crate::app::App;
use crate::auth::Right;
use crate::limits::READY_TIMEOUT;
use crate::params::Ask;
use crate::refusal::Answer;

/// What readiness writes, again and again.
const READY_SETTING: (&str, &str) = ("ready", "yes");
/// How long what the store said is told again.
const TOLD_FOR: Duration = Duration::from_secs(1);

/// Whether the process runs.
#[utoipa::path(
    get, path = "/healthz", tag = "server", operation_id = "health",
    responses((status = 200, description = "It does", body = Health), Problems),
)]
pub(super) async fn health() -> Json<Health> {
    Json(Health { status: HealthStatus::Ok, version: env!("CARGO_PKG_VERSION").to_owned() })
}

/// Whether the server can do its work: the store can be written, runs are looked after, and it does not stop.
#[utoipa::path(
    get, path = "/readyz", tag = "server", operation_id = "ready",
    responses(
        (status = 200, description = "It can", body = Readiness),
        (status = 503, description = "It cannot: `checks` says why", body = Readiness),
        Problems,
    ),
)]
pub(super) async fn ready(State(app): State<Arc<App>>) -> Response {
    let abandoned = "nobody looks after runs any more; hint: restart the server";
    let worker_ended = "the worker of this process ended; hint: restart the server";
    let check = |name: &str, problem: Option<String>| ReadyCheck {
        name: name.to_owned(),
        ok: problem.is_none(),
        detail: problem,
    };
    let checks = vec![
        check("store", told(&app.checked, try_store(&app)).await),
        check("keeper", app.abandoned.load(Ordering::Acquire).then(|| abandoned.to_owned())),
        check("worker", app.worker_ended.load(Ordering::Acquire).then(|| worker_ended.to_owned())),
        check("running", app.stopping.is_cancelled().then(|| "the server stops".to_owned())),
    ];
    let (code, status) = match checks.iter().all(|check| check.ok) {
        true => (StatusCode::OK, ReadyStatus::Ready),
        false => (StatusCode::SERVICE_UNAVAILABLE, ReadyStatus::NotReady),
    };
    (code, Json(Readiness { status, checks })).into_response()
}

/// What is asked of the store at most once in a while, whoever wants to know.
async fn told<T: Clone>(last: &Mutex<Option<(Instant, T)>>, ask: impl Future<Output = T>) -> T {
    let mut last = last.lock().await;
    if let Some((at, known)) = &*last
        && at.elapsed() < TOLD_FOR
    {
        return known.clone();
    }
    let known = ask.await;
    *last = Some((Instant::now(), known.clone()));
    known
}

/// Reads something that needs the connection, the tables and their columns, and writes something small: a store that only
/// answers, on a full disk or behind a failover, does no work.
async fn try_store(app: &App) -> Option<String> {
    let filter = RunFilter { limit: Some(1), ..RunFilter::default() };
    let (name, value) = READY_SETTING;
    let tried = async {
        app.store.runs.list(&filter).await?;
        app.store.state.first_setting(name, value).await
    };
    match tokio::time::timeout(READY_TIMEOUT, tried).await {
        Ok(Ok(_)) => None,
        Ok(Err(error)) => Some(format!("{}: {}", error.code(), error.hint().unwrap_or("the store failed"))),
        Err(_) => Some("the store does not answer in time".to_owned()),
    }
}

/// The public keys by which receipts are verified.
#[utoipa::path(
    get, path = "/v1/keys", tag = "server", operation_id = "list_keys",
    responses((status = 200, description = "The keys", body = KeyList), Problems),
)]
pub(super) async fn keys(ask: Ask) -> Answer<Json<KeyList>> {
    ask.caller.need(Right::Look)?;
    let keys = ask.app.receipt_keys.iter();
    let keys = keys.map(|key| KeyView { id: key.id().as_str().to_owned(), public_key: key.to_text() });
    Ok(Json(KeyList { keys: keys.collect() }))
}

/// Numbers for Prometheus, of all tenants together: for admins only, where there are tokens.
///
/// While the store is out of reach, what only it knows is left out.
#[utoipa::path(
    get, path = "/metrics", tag = "server", operation_id = "metrics",
    responses((status = 200, description = "The numbers", content((String = "application/openmetrics-text"))), Problems),
)]
pub(super) async fn metrics(ask: Ask) -> Answer<Response> {
    ask.caller.need(Right::Administer)?;
    let app = &ask.app;
    let counts = async { tokio::time::timeout(READY_TIMEOUT, app.store.state.counts()).await.ok()?.ok() };
    let stored = told(&app.counted, counts).await.map(|tally| {
        let oldest = tally.question_oldest.map(|asked| app.store.runs.now().ms_since(asked));
        (tally, Duration::from_millis(oldest.unwrap_or_default()))
    });
    let numbers = app.metrics.encode(app.streams.len(), app.driving.len(), stored);
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], numbers).into_response())
}
