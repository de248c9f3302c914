//! Which runs belong together, and which sessions have a run that is not over.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use holdpoint_core::Status;

use super::runs::RunNo;
use super::table::Table;
use crate::{CommitError, Cursor, SessionFilter, SessionPage, SessionRow, StoreError, Transition};

/// A session of a tenant.
type SessionKey = (Option<Arc<str>>, Arc<str>);

/// Sessions by run, and runs by session. Runs without one take nothing here.
#[derive(Default)]
pub(super) struct Sessions {
    of_runs: BTreeMap<RunNo, SessionKey>,
    runs: HashMap<SessionKey, Vec<RunNo>>,
    /// The runs that are alone in their session and not over.
    alone: HashMap<SessionKey, RunNo>,
}

impl Sessions {
    pub(super) fn of(&self, run: RunNo) -> Option<&Arc<str>> {
        self.of_runs.get(&run).map(|(_, session)| session)
    }

    /// Whether a run may be created.
    pub(super) fn admit(&self, step: &Transition) -> Result<(), CommitError> {
        let busy = key(step).is_some_and(|key| self.alone.contains_key(&key));
        if busy && step.session_use.is_alone() { Err(CommitError::SessionBusy) } else { Ok(()) }
    }

    /// The run of the session that was created last.
    pub(super) fn last(&self, step: &Transition) -> Option<RunNo> {
        self.runs.get(&key(step)?)?.last().copied()
    }

    /// A run was created.
    pub(super) fn add(&mut self, run: RunNo, step: &Transition) {
        let Some(key) = key(step) else { return };
        self.of_runs.insert(run, key.clone());
        self.runs.entry(key.clone()).or_default().push(run);
        if step.session_use.is_alone() && !is_over(step.head.status) {
            self.alone.insert(key, run);
        }
    }

    /// A run moved.
    pub(super) fn moved(&mut self, run: RunNo, status: Status) {
        if !is_over(status) {
            return;
        }
        if let Some(key) = self.of_runs.get(&run)
            && self.alone.get(key) == Some(&run)
        {
            self.alone.remove(key);
        }
    }

    pub(super) fn remove(&mut self, run: RunNo) {
        let Some(key) = self.of_runs.remove(&run) else { return };
        if let Some(runs) = self.runs.get_mut(&key) {
            runs.retain(|other| *other != run);
            if runs.is_empty() {
                self.runs.remove(&key);
            }
        }
    }
}

fn key(step: &Transition) -> Option<SessionKey> {
    Some((step.head.tenant.clone(), step.head.session.clone()?))
}

fn is_over(status: Status) -> bool {
    match status {
        Status::Finished | Status::Failed | Status::Cancelled => true,
        Status::Running | Status::AwaitingToolConfirmation | Status::AwaitingToolResults => false,
    }
}

impl Table {
    pub(super) fn sessions(&self, filter: &SessionFilter) -> Result<SessionPage, StoreError> {
        let end = match &filter.cursor {
            None => self.runs.next(),
            Some(cursor) => self.run_at(cursor)?,
        };
        let mut page = SessionPage::default();
        for (run, key) in self.sessions.of_runs.range(..end).rev() {
            let fits = filter.tenant.as_ref().is_none_or(|tenant| Some(tenant) == key.0.as_ref());
            let runs = self.sessions.runs.get(key).map(Vec::as_slice).unwrap_or_default();
            if !fits || runs.last() != Some(run) {
                continue;
            }
            if page.sessions.len() == filter.page_size() {
                page.next = Some(Cursor::new((run.0 + 1).to_string()));
                break;
            }
            let Some(entry) = self.runs.get(*run) else { continue };
            page.sessions.push(SessionRow {
                id: Arc::clone(&key.1),
                tenant: key.0.clone(),
                runs: runs.len() as u64,
                last_run: entry.run.clone(),
                agent: self.owners.get(entry.owner).agent.clone(),
                status: entry.status,
                created_at: entry.created_at,
                updated_at: entry.updated_at,
            });
        }
        Ok(page)
    }
}
