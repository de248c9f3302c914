//! What a tool says when it fails.

use std::fmt;
use std::sync::Arc;

use holdpoint_core::Code;

/// A tool's failure. Anything that can be displayed becomes one by `?`.
///
/// It has no `Display` of its own: its message may hold anything the tool touched, and goes only where
/// [`ToolError::message`] is called on purpose.
#[derive(Clone)]
pub struct ToolError {
    fault: ToolFault,
    message: Arc<str>,
}

/// In which way a tool failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// It gave up because it was told to.
    Cancelled,
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

    /// Any fault.
    pub fn with_fault(fault: ToolFault, message: impl Into<Arc<str>>) -> Self {
        Self { fault, message: message.into() }
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
            ToolFault::Failed => Code::ToolError,
            ToolFault::InvalidArguments => Code::InvalidArguments,
            ToolFault::Unusable => Code::UnusableResult,
            ToolFault::Panicked => Code::ToolPanicked,
            ToolFault::Saturated => Code::ExecutorSaturated,
            ToolFault::Cancelled => Code::RunCancelled,
        }
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
