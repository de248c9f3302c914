//! What is told in the end.

use std::time::Duration;

use serde_json::{Value, json};

use super::Torture;
use super::troop::Window;
use crate::check::Counts;

/// What was done to the processes.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) intent_effect: u64,
    pub(super) effect_result: u64,
    pub(super) result_commit: u64,
    pub(super) anywhere: u64,
    /// Processes that were stopped beyond their leases.
    pub(super) zombies: u64,
    /// Of them, those that went on when somebody else had their task.
    pub(super) zombies_overtaken: u64,
    /// Calls in doubt whose process was alive: it was killed before the answer.
    pub(super) doubts_of_the_living: u64,
    /// Lines of the ledger that a killed process never finished.
    pub(super) torn_lines: u64,
}

impl Tally {
    pub(super) fn kills(&self) -> u64 {
        self.intent_effect + self.effect_result + self.result_commit + self.anywhere
    }

    /// The smallest of the windows that matter.
    pub(super) fn fewest(&self) -> u64 {
        self.intent_effect.min(self.effect_result).min(self.result_commit)
    }

    pub(super) fn count(&mut self, window: Window) {
        match window {
            Window::IntentEffect => self.intent_effect += 1,
            Window::EffectResult => self.effect_result += 1,
            Window::ResultCommit => self.result_commit += 1,
            Window::Anywhere => self.anywhere += 1,
        }
    }
}

/// The summary. The address of the store may hold a password: only its kind is shown.
pub(super) fn show(options: &Torture, tally: &Tally, counts: &Counts, violations: usize, took: Duration) -> Value {
    json!({
        "store": options.store.split(':').next(),
        "seed": options.seed,
        "break": options.broken.map(super::Break::as_str),
        "seconds": took.as_secs(),
        "kills": {
            "total": tally.kills(),
            "between_intent_and_effect": tally.intent_effect,
            "between_effect_and_result": tally.effect_result,
            "between_result_and_commit": tally.result_commit,
            "anywhere": tally.anywhere,
        },
        "zombies": { "stopped": tally.zombies, "overtaken": tally.zombies_overtaken },
        "doubts_of_the_living": tally.doubts_of_the_living,
        "torn_lines": tally.torn_lines,
        "runs": { "finished": counts.finished, "cancelled": counts.cancelled },
        "calls": counts.calls,
        "executions": counts.executions,
        "effects": counts.effects,
        "doubts": counts.doubts,
        "answers_it_happened": counts.happened,
        "answers_it_did_not": counts.allowed_again,
        "takeovers": counts.takeovers,
        "late_results_as_evidence": counts.evidence,
        "late_effects_of_zombies": counts.late_effects,
        "violations": violations,
    })
}
