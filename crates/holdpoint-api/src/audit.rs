//! Who decided what.

use holdpoint_codec::view::{AuditDecisionView, Moment};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One row of the audit log: what one commit of one run decided, and its link in the run's chain.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    /// The run.
    pub run_id: String,
    /// The number of its last event then.
    pub revision: u64,
    /// When.
    pub at: Moment,
    /// The chain up to here, as 64 hexadecimal digits.
    pub link: String,
    /// What was decided and by whom. Nothing if it cannot be read.
    pub decisions: Option<Vec<AuditDecisionView>>,
}

/// One page of the audit log, run by run.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct AuditPage {
    /// The rows.
    pub entries: Vec<AuditEntry>,
    /// Where the next page starts, unless this was the last.
    pub next: Option<String>,
}

/// Something that does not fit.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AuditFinding {
    /// What, in a sentence.
    pub problem: String,
}

/// What a check of the whole audit log of a tenant found.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AuditVerdict {
    /// Whether nothing was found.
    pub ok: bool,
    /// How many runs were looked at.
    pub runs: u64,
    /// How many rows.
    pub rows: u64,
    /// How many seals.
    pub seals: u64,
    /// What does not fit.
    pub findings: Vec<AuditFinding>,
}
