//! The clocks by which a process judges its own leases.

use std::time::{SystemTime, UNIX_EPOCH};

use holdpoint_core::ClockReading;

/// Reads both clocks of a process.
pub trait LeaseClock: Send + Sync + 'static {
    /// Both clocks at this moment.
    fn read(&self) -> ClockReading;
}

/// The clocks of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemLeaseClock;

impl LeaseClock for SystemLeaseClock {
    fn read(&self) -> ClockReading {
        ClockReading { boot_us: boot_us(), wall_us: wall_us() }
    }
}

/// Microseconds since the machine started, the time included for which it was suspended.
#[cfg(unix)]
pub fn boot_us() -> i64 {
    use rustix::time::{ClockId, clock_gettime};
    // Elsewhere the monotonic clock is the one that counts a suspended machine, or there is none that does.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const CLOCK: ClockId = ClockId::Boottime;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const CLOCK: ClockId = ClockId::Monotonic;
    let time = clock_gettime(CLOCK);
    time.tv_sec.saturating_mul(1_000_000).saturating_add(time.tv_nsec / 1_000)
}

/// Microseconds since some moment before the first call.
#[cfg(not(unix))]
pub fn boot_us() -> i64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    i64::try_from(START.get_or_init(Instant::now).elapsed().as_micros()).unwrap_or(i64::MAX)
}

pub(crate) fn wall_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
