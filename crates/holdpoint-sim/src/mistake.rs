//! Mistakes that a world makes on purpose: each proves that a checker can fail.
//!
//! They are made where the simulator wraps what it drives: in what the machine is told, recorded and asked ([`crate::machine`]),
//! in the driver, the workers and the model of the store. No product code knows of them.

mod recorded;
mod told;

pub(crate) use recorded::{as_given, forged, recorded};
pub(crate) use told::told;

/// A mistake, made in every run of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// A driver starts a tool before its intent is durable.
    StartsBeforeCommit,
    /// A driver starts a call that was cancelled between its intent and its start.
    StartsCancelled,
    /// A late result of a call that has one is recorded.
    SettlesTwice,
    /// An edit keeps the approvals of the arguments that it replaces.
    EditKeepsApprovals,
    /// A call runs while people are asked whether it may.
    RunsWhileAsked,
    /// A person answers whom the rule does not name.
    AnyoneAnswers,
    /// A grant lets a call run that policy denied.
    GrantBeatsDenial,
    /// A grant counts for a tool that was redefined after it was given.
    GrantOutlivesTool,
    /// A call runs without a new approval although its tool was redefined after people approved it.
    RunsChangedTool,
    /// A driver asks policy about the name that the model wrote.
    AsksPolicyByAlias,
    /// A process keeps context attributes in memory and does not record them.
    RemembersUnlogged,
    /// An import mixes up the order in which calls were settled.
    ImportReorders,
    /// A result of an earlier attempt is taken for the current one.
    AcceptsOldAttempt,
    /// A result that came after its lease had ended is recorded as the result of the call.
    AcceptsLateResult,
    /// The store merges a commit that is based on an older revision.
    MergesStale,
    /// The queue takes a result under a lease that is not the current one.
    IgnoresFence,
    /// A driver logs raw arguments.
    LogsArguments,
    /// A driver sends results to the model in another order than it asked for them.
    SendsResultsAsTheyCame,
    /// A call in doubt is recorded as ready, and the run pauses for a person who is asked nothing.
    ForgetsDoubt,
    /// A driver that took a run over does not execute what is outstanding.
    OwesNothing,
    /// A resume that names an earlier continuation counts for the current one.
    ContinuationTwice,
    /// A driver announces a pause or an end before it is durable.
    AnnouncesBeforeCommit,
    /// An answer counts for the question that is open, whichever question was shown.
    AnswersAnyQuestion,
    /// A process starts a tool without looking at its lease.
    StartsUnleased,
    /// A process counts its lease from the moment at which it hears of it.
    CountsLeaseFromReply,
    /// A process reads only the clock that counts from the start of the machine.
    IgnoresWallClock,
    /// A process takes a run over although another process has claimed it since.
    TakesOverOnOldClaim,
    /// A worker starts a tool without looking at its lease.
    WorkerStartsUnleased,
    /// A worker forgets that its lease ends with the deadline of the task.
    ForgetsTaskDeadline,
    /// The machine is told that every tool may be repeated.
    RepeatsNever,
    /// A task that may not be repeated is handed out again when its worker is gone.
    RetriesNever,
    /// A task whose lease lapsed is closed although it was completed meanwhile.
    ClosesCompletedTask,
    /// A cancellation does not look for results of workers.
    CancelsCompletedTask,
    /// A worker is told that its result is stored although another worker has the task.
    AcknowledgesLateResult,
    /// A result is not recorded, and the turn ends all the same.
    LosesResult,
    /// A segment ends twice.
    FinishesTwice,
    /// A failed model call is recorded as a request that was too large, which does not count as a model call.
    ForgetsFailedCall,
    /// A driver takes the reply to an earlier model call for the reply to the current one.
    AcceptsOldReply,
    /// A question does not hold the other calls of its turn.
    IgnoresHold,
    /// An answer counts that comes after the deadline.
    AnswersTooLate,
    /// The machine is told that one turn more is allowed.
    TurnTooMany,
    /// A task expires although a worker has it.
    ExpiresTaken,
    /// A retry changes nothing.
    IgnoresRetry,
}

impl Mistake {
    /// Every mistake, with the checker that it must alarm.
    pub const ALL: [(Mistake, &'static str); 43] = [
        (Mistake::StartsBeforeCommit, "i2_intent_first"),
        (Mistake::StartsCancelled, "i2_intent_first"),
        (Mistake::SettlesTwice, "i3_settled_stays"),
        (Mistake::EditKeepsApprovals, "i4_permission"),
        (Mistake::RunsWhileAsked, "i4_permission"),
        (Mistake::AnyoneAnswers, "i4_permission"),
        (Mistake::GrantBeatsDenial, "i4_permission"),
        (Mistake::GrantOutlivesTool, "i4_permission"),
        (Mistake::RunsChangedTool, "i4_permission"),
        (Mistake::AsksPolicyByAlias, "i5_registered_names"),
        (Mistake::RemembersUnlogged, "i6_replay"),
        (Mistake::ImportReorders, "i6_replay"),
        (Mistake::AcceptsOldAttempt, "i7_current_attempt"),
        (Mistake::AcceptsLateResult, "i7_current_attempt"),
        (Mistake::MergesStale, "i7_current_attempt"),
        (Mistake::IgnoresFence, "i7_current_attempt"),
        (Mistake::LogsArguments, "i8_no_secrets"),
        (Mistake::SendsResultsAsTheyCame, "i9_order"),
        (Mistake::ForgetsDoubt, "i12_waits"),
        (Mistake::OwesNothing, "i12_waits"),
        (Mistake::ContinuationTwice, "i13_once"),
        (Mistake::AnnouncesBeforeCommit, "i14_announced_after"),
        (Mistake::AnswersAnyQuestion, "i16_question"),
        (Mistake::StartsUnleased, "leases"),
        (Mistake::CountsLeaseFromReply, "leases"),
        (Mistake::IgnoresWallClock, "leases"),
        (Mistake::TakesOverOnOldClaim, "leases"),
        (Mistake::WorkerStartsUnleased, "leases"),
        (Mistake::ForgetsTaskDeadline, "leases"),
        (Mistake::RepeatsNever, "repeat_never"),
        (Mistake::RetriesNever, "repeat_never"),
        (Mistake::ClosesCompletedTask, "results_kept"),
        (Mistake::CancelsCompletedTask, "results_kept"),
        (Mistake::AcknowledgesLateResult, "results_kept"),
        (Mistake::LosesResult, "nothing_lost"),
        (Mistake::FinishesTwice, "segments"),
        (Mistake::ForgetsFailedCall, "counts"),
        (Mistake::AcceptsOldReply, "counts"),
        (Mistake::IgnoresHold, "siblings"),
        (Mistake::AnswersTooLate, "deadlines"),
        (Mistake::TurnTooMany, "limits"),
        (Mistake::ExpiresTaken, "tasks"),
        (Mistake::IgnoresRetry, "every_run_ends"),
    ];

    /// The mistake with this name.
    ///
    /// # Errors
    /// When there is none; then the text names all.
    pub fn parse(name: &str) -> Result<Self, String> {
        let all = Self::ALL.map(|(mistake, _)| mistake);
        let known = all.into_iter().find(|mistake| format!("{mistake:?}") == name);
        known.ok_or_else(|| format!("one of {all:?}"))
    }
}
