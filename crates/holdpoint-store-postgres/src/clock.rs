//! The clock of everything durable.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use holdpoint_core::Timestamp;
use holdpoint_store::Clock;

/// The given clock, or that of the database as far as it is known here.
pub(crate) enum Moments {
    Given(Arc<dyn Clock>),
    Database(DatabaseClock),
}

impl Moments {
    pub(crate) fn new(clock: Option<Arc<dyn Clock>>) -> Self {
        clock.map_or_else(|| Self::Database(DatabaseClock::new()), Self::Given)
    }

    pub(crate) fn now(&self) -> Timestamp {
        match self {
            Self::Given(clock) => clock.now(),
            Self::Database(clock) => clock.now(),
        }
    }

    /// The moment that statements are to go by. Nothing: they ask the database itself.
    pub(crate) fn given_us(&self) -> Option<i64> {
        match self {
            Self::Given(clock) => Some(clock.now().0),
            Self::Database(_) => None,
        }
    }
}

impl fmt::Debug for Moments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Given(_) => "a given clock",
            Self::Database(_) => "the clock of the database",
        })
    }
}

/// What the clock of the database shows, without asking it each time: it goes on by the clock of this process, which
/// nobody sets.
#[derive(Debug)]
pub(crate) struct DatabaseClock {
    start: Instant,
    /// What the database's clock showed at `start`.
    offset_us: AtomicI64,
    latest_us: AtomicI64,
}

impl DatabaseClock {
    fn new() -> Self {
        Self { start: Instant::now(), offset_us: AtomicI64::new(0), latest_us: AtomicI64::new(i64::MIN) }
    }

    /// How long this clock has been going.
    pub(crate) fn elapsed_us(&self) -> i64 {
        i64::try_from(self.start.elapsed().as_micros()).unwrap_or(i64::MAX)
    }

    /// The database showed `seen_us` at some moment between two of ours.
    pub(crate) fn adjust(&self, asked_us: i64, answered_us: i64, seen_us: i64) {
        let middle = asked_us + (answered_us - asked_us) / 2;
        self.offset_us.store(seen_us.saturating_sub(middle), Ordering::Relaxed);
    }

    fn now(&self) -> Timestamp {
        let seen = self.elapsed_us().saturating_add(self.offset_us.load(Ordering::Relaxed));
        let latest = self.latest_us.fetch_max(seen, Ordering::Relaxed);
        Timestamp(latest.max(seen))
    }
}

#[cfg(test)]
mod tests;
