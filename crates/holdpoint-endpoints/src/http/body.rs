//! Reading an answer: no more of it than the limit, however small it was sent.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;
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
    let mut sink = Sink::of(response.headers(), max_bytes)?;
    let mut received = 0_usize;
    while let Some(chunk) = response.chunk().await.map_err(|_| BodyError::Broken)? {
        received = received.saturating_add(chunk.len());
        sink.write(&chunk)?;
        if sink.limited().is_full || received > max_bytes.saturating_add(RECEIVED_EXTRA) {
            // The connection is closed with the response: nobody waits for the rest.
            let bytes = std::mem::take(&mut sink.limited_mut().bytes);
            return Ok(Body { bytes, extent: Extent::Cut });
        }
    }
    // What is empty was not packed either, whatever its head says.
    if received == 0 { Ok(Body { bytes: Vec::new(), extent: Extent::Whole }) } else { sink.finish() }
}

enum Sink {
    Plain(Limited),
    Gzip(Box<MultiGzDecoder<Limited>>),
}

impl Sink {
    fn of(headers: &HeaderMap, max_bytes: usize) -> Result<Self, BodyError> {
        let limited = Limited { bytes: Vec::new(), max_bytes, is_full: false };
        let mut encodings = headers.get_all(CONTENT_ENCODING).iter();
        let encoding = encodings.next().map(|value| value.to_str().unwrap_or("?").trim().to_ascii_lowercase());
        match (encoding.as_deref(), encodings.next()) {
            (None | Some("" | "identity"), None) => Ok(Sink::Plain(limited)),
            (Some("gzip" | "x-gzip"), None) => Ok(Sink::Gzip(Box::new(MultiGzDecoder::new(limited)))),
            _ => Err(BodyError::Unpackable),
        }
    }

    fn write(&mut self, chunk: &[u8]) -> Result<(), BodyError> {
        let written = match self {
            Sink::Plain(limited) => limited.write_all(chunk),
            Sink::Gzip(decoder) => decoder.write_all(chunk),
        };
        // A full sink reports an error too, so that the decoder stops at once.
        if written.is_err() && !self.limited().is_full { Err(BodyError::Unpackable) } else { Ok(()) }
    }

    fn finish(self) -> Result<Body, BodyError> {
        let limited = match self {
            Sink::Plain(limited) => limited,
            Sink::Gzip(mut decoder) => {
                let done = decoder.try_finish();
                let limited = std::mem::take(decoder.get_mut());
                if done.is_err() && !limited.is_full {
                    return Err(BodyError::Unpackable);
                }
                limited
            }
        };
        let extent = if limited.is_full { Extent::Cut } else { Extent::Whole };
        Ok(Body { bytes: limited.bytes, extent })
    }

    fn limited(&self) -> &Limited {
        match self {
            Sink::Plain(limited) => limited,
            Sink::Gzip(decoder) => decoder.get_ref(),
        }
    }

    fn limited_mut(&mut self) -> &mut Limited {
        match self {
            Sink::Plain(limited) => limited,
            Sink::Gzip(decoder) => decoder.get_mut(),
        }
    }
}

/// Takes as many bytes as it may, and refuses the rest.
#[derive(Default)]
struct Limited {
    bytes: Vec<u8>,
    max_bytes: usize,
    is_full: bool,
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.max_bytes.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if bytes.len() > room {
            self.is_full = true;
            return Err(io::Error::other("above the limit"));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
