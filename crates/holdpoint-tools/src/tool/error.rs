//! What a tool says when it fails.

use std::fmt;
use std::sync::Arc;

use holdpoint_core::Code;

use super::Inquiry;

/// A tool's failure. Anything that can be displayed becomes one by `?`.
///
/// It has no `Display` of its own: its message may hold anything the tool touched, and goes only where
/// [`ToolError::message`] is called on purpose.
#[derive(Clone)]
pub struct ToolError {
    fault: ToolFault,
    message: Arc<str>,
    inquiry: Option<Arc<Inquiry>>,
}

/// In which way a tool failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolFault {
    /// It said so.
    Failed,
    /// The arguments fit the schema but not the tool.
    InvalidArguments,
    /// It gave something that cannot be used as a result.
    Unusable,
    /// It panicked.
    Panicked,
    /// There was no thread for it.
    Saturated,
    /// There was no async runtime with a timer for it.
    NoRuntime,
    /// [`ToolCall::may_start`](crate::ToolCall::may_start) kept it from starting.
    NotStarted,
    /// It gave up because it was told to.
    Cancelled,
    /// It asks a person before it goes on.
    NeedsInput,
    /// It does not know what became of what it had started.
    Unknown,
}

impl ToolError {
    /// The tool failed, for this reason.
    pub fn new(message: impl Into<Arc<str>>) -> Self {
        Self::with_fault(ToolFault::Failed, message)
    }

    /// The arguments fit the schema but not the tool.
    pub fn invalid_arguments(message: impl Into<Arc<str>>) -> Self {
        Self::with_fault(ToolFault::InvalidArguments, message)
    }

    /// The tool gave something that cannot be used as a result.
    pub fn unusable(message: impl Into<Arc<str>>) -> Self {
        Self::with_fault(ToolFault::Unusable, message)
    }

    /// The tool gave up because it was told to.
    pub fn cancelled() -> Self {
        Self::with_fault(ToolFault::Cancelled, "cancelled")
    }

    /// The gate of the call kept the tool from starting: nothing was done. Whoever called it starts it again if it may.
    pub fn not_started() -> Self {
        Self::with_fault(ToolFault::NotStarted, "the call is not this process's any more")
    }

    /// The tool asks a person before it goes on. Where nobody can be asked the call fails.
    pub fn needs_input(inquiry: Inquiry) -> Self {
        let error = Self::with_fault(ToolFault::NeedsInput, "the tool asks a person, and nobody can be asked here");
        Self { inquiry: Some(Arc::new(inquiry)), ..error }
    }

    /// The tool does not know what became of what it had started. A call that may be repeated is started again, up to
    /// `max_task_attempts` times in all; about any other, and after that, a person is asked.
    pub fn unknown(message: impl Into<Arc<str>>) -> Self {
        Self::with_fault(ToolFault::Unknown, message)
    }

    /// What it asks, if it asks.
    pub fn inquiry(&self) -> Option<&Arc<Inquiry>> {
        self.inquiry.as_ref()
    }

    pub(crate) fn with_fault(fault: ToolFault, message: impl Into<Arc<str>>) -> Self {
        Self { fault, message: message.into(), inquiry: None }
    }

    /// In which way it failed.
    pub fn fault(&self) -> ToolFault {
        self.fault
    }

    /// The tool's own words. They may hold anything, so they never reach a log, a trace or a metric.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl ToolFault {
    /// The code under which the call is recorded.
    pub fn code(self) -> Code {
        match self {
            ToolFault::Failed | ToolFault::NeedsInput | ToolFault::Unknown => Code::ToolError,
            ToolFault::InvalidArguments => Code::InvalidArguments,
            ToolFault::Unusable => Code::UnusableResult,
            ToolFault::Panicked => Code::ToolPanicked,
            ToolFault::Saturated => Code::ExecutorSaturated,
            ToolFault::NoRuntime => Code::NoRuntime,
            ToolFault::NotStarted => Code::ExecutorFailed,
            ToolFault::Cancelled => Code::RunCancelled,
        }
    }

    /// Whether the tool was started, and so may have had an effect.
    pub(crate) fn has_started(self) -> bool {
        !matches!(self, ToolFault::Saturated | ToolFault::NoRuntime | ToolFault::NotStarted)
    }
}

impl<E: fmt::Display> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolError({:?}, {} bytes)", self.fault, self.message.len())
    }
}
