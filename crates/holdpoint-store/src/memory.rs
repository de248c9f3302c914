//! Runs in the memory of this process. They end with it.

mod approvals;
mod audit_log;
mod entry;
mod grants;
mod log;
mod owners;
mod queue;
mod run_leases;
mod runs;
mod server_state;
mod sessions;
mod table;
mod task_queue;
#[cfg(test)]
mod tests;
mod waiters;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use holdpoint_core::{CallKey, Revision, RunId, Timestamp, ToolName};
use tokio::sync::watch;

use crate::{
    Agents, Approvals, AuditLog, AuditRow, AuditScope, AuditedRun, ClaimRequest, Clock, CommitError, Cursor,
    DUE_LIMIT_MAX, DeliveredTask, GrantFilter, GrantRow, Grants, Head, Hold, LeaseRequest, LeaseState, LeasedTask,
    OverlongLease, Page, PruneRequest, QuestionChanges, QuestionFilter, QuestionRow, QuestionSeq, Record, Release,
    Reservation, Reserved, ResponseKey, Revoked, RunFilter, RunLeases, RunLog, Scope, Seal, SealedRun, ServerState,
    SessionFilter, SessionRow, StoreError, StoreTally, Swept, SystemClock, TaskCompletion, TaskFilter, TaskHead,
    TaskLease, TaskQueue, Tombstone, Topic, Trace, Transition, Unsealed, WorkerRow, WorkerSeen,
};
use table::{Moved, Table, Wanted};

/// The store without a disk: for programs that need nothing after they ended, and for tests.
///
/// One lock guards it all; what happens under it is a look-up and a copy of what is new. A run takes one buffer for all
/// its records and a fixed part of well under 250 bytes; a run that is not running has no spare room in its buffer.
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    table: Mutex<Table>,
}

impl MemoryStore {
    /// An empty store by the clock of the machine.
    pub fn new() -> Self {
        Self::with_clock(Arc::new(SystemClock::new()))
    }

    /// An empty store by another clock.
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self { clock, table: Mutex::default() }
    }

    /// The bytes that this run takes: its buffer with all spare room, its fixed part, its name, and its share of the
    /// tables with their spare room. Counted from sizes and capacities; what the allocator adds is not seen. The names of
    /// agents and tenants are kept once for all runs and not counted.
    pub fn bytes_held(&self, run: &RunId) -> Option<usize> {
        self.table().bytes_held(run)
    }

    /// The bytes that all commits so far wrote: grows with what is new, never with what is already there.
    pub fn bytes_written(&self) -> u64 {
        self.table().bytes_written()
    }

    /// How many runs there are.
    pub fn runs(&self) -> usize {
        self.table().len()
    }

    /// Nothing that can panic runs between two changes that belong together, so a poisoned table is still whole.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryStore({} runs)", self.runs())
    }
}

