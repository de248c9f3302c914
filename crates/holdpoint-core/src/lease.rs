//! How long a process may act on a lease that a store gave it.

/// Two clocks of one process, read at the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// Microseconds since the machine started. Counts the time for which the machine was suspended.
    pub boot_us: i64,
    /// Microseconds since 1970. People and time servers set it; a virtual machine that was paused learns the time from it.
    pub wall_us: i64,
}

impl ClockReading {
    /// The microseconds since an earlier reading, by the clock that says more.
    pub fn us_since(self, earlier: ClockReading) -> i64 {
        let by_boot = self.boot_us.saturating_sub(earlier.boot_us);
        by_boot.max(self.wall_us.saturating_sub(earlier.wall_us))
    }
}

/// A lease as its holder knows it. The store counts the lease from a moment after the request was sent, so the holder counts
/// it from before: its own view ends first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseTerm {
    sent: ClockReading,
    length_us: i64,
}

impl LeaseTerm {
    /// The part of a lease that must remain when a tool starts. It covers the way from the check to the tool, and a clock of
    /// the store that runs faster than the holder's.
    const MARGIN: i64 = 4;

    /// A lease of `length_ms` that the store acknowledged. `sent` was read before the request was sent.
    pub fn new(sent: ClockReading, length_ms: u64) -> Self {
        let length_us = i64::try_from(length_ms.saturating_mul(1_000)).unwrap_or(i64::MAX);
        Self { sent, length_us }
    }

    /// Whether a tool may start now: at least a quarter of the lease remains by both clocks. A wall clock that was set back
    /// since says nothing about the time that passed, so the answer is no.
    pub fn covers_start(&self, now: ClockReading) -> bool {
        let by_wall = now.wall_us.saturating_sub(self.sent.wall_us);
        let margin = self.length_us / Self::MARGIN;
        by_wall >= -margin && now.us_since(self.sent) < self.length_us - margin
    }
}
