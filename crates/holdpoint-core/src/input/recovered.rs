//! A process takes over a run whose owner died. What was started and has no result is in doubt.

use crate::planted::{self, Bug};
use crate::{CallIndex, CallState, Epoch, Event, Phase, Rejection, Run};

pub(super) fn decide(run: &Run) -> Result<Vec<Event>, Rejection> {
    match run.phase {
        Phase::New => return Err(Rejection::ContinuationNotFound),
        // Nobody holds it: there is nothing to take over.
        Phase::Paused(_) | Phase::Failed(..) | Phase::Ended(_) => return Ok(Vec::new()),
        Phase::Between | Phase::Working(_) => {}
    }
    let mut events = vec![Event::EpochStarted { epoch: Epoch(run.epoch.0 + 1) }];
    for (index, call) in run.calls.iter().enumerate() {
        if matches!(call.state, CallState::Running { .. }) {
            let may_repeat = call.tool.as_ref().is_some_and(|facts| facts.repeat.may_repeat());
            let call = CallIndex::from_usize(index);
            events.push(if may_repeat || planted::active(Bug::RepeatNever) {
                Event::CallRequeued { call }
            } else {
                Event::CallDoubted { call }
            });
        }
    }
    Ok(events)
}
