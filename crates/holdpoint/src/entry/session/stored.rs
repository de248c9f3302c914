//! Sessions that a store keeps: how far they are, for any process.

use std::sync::Arc;

use holdpoint_core::{Message, RunId, Status};
use holdpoint_store::{Cursor, Head, LIST_LIMIT_MAX, RunFilter, StoreError};

use super::history::{closed, durable};
use crate::driver::Driver;
use crate::parts::Parts;
use crate::{Error, Runner};

/// How many pages of a session's runs are looked through for one of the tenant.
const PAGES_MAX: usize = 50;

/// How far a session is.
#[derive(Clone, Debug, Default)]
pub struct SessionSoFar {
    /// Its last run. Nothing for a session that has none.
    pub last: Option<RunId>,
    /// The messages of that run, with every call closed.
    pub messages: Vec<Arc<Message>>,
}

impl Runner {
    /// The conversation of a session so far: the messages of its last run, with every call closed, and the run that they come
    /// from: [`crate::RunRequest::alone_after`] goes on from there. A `tenant` of `None` stands for runs without a tenant.
    ///
    /// # Errors
    /// `run_busy` while its last run is in progress, `run_paused` while it is paused.
    pub async fn session_so_far(&self, tenant: Option<&str>, session: &str) -> Result<SessionSoFar, Error> {
        let last = find_run(&self.parts, tenant, session, |_| true).await?;
        let Some(head) = last else { return Ok(SessionSoFar::default()) };
        if let Some(error) = open_error(&head) {
            return Err(error);
        }
        let result = self.result(&head.run).await?;
        Ok(SessionSoFar { messages: closed(&durable(&result)), last: Some(head.run) })
    }
}

impl Driver {
    /// What keeps a run from being started alone in its session.
    pub(crate) async fn session_busy(&self) -> Result<Error, StoreError> {
        let run = self.run();
        let Some(session) = run.session() else { return Ok(Error::SessionBusy) };
        let tenant = run.actor().tenant.as_deref();
        let open = find_run(self.parts(), tenant, session, |head| open_error(head).is_some()).await?;
        Ok(open.as_ref().and_then(open_error).unwrap_or(Error::SessionBusy))
    }
}

/// The last created run of a session that fits.
async fn find_run(
    parts: &Parts,
    tenant: Option<&str>,
    session: &str,
    fits: impl Fn(&Head) -> bool,
) -> Result<Option<Head>, StoreError> {
    let mut filter = RunFilter {
        tenant: tenant.map(Into::into),
        session: Some(session.into()),
        limit: Some(LIST_LIMIT_MAX),
        ..RunFilter::default()
    };
    for _ in 0..PAGES_MAX {
        let page = parts.store.runs.list(&filter).await?;
        // A list without a tenant is of all tenants.
        let mut own = page.items.into_iter().filter(|head| head.tenant.as_deref() == tenant);
        if let Some(found) = own.find(|head| fits(head)) {
            return Ok(Some(found));
        }
        let next: Option<Cursor> = page.next;
        match next {
            Some(next) => filter.cursor = Some(next),
            None => break,
        }
    }
    Ok(None)
}

/// Why nothing else may be said in a session whose run this is.
fn open_error(head: &Head) -> Option<Error> {
    match head.status {
        Status::Running => Some(Error::SessionBusy),
        Status::AwaitingToolConfirmation | Status::AwaitingToolResults => Some(match &head.continuation {
            Some(continuation) => Error::SessionPaused { continuation: continuation.clone() },
            None => Error::SessionBusy,
        }),
        Status::Finished | Status::Failed | Status::Cancelled => None,
    }
}
