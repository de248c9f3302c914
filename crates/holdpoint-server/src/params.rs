//! What stands in the path, the query and the headers.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequestParts, Path, Query};
use holdpoint::RunId;
use holdpoint_api::ApiCode;
use holdpoint_core::{CallKey, GrantId};
use holdpoint_store::RUN_ID_BYTES_MAX;
use http::request::Parts;
use http::{HeaderMap, header};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use crate::app::App;
use crate::auth::Caller;
use crate::idempotency::{DerivedRun, RequestName};
use crate::limits::{ID_BYTES_MAX, LAST_EVENT_DIGITS_MAX, WAIT_MAX, WAIT_MS_MAX};
use crate::refusal::{Answer, Refusal};

/// A query that was read as `T`.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let detail = "the query has an unknown name, or a value that does not fit";
        let read = Query::<T>::from_request_parts(parts, state).await;
        read.map(|Query(read)| Params(read)).map_err(|_| Refusal::new(ApiCode::InvalidRequest, detail))
    }
}

/// The one id in a path.
pub(crate) struct Id(String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let Path(text) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|_| Refusal::field("id", "the id in the path is not text"))?;
        Ok(Id(text))
    }
}

impl Id {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, if it can be an id at all. One that no store would take is one that nobody has.
    fn plain(&self) -> Option<&str> {
        let odd = self.0.is_empty() || self.0.len() > ID_BYTES_MAX || self.0.chars().any(char::is_control);
        (!odd).then_some(&self.0)
    }

    /// As the id of a run.
    pub(crate) fn run(&self) -> Answer<RunId> {
        let text = self.plain().filter(|text| text.len() <= RUN_ID_BYTES_MAX);
        text.map(RunId::new).ok_or_else(Refusal::no_run)
    }

    /// As the id of a grant.
    pub(crate) fn grant(&self) -> Answer<GrantId> {
        self.plain().map(GrantId::new).ok_or_else(|| Refusal::not_found("grant"))
    }

    /// As the id of a task.
    pub(crate) fn task(&self) -> Answer<CallKey> {
        self.plain().and_then(CallKey::parse).ok_or_else(|| Refusal::not_found("task"))
    }
}

/// What the client wants back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    Json,
    Events,
}

impl Wants {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let mut accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let events = accepted.any(|line| {
            let mut kinds = line.split(',').filter_map(|item| item.split(';').next());
            kinds.any(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream"))
        });
        if events { Wants::Events } else { Wants::Json }
    }
}

/// Everything about a request but its body.
pub(crate) struct Ask {
    pub(crate) app: Arc<App>,
    pub(crate) caller: Caller,
    pub(crate) wants: Wants,
    /// `Prefer: wait=SECONDS`.
    prefers: Option<Duration>,
    /// The run that a repeated request would be about.
    pub(crate) derived: Option<DerivedRun>,
    /// The name of the request, if it has a key.
    pub(crate) request: Option<RequestName>,
    /// Where a stream that broke was.
    pub(crate) last_event_id: Option<String>,
    /// The trace that the request belongs to.
    pub(crate) traceparent: Option<String>,
}

impl Ask {
    /// The number of the last event that a client saw. Browsers send an empty one when they saw none.
    pub(crate) fn last_event(&self) -> Answer<Option<u64>> {
        match self.last_event_id.as_deref().map(str::trim_ascii) {
            None | Some("" | "null") => Ok(None),
            Some(text) => {
                let digits = text.len() <= LAST_EVENT_DIGITS_MAX && text.bytes().all(|byte| byte.is_ascii_digit());
                let number = digits.then(|| text.parse().ok()).flatten();
                number.map(Some).ok_or_else(|| Refusal::field("Last-Event-ID", "`Last-Event-ID` is not a number"))
            }
        }
    }

    /// How long to wait: what the client asks for, else the header.
    pub(crate) fn wait(&self, wait_ms: Option<u64>) -> Answer<Duration> {
        if wait_ms.is_some_and(|ms| ms > WAIT_MS_MAX) {
            return Err(Refusal::field("wait_ms", format!("`wait_ms` is at most {WAIT_MS_MAX}")));
        }
        Ok(wait_ms.map(Duration::from_millis).or(self.prefers).unwrap_or_default().min(WAIT_MAX))
    }
}

impl FromRequestParts<Arc<App>> for Ask {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Self::Rejection> {
        let caller = parts.extensions.get::<Caller>().cloned();
        let text = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        Ok(Self {
            app: Arc::clone(app),
            caller: caller.ok_or_else(|| Refusal::internal("a route without its caller"))?,
            wants: Wants::of(&parts.headers),
            prefers: prefers(&parts.headers),
            derived: parts.extensions.get::<DerivedRun>().cloned(),
            request: parts.extensions.get::<RequestName>().cloned(),
            // What is not text is no number either, and must not be overlooked.
            last_event_id: parts
                .headers
                .get("last-event-id")
                .map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned()),
            traceparent: crate::telemetry::traceparent(&tracing::Span::current()).or_else(|| text("traceparent")),
        })
    }
}

fn prefers(headers: &HeaderMap) -> Option<Duration> {
    let lines = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    let mut wishes = lines.flat_map(|line| line.split(',')).map(str::trim);
    wishes.find_map(|wish| wish.strip_prefix("wait=")?.trim().parse().ok().map(Duration::from_secs))
}

/// Whether to wait for a run.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct WaitQuery {
    /// Wait so long until the run pauses or ends, then answer with what it is. `Prefer: wait=SECONDS` does the same.
    #[param(maximum = 60_000)]
    pub(crate) wait_ms: Option<u64>,
}

/// A name that somebody sent. No store keeps control characters in names, so nothing is called so.
pub(crate) fn name(field: &str, text: &str) -> Answer<()> {
    if text.chars().any(char::is_control) {
        return Err(Refusal::value(field, format!("`{field}` has control characters")));
    }
    Ok(())
}

/// A name by which a list is made shorter.
pub(crate) fn names(field: &str, text: Option<String>) -> Answer<Option<Arc<str>>> {
    text.map(|text| name(field, &text).map(|()| text.into())).transpose()
}
