//! How often each kind of input met each state.

use std::fmt;

use holdpoint_core::{Input, PauseReason, Phase, Run, StopReason, Work};

/// The states that are told apart.
const STATES: [&str; 13] = [
    "new",
    "between",
    "model",
    "deciding",
    "ready",
    "running",
    "paused_confirm",
    "paused_doubt",
    "paused_results",
    "failed_model",
    "failed_calls",
    "ended",
    "cancelled",
];

/// The names of all inputs.
const INPUTS: [&str; 23] = [
    "started",
    "imported",
    "measured",
    "replied",
    "model_failed",
    "authorized",
    "tool_changed",
    "began",
    "deferred",
    "returned",
    "unfinished",
    "hook_failed",
    "answered",
    "delivered",
    "tasks_returned",
    "task_lost",
    "task_revoked",
    "task_late",
    "grant_revoked",
    "elapsed",
    "recovered",
    "cancelled",
    "retried",
];

/// A count per state and kind of input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    counts: [[u64; INPUTS.len()]; STATES.len()],
}

impl Coverage {
    pub(crate) fn count(&mut self, run: &Run, input: &Input) {
        let column = INPUTS.iter().position(|name| *name == input.name());
        self.counts[state(run)][column.expect("every input is listed")] += 1;
    }

    /// Adds the counts of another world.
    pub fn add(&mut self, other: &Coverage) {
        for (row, more) in self.counts.iter_mut().zip(&other.counts) {
            for (count, more) in row.iter_mut().zip(more) {
                *count += more;
            }
        }
    }

    /// The pairs that were never reached. Every input can meet every state: there is no pair to leave out.
    pub fn missing(&self) -> Vec<(&'static str, &'static str)> {
        let rows = STATES.iter().zip(&self.counts);
        rows.flat_map(|(state, row)| {
            let pairs = INPUTS.iter().zip(row);
            pairs.filter(|(_, count)| **count == 0).map(|(input, _)| (*state, *input))
        })
        .collect()
    }
}

fn state(run: &Run) -> usize {
    match run.phase() {
        Phase::New => 0,
        Phase::Between => 1,
        Phase::Working(Work::Model) => 2,
        Phase::Working(Work::Calls) => match run.tally() {
            tally if tally.proposed > 0 => 3,
            tally if tally.running == 0 => 4,
            _ => 5,
        },
        Phase::Paused(PauseReason::AwaitingToolConfirmation) => {
            if run.calls().iter().any(holdpoint_core::Call::is_uncertain) { 7 } else { 6 }
        }
        Phase::Paused(PauseReason::AwaitingToolResults) => 8,
        Phase::Failed(_, Work::Model) => 9,
        Phase::Failed(_, Work::Calls) => 10,
        Phase::Ended(StopReason::Cancelled) => 12,
        Phase::Ended(_) => 11,
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<14}", "input")?;
        for state in STATES {
            write!(f, " {state:>14}")?;
        }
        for (column, input) in INPUTS.iter().enumerate() {
            write!(f, "\n{input:<14}")?;
            for row in &self.counts {
                write!(f, " {:>14}", row[column])?;
            }
        }
        Ok(())
    }
}
