//! Standing approvals.

use holdpoint_codec::view::{GrantView, Moment};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A grant, and whether it still counts.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ListedGrantView {
    /// The grant.
    #[serde(flatten)]
    pub grant: GrantView,
    /// Whether it counts now.
    pub valid: bool,
    /// The person who revoked it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_by: Option<String>,
    /// When it was revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Moment>,
}

/// One page of grants, the newest first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GrantPage {
    /// The grants.
    pub grants: Vec<ListedGrantView>,
    /// Where the next page starts, unless this was the last.
    pub next: Option<String>,
}
