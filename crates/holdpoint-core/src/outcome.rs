//! How a call ended, why a run stopped, and where it is.

use std::fmt;

use crate::Code;

/// How a call ended. Final (I3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It gave a result.
    Succeeded,
    /// It gave an error.
    Failed,
    /// A policy said no.
    Denied,
    /// A person said no.
    Refused,
    /// Nobody answered in time.
    Expired,
    /// It took longer than its limit.
    TimedOut,
    /// The run was cancelled.
    Cancelled,
    /// It gave a result that ends the run.
    Halted,
    /// It was above the limit of calls per turn.
    Ignored,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Outcome; 9] = [
        Outcome::Succeeded,
        Outcome::Failed,
        Outcome::Denied,
        Outcome::Refused,
        Outcome::Expired,
        Outcome::TimedOut,
        Outcome::Cancelled,
        Outcome::Halted,
        Outcome::Ignored,
    ];

    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Succeeded => "succeeded",
            Outcome::Failed => "failed",
            Outcome::Denied => "denied",
            Outcome::Refused => "refused",
            Outcome::Expired => "expired",
            Outcome::TimedOut => "timed_out",
            Outcome::Cancelled => "cancelled",
            Outcome::Halted => "halted",
            Outcome::Ignored => "ignored",
        }
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

/// Where a result came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The tool ran.
    Tool,
    /// An earlier result was used again.
    Cache,
    /// Nothing ran on purpose.
    DryRun,
    /// A hook answered in the tool's place.
    Hook,
    /// A person gave it.
    Person,
    /// Somebody else ran the tool and delivered the result.
    External,
}

impl Source {
    /// Every source.
    pub const ALL: [Source; 6] =
        [Source::Tool, Source::Cache, Source::DryRun, Source::Hook, Source::Person, Source::External];

    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Source::Tool => "tool",
            Source::Cache => "cache",
            Source::DryRun => "dry_run",
            Source::Hook => "hook",
            Source::Person => "person",
            Source::External => "external",
        }
    }
}

/// Whether a call may be started again when nobody knows whether it took effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Repeat {
    /// A person must be asked.
    #[default]
    Never,
    /// Doing it twice is doing it once.
    Safe,
    /// The tool sees the idempotency key and takes care.
    WithKey,
}

impl Repeat {
    /// Every value.
    pub const ALL: [Repeat; 3] = [Repeat::Never, Repeat::Safe, Repeat::WithKey];

    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Repeat::Never => "never",
            Repeat::Safe => "safe",
            Repeat::WithKey => "with_key",
        }
    }

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

/// The four ways in which a run fails, all of them resumable by a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The provider failed.
    ProviderError,
    /// The model said nothing at all.
    Error,
    /// A hook failed.
    HookFailed,
    /// The conversation is larger than the model's window.
    ContextWindowExceeded,
}

impl Failure {
    /// Every failure.
    pub const ALL: [Failure; 4] =
        [Failure::ProviderError, Failure::Error, Failure::HookFailed, Failure::ContextWindowExceeded];

    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Failure::ProviderError => "provider_error",
            Failure::Error => "error",
            Failure::HookFailed => "hook_failed",
            Failure::ContextWindowExceeded => "context_window_exceeded",
        }
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
            StopReason::AwaitingToolConfirmation => "awaiting_tool_confirmation",
            StopReason::AwaitingToolResults => "awaiting_tool_results",
            StopReason::Failed(failure) => failure.as_str(),
            StopReason::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a run waits for when it is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PauseReason {
    /// People.
    AwaitingToolConfirmation,
    /// Results.
    AwaitingToolResults,
}

impl PauseReason {
    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            PauseReason::AwaitingToolConfirmation => "awaiting_tool_confirmation",
            PauseReason::AwaitingToolResults => "awaiting_tool_results",
        }
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

/// Where a run is, as lists and the API show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Somebody drives it, or should.
    Running,
    /// People must answer.
    AwaitingToolConfirmation,
    /// Results must come.
    AwaitingToolResults,
    /// It came to its end.
    Finished,
    /// It failed and can be retried.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl Status {
    /// Every status.
    pub const ALL: [Status; 6] = [
        Status::Running,
        Status::AwaitingToolConfirmation,
        Status::AwaitingToolResults,
        Status::Finished,
        Status::Failed,
        Status::Cancelled,
    ];

    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::AwaitingToolConfirmation => "awaiting_tool_confirmation",
            Status::AwaitingToolResults => "awaiting_tool_results",
            Status::Finished => "finished",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
        }
    }
}
