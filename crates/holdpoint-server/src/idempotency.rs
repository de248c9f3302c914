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
use crate::follow::Streaming;
use crate::limits::IDEMPOTENCY_KEY_BYTES_MAX;
use crate::params::Wants;
use crate::refusal::{Answer, Refusal};
use crate::seal::Purpose;

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
    // Nobody without the server's key can guess what comes of a request.
    let sealed = format!("{}\n{}", reservation.key.to_text(), reservation.digest).into_bytes();
    let name: Arc<str> = app.sealer.tag_text(Purpose::REQUEST, &sealed).into();
    let keyed = Keyed { moves: Moves::of(&parts), since: Instant::now(), app, caller, reservation, name };
    match keyed.app.store.state.reserve(&keyed.reservation).await? {
        Reserved::New => {}
        Reserved::Again => {
            if let Some(accepted) = keyed.accepted().await {
                return Ok(keyed.keep(accepted).await);
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
        Reserved::Kept(kept) => return keyed.replay(&kept),
    }
    let tag = keyed.app.sealer.tag(Purpose::RUN_ID, &sealed);
    let id = std::array::from_fn(|at| tag[at]);
    parts.extensions.insert(DerivedRun(RunId::new(uuid::Builder::from_custom_bytes(id).into_uuid().to_string())));
    parts.extensions.insert(RequestName(Arc::clone(&keyed.name)));
    let request = Request::from_parts(parts, Body::from(bytes));
    let driving = keyed.app.driving.clone();
    // Whoever goes away now must find the response when they come again.
    let doing = async move {
        let mut response = next.run(request).await;
        if !response.status().is_success()
            && let Some(accepted) = keyed.accepted().await
        {
            response = accepted;
        }
        Ok(keyed.keep(response).await)
    };
    driving.see_through(doing.instrument(tracing::Span::current())).await
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
}

fn reservation(app: &App, parts: &Parts, caller: &Caller, key: String, bytes: &Bytes) -> Reservation {
    // How long to wait is no part of what is asked for. A digest, because a route may have any length.
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
        key: ResponseKey {
            sender: sender.into(),
            route: Digest(sha2::Sha256::digest(route).into()).to_string().into(),
            key: key.into(),
        },
        digest: Digest(hash.finalize().into()),
        reserved_ms: u64::try_from(app.lease().as_millis()).unwrap_or(u64::MAX),
    }
}

/// A request with a key.
struct Keyed {
    app: Arc<App>,
    caller: Caller,
    reservation: Reservation,
    /// When it was reserved.
    since: Instant,
    name: Arc<str>,
    moves: Option<Moves>,
}

impl Keyed {
    /// What to answer if the run accepted this request before, on a server that died before it could say so.
    async fn accepted(&self) -> Option<Response> {
        let Moves { run: id, wants } = self.moves.as_ref()?;
        let records = self.app.store.runs.load(&self.caller.scope, id, Revision(0)).await.ok()?;
        let mut run = new_run(id.clone());
        let mut found = None;
        for record in records {
            let entry = decode_event(&record.body).ok()?;
            run.apply(&entry);
            if entry.event.request().is_some_and(|request| **request == *self.name) {
                found = Some(record.seq);
            }
        }
        let after = Revision(found?.0.saturating_sub(1));
        let response = match wants {
            Wants::Json => Json(self.caller.run_view(&run)).into_response(),
            Wants::Events if self.caller.sees(&run) => self.stream(id.clone(), after).ok()?,
            Wants::Events => return None,
        };
        Some(replayed(response))
    }

    fn stream(&self, run: RunId, after: Revision) -> Answer<Response> {
        let permit = self.app.streams.open(&self.caller.name)?;
        Ok(Streaming { run, after, live: None, permit }.segment(&self.app, &self.caller))
    }

    /// Keeps a response that says that something was done. Of anything else nothing came, so it may be tried again.
    async fn keep(&self, response: Response) -> Response {
        if !response.status().is_success() {
            return match self.forget().await {
                Ok(()) => response,
                Err(error) => Refusal::from(error).into_response(),
            };
        }
        let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
        let mut kept = Kept {
            v: 1,
            status: response.status().as_u16(),
            location: location.map(str::to_owned),
            body: None,
            streamed: response.extensions().get().map(|Streamed { run, after }| (run.as_str().to_owned(), after.0)),
        };
        let mut response = response;
        if kept.streamed.is_none() {
            if !fits(response.body()) {
                // It was done, and the client is told so. Sent again it is done again or refused as any other request.
                tracing::warn!(target: "holdpoint", "a response is too large to be kept");
                let _ = self.forget().await;
                return response;
            }
            let body = std::mem::take(response.body_mut());
            let Ok(bytes) = axum::body::to_bytes(body, RESPONSE_BYTES_MAX).await else {
                return Refusal::internal("a response that cannot be kept").into_response();
            };
            kept.body = String::from_utf8(bytes.to_vec()).ok();
            *response.body_mut() = Body::from(bytes);
        }
        let text = serde_json::to_vec(&kept).unwrap_or_default();
        if let Err(error) = self.app.store.state.keep(&self.reservation.key, text).await {
            // It was done, and the client is told so. Sent again it is done again or refused as any other request.
            tracing::warn!(target: "holdpoint", code = %error.code(), "a response could not be kept");
        }
        response
    }

    /// Lets the same request be done again, unless somebody else may be doing it by now: what took too long reserves nothing
    /// any more.
    async fn forget(&self) -> Result<(), StoreError> {
        // The store counts with a clock of its own.
        if self.since.elapsed() >= Duration::from_millis(self.reservation.reserved_ms / 10 * 9) {
            return Ok(());
        }
        self.app.store.state.forget(&self.reservation.key).await
    }

    fn replay(&self, kept: &[u8]) -> Answer<Response> {
        let kept: Kept = serde_json::from_slice(kept).map_err(|_| Refusal::internal("a kept response"))?;
        let mut response = match kept.streamed {
            Some((run, after)) => self.stream(RunId::new(run), Revision(after))?,
            None => {
                let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
                (json, kept.body.unwrap_or_default()).into_response()
            }
        };
        *response.status_mut() = StatusCode::from_u16(kept.status).unwrap_or(StatusCode::OK);
        if let Some(location) = kept.location.and_then(|location| HeaderValue::from_str(&location).ok()) {
            response.headers_mut().insert(header::LOCATION, location);
        }
        Ok(replayed(response))
    }
}

fn replayed(mut response: Response) -> Response {
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    response
}

/// Whether a body is known to be small enough to be kept.
fn fits(body: &Body) -> bool {
    let most = u64::try_from(RESPONSE_BYTES_MAX).unwrap_or(u64::MAX);
    HttpBody::size_hint(body).upper().is_some_and(|bytes| bytes <= most)
}
