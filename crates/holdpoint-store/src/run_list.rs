//! Which runs to list.

use std::sync::Arc;

use holdpoint_core::Status;

use crate::{Cursor, Head};

/// Which runs to list. The default is all of them.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    /// Only runs in this status.
    pub status: Option<Status>,
    /// Only runs of this agent.
    pub agent: Option<Arc<str>>,
    /// Only runs of this tenant.
    pub tenant: Option<Arc<str>>,
    /// Only runs of this session.
    pub session: Option<Arc<str>>,
    /// Continues where an earlier page ended.
    pub cursor: Option<Cursor>,
    /// The size of the page: see [`crate::page_size`].
    pub limit: Option<usize>,
}

impl RunFilter {
    /// Whether the list contains a run.
    pub fn matches(&self, head: &Head) -> bool {
        self.status.is_none_or(|status| status == head.status)
            && (self.agent.is_none() || self.agent == head.agent)
            && (self.tenant.is_none() || self.tenant == head.tenant)
            && (self.session.is_none() || self.session == head.session)
    }
}
