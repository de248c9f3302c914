//! What a resume names: a continuation in any of its forms, or the batch of a turn.

use std::fmt;

use holdpoint_core::{BatchId, ContinuationId, RunId};
use serde::Deserialize;
use serde_json::Value;

use crate::{Continuation, RunResult};

/// What is resumed. `Debug` shows nothing of a payload but its length.
#[derive(Clone)]
#[non_exhaustive]
pub enum ResumeFrom {
    /// An object of this process.
    Object(Box<Continuation>),
    /// A result that is not paused: refused when it is resumed.
    Ended(RunId),
    /// An exported payload.
    Json(String),
    /// Only the name of a continuation; the store has the rest.
    Id(ContinuationId),
    /// The batch of a turn, for a partial resume.
    Batch(BatchId),
    /// The batch of a pause, for a partial resume. Decisions without a digest of their own are about the questions that this
    /// pause showed.
    BatchOf(Box<ResumeFrom>),
}

impl ResumeFrom {
    /// Names the batch of a pause instead of its continuation, so that people who answer different calls do not collide.
    #[must_use]
    pub fn by_batch(self) -> Self {
        ResumeFrom::BatchOf(Box::new(self))
    }

    /// The run that it names, as far as it can be told without checking a payload.
    pub(crate) fn run_id(&self) -> Option<RunId> {
        #[derive(Deserialize)]
        struct Named {
            run_id: String,
        }
        match self {
            ResumeFrom::Object(continuation) => Some(continuation.run_id().clone()),
            ResumeFrom::Ended(run) => Some(run.clone()),
            ResumeFrom::Json(text) => serde_json::from_str(text).ok().map(|named: Named| RunId::new(named.run_id)),
            ResumeFrom::Id(id) => Some(id.run.clone()),
            ResumeFrom::Batch(id) => Some(id.run.clone()),
            ResumeFrom::BatchOf(pause) => pause.run_id(),
        }
    }
}

impl fmt::Debug for ResumeFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResumeFrom::Object(continuation) => write!(f, "Object({})", continuation.id()),
            ResumeFrom::Ended(run) => write!(f, "Ended({run})"),
            ResumeFrom::Json(text) => write!(f, "Json({} bytes)", text.len()),
            ResumeFrom::Id(id) => write!(f, "Id({id})"),
            ResumeFrom::Batch(id) => write!(f, "Batch({id})"),
            ResumeFrom::BatchOf(pause) => write!(f, "BatchOf({pause:?})"),
        }
    }
}

impl From<Continuation> for ResumeFrom {
    fn from(continuation: Continuation) -> Self {
        ResumeFrom::Object(Box::new(continuation))
    }
}

impl From<&Continuation> for ResumeFrom {
    fn from(continuation: &Continuation) -> Self {
        ResumeFrom::Object(Box::new(continuation.clone()))
    }
}

impl From<&RunResult> for ResumeFrom {
    fn from(result: &RunResult) -> Self {
        match result.continuation() {
            Some(continuation) => ResumeFrom::Object(Box::new(continuation)),
            None => ResumeFrom::Ended(result.run_id().clone()),
        }
    }
}

impl From<RunResult> for ResumeFrom {
    fn from(result: RunResult) -> Self {
        ResumeFrom::from(&result)
    }
}

impl From<&str> for ResumeFrom {
    fn from(json: &str) -> Self {
        ResumeFrom::Json(json.to_owned())
    }
}

impl From<String> for ResumeFrom {
    fn from(json: String) -> Self {
        ResumeFrom::Json(json)
    }
}

impl From<&Value> for ResumeFrom {
    fn from(json: &Value) -> Self {
        ResumeFrom::Json(json.to_string())
    }
}

impl From<ContinuationId> for ResumeFrom {
    fn from(id: ContinuationId) -> Self {
        ResumeFrom::Id(id)
    }
}

impl From<BatchId> for ResumeFrom {
    fn from(id: BatchId) -> Self {
        ResumeFrom::Batch(id)
    }
}
