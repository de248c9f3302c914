//! A process takes over a run whose owner died. What was started and has no result is in doubt.

use crate::planted::{self, Bug};
use crate::{Call, CallIndex, CallState, DoubtCause, Epoch, Event, Phase, Rejection, Run};

pub(super) fn decide(run: &Run) -> Result<Vec<Event>, Rejection> {
    match run.phase {
        Phase::New => return Err(Rejection::ContinuationNotFound),
        // Nobody holds it: there is nothing to take over.
        Phase::Paused(_) | Phase::Failed(..) | Phase::Ended(_) => return Ok(Vec::new()),
        Phase::Between | Phase::Working(_) => {}
    }
    let mut events = vec![Event::EpochStarted { epoch: Epoch(run.epoch.0 + 1) }];
    for (index, call) in run.calls.iter().enumerate() {
        events.extend(in_doubt(CallIndex::from_usize(index), call));
    }
    Ok(events)
}

/// What becomes of a call that was started and whose result nobody will bring.
pub(super) fn in_doubt(index: CallIndex, call: &Call) -> Option<Event> {
    if !matches!(call.state, CallState::Running { .. }) {
        return None;
    }
    let may_repeat = call.tool.as_ref().is_some_and(|facts| facts.repeat.may_repeat());
    Some(if may_repeat || planted::active(Bug::RepeatNever) {
        Event::CallRequeued { call: index }
    } else {
        Event::CallDoubted { call: index, cause: DoubtCause::Crashed, asks: None }
    })
}
