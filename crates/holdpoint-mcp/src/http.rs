//! Reaching a server over HTTP: no redirects, and no body above the limit.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use holdpoint_config::ExposeSecret;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode, redirect};
use rmcp::ServiceError;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use crate::process::{Ending, MessageLimit};
use crate::{ConnectProblem, ServerConfig};

const SESSION: &str = "mcp-session-id";
const STREAM: &str = "text/event-stream";
const JSON: &str = "application/json";

type Failure = StreamableHttpError<reqwest::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// A client that reads at most so many bytes of one message.
#[derive(Clone)]
pub(crate) struct BoundedClient {
    client: Client,
    max_message_bytes: usize,
    /// Of the connection that this is for.
    ending: Ending,
}

/// The client and its settings for a server.
pub(crate) fn prepare(
    config: &ServerConfig,
    url: &str,
    ending: &Ending,
) -> Result<(BoundedClient, StreamableHttpClientTransportConfig), ConnectProblem> {
    // Somebody else may have chosen one already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder().redirect(redirect::Policy::none()).connect_timeout(config.connect_timeout());
    // A container may have no certificates, and needs none for this.
    let client = if url.starts_with("http://") { client.tls_certs_only([]) } else { client };
    let client = client.build().map_err(|_| ConnectProblem::NotStarted)?;
    let mut headers = Headers::new();
    for (name, source) in &config.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| ConnectProblem::Secret)?;
        let secret = source.read().map_err(|_| ConnectProblem::Secret)?;
        let mut value = HeaderValue::from_str(secret.expose_secret()).map_err(|_| ConnectProblem::Secret)?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    let mut settings = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(headers)
        // Whoever opens a session lists the tools again before anything is called: the library would not.
        .reinit_on_expired_session(false)
        .max_sse_event_size(config.max_message_bytes);
    if let Some(bearer) = &config.bearer {
        settings = settings.auth_header(bearer.read().map_err(|_| ConnectProblem::Secret)?.expose_secret());
    }
    let client = BoundedClient { client, max_message_bytes: config.max_message_bytes, ending: ending.clone() };
    Ok((client, settings))
}

impl StreamableHttpClient for BoundedClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        bearer: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let mut request = self.client.post(&*uri).header(ACCEPT, format!("{STREAM}, {JSON}"));
        if let Some(bearer) = bearer {
            request = request.bearer_auth(bearer);
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let known_session = session.is_some();
        if let Some(session) = session {
            request = request.header(SESSION, &*session);
        }
        let body = serde_json::to_vec(&message)?;
        let response = request.header(CONTENT_TYPE, JSON).body(body).send().await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && known_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        let kind = content_type(&response);
        let session = response.headers().get(SESSION).and_then(|value| value.to_str().ok()).map(str::to_owned);
        if !status.is_success() {
            let refused = self.refused(&message, response).await;
            // Some servers say so when they do not know the session any more. A new one is wanted, but others may mean
            // something else by it: what was sent is not sent again.
            let forgotten = status == StatusCode::BAD_REQUEST && known_session && refused.as_ref().is_ok_and(is_bare);
            return if forgotten { Err(unexpected("the session seems to be forgotten")) } else { refused };
        }
        match kind {
            Kind::Stream => Ok(StreamableHttpPostResponse::Sse(self.stream(response), session)),
            Kind::Json => {
                let body = self.body(response).await?;
                match serde_json::from_slice(&body) {
                    Ok(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
                    // Nobody waits for an answer to these.
                    Err(_) if !matches!(message, JsonRpcMessage::Request(_)) => {
                        Ok(StreamableHttpPostResponse::Accepted)
                    }
                    Err(_) => Err(unexpected("the answer is not a message of the protocol")),
                }
            }
            Kind::Other if matches!(message, JsonRpcMessage::Request(_)) => {
                Err(StreamableHttpError::UnexpectedContentType(None))
            }
            Kind::Other => Ok(StreamableHttpPostResponse::Accepted),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        bearer: Option<String>,
        headers: Headers,
    ) -> Result<(), Failure> {
        self.client.delete_session(uri, session, bearer, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        bearer: Option<String>,
        headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let max = self.max_message_bytes;
        self.client.get_stream_with_max_sse_event_size(uri, session, last_event, bearer, headers, max).await
    }
}

enum Kind {
    Stream,
    Json,
    Other,
}

fn content_type(response: &Response) -> Kind {
    let kind = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    match kind {
        kind if kind.starts_with(STREAM.as_bytes()) => Kind::Stream,
        kind if kind.starts_with(JSON.as_bytes()) => Kind::Json,
        _ => Kind::Other,
    }
}

/// Whether it is an error that has no code of the protocol.
fn is_bare(answer: &StreamableHttpPostResponse) -> bool {
    const SERVER_ERROR: i32 = -32_000;
    matches!(answer, StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), _) if error.error.code.0 == SERVER_ERROR)
}

/// Whether a server said that it does not know the session, and so did not look at what was sent.
pub(crate) fn is_session_unknown(error: &ServiceError) -> bool {
    let ServiceError::TransportSend(error) = error else { return false };
    matches!(error.error.downcast_ref::<Failure>(), Some(StreamableHttpError::SessionExpired))
}

fn unexpected(what: impl Into<Cow<'static, str>>) -> Failure {
    StreamableHttpError::UnexpectedServerResponse(what.into())
}

impl BoundedClient {
    /// An answer that is no success. An error of the protocol in it is passed on; so is the refusal of a question that
    /// older servers do not understand.
    async fn refused(
        &self,
        message: &ClientJsonRpcMessage,
        response: Response,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let status = response.status();
        let private = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        let error = match self.body(response).await.ok().and_then(|body| serde_json::from_slice(&body).ok()) {
            Some(ServerJsonRpcMessage::Error(error)) if !private => Some(error),
            _ => None,
        };
        let asked = match message {
            JsonRpcMessage::Request(request) if matches!(request.request, ClientRequest::DiscoverRequest(_)) => {
                Some(request.id.clone())
            }
            _ => None,
        };
        let answer = match (error, asked) {
            // Such an error seldom carries the id of the question.
            (error, Some(id)) if status.is_client_error() && !private => {
                let error = error.map_or_else(|| ErrorData::invalid_request("refused", None), |error| error.error);
                ServerJsonRpcMessage::error(error, Some(id))
            }
            (Some(error), _) => ServerJsonRpcMessage::Error(error),
            (None, _) => return Err(unexpected(format!("HTTP {status}"))),
        };
        Ok(StreamableHttpPostResponse::Json(answer, None))
    }

    async fn body(&self, mut response: Response) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            if body.len() + chunk.len() > self.max_message_bytes {
                self.ending.message_too_large();
                return Err(unexpected("the answer is above the limit"));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn stream(&self, response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
        // Events end with an empty line.
        let mut limit = MessageLimit::new(self.max_message_bytes, 2);
        let bytes = response.bytes_stream().map_err(std::io::Error::other);
        let ending = self.ending.clone();
        let bytes = bytes.map(move |chunk| match chunk {
            Ok(chunk) if !limit.fits(&chunk) => {
                ending.message_too_large();
                Err(too_large())
            }
            chunk => chunk,
        });
        SseStream::from_bytes_stream(bytes).boxed()
    }
}

fn too_large() -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, "a message is above the limit")
}
