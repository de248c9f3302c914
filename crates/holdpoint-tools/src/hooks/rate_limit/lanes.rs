//! The state of a rate limit: a lane per key, of which there are only so many, and a line of those who wait in each.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::StateStore;
use governor::state::keyed::ShrinkableKeyedStateStore;
use governor::{Quota, RateLimiter};
use tokio::time::Instant;

/// How often quiet lanes are looked for when there are too many.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// A lane for each key. A key is a keyed hash, so that a long one costs nothing to keep.
pub(super) struct Lanes {
    map: Shared,
    limiter: RateLimiter<LaneRef, Shared, TokioClock, NoOpMiddleware<Duration>>,
    hasher: RandomState,
    keys_max: usize,
    swept_at: Mutex<Option<Instant>>,
}

/// Which lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key(u64);

/// The calls of one key: when the next may pass, and who waits.
#[derive(Default)]
pub(super) struct Lane {
    arrival: Mutex<Option<Nanos>>,
    line: tokio::sync::Mutex<()>,
}

impl Lanes {
    pub(super) fn new(quota: Quota, keys_max: usize) -> Self {
        let map = Shared::default();
        let limiter = RateLimiter::new(quota, map.clone(), TokioClock(Instant::now()));
        Self { map, limiter, hasher: RandomState::new(), keys_max, swept_at: Mutex::new(None) }
    }

    pub(super) fn key(&self, text: Option<&str>) -> Key {
        Key(self.hasher.hash_one(text))
    }

    /// The lane of a key, or the one that all keys share which are too many.
    pub(super) fn lane(&self, key: Key) -> Arc<Lane> {
        if let Some(lane) = self.map.find_or_add(key, self.keys_max) {
            return lane;
        }
        if self.may_sweep() {
            self.limiter.retain_recent();
        }
        self.map.find_or_add(key, self.keys_max).unwrap_or_else(|| Arc::clone(&self.map.0.overflow))
    }

    /// Lets one call pass, or says when the next one may.
    pub(super) fn take(&self, lane: &Arc<Lane>) -> Result<(), Instant> {
        let clock = self.limiter.clock();
        self.limiter.check_key(&LaneRef(Arc::clone(lane))).map_err(|until| clock.0 + until.earliest_possible())
    }

    pub(super) fn len(&self) -> usize {
        self.limiter.len()
    }

    fn may_sweep(&self) -> bool {
        let now = Instant::now();
        let mut swept_at = self.swept_at.lock().unwrap_or_else(PoisonError::into_inner);
        let due = swept_at.is_none_or(|at| now.duration_since(at) >= SWEEP_EVERY);
        if due {
            *swept_at = Some(now);
        }
        due
    }
}

impl Lane {
    /// Stands in line, and is the first of it once it returns.
    pub(super) async fn line(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.line.lock().await
    }

    /// Whether nobody waits.
    pub(super) fn is_empty(&self) -> bool {
        self.line.try_lock().is_ok()
    }
}

impl fmt::Debug for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lanes({} keys)", self.len())
    }
}

/// The lanes as the limiter sees them.
#[derive(Clone, Default)]
struct Shared(Arc<Stored>);

#[derive(Default)]
struct Stored {
    lanes: Mutex<HashMap<Key, Arc<Lane>>>,
    overflow: Arc<Lane>,
}

impl Shared {
    fn find_or_add(&self, key: Key, keys_max: usize) -> Option<Arc<Lane>> {
        let mut lanes = self.lanes();
        if let Some(lane) = lanes.get(&key) {
            return Some(Arc::clone(lane));
        }
        (lanes.len() < keys_max).then(|| Arc::clone(lanes.entry(key).or_default()))
    }

    fn lanes(&self) -> MutexGuard<'_, HashMap<Key, Arc<Lane>>> {
        self.0.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The limiter asks for a key that can be hashed, and is given the lane itself.
#[derive(Clone)]
struct LaneRef(Arc<Lane>);

impl PartialEq for LaneRef {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for LaneRef {}

impl Hash for LaneRef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

impl StateStore for Shared {
    type Key = LaneRef;

    fn measure_and_replace<T, F, E>(&self, key: &LaneRef, decide: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let mut arrival = key.0.arrival.lock().unwrap_or_else(PoisonError::into_inner);
        let (outcome, next) = decide(*arrival)?;
        *arrival = Some(next);
        Ok(outcome)
    }
}

impl ShrinkableKeyedStateStore<LaneRef> for Shared {
    fn retain_recent(&self, drop_below: Nanos) {
        self.lanes().retain(|_, lane| {
            // Whoever holds the lane is about to use it.
            let used = Arc::strong_count(lane) > 1;
            used || lane.arrival.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|at| at > drop_below)
        });
    }

    fn len(&self) -> usize {
        self.lanes().len()
    }

    fn is_empty(&self) -> bool {
        self.lanes().is_empty()
    }
}

/// Tokio's time since the limit was built: what waits goes by it, and so does what is measured.
#[derive(Clone, Debug)]
struct TokioClock(Instant);

impl Clock for TokioClock {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}
