//! Somebody wants a failed run to go on.

use crate::{Event, Phase, Rejection, Run};

pub(super) fn decide(run: &Run) -> Result<Vec<Event>, Rejection> {
    match run.phase {
        Phase::Failed(..) => Ok(vec![Event::Retried]),
        Phase::New => Err(Rejection::ContinuationNotFound),
        Phase::Between | Phase::Working(_) | Phase::Paused(_) | Phase::Ended(_) => Err(Rejection::NotRetryable),
    }
}
