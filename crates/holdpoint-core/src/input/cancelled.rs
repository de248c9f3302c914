//! Somebody cancelled the run.

use std::sync::Arc;

use crate::{Actor, Event, Phase, Rejection, Run, StopReason};

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
        Phase::Between | Phase::Working(_) | Phase::Paused(_) | Phase::Failed(..) => Ok(vec![
            Event::Cancelled { actor: cancelled.actor, reason: cancelled.reason },
            Event::Finished { stop: StopReason::Cancelled },
        ]),
    }
}
