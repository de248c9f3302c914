//! Why an input was not accepted. Nothing changed.

use std::fmt;

use crate::{CallId, Code, ContinuationId, PauseReason};

/// Why an input was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// Another kind of resume is needed.
    WrongPause {
        /// What the run waits for.
        waits_for: PauseReason,
        /// What was brought.
        brought: PauseReason,
    },
    /// The continuation was used.
    StaleContinuation {
        /// The one that followed, unless the run does not wait any more.
        current: Option<ContinuationId>,
    },
    /// No such continuation.
    ContinuationNotFound,
    /// The run was cancelled.
    RunCancelled,
    /// A decision or result for a call cannot be accepted.
    Call {
        /// Which call.
        call: CallId,
        /// Why: one of the codes of decisions and results.
        code: Code,
    },
    /// Decisions or results are missing.
    Missing {
        /// For which calls.
        calls: Vec<CallId>,
        /// `missing_decision` or `missing_result`.
        code: Code,
    },
    /// The run did not fail.
    NotRetryable,
    /// The result is not of the current attempt.
    LeaseLost,
    /// The run stops and starts nothing new.
    Stopping,
    /// A run with this id began already.
    RunExists,
    /// What was brought from another store cannot be a paused run.
    InvalidSnapshot {
        /// The part of it that does not fit the rest.
        field: &'static str,
    },
    /// A batch can be named only by a partial resume.
    BatchNeedsPartial,
    /// The input does not fit the state of the run: a mistake in the driver.
    NotExpected {
        /// Which input.
        input: &'static str,
    },
}

impl Rejection {
    /// The stable code.
    pub fn code(&self) -> Code {
        match self {
            Rejection::WrongPause { .. } => Code::WrongPause,
            Rejection::StaleContinuation { .. } => Code::StaleContinuation,
            Rejection::ContinuationNotFound => Code::ContinuationNotFound,
            Rejection::RunCancelled => Code::RunCancelled,
            Rejection::Call { code, .. } | Rejection::Missing { code, .. } => *code,
            Rejection::NotRetryable => Code::NotRetryable,
            Rejection::LeaseLost => Code::LeaseLost,
            Rejection::Stopping | Rejection::NotExpected { .. } => Code::NotExpected,
            Rejection::RunExists => Code::RunExists,
            Rejection::InvalidSnapshot { .. } => Code::InvalidContinuation,
            Rejection::BatchNeedsPartial => Code::InvalidDecision,
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rejection::WrongPause { waits_for, brought } => {
                write!(f, "the run is `{}`, not `{}`", waits_for.as_str(), brought.as_str())
            }
            Rejection::StaleContinuation { current: Some(id) } => {
                write!(f, "this continuation was used; `{id}` followed")
            }
            Rejection::StaleContinuation { current: None } => {
                f.write_str("this continuation was used, and the run waits for nothing now")
            }
            Rejection::ContinuationNotFound => f.write_str("no such run or continuation"),
            Rejection::RunCancelled => f.write_str("the run was cancelled"),
            Rejection::Call { call, code } => write!(f, "call `{call}`: {}", describe(*code)),
            Rejection::Missing { calls, code } => {
                let names: Vec<String> = calls.iter().map(|call| format!("`{call}`")).collect();
                write!(f, "{} for {}", describe(*code), names.join(", "))
            }
            Rejection::NotRetryable => f.write_str("only a run that failed can be retried"),
            Rejection::LeaseLost => f.write_str("the result is not of the current attempt"),
            Rejection::Stopping => f.write_str("the run stops and starts nothing new"),
            Rejection::RunExists => f.write_str("a run with this id began already"),
            Rejection::InvalidSnapshot { field } => write!(f, "`{field}` does not fit a paused run"),
            Rejection::BatchNeedsPartial => f.write_str("only a partial resume may name the batch"),
            Rejection::NotExpected { input } => write!(f, "`{input}` does not fit the state of the run"),
        }
    }
}

impl std::error::Error for Rejection {}

fn describe(code: Code) -> &'static str {
    match code {
        Code::UnknownToolCall => "it does not wait for a decision",
        Code::MissingDecision => "a decision is missing",
        Code::InvalidDecision => "this decision does not fit the question",
        Code::ConflictingDecision => "it was decided otherwise",
        Code::NotAnApprover => "this person may not answer it",
        Code::DigestMismatch => "what was shown is not what would run",
        Code::UnexpectedResult => "its result is not awaited",
        Code::MissingResult => "a result is missing",
        Code::InvalidResult => "this is not a result",
        Code::ConflictingResult => "it has another result",
        other => other.as_str(),
    }
}
