//! Somebody wants a failed run to go on.

use std::sync::Arc;

use crate::{Event, Phase, Rejection, Run};

/// A retry of a run that failed.
#[derive(Clone, Debug, Default)]
pub struct Retried {
    /// Names the request that asked for it, so that the same request is recognised when it is sent again.
    pub request: Option<Arc<str>>,
}

pub(super) fn decide(run: &Run, retried: Retried) -> Result<Vec<Event>, Rejection> {
    match run.phase {
        Phase::Failed(..) => Ok(vec![Event::Retried { request: retried.request }]),
        Phase::New => Err(Rejection::ContinuationNotFound),
        Phase::Between | Phase::Working(_) | Phase::Paused(_) | Phase::Ended(_) => Err(Rejection::NotRetryable),
    }
}
