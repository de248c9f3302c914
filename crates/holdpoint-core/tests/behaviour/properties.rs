//! Whatever happens, in whatever order, the invariants hold.

mod inputs;
mod mistakes;
pub(crate) mod watch;
mod workers;

use crate::mistakes::Machine;
use crate::support::new_run;
use holdpoint_core::{Phase, Run, Timestamp, Work};
use proptest::collection::vec;
use proptest::prelude::*;

use inputs::{Dice, Known};
use watch::Watch;

/// Plays one run by dice, with every checker watching. Returns how it ended, and the books.
fn play(machine: Machine, settings: &[u8], throws: &[[u8; 6]]) -> (Run, Watch) {
    let mut run = new_run("r");
    let mut watch = Watch::of(machine);
    let mut now = Timestamp(0);
    watch.step(&mut run, inputs::started(settings), now).unwrap();
    for throw in throws {
        let mut dice = Dice::new(throw);
        now = now.plus_ms(u64::from(dice.throw(8)));
        let grants = watch.grants();
        let known = Known { run: &run, grants: &grants };
        let input = if dice.throw(5) == 0 { inputs::any(known, &mut dice) } else { inputs::owed(known, &mut dice) };
        let _ = watch.step(&mut run, input, now);
        if dice.throw(40) == 0 {
            run = watch.move_to_another_store(run, now);
        }
    }
    watch.replay(&run);
    (run, watch)
}

/// Finishes a run that anything may have happened to.
fn drive_to_the_end(mut run: Run) {
    let mut watch = Watch::after(&run);
    let mut now = Timestamp(i64::MAX / 2);
    for _ in 0..2_000 {
        now = now.plus_ms(1);
        let settled = matches!(run.phase(), Phase::Ended(_));
        if settled {
            return;
        }
        let nobody_executes = *run.phase() == Phase::Working(Work::Calls) && run.owed().is_empty();
        let input = match nobody_executes {
            true => holdpoint_core::Input::Recovered(holdpoint_core::Recovered::default()),
            false => inputs::finishing(&run),
        };
        let _ = watch.step(&mut run, input, now);
    }
    panic!("it never ends: {run:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_inputs_breaks_an_invariant(settings: [u8; 6], throws in vec(any::<[u8; 6]>(), 0..80)) {
        play(Run::step, &settings, &throws);
    }

    #[test]
    fn every_run_can_be_brought_to_an_end(settings: [u8; 6], throws in vec(any::<[u8; 6]>(), 0..40)) {
        drive_to_the_end(play(Run::step, &settings, &throws).0);
    }
}

#[test]
fn the_dice_reach_every_phase_and_effect() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..600_u32 {
        let bytes = |n: u32| seed.wrapping_mul(2_654_435_761).wrapping_add(n.wrapping_mul(40_503)).to_le_bytes();
        let throw = |n: u32| {
            let (one, two) = (bytes(n), bytes(n + 1_000));
            [one[1], one[2], one[3], two[1], two[2], two[3]]
        };
        let throws: Vec<[u8; 6]> = (1..40).map(throw).collect();
        let (run, watch) = play(Run::step, &throw(0), &throws);
        seen.insert(run.status().as_str().to_owned());
        seen.extend(run.stop_reason().map(|stop| stop.as_str().to_owned()));
        seen.extend(run.records().iter().map(|record| record.progress.as_str().to_owned()));
        seen.extend(watch.owed.into_iter().chain(watch.happened).map(str::to_owned));
    }
    for wanted in [
        "running",
        "awaiting_tool_confirmation",
        "awaiting_tool_results",
        "done",
        "failed",
        "cancelled",
        "end_turn",
        "max_turns",
        "halted",
        "provider_error",
        "error",
        "hook_failed",
        "context_window_exceeded",
        "succeeded",
        "denied",
        "refused",
        "expired",
        "ignored",
        "uncertain",
        "lease_lapsed",
        "out_of_attempts",
        "evidence_given",
        "task_taken",
        "grant_given",
        "grant_used",
        "grant_revoked",
        "tool_changed",
        "pending",
        "call model",
        "authorize",
        "execute",
        "timer",
        "pause",
        "finish",
    ] {
        assert!(seen.contains(wanted), "never reached `{wanted}`: {seen:?}");
    }
}
