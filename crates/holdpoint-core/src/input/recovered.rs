//! A process takes over a run whose owner died. What was started and has no result is in doubt.

use crate::{Call, CallIndex, CallKey, CallState, DoubtCause, Epoch, Event, Phase, Rejection, Run};

/// A takeover.
#[derive(Clone, Debug, Default)]
pub struct Recovered {
    /// Calls whose programs the process that takes over has ended.
    pub ended: Vec<CallKey>,
}

pub(super) fn decide(run: &Run, recovered: &Recovered) -> Result<Vec<Event>, Rejection> {
    match run.phase {
        Phase::New => return Err(Rejection::ContinuationNotFound),
        // Nobody holds it: there is nothing to take over.
        Phase::Paused(_) | Phase::Failed(..) | Phase::Ended(_) => return Ok(Vec::new()),
        Phase::Between | Phase::Working(_) => {}
    }
    let mut events = vec![Event::EpochStarted { epoch: Epoch(run.epoch.0 + 1) }];
    for (index, call) in run.calls.iter().enumerate() {
        let index = CallIndex::from_usize(index);
        let key = CallKey { run: run.id.clone(), turn: run.turn, index };
        let may_run = call.is_program() && !recovered.ended.contains(&key);
        events.extend(in_doubt(index, call).map(|event| event.while_running(may_run)));
    }
    Ok(events)
}

impl Event {
    /// The same, if it is a doubt, about a call whose program may still be running.
    fn while_running(self, running: bool) -> Self {
        match self {
            Event::CallDoubted { call, cause, asks, .. } => Event::CallDoubted { call, cause, asks, may_run: running },
            event => event,
        }
    }
}

/// What becomes of a call that was started and whose result nobody will bring.
pub(super) fn in_doubt(index: CallIndex, call: &Call) -> Option<Event> {
    if !matches!(call.state, CallState::Running { .. }) {
        return None;
    }
    let may_repeat = call.tool.as_ref().is_some_and(|facts| facts.repeat.may_repeat());
    Some(if may_repeat {
        Event::CallRequeued { call: index }
    } else {
        Event::CallDoubted { call: index, cause: DoubtCause::Crashed, asks: None, may_run: false }
    })
}
