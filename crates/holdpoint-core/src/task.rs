//! Deferred calls in the hands of workers, and what becomes of one whose worker brings no result.

use std::sync::Arc;

use crate::{Attempt, CallIndex, DoubtCause, Fence, Repeat, Timestamp, Turn};

/// A worker's lease of a deferred call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallLease {
    /// The turn of the call.
    pub turn: Turn,
    /// Its position in the turn.
    pub call: CallIndex,
    /// The attempt that the worker was to start.
    pub attempt: Attempt,
    /// Which lease of the task it is.
    pub fence: Fence,
    /// The worker's name, as people see it.
    pub worker: Arc<str>,
    /// When the worker leased it.
    pub since: Timestamp,
}

/// The wait before a task is handed out for the second time. It doubles with each attempt.
const RETRY_DELAY_MS: u64 = 1_000;
/// The longest wait before a task is handed out again.
const RETRY_DELAY_MS_MAX: u64 = 60_000;

/// How a worker came to bring no result of a task that it had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LossCause {
    /// It stopped answering.
    LeaseLapsed,
    /// It said that it failed after it had started.
    WorkerFailed,
    /// However it came: the task was started as often as it may be.
    OutOfAttempts,
}

impl LossCause {
    /// Every cause.
    pub const ALL: [LossCause; 3] = [LossCause::LeaseLapsed, LossCause::WorkerFailed, LossCause::OutOfAttempts];

    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        self.doubt().as_str()
    }

    /// What it means for the outcome of the call.
    pub fn doubt(self) -> DoubtCause {
        match self {
            LossCause::LeaseLapsed => DoubtCause::LeaseLapsed,
            LossCause::WorkerFailed => DoubtCause::WorkerFailed,
            LossCause::OutOfAttempts => DoubtCause::OutOfAttempts,
        }
    }
}

/// What to do about a task whose worker brings no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterLoss {
    /// Anybody may have it again, after a while.
    Retry {
        /// How long to wait.
        delay_ms: u64,
    },
    /// A person must be asked, for this reason.
    Ask(LossCause),
}

/// Decides about a task whose worker brings no result: how often it was started, and how often it may be. What may not
/// be repeated is asked about as if the lease lapsed; whoever knows better how it was lost says so.
pub fn task_loss(repeat: Repeat, attempts: Attempt, attempts_max: Attempt) -> AfterLoss {
    if !repeat.may_repeat() {
        return AfterLoss::Ask(LossCause::LeaseLapsed);
    }
    if attempts >= attempts_max {
        return AfterLoss::Ask(LossCause::OutOfAttempts);
    }
    let doublings = attempts.0.saturating_sub(1).min(16);
    AfterLoss::Retry { delay_ms: (RETRY_DELAY_MS << doublings).min(RETRY_DELAY_MS_MAX) }
}
