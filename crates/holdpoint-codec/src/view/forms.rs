//! What each event says besides its number, its time and its run.

use holdpoint_core::{CallIndex, ContinuationId, PauseNumber, PauseReason, Run, Usage};

use super::{
    ActorView, CodeName, DecisionView, DecisionWord, DigestText, DoubtCauseName, FailureName, GrantView, Members,
    MessageView, Moment, Name, OutcomeName, PauseReasonName, PendingView, RawJson, ResultView, SourceName, StageName,
};
use crate::Pending;
use crate::pending::pending_for;

/// Derives what every public form has. A field without a value is left out.
macro_rules! public {
    ($($form:item)*) => {
        $(#[serde_with::skip_serializing_none]
        #[derive(Clone, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        $form)*
    };
}

public! {
    /// A turn.
    pub struct TurnRef {
        /// Counts the turns of the run, from 1.
        pub turn: u32,
    }

    /// The call that an event is about: turn and index are its key, the rest is for people.
    pub struct CallRef {
        /// Its turn.
        pub turn: u32,
        /// Its position in the turn, from 0.
        pub index: u32,
        /// The id that messages and questions show.
        pub call_id: Option<String>,
        /// The name that the model asked for.
        pub name: Option<String>,
        /// The registered tool; absent when there is none of that name.
        pub tool: Option<String>,
    }

    /// How a run began.
    pub struct RunStartedView {
        /// The agent, if it has a name.
        pub agent: Option<String>,
        /// The model, if it has a name.
        pub model: Option<String>,
        /// The caller that started it.
        pub actor: Option<ActorView>,
        /// Stored context attributes.
        pub context: Members,
        /// The conversation to start from, with the input.
        pub messages: Vec<MessageView>,
    }

    /// Where an imported run was.
    pub struct ImportedView {
        /// Its turn.
        pub turn: u32,
        /// What it waits for.
        pub reason: PauseReasonName,
        /// The pause that it is at.
        pub continuation_id: String,
    }

    /// A reply of the model. Dropped calls are not shown.
    pub struct MessageCompletedView {
        /// The turn.
        pub turn: u32,
        /// Tokens of this reply.
        pub usage: UsageTotalView,
        /// The model's own reason to stop; a provider may use any word.
        pub stop: String,
        /// How long the model took.
        pub latency_us: u64,
        /// The assistant's message.
        pub message: MessageView,
    }

    /// Tokens, with their sum.
    #[derive(Copy)]
    pub struct UsageTotalView {
        /// Read by the model.
        pub input: u64,
        /// Written by the model.
        pub output: u64,
        /// Of those read, from a cache.
        pub cache_read: u64,
        /// Of those read, into a cache.
        pub cache_write: u64,
        /// Of those written, for reasoning.
        pub reasoning: u64,
        /// `input` and `output` together.
        pub total: u64,
    }

    /// What a policy decided about a call.
    pub struct CallDecidedView {
        /// The call.
        #[serde(flatten)]
        pub call: CallRef,
        /// When the policy was asked.
        pub stage: StageName,
        /// The decision that counts.
        pub decision: DecisionView,
        /// The decision of a policy that is only being tried.
        pub shadow: Option<DecisionView>,
    }

    /// A person's answer.
    pub struct CallAnsweredView {
        /// The call.
        #[serde(flatten)]
        pub call: CallRef,
        /// What the person decided.
        pub decision: DecisionWord,
        /// The person's reason.
        pub reason: Option<String>,
        /// The digest of the question that was answered.
        pub digest: Option<DigestText>,
        /// The person.
        pub actor: Option<ActorView>,
        /// With `answer` and `happened`.
        pub result: Option<ResultView>,
        /// The new arguments, when `allow` came with an edit.
        pub arguments: Option<RawJson>,
    }

    /// A new grant.
    pub struct GrantGivenView {
        /// The call that was answered.
        #[serde(flatten)]
        pub call: CallRef,
        /// The grant.
        pub grant: GrantView,
    }

    /// A grant that counted as an answer.
    pub struct GrantUsedView {
        /// The call.
        #[serde(flatten)]
        pub call: CallRef,
        /// The grant.
        pub grant_id: String,
        /// The person who gave it.
        pub actor: Option<ActorView>,
    }

    /// A revoked grant.
    pub struct GrantRevokedView {
        /// The grant.
        pub grant_id: String,
        /// The person who revoked it.
        pub actor: Option<ActorView>,
    }

    /// An attempt of a call.
    pub struct ToolStartedView {
        /// The call.
        #[serde(flatten)]
        pub call: CallRef,
        /// Counts the attempts of the call, from 1.
        pub attempt: u32,
    }

    /// A call that was handed out.
    pub struct CallDeferredView {
        /// The call.
        #[serde(flatten)]
        pub call: CallRef,
        /// Counts the attempts of the call, from 1.
        pub attempt: u32,
        /// A result after this moment is too late.
        pub deadline: Option<Moment>,
    }

    /// A call that a worker had.
    pub struct TaskTakenView {
        /// The call.
        #[serde(flatten)]
        pub call: CallRef,
        /// Counts the attempts of the call, from 1.
        pub attempt: u32,
        /// The worker.
        pub worker: String,
        /// When the worker leased it.
        pub since: Moment,
    }

    /// The outcome of a call.
    pub struct ToolEndedView {
        /// The call.
        #[serde(flatten)]
        pub call: CallRef,
        /// How it ended.
        pub outcome: OutcomeName,
        /// Whether the result is an error.
        pub error: bool,
        /// Why it did not succeed.
        pub code: Option<CodeName>,
        /// Where the result came from; absent when none was made.
        pub source: Option<SourceName>,
        /// How long the tool took.
        pub latency_us: u64,
        /// How often the call was started.
        pub attempt: Option<u32>,
        /// The result that the model gets.
        pub result: ResultView,
    }

    /// A failed hook.
    pub struct HookFailedView {
        /// The call that it was around.
        #[serde(flatten)]
        pub call: CallRef,
        /// For people; the model never sees it.
        pub detail: String,
    }

    /// A call in doubt.
    pub struct CallDoubtedView {
        /// The call.
        #[serde(flatten)]
        pub call: CallRef,
        /// How it came to be in doubt.
        pub cause: DoubtCauseName,
    }

    /// A result that came too late.
    pub struct EvidenceGivenView {
        /// The call.
        #[serde(flatten)]
        pub call: CallRef,
        /// The attempt that it is of.
        pub attempt: u32,
        /// The worker that brought it.
        pub worker: String,
        /// The result.
        pub result: ResultView,
    }

    /// A turn that ended.
    pub struct TurnEndedView {
        /// The turn.
        pub turn: u32,
        /// Whether every call is settled; `false` when the turn goes on after a resume or a retry.
        pub complete: bool,
    }

    /// What a pause waits for.
    pub struct RequiredView {
        /// The turn.
        pub turn: u32,
        /// The pause.
        pub continuation_id: String,
        /// The pause before it in the same turn; `null` for the first.
        #[serialize_always]
        pub parent_continuation_id: Option<String>,
        /// The batch of the turn: partial answers and results may name it.
        pub batch_id: String,
        /// The calls that wait.
        pub pending: Vec<PendingView>,
    }

    /// A pause, or its end.
    pub struct PauseView {
        /// What the run waits or waited for.
        pub reason: PauseReasonName,
        /// The turn.
        pub turn: u32,
        /// The pause.
        pub continuation_id: Option<String>,
        /// The batch of the turn.
        pub batch_id: String,
    }

    /// Changed context attributes.
    pub struct ContextChangedView {
        /// The new values.
        pub context: Members,
    }

    /// A takeover.
    pub struct EpochStartedView {
        /// Counts the processes that took the run over.
        pub epoch: u32,
    }

    /// A failure of the run.
    pub struct FailedView {
        /// The stop reason.
        pub reason: FailureName,
        /// For people; safe to show.
        pub detail: String,
    }

    /// A cancellation.
    pub struct CancelledView {
        /// The caller that cancelled it.
        pub actor: Option<ActorView>,
        /// The caller's reason.
        pub reason: Option<String>,
    }

    /// The end of a segment.
    pub struct DoneView {
        /// Why it ended; the model's own reasons may be any word.
        pub stop_reason: String,
        /// The turn.
        pub turn: u32,
    }
}

impl CallRef {
    pub(super) fn of(run: &Run, index: CallIndex) -> Self {
        let call = run.call(index);
        Self {
            turn: run.turn().0,
            index: index.0,
            call_id: call.map(|call| call.id.to_string()),
            name: call.map(|call| call.name.to_string()),
            tool: call.and_then(|call| call.tool.as_ref()).map(|facts| facts.name.to_string()),
        }
    }
}

impl From<Usage> for UsageTotalView {
    fn from(usage: Usage) -> Self {
        let Usage { input, output, cache_read, cache_write, reasoning } = usage;
        Self { input, output, cache_read, cache_write, reasoning, total: usage.total() }
    }
}

impl RequiredView {
    pub(super) fn of(run: &Run, pause: PauseNumber, reason: PauseReason) -> Self {
        Self {
            turn: run.turn().0,
            continuation_id: run.continuation_at(pause).to_string(),
            parent_continuation_id: run.parent_continuation().map(|id| id.to_string()),
            batch_id: run.batch().to_string(),
            pending: pending_for(run, reason).iter().map(Pending::view).collect(),
        }
    }
}

impl PauseView {
    pub(super) fn of(run: &Run, reason: PauseReason, continuation: Option<ContinuationId>) -> Self {
        Self {
            reason: Name(reason),
            turn: run.turn().0,
            continuation_id: continuation.map(|id| id.to_string()),
            batch_id: run.batch().to_string(),
        }
    }
}

impl DoneView {
    /// Whether the run waits for answers or results: it goes on when they come.
    pub fn is_pause(&self) -> bool {
        PauseReason::parse(&self.stop_reason).is_some()
    }
}
