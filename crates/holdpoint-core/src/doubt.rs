//! What is known of a call that was started and has no result.

use std::sync::Arc;

use crate::named::named;
use crate::{Attempt, Timestamp, ToolResult};

/// What is known of a call whose outcome is unknown.
#[derive(Clone, Debug)]
pub struct Doubt {
    /// When it was started.
    pub started_at: Timestamp,
    /// How it came to be unknown.
    pub cause: DoubtCause,
    /// The worker that had it, unless the process of the run itself did.
    pub worker: Option<Arc<str>>,
    /// The attempt that is in doubt.
    pub attempt: Attempt,
    /// Results that came too late to count, in the order in which they came. Bounded by
    /// [`crate::Limits::EVIDENCE_MAX`].
    pub evidence: Vec<Evidence>,
    /// What the tool asks before it goes on, when that is why it has no result: a text, the shape of the answer as JSON
    /// Schema, and in the metadata what the tool wants back with the answer.
    pub asks: Option<Arc<ToolResult>>,
}

/// What a person said to what a tool asked. The tool is started once more and gets both.
#[derive(Clone, Debug)]
pub struct Given {
    /// What the tool asked.
    pub asks: Arc<ToolResult>,
    /// What a person gave; nothing when they said no more than yes.
    pub answer: Option<Arc<ToolResult>>,
}

impl Given {
    /// Whether this is what they gave.
    pub(crate) fn is(&self, answer: Option<&ToolResult>) -> bool {
        match (&self.answer, answer) {
            (Some(given), Some(answer)) => given.same_as(answer),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

/// A result that came too late to count. It tells the person who is asked what may have happened.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The attempt that it is of.
    pub attempt: Attempt,
    /// Who brought it.
    pub worker: Arc<str>,
    /// What they brought.
    pub result: Arc<ToolResult>,
    /// When.
    pub at: Timestamp,
}

impl Evidence {
    /// Whether it says what the other one says; when each came does not matter.
    pub(crate) fn same_as(&self, other: &Evidence) -> bool {
        self.attempt == other.attempt && self.worker == other.worker && self.result.same_as(&other.result)
    }
}

named! {
    /// How the outcome of a call came to be unknown.
    pub enum DoubtCause {
        /// What ran it, a process or a hook, died between its start and its result.
        Crashed = "crashed",
        /// The worker that had it stopped answering.
        LeaseLapsed = "lease_lapsed",
        /// The worker that had it said that it failed after it had started.
        WorkerFailed = "worker_failed",
        /// It was started as often as it may be.
        OutOfAttempts = "out_of_attempts",
        /// It asks a person before it goes on.
        NeedsInput = "needs_input",
    }
}
