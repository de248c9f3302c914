//! `Idempotency-Key`: the same request again gets the first response again, and does nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use holdpoint::RunId;
use holdpoint_api::ApiCode;
use holdpoint_codec::{decode_event, new_run};
use holdpoint_core::{CallKey, Digest, Revision};
use holdpoint_store::{RESPONSE_BYTES_MAX, Reservation, Reserved, ResponseKey, StoreError};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde::{Deserialize, Serialize};
use sha2::Digest as _;
use tracing::Instrument;

use crate::app::App;
use crate::auth::Caller;
use crate::body::read_all;
use crate::follow::{Follower, Place, Until};
use crate::limits::IDEMPOTENCY_KEY_BYTES_MAX;
use crate::params::Wants;
use crate::refusal::{Answer, Refusal};
use crate::seal::Purpose;
use crate::sse;
use crate::view::run_view_for;

const KEY: &str = "idempotency-key";
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The run that a request with a key starts: the same whenever it is sent, so that a crash in the middle makes no second.
#[derive(Clone, Debug)]
pub(crate) struct DerivedRun(pub(crate) RunId);

/// Names a request with a key, the same whenever it is sent. A run that accepts something keeps the name of the request that
/// brought it, so that the server can tell an accepted request whose response got lost from one that is rejected.
#[derive(Clone, Debug)]
pub(crate) struct RequestName(pub(crate) Arc<str>);

/// Says that an answer streams a segment of a run, which can be streamed again.
#[derive(Clone, Debug)]
pub(crate) struct Streamed {
    pub(crate) run: RunId,
    pub(crate) after: Revision,
}

/// A response as it is kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    v: u32,
    status: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    location: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// The run and the number of the event before the first that was streamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    streamed: Option<(String, u64)>,
}

/// Around every route: requests without a key pass.
pub(crate) async fn once(State(app): State<Arc<App>>, request: Request, next: Next) -> Answer<Response> {
    let Some(key) = key_of(request.method(), request.headers())? else { return Ok(next.run(request).await) };
    let (mut parts, body) = request.into_parts();
    let caller = parts.extensions.get::<Caller>().cloned();
    let caller = caller.ok_or_else(|| Refusal::internal("a key without a caller"))?;
    let bytes = read_all(&parts.headers, body, app.limits.body_bytes_max).await?;
    let reservation = reservation(&app, &parts, &caller, key, &bytes);
    let since = Instant::now();
    match app.store.state.reserve(&reservation).await? {
        Reserved::New => {}
        Reserved::Again => {
            if let Some(moves) = Moves::of(&parts)
                && let Some(accepted) = moves.accepted(&app, &caller, &request_name(&app, &reservation)).await
            {
                return Ok(keep(&app, &reservation, since, accepted).await);
            }
        }
        Reserved::InProgress => {
            let detail = "the first request with this key is still under way";
            return Err(Refusal::new(ApiCode::IdempotencyInProgress, detail).retry_after(1));
        }
        Reserved::Mismatch => {
            let detail = "this key was used for a request with another body; hint: use a new key";
            return Err(Refusal::new(ApiCode::IdempotencyMismatch, detail));
        }
        Reserved::Kept(kept) => return replay(&app, &caller, &kept),
    }
    let tag = app.sealer.tag(Purpose::RunId, &name_of(&reservation));
    let mut id = [0; 16];
    id.copy_from_slice(&tag[..16]);
    parts.extensions.insert(DerivedRun(RunId::new(uuid::Builder::from_custom_bytes(id).into_uuid().to_string())));
    let name = request_name(&app, &reservation);
    parts.extensions.insert(RequestName(Arc::clone(&name)));
    let moves = Moves::of(&parts);
    let request = Request::from_parts(parts, Body::from(bytes));
    // Whoever goes away now must find the response when they come again.
    let doing = {
        let app = Arc::clone(&app);
        async move {
            let mut response = next.run(request).await;
            if !response.status().is_success()
                && let Some(moves) = moves
                && let Some(accepted) = moves.accepted(&app, &caller, &name).await
            {
                response = accepted;
            }
            Ok(keep(&app, &reservation, since, response).await)
        }
    };
    let doing = doing.instrument(tracing::Span::current());
    app.driving.see_through(doing).await
}

