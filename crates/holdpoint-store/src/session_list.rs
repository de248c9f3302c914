//! Sessions: runs that belong together.

use std::sync::Arc;

use holdpoint_core::{RunId, Status, Timestamp};

use crate::Cursor;

/// Whether the session of a run may have other runs that are not over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SessionUse {
    /// It may.
    #[default]
    Shared,
    /// Of the runs that are created alone in a session of a tenant, at most one is not over: while there is one, another
    /// is not created, and its author gets [`crate::CommitError::SessionBusy`]. A run that failed is over, also when it is
    /// retried later.
    Alone,
    /// As [`SessionUse::Alone`], and only while this run is the last one that was created in the session, or while it has
    /// none: whoever goes on with a conversation knows all of it.
    AloneAfter(Option<RunId>),
}

impl SessionUse {
    /// Whether at most one run of the session that is created so is not over.
    pub fn is_alone(&self) -> bool {
        match self {
            SessionUse::Shared => false,
            SessionUse::Alone | SessionUse::AloneAfter(_) => true,
        }
    }

    /// What the last run of the session must be: a run, or none at all. Nothing when it does not matter.
    pub fn after(&self) -> Option<Option<&RunId>> {
        match self {
            SessionUse::Shared | SessionUse::Alone => None,
            SessionUse::AloneAfter(last) => Some(last.as_ref()),
        }
    }
}

/// Which sessions to list: that of the last created run first. The default is all of them.
#[derive(Clone, Debug, Default)]
pub struct SessionFilter {
    /// Only sessions of this tenant.
    pub tenant: Option<Arc<str>>,
    /// Go on where an earlier page ended.
    pub cursor: Option<Cursor>,
    /// The size of the page: see [`crate::page_size`].
    pub limit: Option<usize>,
}

/// A session: all runs of a tenant that named it when they were created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// Its name.
    pub id: Arc<str>,
    /// Whose it is.
    pub tenant: Option<Arc<str>>,
    /// How many runs it has.
    pub runs: u64,
    /// The run that was created last.
    pub last_run: RunId,
    /// The agent of that run.
    pub agent: Option<Arc<str>>,
    /// Where that run is.
    pub status: Status,
    /// When that run was created.
    pub created_at: Timestamp,
    /// When that run last moved.
    pub updated_at: Timestamp,
}
