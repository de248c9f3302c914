//! Reads a provider's stream: server-sent events with a limit on everything.
//!
//! Lines may end in LF, CR or CRLF; comments and unknown fields are skipped. What is left of a line when the stream ends
//! was cut off and counts for nothing.

#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::{Instant, Sleep, sleep_until, timeout};

use crate::error::{ModelError, ModelErrorKind};
use crate::providers::assemble::REPLY_BYTES_MAX;
use crate::providers::timeouts::{Late, Timeouts};

/// What one line may have. Some providers send a whole reply in one.
const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// What a whole stream may have, with all that stands around the reply.
const STREAM_BYTES_MAX: usize = 256 * 1024 * 1024;

/// How often a reply gives way to the connection, so that the rest of an answer can come in: most often it is there.
const REST_TRIES: usize = 4;
/// How long it is waited for beside the reply, and how much of it is read.
const REST: Duration = Duration::from_secs(2);
const REST_BYTES_MAX: usize = 64 * 1024;

/// The events of one response.
pub(crate) struct Events {
    response: reqwest::Response,
    lines: Lines,
    data: String,
    clock: Clock,
    read_bytes: usize,
    whole: bool,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event<'a> {
    /// The data of one event.
    Data(&'a str),
    /// The response ended, by itself and at a place where it may.
    End,
}

/// When an attempt is too late, and for what. One alarm does for all of it: it is moved only when it rings too early or
/// would ring too late, since to set one for every piece would cost more than to read the piece.
pub(crate) struct Clock {
    timeouts: Timeouts,
    started: Instant,
    began: bool,
    alarm: Pin<Box<Sleep>>,
}

impl Clock {
    pub(crate) fn start(timeouts: Timeouts) -> Self {
        let started = Instant::now();
        let first = timeouts.first_byte.min(timeouts.between_chunks).min(timeouts.total);
        let alarm = Box::pin(sleep_until(after(started, first)));
        Self { timeouts, started, began: false, alarm }
    }

    /// Waits for the next sign of life.
    pub(crate) async fn within<T>(&mut self, next: impl Future<Output = T>) -> Result<T, ModelError> {
        let (until, (late, limit)) = self.limit();
        if until < self.alarm.deadline() {
            self.alarm.as_mut().reset(until);
        }
        let mut next = pin!(next);
        poll_fn(|context| {
            if let Poll::Ready(value) = next.as_mut().poll(context) {
                return Poll::Ready(Ok(value));
            }
            while self.alarm.as_mut().poll(context).is_ready() {
                if Instant::now() >= until {
                    return Poll::Ready(Err(late.error(limit)));
                }
                self.alarm.as_mut().reset(until);
            }
            Poll::Pending
        })
        .await
    }

    fn limit(&self) -> (Instant, (Late, Duration)) {
        let (late, since, limit) = if self.began {
            (Late::NextChunk, Instant::now(), self.timeouts.between_chunks)
        } else {
            (Late::FirstByte, self.started, self.timeouts.first_byte)
        };
        let (until, end) = (after(since, limit), after(self.started, self.timeouts.total));
        if end < until { (end, (Late::Total, self.timeouts.total)) } else { (until, (late, limit)) }
    }
}

/// A limit that is beyond what a clock can say is as good as this.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

fn after(since: Instant, limit: Duration) -> Instant {
    since + limit.min(FAR)
}

impl Events {
    pub(crate) fn new(response: reqwest::Response, clock: Clock) -> Result<Self, ModelError> {
        let kind = response.headers().get(reqwest::header::CONTENT_TYPE);
        let kind = kind.and_then(|value| value.to_str().ok()).unwrap_or_default().to_ascii_lowercase();
        if kind.starts_with("text/html") {
            return Err(ModelError::of(ModelErrorKind::Garbage, "the provider answered with a web page"));
        }
        // A server that does not stream answers in one piece.
        let whole = kind.starts_with("application/json");
        Ok(Self { response, lines: Lines::default(), data: String::new(), clock, read_bytes: 0, whole })
    }

    pub(crate) async fn next(&mut self) -> Result<Event<'_>, ModelError> {
        if self.whole {
            return self.all().await;
        }
        self.data.clear();
        loop {
            while let Some(line) = self.lines.next()? {
                if line.is_empty() {
                    if !self.data.is_empty() {
                        return Ok(Event::Data(&self.data));
                    }
                } else if let Some(value) = data_of(line) {
                    if !self.data.is_empty() {
                        self.data.push('\n');
                    }
                    let value = std::str::from_utf8(value).map_err(|_| garbage("is not UTF-8"))?;
                    if self.data.len() + value.len() > LINE_BYTES_MAX {
                        return Err(too_long());
                    }
                    self.data.push_str(value);
                }
            }
            if !self.read().await? {
                return self.at_end();
            }
        }
    }

    /// Reads away what is left of an answer that is over, so that the connection can be used again. What is not there yet
    /// is waited for beside the reply.
    pub(crate) async fn finish(mut self) {
        for _ in 0..REST_TRIES {
            match self.response.chunk().now_or_never() {
                Some(Ok(None) | Err(_)) => return,
                Some(Ok(Some(_))) => {}
                None => tokio::task::yield_now().await,
            }
        }
        tokio::spawn(timeout(REST, async move {
            let mut bytes = 0;
            while let Ok(Some(chunk)) = self.response.chunk().await {
                bytes += chunk.len();
                if bytes > REST_BYTES_MAX {
                    return;
                }
            }
        }));
    }

