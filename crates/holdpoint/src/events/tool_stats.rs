//! How the calls of each tool went in this process, by registered name.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use holdpoint_core::{Outcome, ToolName};

/// Latencies are counted in steps that double, from 1 ms on: the last has all that is longer.
pub const LATENCY_STEPS: usize = 20;

/// How the calls of one tool went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolStats {
    /// How many calls were settled.
    pub calls: u64,
    /// How many of them in which way.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// How many ran: those have a latency.
    pub ran: u64,
    /// How long all of these took together.
    pub latency_us_total: u64,
    /// How long the longest took.
    pub latency_us_max: u64,
    /// How many took less than 1 ms, 2 ms, 4 ms, and so on; each is in one place only.
    pub latency_steps: [u64; LATENCY_STEPS],
}

impl ToolStats {
    /// The latency that this part of the calls stayed below, up to the step: `0.5` for half of them.
    pub fn latency_ms(&self, part: f64) -> Option<u64> {
        if self.ran == 0 {
            return None;
        }
        let mut left = (self.ran as f64 * part.clamp(0.0, 1.0)).ceil().max(1.0) as u64;
        for (step, count) in self.latency_steps.iter().enumerate() {
            if left <= *count {
                return Some(1 << step);
            }
            left -= count;
        }
        Some(self.latency_us_max / 1_000)
    }

    fn add(&mut self, outcome: Outcome, latency_us: u64) {
        self.calls += 1;
        *self.outcomes.entry(outcome.as_str()).or_default() += 1;
        if latency_us == 0 {
            return;
        }
        self.ran += 1;
        self.latency_us_total = self.latency_us_total.saturating_add(latency_us);
        self.latency_us_max = self.latency_us_max.max(latency_us);
        let ms = latency_us / 1_000;
        let step = (u64::BITS - ms.leading_zeros()) as usize;
        self.latency_steps[step.min(LATENCY_STEPS - 1)] += 1;
    }
}

/// The statistics of an agent's tools.
#[derive(Debug, Default)]
pub(crate) struct AllStats(Mutex<BTreeMap<ToolName, ToolStats>>);

impl AllStats {
    /// Counts a call whose settlement is durable.
    pub(crate) fn add(&self, tool: ToolName, outcome: Outcome, latency_us: u64) {
        self.lock().entry(tool).or_default().add(outcome, latency_us);
    }

    pub(crate) fn all(&self) -> BTreeMap<ToolName, ToolStats> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ToolName, ToolStats>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
