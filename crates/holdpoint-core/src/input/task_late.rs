//! A worker brought a result after it had lost the call. It is never merged: at most it is evidence.

use std::sync::Arc;

use crate::{
    Attempt, CallIndex, Event, Evidence, Limits, Phase, Rejection, Run, StopReason, Timestamp, ToolResult, Turn,
};

/// A result under a lease that is not the current one.
#[derive(Clone, Debug)]
pub struct TaskLate {
    /// The turn of the call.
    pub turn: Turn,
    /// Its place in the turn.
    pub call: CallIndex,
    /// The attempt that it is of.
    pub attempt: Attempt,
    /// Who brought it.
    pub worker: Arc<str>,
    /// What they brought.
    pub result: Arc<ToolResult>,
}

pub(super) fn decide(run: &Run, late: TaskLate, now: Timestamp) -> Result<Vec<Event>, Rejection> {
    if run.phase == Phase::Ended(StopReason::Cancelled) {
        return Err(Rejection::RunCancelled);
    }
    // Whoever drives the run is not to be disturbed by what is only evidence.
    let Phase::Paused(_) = run.phase else { return Err(Rejection::LeaseLost) };
    let TaskLate { turn, call, attempt, worker, result } = late;
    let asked = run.call(call).filter(|_| turn == run.turn).and_then(|call| call.question()?.doubt.as_ref());
    let doubt = asked.ok_or(Rejection::LeaseLost)?;
    let evidence = Evidence { attempt, worker, result, at: now };
    if doubt.evidence.iter().any(|before| before.same_as(&evidence)) {
        return Ok(Vec::new());
    }
    if doubt.evidence.len() >= Limits::EVIDENCE_MAX {
        return Err(Rejection::LeaseLost);
    }
    // The question stays the same, and so does its continuation: only more is known.
    let Evidence { attempt, worker, result, at: _ } = evidence;
    Ok(vec![Event::EvidenceGiven { call, attempt, worker, result }])
}
