//! Which runs belong together, and which sessions have a run that is not over.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use holdpoint_core::Status;

use super::runs::RunNo;
use super::table::Table;
use crate::{CommitError, List, Page, SessionFilter, SessionRow, StoreError, Transition, is_over, page_size};

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

impl Table {
    pub(super) fn list_sessions(&self, filter: &SessionFilter) -> Result<Page<SessionRow>, StoreError> {
        let [from] = List::Sessions.position(filter.cursor.as_ref(), [i64::MAX])?;
        let sessions = self.sessions.of_runs.range(..=RunNo(from)).rev().filter_map(|(run, key)| {
            let (tenant, id) = key;
            let runs = self.sessions.runs.get(key).filter(|runs| runs.last() == Some(run))?;
            let entry = self.runs.get(*run).filter(|_| filter.tenant.is_none() || filter.tenant == *tenant)?;
            let row = SessionRow {
                id: Arc::clone(id),
                tenant: tenant.clone(),
                runs: runs.len() as u64,
                last_run: entry.run.clone(),
                agent: self.owners.get(entry.owner).agent.clone(),
                status: entry.status,
                created_at: entry.created_at,
                updated_at: entry.updated_at,
            };
            Some(Ok(([run.0], row)))
        });
        Page::collect(List::Sessions, page_size(filter.limit), sessions)
    }
}
