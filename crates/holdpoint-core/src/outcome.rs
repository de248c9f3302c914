//! How a call ended, and the codes by which everything that can go wrong is known.

use std::fmt;

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

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// Why a call failed or an input was rejected: stable, machine-readable, the same everywhere.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// Its stable name.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Code::$name => $text,)*
                }
            }

            /// Reads its stable name.
            pub fn parse(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(Code::$name),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    /// Arguments that are not an object, repeat a key, or do not fit the schema.
    InvalidArguments = "invalid_arguments",
    /// Arguments above the limit.
    ArgumentsTooLarge = "arguments_too_large",
    /// No such tool, or none that the caller may see.
    ToolNotFound = "tool_not_found",
    /// A policy said no.
    Denied = "denied",
    /// A policy that failed: it counts as a no.
    PolicyFailed = "policy_failed",
    /// A policy that had said yes now says no.
    PolicyRevoked = "policy_revoked",
    /// A person said no.
    Refused = "refused",
    /// Nobody answered in time.
    Expired = "expired",
    /// The tool took longer than its limit.
    TimedOut = "timed_out",
    /// The tool returned an error.
    ToolError = "tool_error",
    /// The tool panicked.
    ToolPanicked = "tool_panicked",
    /// The tool returned something that cannot be used.
    UnusableResult = "unusable_result",
    /// Too many threads hang.
    ExecutorSaturated = "executor_saturated",
    /// An executor ended without running or deferring a call.
    ExecutorFailed = "executor_failed",
    /// A rate limit refused, or waiting for it took too long.
    RateLimited = "rate_limited",
    /// A circuit breaker is open.
    CircuitOpen = "circuit_open",
    /// A hook failed.
    HookFailed = "hook_failed",
    /// The run was cancelled.
    RunCancelled = "run_cancelled",
    /// No such executor.
    UnknownExecutor = "unknown_executor",
    /// A decision for a call that is neither undecided nor kept.
    UnknownToolCall = "unknown_tool_call",
    /// A call without a decision.
    MissingDecision = "missing_decision",
    /// Not a decision.
    InvalidDecision = "invalid_decision",
    /// Two decisions that contradict each other.
    ConflictingDecision = "conflicting_decision",
    /// A person without a required role.
    NotAnApprover = "not_an_approver",
    /// A digest other than the one shown.
    DigestMismatch = "digest_mismatch",
    /// A result for a call that is not awaited.
    UnexpectedResult = "unexpected_result",
    /// A call without a result.
    MissingResult = "missing_result",
    /// Not a result.
    InvalidResult = "invalid_result",
    /// Another result for a call that has one.
    ConflictingResult = "conflicting_result",
    /// The wrong kind of resume.
    WrongPause = "wrong_pause",
    /// A continuation that was used.
    StaleContinuation = "stale_continuation",
    /// No such run or continuation.
    ContinuationNotFound = "continuation_not_found",
    /// A continuation of a version that is not known.
    UnsupportedSchemaVersion = "unsupported_schema_version",
    /// A continuation that is malformed or was changed.
    InvalidContinuation = "invalid_continuation",
    /// A context value above the limit.
    ContextValueTooLarge = "context_value_too_large",
    /// A run that did not fail cannot be retried.
    NotRetryable = "not_retryable",
    /// The session has a paused run.
    RunPaused = "run_paused",
    /// The session has a run in progress.
    RunBusy = "run_busy",
    /// A result for an attempt that is not the current one.
    LeaseLost = "lease_lost",
    /// Settings that cannot be.
    InvalidConfig = "invalid_config",
    /// The store failed.
    StoreFailed = "store_failed",
    /// Used outside an async runtime.
    NoRuntime = "no_runtime",
    /// A run id that exists already.
    RunExists = "run_exists",
    /// An input that does not fit the state of the run.
    NotExpected = "not_expected",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
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
