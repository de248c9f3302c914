//! How many calls of the current turn are in which state.

use crate::{Asked, Call, CallState};

/// How many calls of the current turn are in which state. Kept beside the calls so that no decision scans them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Policy must be asked.
    pub proposed: u32,
    /// A person must answer.
    pub asked: u32,
    /// May run, and nobody was asked.
    pub ready_allowed: u32,
    /// May run because people said so.
    pub ready_approved: u32,
    /// Started, no result.
    pub running: u32,
    /// Handed out, no result.
    pub deferred: u32,
    /// Final.
    pub settled: u32,
}

impl Tally {
    /// Counts anew. The tally of a run always equals that of its calls.
    pub fn of(calls: &[Call]) -> Self {
        let mut tally = Self::default();
        calls.iter().for_each(|call| *tally.slot(call) += 1);
        tally
    }

    pub(crate) fn slot(&mut self, call: &Call) -> &mut u32 {
        match &call.state {
            CallState::Proposed => &mut self.proposed,
            CallState::AwaitingApproval(_) => &mut self.asked,
            CallState::Ready if call.asked == Asked::No => &mut self.ready_allowed,
            CallState::Ready => &mut self.ready_approved,
            CallState::Running { .. } => &mut self.running,
            CallState::Deferred { .. } => &mut self.deferred,
            CallState::Settled(_) => &mut self.settled,
        }
    }
}
