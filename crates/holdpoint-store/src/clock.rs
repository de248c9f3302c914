//! Where moments come from.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use holdpoint_core::Timestamp;

use crate::lease_clock::{boot_us, wall_us};

/// Tells the moment. Never goes backwards.
pub trait Clock: Send + Sync + 'static {
    /// The moment.
    fn now(&self) -> Timestamp;

    /// The moment by which leases begin and lapse. Never after [`Clock::now`]. After the machine's clock was set back, a process
    /// that was there before is ahead of one that started since: by their own moments, one's leases would have lapsed before
    /// they began, and the other's would last for ever.
    fn lease_moment(&self) -> Timestamp {
        self.now()
    }
}

/// The clock of the machine. While the machine's clock is set back, it runs on at half speed until the other has caught up:
/// a lease that is renewed always ends later than before.
#[derive(Debug, Default)]
pub struct SystemClock(SteadyClock);

impl SystemClock {
    /// A clock that follows the machine's.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        self.0.follow(wall_us(), boot_us())
    }

    fn lease_moment(&self) -> Timestamp {
        self.now().min(Timestamp(wall_us()))
    }
}

/// Follows a clock that may be set, without ever going back or standing still.
#[derive(Debug, Default)]
pub struct SteadyClock(Mutex<Option<Shown>>);

/// What was shown last, and what the clock that counts suspended time showed then.
#[derive(Clone, Copy, Debug)]
struct Shown {
    now_us: i64,
    boot_us: i64,
}

impl SteadyClock {
    /// The moment to show when the followed clock shows `seen_us`.
    pub fn follow(&self, seen_us: i64, boot_us: i64) -> Timestamp {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now_us = match *shown {
            None => seen_us,
            Some(before) => {
                let passed_us = boot_us.saturating_sub(before.boot_us).max(0);
                seen_us.max(before.now_us.saturating_add(passed_us / 2))
            }
        };
        // Readings of several threads may come out of order: what is kept never goes back.
        let boot_us = shown.map_or(boot_us, |before| before.boot_us.max(boot_us));
        *shown = Some(Shown { now_us, boot_us });
        Timestamp(now_us)
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

impl ManualClock {
    /// Sets it back, as somebody may set the clock of a machine while the processes on it are restarted.
    pub fn set_back_ms(&self, ms: u64) {
        let us = i64::try_from(ms.saturating_mul(1_000)).unwrap_or(i64::MAX);
        self.now_us.fetch_sub(us, Ordering::Relaxed);
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

#[cfg(test)]
mod tests;
