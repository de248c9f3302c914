//! What a store can answer instead of doing what it was asked.

use std::error::Error;

use holdpoint_core::{Code, Revision, RunId};
use thiserror::Error;

use crate::StoreFault;

/// Why something could not be read.
#[derive(Debug, Error)]
pub enum StoreError {
    /// There is no such run.
    #[error("run `{run}` is not in the store")]
    NotFound {
        /// The run.
        run: RunId,
    },
    /// A list cannot be continued from there.
    #[error("the cursor was not made by this store")]
    InvalidCursor,
    /// The store itself failed.
    #[error("the store failed to {doing}")]
    Failed {
        /// What it was doing, as in `read the run`.
        doing: &'static str,
        /// The cause.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    /// The store failed for a reason that people can do something about.
    #[error("the store failed to {doing}: {fault}")]
    Fault {
        /// The reason.
        fault: StoreFault,
        /// What it was doing.
        doing: &'static str,
        /// The cause.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
}

impl StoreError {
    /// A failure whose reason is known.
    pub fn fault(fault: StoreFault, doing: &'static str, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Fault { fault, doing, cause: cause.into() }
    }

    /// A failure with its cause, whose reason may be known.
    pub fn caused(
        fault: Option<StoreFault>,
        doing: &'static str,
        cause: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        match fault {
            Some(fault) => Self::fault(fault, doing, cause),
            None => Self::failed(doing, cause),
        }
    }

    /// Whether the same may work a little later.
    pub fn may_pass(&self) -> bool {
        match self {
            StoreError::Fault { fault, .. } => fault.may_pass(),
            StoreError::NotFound { .. } | StoreError::InvalidCursor | StoreError::Failed { .. } => false,
        }
    }

    /// A failure with its cause.
    pub fn failed(doing: &'static str, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed { doing, cause: cause.into() }
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        match self {
            StoreError::NotFound { .. } => Code::ContinuationNotFound,
            StoreError::InvalidCursor => Code::NotExpected,
            StoreError::Failed { .. } => Code::StoreFailed,
            StoreError::Fault { fault, .. } => fault.code(),
        }
    }

    /// What to do next, if there is something.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            StoreError::NotFound { .. } => Some("is this the store that the run was started with?"),
            StoreError::InvalidCursor => Some("start the list again without a cursor"),
            StoreError::Failed { .. } => None,
            StoreError::Fault { fault, .. } => Some(fault.hint()),
        }
    }
}

/// Why a transition was not acknowledged.
#[derive(Debug, Error)]
pub enum CommitError {
    /// Somebody else wrote first. Nothing changed.
    #[error("the run is at revision `{current}` by now")]
    Stale {
        /// Where the run is.
        current: Revision,
    },
    /// A task that it closes is not as it must be: the lease is not the current one. Nothing changed.
    #[error("the lease of the task is not the current one")]
    LeaseLost,
    /// The run is to be created alone in its session, which has a run that is not over. Nothing changed.
    #[error("the session has a run that is not over")]
    SessionBusy,
    /// No store takes such a transition. Nothing changed.
    #[error("the transition cannot be stored: {0}")]
    Invalid(TransitionProblem),
    /// The store failed. Whether the transition was written is not known.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl CommitError {
    /// The stable code.
    pub fn code(&self) -> Code {
        match self {
            CommitError::Stale { .. } => Code::StaleContinuation,
            CommitError::LeaseLost => Code::LeaseLost,
            CommitError::SessionBusy => Code::RunBusy,
            CommitError::Invalid(_) => Code::StoreFailed,
            CommitError::Store(error) => error.code(),
        }
    }

    /// What to do next, if there is something.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            CommitError::Stale { .. } => Some("load the run again and decide anew"),
            CommitError::LeaseLost => Some("somebody else has the task by now, or nobody needs it any more"),
            CommitError::SessionBusy => Some("wait until it is over, answer what it asks, or cancel it"),
            CommitError::Invalid(_) => None,
            CommitError::Store(error) => error.hint(),
        }
    }
}

/// What is wrong with a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TransitionProblem {
    /// There is nothing to write.
    #[error("it has no records")]
    Empty,
    /// More than [`crate::TRANSITION_RECORDS_MAX`] records.
    #[error("it has `{records}` records, more than `{max}`", max = crate::TRANSITION_RECORDS_MAX)]
    TooManyRecords {
        /// How many.
        records: usize,
    },
    /// A record above [`crate::RECORD_BYTES_MAX`].
    #[error("a record has `{bytes}` bytes, more than `{max}`", max = crate::RECORD_BYTES_MAX)]
    RecordTooLarge {
        /// How large.
        bytes: usize,
    },
    /// More than [`crate::TRANSITION_BYTES_MAX`] in all.
    #[error("it has `{bytes}` bytes, more than `{max}`", max = crate::TRANSITION_BYTES_MAX)]
    TooLarge {
        /// How large.
        bytes: usize,
    },
    /// The run's name is empty or above [`crate::RUN_ID_BYTES_MAX`].
    #[error("the run id has `{bytes}` bytes, not `1` to `{max}`", max = crate::RUN_ID_BYTES_MAX)]
    RunIdLength {
        /// How long.
        bytes: usize,
    },
    /// The continuation is of another run.
    #[error("its continuation is of another run")]
    ForeignContinuation,
}
