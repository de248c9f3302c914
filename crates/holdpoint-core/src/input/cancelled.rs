//! Somebody cancelled the run.

use std::sync::Arc;

use crate::{Actor, Completeness, Event, Phase, Rejection, Run, StopReason};

/// A cancellation.
#[derive(Clone, Debug, Default)]
pub struct Cancelled {
    /// By whom.
    pub actor: Actor,
    /// Why.
    pub reason: Option<Arc<str>>,
}

pub(super) fn decide(run: &Run, cancelled: Cancelled) -> Result<Vec<Event>, Rejection> {
    match run.phase {
        Phase::New => Err(Rejection::ContinuationNotFound),
        // Done already: cancelling twice, or too late, changes nothing.
        Phase::Ended(_) => Ok(Vec::new()),
        Phase::Between | Phase::Working(_) | Phase::Paused(_) | Phase::Failed(..) => {
            let mut events = vec![Event::Cancelled { actor: cancelled.actor, reason: cancelled.reason }];
            // Every call that the model asked for gets its answer, so that the conversation can be taken up elsewhere.
            if !run.calls.is_empty() {
                events.push(run.turn_ended(Completeness::Complete));
            }
            events.push(Event::Finished { stop: StopReason::Cancelled });
            Ok(events)
        }
    }
}
