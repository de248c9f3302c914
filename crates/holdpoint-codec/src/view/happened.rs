//! What each event says besides its number, its time and its run.

use holdpoint_core::{PauseReason, Usage};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    ActorView, CodeName, DecisionView, DigestText, DoubtCauseName, FailureName, GrantView, Members, MessageView,
    Moment, OutcomeName, PauseReasonName, PendingView, RawJson, ResultView, SourceName, StageName,
};

/// A turn.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TurnRef {
    /// Counts the turns of the run, from 1.
    pub turn: u32,
}

/// The call that an event is about: turn and index are its key, the rest is for people.
#[skip_serializing_none]
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
#[skip_serializing_none]
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ImportedView {
    /// Its turn.
    pub turn: u32,
    /// What it waits for.
    pub reason: PauseReasonName,
    /// The pause that it is at.
    pub continuation_id: String,
}

/// A reply of the model. Dropped calls are not shown.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
#[derive(Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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

impl From<Usage> for UsageTotalView {
    fn from(usage: Usage) -> Self {
        let Usage { input, output, cache_read, cache_write, reasoning } = usage;
        Self { input, output, cache_read, cache_write, reasoning, total: usage.total() }
    }
}

/// What a policy decided about a call.
#[skip_serializing_none]
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
#[skip_serializing_none]
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CallAnsweredView {
    /// The call.
    #[serde(flatten)]
    pub call: CallRef,
    /// `allow`, `deny`, `answer` or `happened`.
    pub decision: String,
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
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GrantGivenView {
    /// The call that was answered.
    #[serde(flatten)]
    pub call: CallRef,
    /// The grant.
    pub grant: GrantView,
}

/// A grant that counted as an answer.
#[skip_serializing_none]
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
#[skip_serializing_none]
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GrantRevokedView {
    /// The grant.
    pub grant_id: String,
    /// The person who revoked it.
    pub actor: Option<ActorView>,
}

/// An attempt of a call.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolStartedView {
    /// The call.
    #[serde(flatten)]
    pub call: CallRef,
    /// Counts the attempts of the call, from 1.
    pub attempt: u32,
}

/// A call that was handed out.
#[skip_serializing_none]
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
#[skip_serializing_none]
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HookFailedView {
    /// The call that it was around.
    #[serde(flatten)]
    pub call: CallRef,
    /// For people; the model never sees it.
    pub detail: String,
}

/// A call in doubt.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CallDoubtedView {
    /// The call.
    #[serde(flatten)]
    pub call: CallRef,
    /// How it came to be in doubt.
    pub cause: DoubtCauseName,
}

/// A result that came too late.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TurnEndedView {
    /// The turn.
    pub turn: u32,
    /// Whether every call is settled; `false` when the turn goes on after a resume or a retry.
    pub complete: bool,
}

/// What a pause waits for.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RequiredView {
    /// The turn.
    pub turn: u32,
    /// The pause.
    pub continuation_id: String,
    /// The pause before it in the same turn; `null` for the first.
    pub parent_continuation_id: Option<String>,
    /// The batch of the turn: partial answers and results may name it.
    pub batch_id: String,
    /// The calls that wait.
    pub pending: Vec<PendingView>,
}

/// A pause, or its end.
#[skip_serializing_none]
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ContextChangedView {
    /// The new values.
    pub context: Members,
}

/// A takeover.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EpochStartedView {
    /// Counts the processes that took the run over.
    pub epoch: u32,
}

/// A failure of the run.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailedView {
    /// The stop reason.
    pub reason: FailureName,
    /// For people; safe to show.
    pub detail: String,
}

/// A cancellation.
#[skip_serializing_none]
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CancelledView {
    /// The caller that cancelled it.
    pub actor: Option<ActorView>,
    /// The caller's reason.
    pub reason: Option<String>,
}

/// The end of a segment.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DoneView {
    /// Why it ended; the model's own reasons may be any word.
    pub stop_reason: String,
    /// The turn.
    pub turn: u32,
}

impl DoneView {
    /// Whether the run waits for answers or results: it goes on when they come.
    pub fn is_pause(&self) -> bool {
        PauseReason::parse(&self.stop_reason).is_some()
    }
}
