//! When a request is made again.
//!
//! A reply that was handed on is never asked for again: its calls may be running. Pieces that somebody has seen are not
//! shown twice either: once a piece went to a listener, a failure is final, and the run says so; without a listener the
//! request is simply made again. Whoever wants a second try after that retries the run.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use backon::{BackoffBuilder, ExponentialBuilder};
use tokio::time::Instant;

use crate::error::ModelError;
use crate::model::{Delta, DeltaSink};

/// How often and how long a request is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryRule {
    /// How often at most, the first time included.
    pub attempts_max: u32,
    /// The delay after the first failure; it doubles from there, with jitter.
    pub delay_min: Duration,
    /// The longest delay.
    pub delay_max: Duration,
    /// No attempt begins later than this after the first one.
    pub total_max: Duration,
}

impl Default for RetryRule {
    fn default() -> Self {
        Self {
            attempts_max: Self::ATTEMPTS_MAX,
            delay_min: Self::DELAY_MIN,
            delay_max: Self::DELAY_MAX,
            total_max: Self::TOTAL_MAX,
        }
    }
}

impl RetryRule {
    /// Attempts by default.
    pub const ATTEMPTS_MAX: u32 = 4;
    /// The first delay by default.
    pub const DELAY_MIN: Duration = Duration::from_millis(500);
    /// The longest delay by default.
    pub const DELAY_MAX: Duration = Duration::from_secs(20);
    /// The time for all attempts by default.
    pub const TOTAL_MAX: Duration = Duration::from_secs(120);

    /// One attempt and no more.
    pub const NEVER: RetryRule = RetryRule {
        attempts_max: 1,
        delay_min: Self::DELAY_MIN,
        delay_max: Self::DELAY_MAX,
        total_max: Self::TOTAL_MAX,
    };
}

/// What follows a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The failure is final.
    GiveUp,
    /// Ask again after this time.
    After(Duration),
}

/// The attempts of one request. It decides; the caller waits.
pub struct Attempts {
    rule: RetryRule,
    delays: backon::ExponentialBackoff,
    made: u32,
}

impl Attempts {
    /// Begins with the first attempt.
    pub fn new(rule: RetryRule) -> Self {
        let delays = ExponentialBuilder::default()
            .with_min_delay(rule.delay_min)
            .with_max_delay(rule.delay_max)
            .with_max_times(rule.attempts_max.saturating_sub(1) as usize)
            .with_jitter();
        Self { rule, delays: delays.build(), made: 0 }
    }

    /// What follows this failure, so long after the first attempt began. The provider's own wish is followed, but not
    /// beyond the time that is left: then waiting for less would only be refused again.
    pub fn after(&mut self, error: &ModelError, elapsed: Duration) -> Next {
        self.made += 1;
        if !error.kind.is_transient() || self.made >= self.rule.attempts_max {
            return Next::GiveUp;
        }
        let Some(backoff) = self.delays.next() else { return Next::GiveUp };
        // Jitter may double what the exponent gave.
        let delay = error.retry_after.map_or(backoff.min(self.rule.delay_max), |wished| wished.max(backoff / 4));
        match elapsed.checked_add(delay) {
            Some(at) if at <= self.rule.total_max => Next::After(delay),
            Some(_) | None => Next::GiveUp,
        }
    }
}

/// The attempts of one request, with the waiting in between. Time is tokio's, which tests can hold still.
pub(crate) struct Retrying<'a> {
    started: Instant,
    attempts: Attempts,
    watched: Watched<'a>,
}

impl<'a> Retrying<'a> {
    pub(crate) fn new(rule: RetryRule, deltas: &'a dyn DeltaSink) -> Self {
        let watched = Watched { inner: deltas, shown: AtomicBool::new(false) };
        Self { started: Instant::now(), attempts: Attempts::new(rule), watched }
    }

    /// Where the pieces of an attempt go.
    pub(crate) fn deltas(&self) -> &dyn DeltaSink {
        &self.watched
    }

    /// Waits until the next attempt may begin.
    ///
    /// # Errors
    /// The failure, when it is final.
    pub(crate) async fn after(&mut self, error: ModelError) -> Result<(), ModelError> {
        if self.watched.shown.load(Ordering::Relaxed) {
            return Err(error);
        }
        match self.attempts.after(&error, self.started.elapsed()) {
            Next::GiveUp => Err(error),
            Next::After(delay) => {
                tracing::debug!(
                    target: "holdpoint", kind = error.kind.as_str(), status = error.status,
                    delay_ms = delay.as_millis() as u64, "the provider failed; the request is made again"
                );
                tokio::time::sleep(delay).await;
                Ok(())
            }
        }
    }
}

/// Makes attempts until one succeeds or the rule says stop.
///
/// # Errors
/// The last failure.
#[cfg(test)]
async fn retrying<T>(
    rule: RetryRule,
    deltas: &dyn DeltaSink,
    mut attempt: impl AsyncFnMut(&dyn DeltaSink) -> Result<T, ModelError>,
) -> Result<T, ModelError> {
    let mut retrying = Retrying::new(rule, deltas);
    loop {
        match attempt(retrying.deltas()).await {
            Ok(reply) => return Ok(reply),
            Err(error) => retrying.after(error).await?,
        }
    }
}

/// Notes whether anybody has seen anything.
struct Watched<'a> {
    inner: &'a dyn DeltaSink,
    shown: AtomicBool,
}

impl DeltaSink for Watched<'_> {
    fn listens(&self) -> bool {
        self.inner.listens()
    }

    fn take(&self, delta: Delta<'_>) {
        if self.inner.listens() {
            self.shown.store(true, Ordering::Relaxed);
            self.inner.take(delta);
        }
    }
}

/// When a provider wants to be asked again: `Retry-After` in seconds or as a date, or `Retry-After-Ms`. Nonsense counts
/// as nothing.
pub fn retry_after(seconds_or_date: Option<&str>, ms: Option<&str>, now: SystemTime) -> Option<Duration> {
    if let Some(ms) = ms.and_then(|text| text.trim().parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(ms / 1000.0).ok();
    }
    let text = seconds_or_date?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at = httpdate::parse_http_date(text).ok()?;
    Some(at.duration_since(now).unwrap_or_default())
}
