//! Each mistake alarms the checker that is there for it, and each checker is proven to fail by a mistake.

use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use holdpoint_sim::{CHECKS, Mistake, Setup, simulate_as};

const SEEDS_MAX: u64 = 3_000;

/// The first seed whose world makes a checker speak.
fn first_alarm(mistake: Mistake, check: &str) -> Option<u64> {
    let setup = Setup { mistake: Some(mistake), ..Setup::default() };
    (0..SEEDS_MAX).find(|seed| {
        // A mistake may lead to a world that makes no sense at all; such a seed proves nothing.
        let report = panic::catch_unwind(panic::AssertUnwindSafe(|| simulate_as(&setup, *seed)));
        report.is_ok_and(|report| report.violations.iter().any(|found| found.check == check))
    })
}

#[test]
fn each_mistake_alarms_its_checker() {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let unnoticed = || {
        let mut unnoticed = Vec::new();
        while let Some((mistake, check)) = Mistake::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
            match first_alarm(*mistake, check) {
                Some(seed) => println!("{mistake:?}: {check} at seed {seed}"),
                None => unnoticed.push(format!("{mistake:?} did not alarm {check}")),
            }
        }
        unnoticed
    };
    let unnoticed: Vec<String> = thread::scope(|scope| {
        let searches: Vec<_> = (0..threads).map(|_| scope.spawn(unnoticed)).collect();
        searches.into_iter().flat_map(|search| search.join().unwrap()).collect()
    });
    assert_eq!(unnoticed, Vec::<String>::new(), "within {SEEDS_MAX} seeds");
}

#[test]
fn each_checker_can_fail() {
    for check in CHECKS {
        assert!(Mistake::ALL.iter().any(|(_, alarmed)| *alarmed == check), "no mistake alarms {check}");
    }
}
