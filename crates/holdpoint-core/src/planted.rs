//! Mistakes made on purpose, so that each checker of the simulator is proven to catch something.
//!
//! Without the feature `planted` the question is always answered with no, and the mistakes are not compiled in.

/// A mistake, named after the invariant that it breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Bug {
    /// I2: a tool starts before its intent is durable.
    StartBeforeCommit = 1,
    /// I3: a late result replaces the one that was accepted.
    SettleTwice,
    /// I4: an edit keeps the approvals of the old arguments.
    EditKeepsApprovals,
    /// I4: a question does not hold its own call.
    RunWhileAsked,
    /// I6: something is remembered that the log does not have.
    RememberUnlogged,
    /// I7: a result of an earlier attempt is accepted.
    AcceptOldAttempt,
    /// I9: results reach the model as they came.
    CompletionOrder,
    /// I12: a call in doubt is neither asked about nor run.
    ForgetDoubt,
    /// I13: a continuation works twice.
    ContinuationTwice,
    /// I14: a pause is announced before it is durable.
    AnnounceBeforeCommit,
    /// A call in doubt that may not be repeated is run again.
    RepeatNever,
    /// I5: policy is asked about the name that the model wrote.
    PolicySeesAlias,
    /// I8: `Debug` of an input shows raw arguments.
    DebugShowsArguments,
    /// I7: the simulated store merges a commit that is based on an older revision.
    MergeStale,
    /// I6: an import forgets in which order the calls were settled.
    ImportForgets,
    /// A turn ends although a call that people approved has not run.
    DropApproved,
    /// A segment finishes twice.
    FinishTwice,
    /// A failed call of the model is not counted.
    ForgetFailedCalls,
    /// A retry changes nothing.
    ForgetRetry,
    /// I2: what was cancelled between its intent and its start is started.
    StartCancelled,
    /// I12: a run that was taken over does not know what to do next.
    OweNothing,
    /// A question does not hold the other calls of its turn.
    IgnoreHold,
    /// An answer that comes after the deadline counts.
    AnswerTooLate,
    /// Anyone may answer, whatever the rule says.
    AnyoneAnswers,
    /// I4: a grant lets a call run that policy denied.
    GrantBeatsDenial,
    /// I4: a grant counts for a tool that takes other arguments by now.
    GrantOutlivesTool,
    /// I4: a call runs although its tool has changed since people approved it.
    RunChanged,
    /// There is one turn more than allowed.
    TurnTooMany,
    /// A task that may not be repeated is handed out again when its worker is gone.
    RetryNever,
    /// I7: a result that came too late is merged.
    AcceptLateResult,
    /// I7: the simulated queue takes a result under a lease that is not the current one.
    IgnoreFence,
    /// A task expires although a worker has it.
    ExpireTaken,
}

impl Bug {
    /// Every mistake.
    pub const ALL: [Bug; 32] = [
        Bug::StartBeforeCommit,
        Bug::SettleTwice,
        Bug::EditKeepsApprovals,
        Bug::RunWhileAsked,
        Bug::RememberUnlogged,
        Bug::AcceptOldAttempt,
        Bug::CompletionOrder,
        Bug::ForgetDoubt,
        Bug::ContinuationTwice,
        Bug::AnnounceBeforeCommit,
        Bug::RepeatNever,
        Bug::PolicySeesAlias,
        Bug::DebugShowsArguments,
        Bug::MergeStale,
        Bug::ImportForgets,
        Bug::DropApproved,
        Bug::FinishTwice,
        Bug::ForgetFailedCalls,
        Bug::ForgetRetry,
        Bug::StartCancelled,
        Bug::OweNothing,
        Bug::IgnoreHold,
        Bug::AnswerTooLate,
        Bug::AnyoneAnswers,
        Bug::GrantBeatsDenial,
        Bug::GrantOutlivesTool,
        Bug::RunChanged,
        Bug::TurnTooMany,
        Bug::RetryNever,
        Bug::AcceptLateResult,
        Bug::IgnoreFence,
        Bug::ExpireTaken,
    ];
}

#[cfg(feature = "planted")]
thread_local! {
    static ACTIVE: std::cell::Cell<Option<Bug>> = const { std::cell::Cell::new(None) };
}

/// Makes a mistake on this thread from now on.
#[cfg(feature = "planted")]
pub fn plant(bug: Option<Bug>) {
    ACTIVE.with(|active| active.set(bug));
}

/// Whether a mistake is to be made.
#[cfg(feature = "planted")]
pub fn active(bug: Bug) -> bool {
    ACTIVE.with(|active| active.get() == Some(bug))
}

/// Whether a mistake is to be made: never.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub fn active(_: Bug) -> bool {
    false
}
