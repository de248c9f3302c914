//! Grants: what people said about calls that are yet to come.

use std::fmt;
use std::sync::Arc;

use holdpoint_core::{Timestamp, ToolName};

use crate::Cursor;

/// The most grants of one tool and tenant that are looked at for one call: the newest.
pub const GRANTS_MATCHED_MAX: usize = 256;

/// A grant that a transition makes, for the run's tenant.
#[derive(Clone)]
pub struct GrantOpening {
    /// Its name: nobody else has it.
    pub id: Arc<str>,
    /// The registered tool that it is about.
    pub tool: ToolName,
    /// Until when it holds.
    pub until: Option<Timestamp>,
    /// What the codec wrote: scope, arguments' digest, who gave it.
    pub body: Vec<u8>,
}

impl fmt::Debug for GrantOpening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GrantOpening({} for {}, {} bytes)", self.id, self.tool, self.body.len())
    }
}

/// A grant as it is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct GrantRow {
    /// Its name.
    pub id: Arc<str>,
    /// Whose calls it is about.
    pub tenant: Option<Arc<str>>,
    /// The registered tool.
    pub tool: ToolName,
    /// Until when it holds.
    pub until: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// By whom and when it was taken back.
    pub revoked: Option<Revoked>,
    /// What the codec wrote.
    pub body: Arc<[u8]>,
}

impl fmt::Debug for GrantRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GrantRow({} for {}, {} bytes)", self.id, self.tool, self.body.len())
    }
}

/// Who took a grant back, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revoked {
    /// Who.
    pub by: Arc<str>,
    /// When.
    pub at: Timestamp,
}

/// Which grants to list: the newest first. The default is all of them, revoked and lapsed ones too.
#[derive(Clone, Debug, Default)]
pub struct GrantFilter {
    /// Only grants of this tenant.
    pub tenant: Option<Arc<str>>,
    /// Only grants for this tool.
    pub tool: Option<ToolName>,
    /// Go on where an earlier page ended.
    pub cursor: Option<Cursor>,
    /// The size of the page: see [`crate::page_size`].
    pub limit: Option<usize>,
}

impl GrantFilter {
    /// Whether the list contains a grant.
    pub fn matches(&self, row: &GrantRow) -> bool {
        (self.tenant.is_none() || self.tenant == row.tenant) && self.tool.as_ref().is_none_or(|tool| *tool == row.tool)
    }
}