fn key_of(method: &Method, headers: &HeaderMap) -> Answer<Option<String>> {
    let mut sent = headers.get_all(KEY).iter();
    let (Some(value), true) = (sent.next(), *method == Method::POST) else { return Ok(None) };
    let usable = value.to_str().ok().filter(|text| {
        let plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        plain && !text.is_empty() && text.len() <= IDEMPOTENCY_KEY_BYTES_MAX
    });
    match (usable, sent.next()) {
        (Some(key), None) => Ok(Some(key.to_owned())),
        _ => {
            let detail = format!("`Idempotency-Key` must be one header of 1 to {IDEMPOTENCY_KEY_BYTES_MAX} letters");
            Err(Refusal::new(ApiCode::InvalidIdempotencyKey, detail))
        }
    }
}

/// A request that moves a run which is there already.
struct Moves {
    run: RunId,
    wants: Wants,
}

impl Moves {
    fn of(parts: &Parts) -> Option<Self> {
        let path = parts.uri.path();
        let run = match path.strip_prefix("/v1/runs/") {
            Some(rest) => RunId::new(rest.split_once('/')?.0),
            None => CallKey::parse(path.strip_prefix("/v1/tasks/")?.strip_suffix("/requeue")?)?.run,
        };
        Some(Self { run, wants: Wants::of(&parts.headers) })
    }

    /// What to answer if the run accepted this request before, on a server that died before it could say so.
    async fn accepted(&self, app: &Arc<App>, caller: &Caller, name: &str) -> Option<Response> {
        let records = app.store.runs.load(&caller.scope, &self.run, Revision(0)).await.ok()?;
        let mut run = new_run(self.run.clone());
        let mut found = None;
        for record in records {
            let entry = decode_event(&record.body).ok()?;
            run.apply(&entry);
            if entry.event.request().is_some_and(|request| **request == *name) {
                found = Some(record.seq);
            }
        }
        let after = Revision(found?.0.saturating_sub(1));
        let mut response = match self.wants {
            Wants::Json => Json(run_view_for(caller, &run)).into_response(),
            Wants::Events if caller.sees(&run) => streamed(app, caller, &self.run, after).ok()?,
            Wants::Events => return None,
        };
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
        Some(response)
    }
}

fn streamed(app: &Arc<App>, caller: &Caller, run: &RunId, after: Revision) -> Answer<Response> {
    let permit = app.streams.open(&caller.name)?;
    let place = Place { scope: &caller.scope, run };
    let follower = Follower::new(app, place, after, Until::SegmentEnds, permit);
    let mut response = sse::response(app, caller, follower.frames());
    response.extensions_mut().insert(Streamed { run: run.clone(), after });
    Ok(response)
}

fn reservation(app: &App, parts: &Parts, caller: &Caller, key: String, bytes: &Bytes) -> Reservation {
    // How long to wait is no part of what is asked for.
    let route = parts.uri.path();
    let tenant = caller.scope.tenant().unwrap_or_default();
    // The length first, so that no two senders have one name.
    let sender = format!("{}:{tenant}/{}", tenant.len(), caller.name);
    let mut hash = sha2::Sha256::new();
    for header in [header::ACCEPT, header::CONTENT_TYPE] {
        hash.update(parts.headers.get(header).map(HeaderValue::as_bytes).unwrap_or_default());
        hash.update(b"\n");
    }
    hash.update(bytes);
    Reservation {
        key: ResponseKey { sender: sender.into(), route: short(route).into(), key: key.into() },
        digest: Digest(hash.finalize().into()),
        reserved_ms: u64::try_from(app.lease().as_millis()).unwrap_or(u64::MAX),
    }
}

