//! Each checker is proven to catch something: with a mistake planted, some seed makes it speak; without one, none does.

#![cfg(feature = "planted")]

use std::panic;

use holdpoint_core::planted::{self, Bug};
use holdpoint_sim::{CHECKS, Mistake, Report, Tracing, simulate};

const SEEDS_MAX: u64 = 3000;

/// The checker that a mistake must alarm.
fn alarms(bug: Bug) -> &'static str {
    match bug {
        Bug::StartBeforeCommit | Bug::StartCancelled => "i2_intent_first",
        Bug::SettleTwice => "i3_settled_stays",
        Bug::EditKeepsApprovals
        | Bug::RunWhileAsked
        | Bug::AnyoneAnswers
        | Bug::GrantBeatsDenial
        | Bug::GrantOutlivesTool
        | Bug::RunChanged => "i4_permission",
        Bug::PolicySeesAlias => "i5_registered_names",
        Bug::RememberUnlogged | Bug::ImportForgets => "i6_replay",
        Bug::AcceptOldAttempt | Bug::MergeStale | Bug::AcceptLateResult | Bug::IgnoreFence => "i7_current_attempt",
        Bug::DebugShowsArguments => "i8_no_secrets",
        Bug::CompletionOrder => "i9_order",
        Bug::ForgetDoubt | Bug::OweNothing => "i12_waits",
        Bug::ContinuationTwice => "i13_once",
        Bug::AnnounceBeforeCommit => "i14_announced_after",
        Bug::RepeatNever | Bug::RetryNever => "repeat_never",
        Bug::DropApproved => "nothing_lost",
        Bug::FinishTwice => "segments",
        Bug::ForgetFailedCalls => "counts",
        Bug::IgnoreHold => "siblings",
        Bug::AnswerTooLate => "deadlines",
        Bug::TurnTooMany => "limits",
        Bug::ExpireTaken => "tasks",
        Bug::ForgetRetry => "every_run_ends",
    }
}

/// A mistake may lead to a world that makes no sense at all; that seed proves nothing.
fn simulated(seed: u64) -> Option<Report> {
    panic::catch_unwind(|| simulate(seed, Tracing::Off)).ok()
}

fn first_alarm(bug: Bug) -> Option<u64> {
    let wanted = alarms(bug);
    planted::plant(Some(bug));
    let alarmed = (0..SEEDS_MAX).find(|seed| {
        simulated(*seed).is_some_and(|report| report.violations.iter().any(|found| found.check == wanted))
    });
    planted::plant(None);
    alarmed
}

#[test]
fn each_planted_mistake_alarms_its_checker() {
    for bug in Bug::ALL {
        let alarmed = first_alarm(bug);
        println!("{bug:?}: {} at seed {alarmed:?}", alarms(bug));
        assert!(alarmed.is_some(), "{bug:?} did not alarm {} within {SEEDS_MAX} seeds", alarms(bug));
    }
}

#[test]
fn each_checker_has_a_planted_mistake() {
    for check in CHECKS {
        let planted = Bug::ALL.iter().any(|bug| alarms(*bug) == check);
        let made = Mistake::ALL.iter().any(|mistake| mistake.alarms() == check);
        assert!(planted || made, "nothing proves that {check} can fail");
    }
}

#[test]
fn nothing_alarms_without_a_mistake() {
    for seed in 0..SEEDS_MAX {
        let report = simulate(seed, Tracing::Off);
        assert_eq!(report.violations, [], "seed {seed}");
    }
}
