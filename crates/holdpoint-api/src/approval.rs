//! The inbox: everything that waits for a person.

use holdpoint_codec::Shown;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
