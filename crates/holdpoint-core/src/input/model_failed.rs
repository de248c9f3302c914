//! The provider failed, after its own retries.

use std::sync::Arc;

use crate::{Event, Failure, Phase, Rejection, Run, Work};

/// How the provider failed.
#[derive(Clone, Debug)]
pub struct ModelFailed {
    /// For people: safe to show, nothing of the prompt.
    pub detail: Arc<str>,
}

pub(super) fn decide(run: &Run, failed: ModelFailed) -> Result<Vec<Event>, Rejection> {
    if run.phase != Phase::Working(Work::Model) {
        return Err(Rejection::NotExpected { input: "model_failed" });
    }
    Ok(run.failed(Failure::ProviderError, failed.detail))
}
