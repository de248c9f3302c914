//! Sends a request with `async-openai` and hands the response over as it is.
//!
//! `async-openai` knows the addresses, paths and headers. Its own reading of a response is not used: it queues a stream
//! without a limit, hides whether the end of the stream was seen, and writes what it cannot parse to the log, where
//! nothing of a conversation belongs.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::SystemTime;

use async_openai::Client;
use async_openai::config::Config;
use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use bytes::Bytes;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::Protocol;
use crate::error::ModelChoiceError;
use crate::error::{ModelError, ModelErrorKind};
use crate::providers::choice::Opening;
use crate::providers::http::client;
use crate::providers::retry::retry_after;
use crate::providers::sse::{Clock, Events, broken};

/// What is read of an error's body, to find its code.
const ERROR_BODY_BYTES_MAX: usize = 64 * 1024;

/// The way to one provider.
pub(super) struct Sender {
    http: reqwest::Client,
    place: Arc<Place>,
}

/// Address and headers.
struct Place {
    base_url: Arc<str>,
    headers: HeaderMap,
    /// The trait asks for one; what is sent is in the headers.
    key: SecretString,
}

impl Config for Place {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base_url)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        Vec::new()
    }

    fn api_base(&self) -> &str {
        &self.base_url
    }

    fn api_key(&self) -> &SecretString {
        &self.key
    }
}

impl Sender {
    pub(super) fn open(opening: &Opening) -> Result<Self, ModelChoiceError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        if let Some(key) = &opening.key {
            let bearer = HeaderValue::try_from(format!("Bearer {}", key.expose_secret()));
            let mut bearer = bearer.map_err(|_| ModelChoiceError::UnusableKey)?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        let place = Place { base_url: Arc::clone(&opening.base_url), headers, key: SecretString::default() };
        Ok(Self { http: client(opening)?, place: Arc::new(place) })
    }

    /// Sends a body and gives the events of the answer.
    pub(super) async fn send(&self, protocol: Protocol, body: Bytes, mut clock: Clock) -> Result<Events, ModelError> {
        let exchange = Exchange { http: self.http.clone(), body, response: Arc::default() };
        let slot = Arc::clone(&exchange.response);
        let config: Arc<dyn Config> = Arc::clone(&self.place) as Arc<dyn Config>;
        let client = Client::build(self.http.clone(), config).with_http_service(exchange);
        // The body is JSON already, so there is nothing to serialise; the exchange puts it in.
        let asked = async {
            match protocol {
                Protocol::Chat => client.chat().create_stream_byot::<(), IgnoredAny>(()).await.map(drop),
                Protocol::Responses => client.responses().create_stream_byot::<(), IgnoredAny>(()).await.map(drop),
            }
        };
        // Whatever became of it is in the slot, or nothing was sent at all.
        let _: Result<(), OpenAIError> = clock.within(asked).await?;
        let sent = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        let response = match sent {
            Some(Ok(response)) => response,
            Some(Err(error)) => return Err(broken(&error, false)),
            None => return Err(ModelError::of(ModelErrorKind::InvalidRequest, "the request could not be made")),
        };
        if response.status() != reqwest::StatusCode::OK {
            return Err(refused(response, &mut clock).await);
        }
        Events::new(response, clock)
    }
}

/// One exchange of request and response.
#[derive(Clone)]
struct Exchange {
    http: reqwest::Client,
    body: Bytes,
    response: Arc<Mutex<Option<Result<reqwest::Response, reqwest::Error>>>>,
}

impl tower::Service<HttpRequestFactory> for Exchange {
    type Response = reqwest::Response;
    type Error = OpenAIError;
    type Future = Pin<Box<dyn Future<Output = Result<reqwest::Response, OpenAIError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), OpenAIError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, factory: HttpRequestFactory) -> Self::Future {
        let Self { http, body, response } = self.clone();
        Box::pin(async move {
            let mut request = factory.build().await?;
            *request.body_mut() = Some(body.into());
            let answer = http.execute(request).await;
            *response.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
            // There is nothing left for the library to do; an answer would only make it start a task to read it.
            Err(OpenAIError::Boxed(Box::new(Taken)))
        })
    }
}

/// Says that the response is where it belongs.
#[derive(Debug, thiserror::Error)]
#[error("the response was taken")]
struct Taken;

/// What a provider's refusal means. Of its body only the code is heeded.
async fn refused(mut response: reqwest::Response, clock: &mut Clock) -> ModelError {
    let status = response.status().as_u16();
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let delay = retry_after(header(RETRY_AFTER.as_str()), header("retry-after-ms"), SystemTime::now());
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
pub(super) struct ErrorIn {
    code: Value,
    #[serde(rename = "type")]
    kind: Value,
}

/// What an error object means that came with this status.
pub(super) fn error_of(status: u16, error: &ErrorIn) -> ModelError {
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
