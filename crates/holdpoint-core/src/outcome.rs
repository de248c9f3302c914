//! How a call ended, why a run stopped, and where it is.

use std::fmt;

use crate::named::named;
use crate::{Code, Named};

named! {
    /// How a call ended. Final (I3).
    pub enum Outcome {
        /// It gave a result.
        Succeeded = "succeeded",
        /// It gave an error.
        Failed = "failed",
        /// A policy said no.
        Denied = "denied",
        /// A person said no.
        Refused = "refused",
        /// Nobody answered in time.
        Expired = "expired",
        /// It took longer than its limit.
        TimedOut = "timed_out",
        /// The run was cancelled.
        Cancelled = "cancelled",
        /// It gave a result that ends the run.
        Halted = "halted",
        /// It was above the limit of calls per turn.
        Ignored = "ignored",
    }
}

impl Outcome {
    /// What a result means when nothing else went wrong.
    pub fn of_result(result: &crate::ToolResult) -> (Outcome, Option<Code>) {
        match result.kind {
            crate::ResultKind::Answer => (Outcome::Succeeded, None),
            crate::ResultKind::Error => (Outcome::Failed, Some(Code::ToolError)),
            crate::ResultKind::Halt => (Outcome::Halted, None),
        }
    }
}

named! {
    /// Where a result came from.
    pub enum Source {
        /// The tool ran.
        Tool = "tool",
        /// An earlier result was used again.
        Cache = "cache",
        /// Nothing ran on purpose.
        DryRun = "dry_run",
        /// A hook answered in the tool's place.
        Hook = "hook",
        /// A person gave it.
        Person = "person",
        /// Somebody else ran the tool and delivered the result.
        External = "external",
    }
}

named! {
    /// Whether a call may be started again when nobody knows whether it took effect.
    #[derive(Default)]
    pub enum Repeat {
        /// A person must be asked.
        #[default]
        Never = "never",
        /// Doing it twice is doing it once.
        Safe = "safe",
        /// The tool sees the idempotency key and takes care.
        WithKey = "with_key",
    }
}

impl Repeat {
    /// Whether a call in doubt may run again without a person.
    pub fn may_repeat(self) -> bool {
        match self {
            Repeat::Never => false,
            Repeat::Safe | Repeat::WithKey => true,
        }
    }
}

/// Why a segment of a run stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The model was done, for its own reason.
    Model(ModelStop),
    /// The turn limit.
    MaxTurns,
    /// A tool halted the run.
    Halted,
    /// Waiting for people.
    AwaitingToolConfirmation,
    /// Waiting for results.
    AwaitingToolResults,
    /// The run failed and can be retried.
    Failed(Failure),
    /// The run was cancelled.
    Cancelled,
}

/// The model's own reason to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelStop {
    /// It was done.
    EndTurn,
    /// It wants tools. Seen as a reason to stop only when every call was dropped.
    ToolUse,
    /// It reached its output limit.
    MaxTokens,
    /// It met a stop sequence.
    StopSequence,
    /// It refused to go on.
    ContentFilter,
    /// Another reason, in the provider's word.
    Other(std::sync::Arc<str>),
}

named! {
    /// The four ways in which a run fails, all of them resumable by a retry.
    pub enum Failure {
        /// The provider failed.
        ProviderError = "provider_error",
        /// The model said nothing at all.
        Error = "error",
        /// A hook failed.
        HookFailed = "hook_failed",
        /// The conversation is larger than the model's window.
        ContextWindowExceeded = "context_window_exceeded",
    }
}

impl ModelStop {
    /// Its stable name.
    pub fn as_str(&self) -> &str {
        match self {
            ModelStop::EndTurn => "end_turn",
            ModelStop::ToolUse => "tool_use",
            ModelStop::MaxTokens => "max_tokens",
            ModelStop::StopSequence => "stop_sequence",
            ModelStop::ContentFilter => "content_filter",
            ModelStop::Other(word) => word,
        }
    }

    /// Reads a name; what is not known is kept as it is.
    pub fn parse(text: &str) -> Self {
        match text {
            "end_turn" => ModelStop::EndTurn,
            "tool_use" => ModelStop::ToolUse,
            "max_tokens" => ModelStop::MaxTokens,
            "stop_sequence" => ModelStop::StopSequence,
            "content_filter" => ModelStop::ContentFilter,
            other => ModelStop::Other(other.into()),
        }
    }
}

impl StopReason {
    /// Its stable name.
    pub fn as_str(&self) -> &str {
        match self {
            StopReason::Model(stop) => stop.as_str(),
            StopReason::MaxTurns => "max_turns",
            StopReason::Halted => "halted",
            StopReason::AwaitingToolConfirmation => PauseReason::AwaitingToolConfirmation.as_str(),
            StopReason::AwaitingToolResults => PauseReason::AwaitingToolResults.as_str(),
            StopReason::Failed(failure) => failure.as_str(),
            StopReason::Cancelled => "cancelled",
        }
    }

    /// Whether the run goes on when answers or results come.
    pub fn is_pause(&self) -> bool {
        match self {
            StopReason::AwaitingToolConfirmation | StopReason::AwaitingToolResults => true,
            StopReason::Model(_)
            | StopReason::MaxTurns
            | StopReason::Halted
            | StopReason::Failed(_)
            | StopReason::Cancelled => false,
        }
    }
}

impl Named for ModelStop {
    fn name(&self) -> &str {
        self.as_str()
    }

    fn named(name: &str) -> Option<Self> {
        Some(ModelStop::parse(name))
    }
}

/// Without the model's own reasons, for which a provider may use any word.
impl Named for StopReason {
    fn name(&self) -> &str {
        self.as_str()
    }

    fn named(name: &str) -> Option<Self> {
        match name {
            "max_turns" => Some(StopReason::MaxTurns),
            "halted" => Some(StopReason::Halted),
            "cancelled" => Some(StopReason::Cancelled),
            name => {
                let paused = PauseReason::parse(name).map(PauseReason::stop_reason);
                paused.or_else(|| Failure::parse(name).map(StopReason::Failed))
            }
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

named! {
    /// What a run waits for when it is paused.
    pub enum PauseReason {
        /// People.
        AwaitingToolConfirmation = "awaiting_tool_confirmation",
        /// Results.
        AwaitingToolResults = "awaiting_tool_results",
    }
}

impl PauseReason {
    /// The reason to stop that it is.
    pub fn stop_reason(self) -> StopReason {
        match self {
            PauseReason::AwaitingToolConfirmation => StopReason::AwaitingToolConfirmation,
            PauseReason::AwaitingToolResults => StopReason::AwaitingToolResults,
        }
    }
}

named! {
    /// Where a run is, as lists and the API show it.
    pub enum Status {
        /// Somebody drives it, or should.
        Running = "running",
        /// People must answer.
        AwaitingToolConfirmation = "awaiting_tool_confirmation",
        /// Results must come.
        AwaitingToolResults = "awaiting_tool_results",
        /// It came to its end.
        Finished = "finished",
        /// It failed and can be retried.
        Failed = "failed",
        /// It was cancelled.
        Cancelled = "cancelled",
    }
}
