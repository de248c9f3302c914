//! The clock of everything durable.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use holdpoint_core::Timestamp;
use holdpoint_store::{Clock, SteadyClock, boot_us};

/// The given clock, or that of the database as far as it is known here.
pub(crate) enum StoreClock {
    Given(Arc<dyn Clock>),
    Database(DatabaseClock),
}

impl StoreClock {
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

impl fmt::Debug for StoreClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Given(_) => "a given clock",
            Self::Database(_) => "the clock of the database",
        })
    }
}

/// What the clock of the database shows, without asking it each time: in between it advances by the machine's clock that
/// counts suspended time and that nobody sets.
#[derive(Debug)]
pub(crate) struct DatabaseClock {
    start_us: i64,
    /// What the database's clock showed at `start_us`.
    offset_us: AtomicI64,
    shown: SteadyClock,
}

impl DatabaseClock {
    fn new() -> Self {
        Self { start_us: boot_us(), offset_us: AtomicI64::new(0), shown: SteadyClock::default() }
    }

    /// How long this clock has been going.
    pub(crate) fn elapsed_us(&self) -> i64 {
        boot_us().saturating_sub(self.start_us)
    }

    /// The database showed `seen_us` at some moment between two of ours.
    pub(crate) fn adjust(&self, asked_us: i64, answered_us: i64, seen_us: i64) {
        let middle = asked_us + (answered_us - asked_us) / 2;
        self.offset_us.store(seen_us.saturating_sub(middle), Ordering::Relaxed);
    }

    fn now(&self) -> Timestamp {
        let elapsed_us = self.elapsed_us();
        self.shown.follow(elapsed_us.saturating_add(self.offset_us.load(Ordering::Relaxed)), elapsed_us)
    }
}

#[cfg(test)]
mod tests;
