//! Sends a request and hands the response over as it comes.

use bytes::Bytes;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::Value;

use crate::error::{ModelChoiceError, ModelError};
use crate::providers::choice::Opening;
use crate::providers::http::client;
use crate::providers::retry::wished_delay;
use crate::providers::sse::{Clock, Events, broken};

/// What is read of an error's body, to find its code.
const ERROR_BODY_BYTES_MAX: usize = 64 * 1024;

/// The way to one provider.
pub(super) struct Sender {
    http: reqwest::Client,
    url: String,
    headers: HeaderMap,
}

impl Sender {
    pub(super) fn open(opening: &Opening, path: &str) -> Result<Self, ModelChoiceError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &opening.key {
            let bearer = HeaderValue::try_from(format!("Bearer {}", key.expose_secret()));
            let mut bearer = bearer.map_err(|_| ModelChoiceError::UnusableKey)?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        Ok(Self { http: client(opening)?, url: format!("{}/{path}", opening.base_url), headers })
    }

    /// Sends a body and gives the events of the answer.
    pub(super) async fn send(&self, body: Bytes, mut clock: Clock) -> Result<Events, ModelError> {
        let request = self.http.post(&self.url).headers(self.headers.clone()).body(body);
        let response = clock.within(request.send()).await?.map_err(|error| broken(&error, false))?;
        if response.status() != reqwest::StatusCode::OK {
            return Err(refused(response, &mut clock).await);
        }
        Events::new(response, clock)
    }
}

/// What a provider's refusal means. Of its body only the code is heeded.
async fn refused(mut response: reqwest::Response, clock: &mut Clock) -> ModelError {
    let status = response.status().as_u16();
    let delay = wished_delay(response.headers());
    let mut body = Vec::new();
    while let Ok(Ok(Some(chunk))) = clock.within(response.chunk()).await {
        body.extend_from_slice(&chunk[..chunk.len().min(ERROR_BODY_BYTES_MAX - body.len())]);
        if body.len() >= ERROR_BODY_BYTES_MAX {
            break;
        }
    }
    let found = serde_json::from_slice::<ErrorBody>(&body).unwrap_or_default();
    error_of(status, &found.error.unwrap_or(found.bare)).retry_after(delay)
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorBody {
    error: Option<ErrorIn>,
    #[serde(flatten)]
    bare: ErrorIn,
}

/// An error as providers put it; the text is left out on purpose.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorIn {
    code: Value,
    #[serde(rename = "type")]
    kind: Value,
}

/// What an error object inside a stream means.
pub(super) fn error_in_stream(error: &str) -> ModelError {
    error_of(200, &serde_json::from_str::<ErrorIn>(error).unwrap_or_default())
}

/// What an error object means that came with this status.
fn error_of(status: u16, error: &ErrorIn) -> ModelError {
    // Some servers answer 200 and put the true status into the object.
    let inner = error.code.as_u64().and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code));
    let status = if status == 200 { inner.unwrap_or(status) } else { status };
    let by_kind = ModelError::from_status(status, error.kind.as_str());
    match error.code.as_str() {
        Some(code) => {
            let plain = ModelError::from_status(status, None);
            let by_code = ModelError::from_status(status, Some(code));
            if by_code == plain { by_kind } else { by_code }
        }
        None => by_kind,
    }
}
