//! Reading an answer: no more of it than the limit, however small it was sent.

use std::io::{ErrorKind, Read};

use flate2::read::MultiGzDecoder;
use reqwest::Response;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};

/// How much more than the limit may be received: compressed bytes that stand for nothing must end somewhere.
const RECEIVED_EXTRA: usize = 64 * 1024;

/// What was read of an answer.
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    pub(super) extent: Extent,
}

/// Whether an answer was read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    /// There was more than the limit.
    Cut,
}

pub(super) enum BodyError {
    /// The connection ended too early, or spoke nonsense.
    Broken,
    /// Packed in a way that was not asked for, or damaged.
    Unpackable,
}

/// Reads at most `max_bytes` bytes of an answer, unpacked.
pub(super) async fn read(mut response: Response, max_bytes: usize) -> Result<Body, BodyError> {
    let is_packed = is_packed(response.headers())?;
    let max_received = if is_packed { max_bytes.saturating_add(RECEIVED_EXTRA) } else { max_bytes };
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| BodyError::Broken)? {
        let room = max_received - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            // The connection is closed with the response: the rest is not received.
            let body = Body { bytes, extent: Extent::Cut };
            return if is_packed { unpack(&body, max_bytes) } else { Ok(body) };
        }
    }
    let body = Body { bytes, extent: Extent::Whole };
    // What is empty was not packed either, whatever its head says.
    if is_packed && !body.bytes.is_empty() { unpack(&body, max_bytes) } else { Ok(body) }
}

fn is_packed(headers: &HeaderMap) -> Result<bool, BodyError> {
    let mut encodings = headers.get_all(CONTENT_ENCODING).iter();
    let encoding = encodings.next().map(|value| value.to_str().unwrap_or("?").trim().to_ascii_lowercase());
    match (encoding.as_deref(), encodings.next()) {
        (None | Some("" | "identity"), None) => Ok(false),
        (Some("gzip" | "x-gzip"), None) => Ok(true),
        _ => Err(BodyError::Unpackable),
    }
}

fn unpack(packed: &Body, max_bytes: usize) -> Result<Body, BodyError> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX).saturating_add(1);
    let unpacked = MultiGzDecoder::new(packed.bytes.as_slice()).take(limit).read_to_end(&mut bytes);
    let is_above = bytes.len() > max_bytes;
    bytes.truncate(max_bytes);
    match unpacked {
        _ if is_above => Ok(Body { bytes, extent: Extent::Cut }),
        Ok(_) => Ok(Body { bytes, extent: packed.extent }),
        Err(error) if packed.extent == Extent::Cut && error.kind() == ErrorKind::UnexpectedEof => {
            Ok(Body { bytes, extent: Extent::Cut })
        }
        Err(_) => Err(BodyError::Unpackable),
    }
}
