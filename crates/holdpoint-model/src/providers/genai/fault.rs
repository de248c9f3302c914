//! What `genai`'s errors mean. Their texts are never used: they hold the prompt, and what the provider said.

use genai::Error;
use genai::webc::StreamTimeout;
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::tap::Heard;
use crate::error::{ModelError, ModelErrorKind};
use crate::providers::http::is_lost;
use crate::providers::retry::wished_delay;
use crate::providers::timeouts::{Late, Timeouts};

/// How much of the body of an error is looked at for the provider's word.
const ERROR_BODY_BYTES_MAX: usize = 64 * 1024;

/// What stopped a request or its stream.
pub(super) fn of(error: &Error, heard: &Heard, timeouts: &Timeouts) -> ModelError {
    match error {
        Error::HttpError { status, body, headers, .. } => http(status.as_u16(), body, headers),
        Error::WebStream { error, .. } => transport(&**error, heard, timeouts),
        Error::ChatResponse { body, .. } => said(body, heard),
        // The last line is read as it is when the stream ends.
        Error::StreamParse { serde_error, .. } if serde_error.is_eof() => cut(),
        Error::StreamParse { .. }
        | Error::InvalidJsonResponseElement { .. }
        | Error::JsonValueExt(_)
        | Error::SerdeJson(_)
        | Error::ChatResponseGeneration { .. }
        | Error::NoChatResponse { .. } => garbage("the provider sent what is not its protocol"),
        Error::WebModelCall { .. } | Error::WebAdapterCall { .. } => {
            ModelError::of(ModelErrorKind::Connection, "the request could not be sent")
        }
        Error::Internal(_) | Error::ClientBuildFail { .. } => ModelError::new("the provider's client failed"),
        // The others come before anything is sent. Asking again would not help.
        _ => ModelError::of(ModelErrorKind::InvalidRequest, "the request cannot be put in the provider's form"),
    }
}

/// The stream ended without its end.
pub(super) fn ended(heard: &Heard) -> ModelError {
    match (heard.frames, heard.data_frames) {
        (0, _) => ModelError::of(ModelErrorKind::Empty, "the provider sent nothing"),
        (_, 0) => garbage("the provider sent no event stream"),
        (_, _) => cut(),
    }
}

pub(super) fn cut() -> ModelError {
    ModelError::of(ModelErrorKind::Cut, "the reply ended before its end")
}

pub(super) fn garbage(what: &'static str) -> ModelError {
    ModelError::of(ModelErrorKind::Garbage, what)
}

fn http(status: u16, body: &str, headers: &HeaderMap) -> ModelError {
    let word = (body.len() <= ERROR_BODY_BYTES_MAX).then(|| serde_json::from_str::<Value>(body).ok()).flatten();
    ModelError::from_status(status, word.as_ref().and_then(code)).retry_after(wished_delay(headers))
}

/// An error inside a stream that had begun well.
fn said(body: &Value, heard: &Heard) -> ModelError {
    if heard.blocked {
        return ModelError::of(ModelErrorKind::Refused, "the provider refuses to answer this");
    }
    let error = body.get("error").unwrap_or(body);
    let status = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    match (status.filter(|status| (400..600).contains(status)), code(body)) {
        (None, None) => garbage("the provider sent what is not its protocol"),
        (status, code) => ModelError::from_status(status.unwrap_or(200), code),
    }
}

/// The provider's word for an error; which words are heeded is decided elsewhere.
fn code(body: &Value) -> Option<&str> {
    let error = body.get("error")?;
    let word = |name: &str| error.get(name).and_then(Value::as_str);
    word("code").or_else(|| word("type")).or_else(|| word("status"))
}

fn transport(error: &(dyn std::error::Error + 'static), heard: &Heard, timeouts: &Timeouts) -> ModelError {
    if let Some(error) = error.downcast_ref::<Error>() {
        return of(error, heard, timeouts);
    }
    if let Some(late) = error.downcast_ref::<StreamTimeout>() {
        return match late {
            StreamTimeout::Headers => Late::FirstByte.error(timeouts.first_byte),
            StreamTimeout::Read => Late::NextChunk.error(timeouts.between_chunks),
        };
    }
    if let Some(error) = error.downcast_ref::<std::string::FromUtf8Error>() {
        // Half of a character at the end is a cut; anything else is not text at all.
        let half = error.utf8_error().error_len().is_none();
        return if half { cut() } else { garbage("the provider sent what is not text") };
    }
    match error.downcast_ref::<reqwest::Error>() {
        Some(error) if error.is_connect() => {
            ModelError::of(ModelErrorKind::Connection, "no connection to the provider")
        }
        Some(error) if error.is_decode() && !is_lost(error) => garbage("the provider's answer cannot be decoded"),
        Some(_) if heard.data_frames > 0 => cut(),
        Some(_) | None => ModelError::of(ModelErrorKind::Connection, "the connection to the provider was lost"),
    }
}
