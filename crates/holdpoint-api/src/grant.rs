//! Standing approvals.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// What somebody said about calls that are yet to come: `id`, `tool`, `arguments`, `digest`, `scope`, `run_id`, `session`,
/// `until`, `actor`, `roles`, `created_at`, `valid`, and `revoked_by` and `revoked_at` if it was taken back.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = Object)]
pub struct GrantView(pub Value);

/// One page of grants, the newest first.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct GrantPage {
    /// The grants.
    pub grants: Vec<GrantView>,
    /// Where the next page starts, unless this was the last.
    pub next: Option<String>,
}
