//! The server itself.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use holdpoint_api::{Health, KeyList, KeyView, Readiness, ReadyCheck};
use holdpoint_store::{RunFilter, StoreError, StoreTally};
use http::{HeaderValue, StatusCode, header};

use super::Problems;
use crate::app::App;
use crate::auth::Right;
use crate::limits::READY_TIMEOUT;
use crate::metrics::Levels;
use crate::params::Ask;
use crate::refusal::Answer;

/// What readiness writes, again and again.
const READY_SETTING: (&str, &str) = ("ready", "yes");
/// How long what became of that is told again.
const CHECKED_FOR: Duration = Duration::from_secs(1);
/// How long what the store counted is told again.
const COUNTED_FOR: Duration = Duration::from_secs(1);

/// Whether the process runs.
#[utoipa::path(
    get, path = "/healthz", tag = "server", operation_id = "health",
    responses((status = 200, description = "It does", body = Health), Problems),
)]
pub(super) async fn health() -> Json<Health> {
    Json(Health { status: "ok".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() })
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
    let checks = vec![check_store(&app).await, check_keeper(&app), check_worker(&app), check_running(&app)];
    let ok = checks.iter().all(|check| check.ok);
    let status = if ok { "ready" } else { "not_ready" };
    let code = if ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, Json(Readiness { status: status.to_owned(), checks })).into_response()
}

/// What is wrong with the store, at most once in a while whoever asks.
async fn check_store(app: &App) -> ReadyCheck {
    let mut checked = app.checked.lock().await;
    let told = checked.as_ref().filter(|(at, _)| at.elapsed() < CHECKED_FOR);
    let detail = match told {
        Some((_, detail)) => detail.clone(),
        None => {
            let detail = try_store(app).await;
            *checked = Some((Instant::now(), detail.clone()));
            detail
        }
    };
    ReadyCheck { name: "store".to_owned(), ok: detail.is_none(), detail }
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

fn check_keeper(app: &App) -> ReadyCheck {
    let abandoned = app.abandoned.load(Ordering::Acquire);
    let detail = abandoned.then(|| "nobody looks after runs any more; hint: restart the server".to_owned());
    ReadyCheck { name: "keeper".to_owned(), ok: !abandoned, detail }
}

fn check_worker(app: &App) -> ReadyCheck {
    let ended = app.worker_ended.load(Ordering::Acquire);
    let detail = ended.then(|| "the worker of this process ended; hint: restart the server".to_owned());
    ReadyCheck { name: "worker".to_owned(), ok: !ended, detail }
}

fn check_running(app: &App) -> ReadyCheck {
    let stopping = app.stopping.is_cancelled();
    let detail = stopping.then(|| "the server stops".to_owned());
    ReadyCheck { name: "running".to_owned(), ok: !stopping, detail }
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
    let levels = levels(&ask.app).await;
    let mut response = ask.app.metrics.encode(levels).into_response();
    let kind = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

async fn levels(app: &App) -> Levels {
    let stored = tokio::time::timeout(READY_TIMEOUT, tally(app)).await.ok().and_then(Result::ok).map(|tally| {
        let asked = tally.question_oldest;
        let oldest = asked.map(|asked| Duration::from_millis(app.store.runs.now().ms_since(asked)));
        (tally, oldest.unwrap_or_default())
    });
    Levels { stored, streams: app.streams.len(), driven: app.driving.len() }
}

/// What the store counts, at most once in a while whoever asks.
async fn tally(app: &App) -> Result<StoreTally, StoreError> {
    let mut counted = app.counted.lock().await;
    if let Some((at, tally)) = &*counted
        && at.elapsed() < COUNTED_FOR
    {
        return Ok(*tally);
    }
    let tally = app.store.state.counts().await?;
    *counted = Some((Instant::now(), tally));
    Ok(tally)
}
