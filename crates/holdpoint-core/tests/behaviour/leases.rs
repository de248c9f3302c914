//! When a tool may start on a lease, by the clocks of the process that holds it.

use holdpoint_core::{ClockReading, LeaseTerm};

const LEASE_MS: u64 = 30_000;

fn at(boot_ms: i64, wall_ms: i64) -> ClockReading {
    ClockReading { boot_us: boot_ms * 1_000, wall_us: wall_ms * 1_000 }
}

/// Whether a lease that was sent for at (0, 1,000,000) covers a start when the clocks show this.
fn covers(boot_ms: i64, wall_ms: i64) -> bool {
    LeaseTerm::new(at(0, 1_000_000), LEASE_MS).covers_start(at(boot_ms, 1_000_000 + wall_ms))
}

#[test]
fn a_start_needs_a_quarter_of_the_lease() {
    assert!(covers(0, 0));
    assert!(covers(22_499, 22_499));
    assert!(!covers(22_500, 22_500));
    assert!(!covers(30_000, 30_000));
    assert!(!covers(40_000, 40_000));
}

#[test]
fn either_clock_can_end_a_lease() {
    // A suspended machine whose wall clock was not set yet; a paused virtual machine whose wall clock was.
    assert!(!covers(40_000, 5));
    assert!(!covers(5, 40_000));
}

#[test]
fn a_wall_clock_that_was_set_back_proves_nothing() {
    assert!(covers(5, -7_500));
    assert!(!covers(5, -7_501));
    assert!(!covers(5, -3_600_000));
}

#[test]
fn the_longest_and_the_shortest_leases_do_not_overflow() {
    assert!(LeaseTerm::new(at(0, 0), u64::MAX).covers_start(at(1, 1)));
    assert!(!LeaseTerm::new(at(0, 0), 0).covers_start(at(0, 0)));
    assert!(!LeaseTerm::new(at(0, i64::MIN / 1_000), 10).covers_start(at(0, i64::MAX / 1_000)));
}