/// A route of any length in a few letters.
fn short(route: &str) -> String {
    let digest: [u8; 32] = sha2::Sha256::digest(route.as_bytes()).into();
    Digest(digest).to_string()
}

fn request_name(app: &App, reservation: &Reservation) -> Arc<str> {
    app.sealer.tag_text(Purpose::Request, &name_of(reservation)).into()
}

/// What is sealed for a request: nobody without the server's key can guess what comes of it.
fn name_of(reservation: &Reservation) -> Vec<u8> {
    format!("{}\n{}", reservation.key.to_text(), reservation.digest).into_bytes()
}

/// Keeps a response that says that something was done. Of anything else nothing came, so it may be tried again.
async fn keep(app: &App, reservation: &Reservation, since: Instant, response: Response) -> Response {
    let key = &reservation.key;
    if !response.status().is_success() {
        return match forget(app, reservation, since).await {
            Ok(()) => response,
            Err(error) => Refusal::from(error).into_response(),
        };
    }
    let status = response.status().as_u16();
    let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let streamed = response.extensions().get::<Streamed>().cloned();
    if streamed.is_none() && !fits(response.body()) {
        // It was done, and the client is told so. Sent again it is done again or refused as any other request.
        tracing::warn!(target: "holdpoint", "a response is too large to be kept");
        let _ = forget(app, reservation, since).await;
        return response;
    }
    let (kept, response) = match streamed {
        Some(Streamed { run, after }) => {
            let streamed = Some((run.as_str().to_owned(), after.0));
            (Kept { v: 1, status, location, body: None, streamed }, response)
        }
        None => {
            let (parts, body) = response.into_parts();
            let Ok(bytes) = axum::body::to_bytes(body, RESPONSE_BYTES_MAX).await else {
                return Refusal::internal("a response that cannot be kept").into_response();
            };
            let body = String::from_utf8(bytes.to_vec()).ok();
            (Kept { v: 1, status, location, body, streamed: None }, Response::from_parts(parts, Body::from(bytes)))
        }
    };
    let text = serde_json::to_vec(&kept).unwrap_or_default();
    if let Err(error) = app.store.state.keep(key, text).await {
        // It was done, and the client is told so. Sent again it is done again or refused as any other request.
        tracing::warn!(target: "holdpoint", code = %error.code(), "a response could not be kept");
    }
    response
}

/// Lets the same request be done again, unless somebody else may be doing it by now: what took too long reserves nothing
/// any more.
async fn forget(app: &App, reservation: &Reservation, since: Instant) -> Result<(), StoreError> {
    // The store counts with a clock of its own.
    if since.elapsed() >= Duration::from_millis(reservation.reserved_ms / 10 * 9) {
        return Ok(());
    }
    app.store.state.forget(&reservation.key).await
}

/// Whether a body is known to be small enough to be kept.
fn fits(body: &Body) -> bool {
    let most = u64::try_from(RESPONSE_BYTES_MAX).unwrap_or(u64::MAX);
    HttpBody::size_hint(body).upper().is_some_and(|bytes| bytes <= most)
}

fn replay(app: &Arc<App>, caller: &Caller, kept: &[u8]) -> Answer<Response> {
    let kept: Kept = serde_json::from_slice(kept).map_err(|_| Refusal::internal("a kept response"))?;
    let mut response = match &kept.streamed {
        Some((run, after)) => streamed(app, caller, &RunId::new(run.as_str()), Revision(*after))?,
        None => {
            let mut response = kept.body.clone().unwrap_or_default().into_response();
            let json = HeaderValue::from_static("application/json");
            response.headers_mut().insert(header::CONTENT_TYPE, json);
            response
        }
    };
    *response.status_mut() = StatusCode::from_u16(kept.status).unwrap_or(StatusCode::OK);
    if let Some(location) = kept.location.and_then(|location| HeaderValue::from_str(&location).ok()) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    Ok(response)
}
