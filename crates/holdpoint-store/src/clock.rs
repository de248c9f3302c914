//! Where moments come from.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use holdpoint_core::Timestamp;

/// Tells the moment. Never goes backwards.
pub trait Clock: Send + Sync + 'static {
    /// The moment.
    fn now(&self) -> Timestamp;
}

/// The clock of the machine, held still while the machine's clock is set back.
#[derive(Debug, Default)]
pub struct SystemClock {
    latest_us: AtomicI64,
}

impl SystemClock {
    /// A clock that follows the machine's.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seen = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
        let latest = self.latest_us.fetch_max(seen, Ordering::Relaxed);
        Timestamp(latest.max(seen))
    }
}

/// A clock that stands still until it is moved: for tests and scenarios.
#[derive(Debug)]
pub struct ManualClock {
    now_us: AtomicI64,
}

impl ManualClock {
    /// A clock that stands at `start`.
    pub fn new(start: Timestamp) -> Self {
        Self { now_us: AtomicI64::new(start.0) }
    }

    /// Moves on and returns the new moment.
    pub fn advance_ms(&self, ms: u64) -> Timestamp {
        let step = |now| Some(Timestamp(now).plus_ms(ms).0);
        match self.now_us.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step) {
            Ok(before) | Err(before) => Timestamp(before).plus_ms(ms),
        }
    }
}

impl Default for ManualClock {
    /// A clock that stands at 2025-01-01, so that moments look like moments.
    fn default() -> Self {
        Self::new(Timestamp(1_735_689_600_000_000))
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.now_us.load(Ordering::Relaxed))
    }
}
