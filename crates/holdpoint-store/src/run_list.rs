//! Lists of runs: which ones, and page by page.

use std::sync::Arc;

use holdpoint_core::Status;

use crate::Head;

/// The size of a page when none was asked for.
pub const LIST_LIMIT_DEFAULT: usize = 50;
/// The largest page, whatever was asked for.
pub const LIST_LIMIT_MAX: usize = 200;

/// Which runs to list. The default is all of them.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    /// Only runs that are there.
    pub status: Option<Status>,
    /// Only runs of this agent.
    pub agent: Option<Arc<str>>,
    /// Only runs of this tenant.
    pub tenant: Option<Arc<str>>,
    /// Only runs of this session.
    pub session: Option<Arc<str>>,
    /// Go on where an earlier page ended.
    pub cursor: Option<Cursor>,
    /// How many at most: [`LIST_LIMIT_DEFAULT`] if absent, never more than [`LIST_LIMIT_MAX`].
    pub limit: Option<usize>,
}

impl RunFilter {
    /// The size of a page: at least 1, so that every list comes to its end.
    pub fn page_size(&self) -> usize {
        self.limit.unwrap_or(LIST_LIMIT_DEFAULT).clamp(1, LIST_LIMIT_MAX)
    }

    /// Whether a run is one of those to list.
    pub fn matches(&self, head: &Head) -> bool {
        self.status.is_none_or(|status| status == head.status)
            && self.agent.as_ref().is_none_or(|agent| Some(agent) == head.agent.as_ref())
            && self.tenant.as_ref().is_none_or(|tenant| Some(tenant) == head.tenant.as_ref())
            && self.session.as_ref().is_none_or(|session| Some(session) == head.session.as_ref())
    }
}

/// One page of a list.
#[derive(Clone, Debug, Default)]
pub struct RunPage {
    /// The runs, the last created first.
    pub runs: Vec<Head>,
    /// Where the next page starts, unless this was the last.
    pub next: Option<Cursor>,
}

/// A place in a list. Only the store that made it can read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor(Arc<str>);

impl Cursor {
    /// Takes the text that a client sent back or that a store made.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The text to send to a client.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
