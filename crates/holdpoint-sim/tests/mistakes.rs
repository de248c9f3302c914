//! Each mistake around the core alarms the checker that is there for it.

use std::panic;

use holdpoint_sim::{Mistake, Report, Tracing, simulate};

const SEEDS_MAX: u64 = 20_000;

/// A mistake may lead to a world that makes no sense at all; that seed proves nothing.
fn simulated(seed: u64) -> Option<Report> {
    panic::catch_unwind(|| simulate(seed, Tracing::Off)).ok()
}

fn first_alarm(mistake: Mistake) -> Option<u64> {
    let wanted = mistake.alarms();
    Mistake::make(Some(mistake));
    let alarmed = (0..SEEDS_MAX).find(|seed| {
        simulated(*seed).is_some_and(|report| report.violations.iter().any(|found| found.check == wanted))
    });
    Mistake::make(None);
    alarmed
}

#[test]
fn each_mistake_alarms_its_checker() {
    for mistake in Mistake::ALL {
        let alarmed = first_alarm(mistake);
        println!("{mistake:?}: {} at seed {alarmed:?}", mistake.alarms());
        assert!(alarmed.is_some(), "{mistake:?} did not alarm {} within {SEEDS_MAX} seeds", mistake.alarms());
    }
}
