//! The codes by which everything that can go wrong is known.

use std::fmt;

use crate::named::named;

named! {
    /// Why a call failed or an input was rejected: stable, machine-readable, the same everywhere.
    pub enum Code {
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
        /// A worker could not verify that the call may run.
        ReceiptInvalid = "receipt_invalid",
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
        /// An address that is not one of a store.
        InvalidStoreUrl = "invalid_store_url",
        /// No such database.
        StoreMissing = "store_missing",
        /// The database does not let this user in.
        StoreNotPermitted = "store_not_permitted",
        /// The database cannot be reached.
        StoreUnavailable = "store_unavailable",
        /// The database is locked.
        StoreLocked = "store_locked",
        /// The database is read-only.
        StoreReadOnly = "store_read_only",
        /// The disk is full.
        StoreFull = "store_full",
        /// What is stored cannot be read.
        StoreCorrupt = "store_corrupt",
        /// A newer version made the database.
        StoreSchemaNewer = "store_schema_newer",
        /// An older version made the database.
        StoreSchemaOlder = "store_schema_older",
        /// Another key signs for the database.
        StoreOtherKey = "store_other_key",
        /// Used outside an async runtime.
        NoRuntime = "no_runtime",
        /// A run id that exists already.
        RunExists = "run_exists",
        /// An input that does not fit the state of the run.
        NotExpected = "not_expected",
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
