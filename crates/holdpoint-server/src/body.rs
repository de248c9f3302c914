//! Bodies: JSON in UTF-8, within the limits, with no key twice. Each way to be something else has its code.

use std::error::Error as _;
use std::sync::Arc;

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use holdpoint_api::{ApiCode, Object};
use holdpoint_codec::{JsonProblem, canonical_json};
use http::{HeaderMap, header};
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::limits::{BODY_READ_TIMEOUT, JSON_DEPTH_MAX};
use crate::refusal::{Answer, Refusal};

/// A body that was read as `T`.
#[derive(Debug)]
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Body<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Self::Rejection> {
        read_body(request, app.limits.body_bytes_max).await.map(Body)
    }
}

/// The body of a request, with a limit of its own.
pub(crate) async fn read_body<T: DeserializeOwned>(request: Request, bytes_max: usize) -> Answer<T> {
    let (parts, body) = request.into_parts();
    let bytes = read_all(&parts.headers, body, bytes_max).await?;
    expect_json(&parts.headers)?;
    read(&bytes)
}

/// No body, or an empty object.
#[derive(Debug)]
pub(crate) struct NoBody;

impl FromRequest<Arc<App>> for NoBody {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Self::Rejection> {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Nothing {}

        let (parts, body) = request.into_parts();
        let bytes = read_all(&parts.headers, body, app.limits.body_bytes_max).await?;
        if bytes.is_empty() {
            return Ok(NoBody);
        }
        expect_json(&parts.headers)?;
        read::<Nothing>(&bytes).map(|Nothing {}| NoBody)
    }
}

/// The whole body, if it is not too large and does not take too long.
pub(crate) async fn read_all(headers: &HeaderMap, body: axum::body::Body, bytes_max: usize) -> Answer<Bytes> {
    let declared = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if declared.is_some_and(|bytes| bytes > bytes_max) {
        return Err(too_large(bytes_max));
    }
    match tokio::time::timeout(BODY_READ_TIMEOUT, axum::body::to_bytes(body, bytes_max)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_too_large(&error) => Err(too_large(bytes_max)),
        Ok(Err(_)) => Err(Refusal::new(ApiCode::InvalidRequest, "the body ended before it was complete")),
        Err(_) => Err(Refusal::new(ApiCode::RequestTimeout, "the body did not arrive in time")),
    }
}

fn too_large(bytes_max: usize) -> Refusal {
    Refusal::new(ApiCode::BodyTooLarge, format!("the body is larger than `{bytes_max}` bytes"))
        .with("bytes_max", bytes_max)
}

fn is_too_large(error: &axum::Error) -> bool {
    matches!(error.source(), Some(cause) if cause.is::<http_body_util::LengthLimitError>())
}

/// Refuses what does not call itself JSON: a form of another site's page cannot.
fn expect_json(headers: &HeaderMap) -> Answer<()> {
    let mut sent = headers.get_all(header::CONTENT_TYPE).iter();
    let (first, second) = (sent.next(), sent.next());
    let text = first.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut parts = text.split(';').map(str::trim);
    let json = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"));
    let utf8 = parts.all(|parameter| match parameter.split_once('=') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
            value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
        }
        _ => true,
    });
    if json && utf8 && second.is_none() && !headers.contains_key(header::CONTENT_ENCODING) {
        return Ok(());
    }
    Err(Refusal::new(ApiCode::UnsupportedMediaType, "send `Content-Type: application/json`, in UTF-8, not compressed"))
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Answer<T> {
    let invalid = |detail: &str| Refusal::new(ApiCode::InvalidRequest, detail);
    let text = std::str::from_utf8(bytes).map_err(|_| invalid("the body is not UTF-8"))?;
    // Only to see whether it is JSON that everybody reads alike.
    canonical_json(text).map_err(|problem| match problem {
        JsonProblem::Malformed => invalid("the body is not JSON"),
        JsonProblem::TooDeep => invalid(&format!("the body is nested deeper than `{JSON_DEPTH_MAX}` levels")),
        JsonProblem::DuplicateKey { .. } => invalid("the body has a key twice in one object"),
    })?;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = serde_path_to_error::deserialize(&mut deserializer).map(|Object(value)| value);
    read.map_err(|error| {
        let path = error.path().to_string();
        let path = if path == "." { String::new() } else { path };
        let problem = safe_problem(&error.inner().to_string());
        match path.is_empty() {
            true => Refusal::new(ApiCode::InvalidRequest, format!("the body does not fit: {problem}")),
            false => Refusal::field(&path, format!("`{path}` does not fit: {problem}")),
        }
    })
}

/// What of a reader's message may be shown: which names it wants, and nothing of what was sent.
fn safe_problem(message: &str) -> String {
    let message = message.split(" at line ").next().unwrap_or_default();
    let known = ["missing field `", "unknown field `", "duplicate field `"];
    if known.iter().any(|start| message.starts_with(start)) {
        return message.chars().take(300).collect();
    }
    match message.split_once(", expected ") {
        Some((_, expected)) => format!("expected {}", expected.chars().take(200).collect::<String>()),
        None => "not of the right type".to_owned(),
    }
}
