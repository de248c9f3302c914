//! A call returned, or was answered by a hook before it started.

use crate::{Attempt, CallIndex, CallState, Event, Phase, Rejection, Run, Settlement, StopReason, Work};

/// How a call ended.
#[derive(Clone, Debug)]
pub struct Returned {
    /// Which.
    pub call: CallIndex,
    /// The attempt that ended; `None` when it ended before one began.
    pub attempt: Option<Attempt>,
    /// How.
    pub settlement: Settlement,
}

pub(super) fn decide(run: &Run, returned: Returned) -> Result<Vec<Event>, Rejection> {
    if run.phase == Phase::Ended(StopReason::Cancelled) {
        return Err(Rejection::RunCancelled);
    }
    if run.phase != Phase::Working(Work::Calls) {
        return Err(Rejection::LeaseLost);
    }
    let call = run.call(returned.call).ok_or(Rejection::NotExpected { input: "returned" })?;
    let accepted = match (&call.state, returned.attempt) {
        (CallState::Running { attempt, .. }, Some(ended)) => *attempt == ended,
        (CallState::Ready, None) => run.is_executable(call),
        _ => false,
    };
    if !accepted {
        return Err(Rejection::LeaseLost);
    }
    Ok(vec![Event::ToolEnded { call: returned.call, settlement: returned.settlement }])
}
