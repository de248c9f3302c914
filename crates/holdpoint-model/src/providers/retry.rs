//! When a request is made again.
//!
//! A reply that was handed on is never asked for again: its calls may be running. Pieces that somebody has seen are not
//! shown twice either: once a piece went to a listener, a failure is final, and the run says so; without a listener the
//! request is simply made again. Whoever wants a second try after that retries the run.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use backon::{ExponentialBuilder, Retryable};
use reqwest::header::HeaderMap;
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
        Self { attempts_max: 4, ..Self::NEVER }
    }
}

impl RetryRule {
    /// One attempt and no more.
    pub const NEVER: RetryRule = RetryRule {
        attempts_max: 1,
        delay_min: Duration::from_millis(500),
        delay_max: Duration::from_secs(20),
        total_max: Duration::from_secs(120),
    };

    fn backoff(self) -> ExponentialBuilder {
        ExponentialBuilder::default()
            .with_min_delay(self.delay_min)
            .with_max_delay(self.delay_max)
            .with_max_times(self.attempts_max.saturating_sub(1) as usize)
            .with_jitter()
    }

    /// How long to wait after this failure, so long after the first attempt began; `None` if it is final. The provider's own
    /// wish is followed, but not beyond the time that is left: then waiting for less would only be refused again.
    fn delay(self, error: &ModelError, backoff: Duration, elapsed: Duration) -> Option<Duration> {
        // Jitter may double what the exponent gave.
        let delay = error.retry_after.map_or(backoff.min(self.delay_max), |wished| wished.max(backoff / 4));
        elapsed.checked_add(delay).filter(|at| *at <= self.total_max).map(|_| delay)
    }
}

/// Makes attempts until one succeeds or the rule says stop. Time is tokio's, which tests can hold still.
///
/// # Errors
/// The last failure.
pub(crate) async fn retrying<T, Fut>(
    rule: RetryRule,
    deltas: &Watched<'_>,
    attempt: impl FnMut() -> Fut,
) -> Result<T, ModelError>
where
    Fut: Future<Output = Result<T, ModelError>>,
{
    let started = Instant::now();
    attempt
        .retry(rule.backoff())
        .sleep(tokio::time::sleep)
        .when(|error| error.kind.is_transient() && !deltas.shown.load(Ordering::Relaxed))
        .adjust(|error, backoff| rule.delay(error, backoff?, started.elapsed()))
        .notify(|error, delay| {
            tracing::debug!(
                target: "holdpoint", kind = error.kind.as_str(), status = error.status,
                delay_ms = delay.as_millis() as u64, "the provider failed; the request is made again"
            );
        })
        .await
}

/// Notes whether anybody has seen anything.
pub(crate) struct Watched<'a> {
    inner: &'a dyn DeltaSink,
    shown: AtomicBool,
}

impl<'a> Watched<'a> {
    pub(crate) fn new(inner: &'a dyn DeltaSink) -> Self {
        Self { inner, shown: AtomicBool::new(false) }
    }
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

/// When a provider wants to be asked again, by the headers of its answer.
pub(crate) fn wished_delay(headers: &HeaderMap) -> Option<Duration> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    retry_after(header("retry-after"), header("retry-after-ms"), SystemTime::now())
}

/// When a provider wants to be asked again: `Retry-After` in seconds or as a date, or `Retry-After-Ms`. Nonsense counts
/// as nothing.
fn retry_after(seconds_or_date: Option<&str>, ms: Option<&str>, now: SystemTime) -> Option<Duration> {
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
