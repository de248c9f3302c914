//! The inbox: everything that waits for a person.

use holdpoint_codec::view::{
    AnswerNote, DigestText, DoubtView, Moment, Name, PendingAnswerView, QuestionKindName, RawJson, Text,
};
use holdpoint_codec::{StoredQuestion, decode_question_note};
use holdpoint_store::{QuestionRow, QuestionStatus};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

/// Where a question is.
pub type ApprovalStatus = Name<QuestionStatus>;

/// A question to a person. What does not belong to it is absent.
#[skip_serializing_none]
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct ApprovalView {
    /// Its id.
    pub id: String,
    /// The run.
    pub run_id: String,
    /// The tenant, if the run has one.
    pub tenant: Option<Text>,
    /// The agent, if it has a name.
    pub agent: Option<Text>,
    /// The conversation that the run belongs to.
    pub session: Option<Text>,
    /// The caller that started the run.
    pub requester: Option<Text>,
    /// Where the question is.
    pub status: ApprovalStatus,
    /// Whether the caller of this request may answer it now.
    pub answerable: bool,
    /// What is asked.
    pub kind: QuestionKindName,
    /// The turn of the call.
    pub turn: u32,
    /// The position of the call in the turn, from 0.
    pub index: u32,
    /// The batch of the turn: answers to single calls may name it.
    pub batch_id: String,
    /// What an answer resumes. Absent while the run is busy: it pauses again for what is left.
    pub continuation_id: Option<String>,
    /// The id of the call that messages show.
    pub call_id: Text,
    /// The name that the model asked for.
    pub name: Text,
    /// The registered tool.
    pub tool: Text,
    /// `native`, `mcp:SERVER`, `skills`, `http`, `command` or `worker`.
    pub tool_source: Text,
    /// The arguments that it would run with.
    #[schema(value_type = HashMap<String, Value>)]
    pub arguments: RawJson,
    /// Covers the tool's name and the arguments.
    pub arguments_digest: DigestText,
    /// Names and sizes of the arguments: safe to log.
    pub arguments_summary: String,
    /// The digest of the question, which an answer must name.
    pub digest: DigestText,
    /// The attempt that would be next.
    pub attempt: u32,
    /// Equal over all attempts.
    pub idempotency_key: Text,
    /// Why a person is asked.
    pub reason: Option<Text>,
    /// The rule that asks.
    pub rule: Option<Text>,
    /// The roles of which one is needed to answer. None: any person may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<Text>,
    /// The people who approved so far; `null` for a person without a name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<Option<Text>>,
    /// How many different people must approve.
    pub quorum: u32,
    /// Whether the caller that started the run may not answer.
    pub four_eyes: bool,
    /// Whether another question about the call was asked before.
    pub again: bool,
    /// Answers short of the quorum.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<PendingAnswerView>,
    /// Whether it is unknown if the call took effect.
    pub uncertain: bool,
    /// What is known of the call, if it is unknown whether it took effect.
    pub doubt: Option<DoubtView>,
    /// When the call in doubt was started.
    pub started_at: Option<Moment>,
    /// An answer after this moment is too late.
    pub deadline: Option<Moment>,
    /// When it was asked.
    pub created_at: Moment,
    /// When it changed last.
    pub changed_at: Moment,
    /// How it was answered, by a person.
    pub answer: Option<AnswerNote>,
}

impl ApprovalView {
    /// What is shown of a question to a caller that may answer it now, or may not.
    pub fn of(row: &QuestionRow, stored: StoredQuestion, answerable: bool) -> Self {
        let StoredQuestion { batch, continuation, session, requester, pending, .. } = stored;
        Self {
            id: row.key.to_string(),
            run_id: row.key.run.as_str().to_owned(),
            tenant: row.tenant.as_ref().map(Text::share),
            agent: (!row.agent.is_empty()).then(|| Text::share(&row.agent)),
            session: session.as_ref().map(Text::share),
            requester: requester.as_ref().map(Text::share),
            status: Name(row.status),
            answerable,
            kind: Name(row.kind),
            turn: row.key.turn.0,
            index: pending.index,
            batch_id: batch.to_string(),
            continuation_id: continuation.map(|id| id.to_string()),
            call_id: pending.id,
            name: pending.name,
            tool: Text::new(row.tool.as_str()),
            tool_source: pending.tool_source,
            arguments: pending.arguments,
            arguments_digest: pending.arguments_digest,
            arguments_summary: pending.arguments_summary,
            digest: pending.digest,
            attempt: pending.attempt,
            idempotency_key: pending.idempotency_key,
            reason: pending.reason,
            rule: pending.rule,
            approvers: pending.approvers,
            approvals: pending.approvals,
            quorum: pending.quorum,
            four_eyes: pending.four_eyes,
            again: pending.again,
            answers: pending.answers,
            uncertain: pending.uncertain,
            doubt: pending.doubt,
            started_at: pending.started_at,
            deadline: row.deadline.map(Moment),
            created_at: Moment(row.asked_at),
            changed_at: Moment(row.changed_at),
            answer: decode_question_note(&row.note).ok().flatten(),
        }
    }
}

/// The questions that changed, each as it is now.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct ApprovalChanges {
    /// In the order of their last change.
    pub approvals: Vec<ApprovalView>,
    /// Where to go on: to be sent as `Last-Event-ID`.
    pub seq: u64,
}

/// One page of questions: those that wait with the earliest deadline first, others with the newest first.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct ApprovalPage {
    /// The questions.
    pub approvals: Vec<ApprovalView>,
    /// Where the next page starts, unless this was the last.
    pub next: Option<String>,
}
