//! The state of a rate limit: a lane per key, of which there are only so many, and a line of those who wait in each.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use tokio::time::Instant;

/// How many keys a rate limit tells apart. Keys above it share one rate until others have been quiet long enough to be
/// forgotten.
pub(super) const KEYS_MAX: usize = 10_000;
/// How often quiet lanes are looked for when there are too many.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// A lane for each key. A key is kept as a keyed hash, so that a long one costs nothing to keep.
#[derive(Debug)]
pub(super) struct Lanes {
    quota: Quota,
    pub(super) keys_max: usize,
    hasher: RandomState,
    pub(super) kept: Mutex<Kept>,
    /// Shared by all keys above `keys_max`.
    overflow: Arc<Lane>,
}

#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) lanes: HashMap<u64, Arc<Lane>>,
    swept_at: Option<Instant>,
}

/// The calls of one key: when the next may pass, and who waits.
#[derive(Debug)]
pub(super) struct Lane {
    limiter: RateLimiter<NotKeyed, InMemoryState, TokioClock, NoOpMiddleware<Duration>>,
    line: tokio::sync::Mutex<()>,
}

impl Lanes {
    pub(super) fn new(quota: Quota) -> Self {
        let overflow = Arc::new(Lane::new(quota));
        Self { quota, keys_max: KEYS_MAX, hasher: RandomState::new(), kept: Mutex::default(), overflow }
    }

    /// The lane of a key, or the one that all keys share which are too many.
    pub(super) fn lane(&self, key: Option<&str>) -> Arc<Lane> {
        let key = self.hasher.hash_one(key);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lane) = kept.lanes.get(&key) {
            return Arc::clone(lane);
        }
        if kept.lanes.len() >= self.keys_max {
            kept.sweep(self.quota);
        }
        if kept.lanes.len() >= self.keys_max {
            return Arc::clone(&self.overflow);
        }
        Arc::clone(kept.lanes.entry(key).or_insert_with(|| Arc::new(Lane::new(self.quota))))
    }
}

impl Kept {
    /// Forgets the lanes that are as good as new.
    fn sweep(&mut self, quota: Quota) {
        let now = Instant::now();
        if self.swept_at.is_some_and(|at| now.duration_since(at) < SWEEP_EVERY) {
            return;
        }
        self.swept_at = Some(now);
        self.lanes.retain(|_, lane| {
            // Whoever holds the lane is about to use it; one that can give its whole burst at once is as good as new.
            Arc::strong_count(lane) > 1 || !matches!(lane.limiter.check_n(quota.burst_size()), Ok(Ok(())))
        });
    }
}

impl Lane {
    fn new(quota: Quota) -> Self {
        let limiter = RateLimiter::direct_with_clock(quota, TokioClock(Instant::now()));
        Self { limiter, line: tokio::sync::Mutex::default() }
    }

    /// Lets one call pass, or says when the next one may.
    pub(super) fn take(&self) -> Result<(), Instant> {
        self.limiter.check().map_err(|until| self.limiter.clock().0 + until.earliest_possible())
    }

    /// Stands in line, and is the first of it once it returns.
    pub(super) async fn line(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.line.lock().await
    }

    /// Whether nobody waits.
    pub(super) fn is_empty(&self) -> bool {
        self.line.try_lock().is_ok()
    }
}

/// Tokio's time since the lane was made: what waits goes by it, and so does what is measured.
#[derive(Clone, Debug)]
struct TokioClock(Instant);

impl Clock for TokioClock {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}
