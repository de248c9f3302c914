//! The inbox: everything that waits for a person.

use holdpoint_codec::{Shown, StoredQuestion, decode_question_note};
use holdpoint_store::QuestionRow;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::moment;

/// Where a question is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalStatus {
    /// It waits.
    #[default]
    Pending,
    /// Somebody answered it.
    Answered,
    /// Nobody answered it in time.
    Expired,
    /// It is of no use any more: its run went on without it, or is over.
    Gone,
}

/// A question to a person: `id`, `run_id`, `agent`, `status`, `continuation_id`, `batch_id`, `call_id`, `name`, `tool`,
/// `arguments`, `digest`, `reason`, `rule`, `approvers`, `quorum`, `approvals`, `deadline`, `created_at` and more.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = Object)]
pub struct ApprovalView(pub Shown);

impl ApprovalView {
    /// What is shown of a question: what the codec wrote, if it can be read, and where it is.
    pub fn of(row: &QuestionRow, stored: Option<StoredQuestion>) -> Self {
        let mut view = Shown::default();
        if let Some(StoredQuestion { batch, continuation, session, requester, pending, .. }) = stored {
            view = Shown::of(&pending);
            if let Some(call_id) = view.take("id") {
                view.set("call_id", &call_id);
            }
            view.set("batch_id", &batch.to_string());
            view.set("continuation_id", &continuation.map(|id| id.to_string()));
            view.set("session", &session.as_deref());
            view.set("requester", &requester.as_deref());
        }
        view.set("id", &row.key.to_string());
        view.set("run_id", row.key.run.as_str());
        view.set("agent", &(!row.agent.is_empty()).then_some(&*row.agent));
        view.set("tool", row.tool.as_str());
        view.set("kind", row.kind.as_str());
        view.set("status", row.status.as_str());
        view.set("turn", &row.key.turn.0);
        view.set("deadline", &row.deadline.map(moment));
        view.set("created_at", &moment(row.asked_at));
        view.set("changed_at", &moment(row.changed_at));
        if let Ok(Some(note)) = decode_question_note(&row.note) {
            view.set("answer", &note.to_json());
        }
        Self(view)
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
