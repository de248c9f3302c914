//! Somebody cancelled the run.

use std::sync::Arc;

use super::tasks_returned::TaskReturned;
use crate::{Actor, Completeness, Event, Phase, Rejection, Run, StopReason};

/// A cancellation.
#[derive(Clone, Debug, Default)]
pub struct Cancelled {
    /// Who cancelled it.
    pub actor: Actor,
    /// Why, for people.
    pub reason: Option<Arc<str>>,
    /// Tasks that workers have completed and the run has not collected. Their results were acknowledged, so they are recorded
    /// before the other calls are cancelled.
    pub completed: Vec<TaskReturned>,
}

impl Cancelled {
    /// A cancellation without a reason, of a run whose tasks have no results.
    pub fn by(actor: Actor) -> Self {
        Self { actor, ..Self::default() }
    }
}

pub(super) fn decide(run: &Run, cancelled: Cancelled) -> Result<Vec<Event>, Rejection> {
    match run.phase {
        Phase::New => Err(Rejection::ContinuationNotFound),
        // Done already: cancelling twice, or too late, changes nothing.
        Phase::Ended(_) => Ok(Vec::new()),
        Phase::Between | Phase::Working(_) | Phase::Paused(_) | Phase::Failed(..) => {
            let mut events = run.collect(cancelled.completed);
            if let (Phase::Paused(reason), false) = (&run.phase, events.is_empty()) {
                events.insert(0, Event::Resumed { pause: run.pauses, reason: *reason, request: None });
            }
            events.push(Event::Cancelled { actor: cancelled.actor, reason: cancelled.reason });
            // Every call that the model asked for gets its answer, so that the conversation can be taken up elsewhere.
            if !run.calls.is_empty() {
                events.push(run.turn_ended(Completeness::Complete));
            }
            events.push(Event::Done { stop: StopReason::Cancelled });
            Ok(events)
        }
    }
}
