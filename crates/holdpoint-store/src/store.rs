//! A store, as its users hold it.

use std::fmt;
use std::sync::Arc;

use crate::{Approvals, AuditLog, Grants, RunLeases, RunLog, ServerState, TaskQueue};

/// How many runs or tasks [`RunLog::due`] and [`TaskQueue::lapsed`] name at most, whatever was asked for.
pub const DUE_LIMIT_MAX: usize = 1_000;

/// Where runs are kept: one part for each role, usually all of them parts of one database. Cheap to clone. A wrapper that
/// counts, times or fails something takes the place of one part.
#[derive(Clone)]
pub struct Store {
    /// The logs of runs.
    pub runs: Arc<dyn RunLog>,
    /// Who drives a run.
    pub leases: Arc<dyn RunLeases>,
    /// Calls that workers do.
    pub tasks: Arc<dyn TaskQueue>,
    /// Questions that people answer.
    pub approvals: Arc<dyn Approvals>,
    /// Answers that are remembered.
    pub grants: Arc<dyn Grants>,
    /// The audit log.
    pub audit: Arc<dyn AuditLog>,
    /// What servers share beside runs.
    pub state: Arc<dyn ServerState>,
}

/// Everything that a store does.
pub trait AllRoles: RunLog + RunLeases + TaskQueue + Approvals + Grants + AuditLog + ServerState {}

impl<S: RunLog + RunLeases + TaskQueue + Approvals + Grants + AuditLog + ServerState> AllRoles for S {}

impl<S: AllRoles> From<S> for Store {
    fn from(store: S) -> Self {
        Arc::new(store).into()
    }
}

impl<S: AllRoles> From<Arc<S>> for Store {
    fn from(store: Arc<S>) -> Self {
        Self {
            runs: Arc::clone(&store) as _,
            leases: Arc::clone(&store) as _,
            tasks: Arc::clone(&store) as _,
            approvals: Arc::clone(&store) as _,
            grants: Arc::clone(&store) as _,
            audit: Arc::clone(&store) as _,
            state: store,
        }
    }
}

impl From<&Store> for Store {
    fn from(store: &Store) -> Self {
        store.clone()
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}
