//! A call was started and has no result, and the process that ran it is still there to say so.

use std::sync::Arc;

use super::recovered::in_doubt;
use crate::{Attempt, Call, CallIndex, DoubtCause, Event, Phase, Rejection, Run, StopReason, ToolResult, Work};

/// A started call without a result.
#[derive(Clone, Debug)]
pub struct Unfinished {
    /// Which.
    pub call: CallIndex,
    /// The attempt that has none.
    pub attempt: Attempt,
    /// What the tool asks a person before it goes on; nothing when nobody knows what became of the call.
    pub asks: Option<Arc<ToolResult>>,
}

pub(super) fn decide(run: &Run, unfinished: Unfinished) -> Result<Vec<Event>, Rejection> {
    let Unfinished { call: index, attempt, asks } = unfinished;
    if run.phase == Phase::Ended(StopReason::Cancelled) {
        return Err(Rejection::RunCancelled);
    }
    if run.phase != Phase::Working(Work::Calls) || !run.is_running(index, attempt) {
        return Err(Rejection::LeaseLost);
    }
    let asked = asks.map(|asks| Event::CallDoubted {
        call: index,
        cause: DoubtCause::NeedsInput,
        asks: Some(asks),
        may_run: false,
    });
    let event = asked.or_else(|| unknown(run, index, run.call(index)?));
    event.map(|event| vec![event]).ok_or(Rejection::NotExpected { input: "unfinished" })
}

/// Nobody knows what became of it. What may be repeated is, as often as a call may be started; then a person is asked.
fn unknown(run: &Run, index: CallIndex, call: &Call) -> Option<Event> {
    match in_doubt(index, call)? {
        Event::CallRequeued { call: index } if call.attempts.0 >= run.settings.max_task_attempts => {
            Some(Event::CallDoubted { call: index, cause: DoubtCause::OutOfAttempts, asks: None, may_run: false })
        }
        event => Some(event),
    }
}