    /// Whether there was more.
    async fn read(&mut self) -> Result<bool, ModelError> {
        let chunk = self.clock.within(self.response.chunk()).await?;
        let began = self.clock.began;
        let chunk = chunk.map_err(|error| broken(&error, began))?;
        let Some(chunk) = chunk else { return Ok(false) };
        self.clock.began = true;
        self.read_bytes = self.read_bytes.saturating_add(chunk.len());
        if self.read_bytes > STREAM_BYTES_MAX {
            return Err(ModelError::of(ModelErrorKind::TooLarge, "the provider's answer is above the limit"));
        }
        self.lines.push(&chunk);
        Ok(true)
    }

    /// Some servers leave out what should stand behind the last word.
    fn at_end(&mut self) -> Result<Event<'_>, ModelError> {
        if self.read_bytes == 0 {
            return Err(ModelError::of(ModelErrorKind::Empty, "the provider's answer is empty"));
        }
        if let Some(rest) = data_of(self.lines.rest())
            && rest == DONE.as_bytes()
        {
            self.data.clear();
            self.data.push_str(DONE);
        }
        self.lines.clear();
        if self.data == DONE { Ok(Event::Data(DONE)) } else { Ok(Event::End) }
    }

    async fn all(&mut self) -> Result<Event<'_>, ModelError> {
        if !self.data.is_empty() {
            self.data.clear();
            return Ok(Event::End);
        }
        while self.read().await? {
            if self.read_bytes > REPLY_BYTES_MAX {
                return Err(ModelError::of(ModelErrorKind::TooLarge, "the provider's answer is above the limit"));
            }
        }
        let body = std::str::from_utf8(self.lines.rest()).map_err(|_| garbage("is not UTF-8"))?;
        if body.trim().is_empty() {
            return Err(ModelError::of(ModelErrorKind::Empty, "the provider's answer is empty"));
        }
        self.data.push_str(body);
        Ok(Event::Data(&self.data))
    }
}

/// The last word of a stream.
pub(crate) const DONE: &str = "[DONE]";

/// The value of a `data` field; nothing for comments and other fields.
fn data_of(line: &[u8]) -> Option<&[u8]> {
    let value = line.strip_prefix(b"data:")?;
    Some(value.strip_prefix(b" ").unwrap_or(value))
}

/// Cuts bytes into lines.
#[derive(Default)]
struct Lines {
    buffer: Vec<u8>,
    at: usize,
    /// How far the unfinished line was looked through already.
    seen: usize,
    after_cr: bool,
    begun: bool,
}

impl Lines {
    fn push(&mut self, chunk: &[u8]) {
        if self.at > 0 {
            self.buffer.drain(..self.at);
            self.seen -= self.at;
            self.at = 0;
        }
        self.buffer.extend_from_slice(chunk);
    }

    fn next(&mut self) -> Result<Option<&[u8]>, ModelError> {
        if self.after_cr && self.at < self.buffer.len() {
            self.after_cr = false;
            if self.buffer[self.at] == b'\n' {
                self.at += 1;
                self.seen = self.seen.max(self.at);
            }
        }
        let found = self.buffer[self.seen..].iter().position(|byte| *byte == b'\n' || *byte == b'\r');
        let Some(length) = found else {
            self.seen = self.buffer.len();
            return if self.seen - self.at > LINE_BYTES_MAX { Err(too_long()) } else { Ok(None) };
        };
        let (start, end) = (self.at, self.seen + length);
        if end - start > LINE_BYTES_MAX {
            return Err(too_long());
        }
        self.after_cr = self.buffer[end] == b'\r';
        self.at = end + 1;
        self.seen = self.at;
        let line = &self.buffer[start..end];
        let first = !std::mem::replace(&mut self.begun, true);
        let line = if first { line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line) } else { line };
        Ok(Some(line))
    }

    fn rest(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    fn clear(&mut self) {
        self.buffer.clear();
        self.at = 0;
        self.seen = 0;
    }
}

fn too_long() -> ModelError {
    ModelError::of(ModelErrorKind::TooLarge, "one line of the provider's answer is above the limit")
}

pub(crate) fn garbage(what: &str) -> ModelError {
    ModelError::of(ModelErrorKind::Garbage, format!("the provider's answer {what}"))
}

/// What a broken transport means. The library's own text may name the address with all that is in it.
pub(crate) fn broken(error: &reqwest::Error, began: bool) -> ModelError {
    if error.is_connect() || error.is_timeout() {
        return ModelError::of(ModelErrorKind::Connection, "no connection to the provider");
    }
    if error.is_decode() && !began && !crate::providers::http::is_lost(error) {
        return garbage("cannot be decoded");
    }
    if began {
        return ModelError::of(ModelErrorKind::Cut, "the connection was lost in the middle of the reply");
    }
    ModelError::of(ModelErrorKind::Connection, "the connection to the provider was lost")
}
