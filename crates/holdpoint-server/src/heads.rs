//! Looks at the heads of requests as they arrive, for what the reader of HTTP mends silently: a request with both
//! `Content-Length` and `Transfer-Encoding`. Somebody before this server may have believed the other one, and what it took for
//! the rest of a body would be a request here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::limits::HEADER_BYTES_MAX;

/// Whether a connection brought a request whose end two headers say. It stays so.
#[derive(Clone, Debug, Default)]
pub(crate) struct TwoEnds(Arc<AtomicBool>);

impl TwoEnds {
    pub(crate) fn seen(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Follows what a client sends, from head to head.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    at: Place,
    line: Vec<u8>,
    head: Head,
    found: TwoEnds,
}

/// What the headers of a request said so far.
#[derive(Debug, Default)]
struct Head {
    begun: bool,
    length: Option<u64>,
    chunked: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Head,
    /// So many bytes, and then the next head.
    Body(u64),
    /// The line before a piece of a body.
    Size,
    /// So many bytes, and then the next such line.
    Piece(u64),
    /// The lines after the last piece.
    Trailer,
    /// It is no HTTP that could be followed. The reader of HTTP refuses it too, and nothing comes after it.
    Lost,
}

impl Heads {
    pub(crate) fn found(&self) -> TwoEnds {
        self.found.clone()
    }

    /// Looks at what just arrived.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match self.at {
                Place::Lost => return,
                Place::Body(left) => bytes = self.skip(bytes, left, Place::Body, Place::Head),
                Place::Piece(left) => bytes = self.skip(bytes, left, Place::Piece, Place::Size),
                Place::Head | Place::Size | Place::Trailer => {
                    let end = bytes.iter().position(|byte| *byte == b'\n');
                    let (line, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
                    self.line.extend_from_slice(line);
                    bytes = rest;
                    if end.is_some() {
                        self.end_line();
                    } else if self.line.len() > HEADER_BYTES_MAX {
                        self.at = Place::Lost;
                    }
                }
            }
        }
    }

    fn skip<'a>(&mut self, bytes: &'a [u8], left: u64, within: fn(u64) -> Place, after: Place) -> &'a [u8] {
        let here = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        let left = left.saturating_sub(here as u64);
        self.at = if left == 0 { after } else { within(left) };
        &bytes[here..]
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = line.trim_ascii();
        self.at = match self.at {
            Place::Head if line.is_empty() => self.end_head(),
            Place::Head => self.header(line),
            Place::Size => size(line),
            Place::Trailer if line.is_empty() => Place::Head,
            other => other,
        };
    }

    /// A line of a head: the first says what is asked for, the others are headers.
    fn header(&mut self, line: &[u8]) -> Place {
        if !std::mem::replace(&mut self.head.begun, true) {
            return Place::Head;
        }
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { return Place::Lost };
        let (name, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.head.chunked = true;
        } else if name.eq_ignore_ascii_case(b"content-length") {
            match std::str::from_utf8(value).ok().and_then(|value| value.parse().ok()) {
                Some(length) => self.head.length = Some(length),
                // Beside the other header it is as wrong as one that can be read.
                None => self.head.length = Some(u64::MAX),
            }
        }
        Place::Head
    }

    fn end_head(&mut self) -> Place {
        match std::mem::take(&mut self.head) {
            // Empty lines may stand before a head.
            Head { begun: false, .. } => Place::Head,
            Head { chunked: true, length: Some(_), .. } => {
                self.found.0.store(true, Ordering::Release);
                Place::Lost
            }
            Head { chunked: true, length: None, .. } => Place::Size,
            Head { length: Some(0) | None, .. } => Place::Head,
            Head { length: Some(length), .. } => Place::Body(length),
        }
    }
}

/// The size of the next piece, in hexadecimal digits. What may follow it says nothing here.
fn size(line: &[u8]) -> Place {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let size = std::str::from_utf8(digits).ok().and_then(|digits| u64::from_str_radix(digits, 16).ok());
    match size {
        Some(0) => Place::Trailer,
        // With the line break after it.
        Some(size) => Place::Piece(size.saturating_add(2)),
        None => Place::Lost,
    }
}

#[cfg(test)]
mod tests;
