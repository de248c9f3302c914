//! What can go wrong for those who use the library: an enum to branch on, a sentence to read, a code to search for.

use holdpoint_codec::CodecError;
use holdpoint_core::{CallId, Code, ContinuationId, Rejection, SettingsError};
use holdpoint_store::StoreError;
use holdpoint_tools::ChoiceError;
use thiserror::Error;

/// Why an entry point gave no result. Nothing is half done: the run is what its store says.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The run did not accept it; nothing changed.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// A payload, a context or a decision could not be read.
    #[error(transparent)]
    Payload(#[from] CodecError),
    /// What a person gave for a tool does not fit: edited arguments, or the answer to what it asked.
    #[error("what was given for call `{call}` does not fit: {problems}")]
    InvalidArguments {
        /// Which call.
        call: CallId,
        /// What is wrong, by path.
        problems: String,
        /// `invalid_arguments` or `arguments_too_large`.
        code: Code,
    },
    /// An executor that is not known, or cannot be as it was chosen.
    #[error(transparent)]
    Executor(#[from] ChoiceError),
    /// Settings that cannot be.
    #[error("{problem}")]
    InvalidConfig {
        /// What cannot be, and where.
        problem: String,
    },
    /// A payload that is not signed was handed in for a run that the store does not know.
    #[error(
        "the store does not know this run, and the payload is not signed; hint: sign it, or allow unsigned imports"
    )]
    UnsignedImport,
    /// The store failed.
    #[error("the store failed")]
    Store(#[source] StoreError),
    /// Somebody else took the run over while it was driven here.
    #[error("another process took this run over")]
    TakenOver,
    /// The session has a paused run.
    #[error("the session has a paused run; hint: resume it with `{continuation}`, or close its open calls first")]
    SessionPaused {
        /// Its continuation.
        continuation: ContinuationId,
    },
    /// The session has a run in progress.
    #[error("the session has a run in progress")]
    SessionBusy,
    /// The async entry points need a tokio runtime.
    #[error("no async runtime is running; hint: use `.blocking()`, or start tokio")]
    NoRuntime,
    /// The blocking entry points cannot be used from within a runtime.
    #[error("`.blocking()` was used within an async runtime; hint: await there")]
    WithinRuntime,
}

impl Error {
    /// The stable code.
    pub fn code(&self) -> Code {
        match self {
            Error::Rejected(rejection) => rejection.code(),
            Error::Payload(error) => error.code(),
            Error::InvalidArguments { code, .. } => *code,
            Error::Executor(error) => error.code(),
            Error::InvalidConfig { .. } => Code::InvalidConfig,
            Error::UnsignedImport => Code::InvalidContinuation,
            Error::Store(error) => error.code(),
            Error::TakenOver => Code::LeaseLost,
            Error::SessionPaused { .. } => Code::RunPaused,
            Error::SessionBusy => Code::RunBusy,
            Error::NoRuntime | Error::WithinRuntime => Code::NoRuntime,
        }
    }

    pub(crate) fn config(problem: impl Into<String>) -> Self {
        Self::InvalidConfig { problem: problem.into() }
    }
}

impl From<SettingsError> for Error {
    fn from(error: SettingsError) -> Self {
        Self::config(error.to_string())
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Error::Store(error)
    }
}