#[async_trait]
impl RunLog for MemoryStore {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        transition.check(run).map_err(CommitError::Invalid)?;
        let now = self.now();
        self.table().commit(&Wanted { run, at, step: &transition, now })
    }

    async fn load(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        self.table().load(scope, run, after)
    }

    async fn head(&self, scope: &Scope, run: &RunId) -> Result<Option<Head>, StoreError> {
        Ok(self.table().head(scope, run))
    }

    async fn list(&self, filter: &RunFilter) -> Result<Page<Head>, StoreError> {
        self.table().list(filter)
    }

    async fn due(&self, agents: &Agents, at: Timestamp, limit: usize) -> Result<Vec<RunId>, StoreError> {
        Ok(self.table().due(agents, at, limit.min(DUE_LIMIT_MAX)))
    }

    async fn changed(&self, run: &RunId, after: Revision) -> Result<Revision, StoreError> {
        loop {
            let waiter = match self.table().moved(run, after)? {
                Moved::To(revision) => return Ok(revision),
                Moved::NotYet(waiter) => waiter,
            };
            waiter.woken().await;
        }
    }

    async fn sessions(&self, filter: &SessionFilter) -> Result<Page<SessionRow>, StoreError> {
        self.table().sessions(filter)
    }

    async fn prune(&self, request: &PruneRequest) -> Result<Vec<RunId>, StoreError> {
        let now = self.now();
        Ok(self.table().prune(request, now))
    }

    fn watch(&self, topic: Topic) -> watch::Receiver<u64> {
        self.table().watch(topic)
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

#[async_trait]
impl RunLeases for MemoryStore {
    async fn renew(&self, run: &RunId, hold: &Hold) -> Result<LeaseState, StoreError> {
        let now = self.now();
        Ok(self.table().renew(run, hold, now))
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<RunId>, StoreError> {
        let now = self.now();
        Ok(self.table().claim(request, now))
    }

    async fn overlong(&self, agents: &Agents, limit: usize) -> Result<Vec<OverlongLease>, StoreError> {
        let now = self.now();
        Ok(self.table().overlong_leases(agents, limit.min(DUE_LIMIT_MAX), now))
    }

    async fn end(&self, lease: &OverlongLease) -> Result<bool, StoreError> {
        let now = self.now();
        Ok(self.table().end_lease(lease, now))
    }
}

#[async_trait]
impl TaskQueue for MemoryStore {
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError> {
        let now = self.now();
        Ok(self.table().lease(request, now))
    }

    async fn heartbeat(&self, leases: &[TaskLease], lease_ms: u64) -> Result<Vec<LeaseState>, StoreError> {
        let now = self.now();
        let mut table = self.table();
        Ok(leases.iter().map(|lease| table.heartbeat(lease, lease_ms, now)).collect())
    }

    async fn complete(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError> {
        let mut table = self.table();
        let completion = table.deliver(lease, result);
        if completion == TaskCompletion::Stored {
            table.notify(Topic::Runs);
        }
        Ok(completion)
    }

    async fn completed(&self, run: &RunId) -> Result<Vec<DeliveredTask>, StoreError> {
        Ok(self.table().delivered(run))
    }

    async fn collectable(&self, agents: &Agents, limit: usize) -> Result<Vec<RunId>, StoreError> {
        Ok(self.table().arrivals(agents, limit.min(DUE_LIMIT_MAX)))
    }

    async fn release(&self, lease: &TaskLease, how: Release) -> Result<LeaseState, StoreError> {
        let now = self.now();
        let mut table = self.table();
        let state = table.release(lease, how, now);
        if state == LeaseState::Held {
            table.notify(Topic::Tasks);
        }
        Ok(state)
    }

    async fn lapsed(&self, agents: &Agents, limit: usize) -> Result<Vec<TaskHead>, StoreError> {
        let now = self.now();
        Ok(self.table().lapsed(agents, now, limit.min(DUE_LIMIT_MAX)))
    }

    async fn find(&self, scope: &Scope, key: &CallKey) -> Result<Option<TaskHead>, StoreError> {
        Ok(self.table().task(key).filter(|task| scope.covers(task.tenant.as_deref())))
    }

    async fn list(&self, filter: &TaskFilter) -> Result<Page<TaskHead>, StoreError> {
        self.table().tasks(filter)
    }
}

#[async_trait]
impl Approvals for MemoryStore {
    async fn find(&self, scope: &Scope, key: &CallKey) -> Result<Option<QuestionRow>, StoreError> {
        let table = self.table();
        Ok(table.place_of(key).and_then(|place| table.questions.find(scope, place)))
    }

    async fn list(&self, filter: &QuestionFilter) -> Result<Page<QuestionRow>, StoreError> {
        self.table().questions.list(filter)
    }

    async fn changes(
        &self,
        scope: &Scope,
        after: Option<QuestionSeq>,
        limit: usize,
    ) -> Result<QuestionChanges, StoreError> {
        self.table().questions.after(scope, after, limit.min(DUE_LIMIT_MAX))
    }
}

#[async_trait]
impl Grants for MemoryStore {
    async fn matching(&self, tenant: Option<&str>, tool: &ToolName) -> Result<Vec<GrantRow>, StoreError> {
        let now = self.now();
        Ok(self.table().grants.matching(tenant, tool, now))
    }

    async fn list(&self, filter: &GrantFilter) -> Result<Page<GrantRow>, StoreError> {
        self.table().grants.list(filter)
    }

    async fn find(&self, scope: &Scope, id: &str) -> Result<Option<GrantRow>, StoreError> {
        let table = self.table();
        Ok(table.grants.find(id).filter(|row| scope.covers(row.tenant.as_deref())).cloned())
    }

    async fn revoke(&self, tenant: Option<&str>, id: &str, by: &str) -> Result<bool, StoreError> {
        let revoked = Revoked { by: by.into(), at: self.now() };
        Ok(self.table().grants.revoke((tenant, id), revoked))
    }
}

#[async_trait]
impl AuditLog for MemoryStore {
    async fn rows(&self, scope: &Scope, run: &RunId) -> Result<Vec<AuditRow>, StoreError> {
        Ok(self.table().audit_in(scope, run))
    }

    async fn rows_after(
        &self,
        scope: &AuditScope,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<AuditedRun>, StoreError> {
        self.table().audit_after(scope, after, limit.min(DUE_LIMIT_MAX))
    }

    async fn heads(
        &self,
        tenant: Option<&str>,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<SealedRun>, StoreError> {
        Ok(self.table().audit_heads(tenant, after, limit.min(DUE_LIMIT_MAX)))
    }

    async fn seal(&self, tenant: Option<&str>) -> Result<Option<Seal>, StoreError> {
        let now = self.now();
        Ok(self.table().seal(tenant, now, DUE_LIMIT_MAX))
    }

    async fn unsealed(&self) -> Result<Vec<Unsealed>, StoreError> {
        Ok(self.table().unsealed())
    }

    async fn seals(&self, tenant: Option<&str>, after: u64, limit: usize) -> Result<Vec<Seal>, StoreError> {
        Ok(self.table().seals(tenant, after, limit.min(DUE_LIMIT_MAX)))
    }

    async fn traces(&self, tenant: Option<&str>, sealed: &[SealedRun]) -> Result<Vec<Trace>, StoreError> {
        Ok(self.table().traces(tenant, sealed))
    }

    async fn tombstones(
        &self,
        tenant: Option<&str>,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<Tombstone>, StoreError> {
        Ok(self.table().tombstones(tenant, after, limit.min(DUE_LIMIT_MAX)))
    }

    async fn tenants(&self) -> Result<Vec<Option<Arc<str>>>, StoreError> {
        Ok(self.table().tenants())
    }
}

#[async_trait]
impl ServerState for MemoryStore {
    async fn setting(&self, name: &str) -> Result<Option<Arc<str>>, StoreError> {
        Ok(self.table().front_desk.setting(name))
    }

    async fn first_setting(&self, name: &str, value: &str) -> Result<Arc<str>, StoreError> {
        Ok(self.table().front_desk.first_setting(name, value))
    }

    async fn change_setting(&self, name: &str, from: &str, to: &str) -> Result<bool, StoreError> {
        Ok(self.table().front_desk.change_setting(name, (from, to)))
    }

    async fn reserve(&self, reservation: &Reservation) -> Result<Reserved, StoreError> {
        let now = self.now();
        Ok(self.table().front_desk.reserve(reservation, now))
    }

    async fn keep(&self, key: &ResponseKey, response: Vec<u8>) -> Result<(), StoreError> {
        self.table().front_desk.keep(key, response);
        Ok(())
    }

    async fn kept(&self, key: &ResponseKey) -> Result<Option<Arc<[u8]>>, StoreError> {
        let now = self.now();
        Ok(self.table().front_desk.kept(key, now))
    }

    async fn forget(&self, key: &ResponseKey) -> Result<(), StoreError> {
        self.table().front_desk.drop_response(key);
        Ok(())
    }

    async fn note_worker(&self, seen: &WorkerSeen) -> Result<(), StoreError> {
        let now = self.now();
        self.table().front_desk.seen(seen, now);
        Ok(())
    }

    async fn workers(&self, scope: &Scope) -> Result<Vec<WorkerRow>, StoreError> {
        let now = self.now();
        Ok(self.table().workers(scope, now))
    }

    async fn counts(&self) -> Result<StoreTally, StoreError> {
        Ok(self.table().tally())
    }

    async fn sweep(&self) -> Result<Swept, StoreError> {
        let now = self.now();
        Ok(self.table().front_desk.sweep(now))
    }
}
