//! The contract that every store keeps.

use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_core::{CallKey, Revision, RunId, Timestamp, ToolName};
use tokio::sync::watch;

use crate::{
    Agents, AuditPage, AuditRow, AuditScope, ClaimRequest, CommitError, Cursor, DeliveredTask, GrantFilter, GrantPage,
    GrantRow, Head, Hold, LeaseRequest, LeaseState, LeasedTask, OverlongLease, PruneRequest, QuestionChanges,
    QuestionFilter, QuestionPage, QuestionRow, QuestionSeq, Record, Release, Reservation, Reserved, ResponseKey,
    RunFilter, RunPage, Scope, Seal, SealedRun, SessionFilter, SessionPage, StoreError, StoreTally, Swept,
    TaskCompletion, TaskFilter, TaskHead, TaskLease, TaskPage, Tombstone, Trace, Transition, Unsealed, WorkerRow,
    WorkerSeen,
};

/// How many runs or tasks [`Store::due`] and [`Store::lapsed`] name at most, whatever was asked for.
pub const DUE_LIMIT_MAX: usize = 1_000;

/// What somebody who looks after a store waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    /// A task may be there to lease.
    Tasks,
    /// A run may be there to claim, or may have paused or have results to take.
    Runs,
    /// A question was asked, changed or ended.
    Questions,
}

/// Where runs are kept.
///
/// 1. A commit is all or nothing: no reader ever sees a part of a transition.
/// 2. A commit happens only if the run is still at the revision that its author read; otherwise it is
///    [`CommitError::Stale`] and nothing changed.
/// 3. What a commit acknowledged survives whatever the store says it survives: for a durable store that is a crash at
///    any later moment.
/// 4. Of those who write onto the same revision exactly one succeeds, so a run has one history.
/// 5. A lease names one holder and lapses by itself. What the holder of an earlier lease of a task delivers is
///    [`CommitError::LeaseLost`], never merged.
/// 6. A transition that has an audit entry adds one link to the audit chain of its run, in the same commit.
///
/// The revision of a run is the number of its records. A run that nobody committed to is at revision 0. Lease times are
/// those of the store's own clock.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Writes all of `transition` or nothing, and only if the run is still at `at` and the tasks that it closes are as it
    /// says. Returns `at` plus the number of records. Committing at revision 0 creates the run.
    ///
    /// After [`CommitError::Store`] it is not known whether the transition was written: ask [`Store::head`].
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError>;

    /// The records after the first `after`, in order. Empty when there are no more, [`StoreError::NotFound`] when there is
    /// no such run.
    async fn load(&self, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError>;

    /// What the last commit said about the run, or nothing when there is no such run.
    async fn head(&self, run: &RunId) -> Result<Option<Head>, StoreError>;

    /// As [`Store::head`], for somebody who sees a part: a run outside is not there.
    async fn head_in(&self, scope: &Scope, run: &RunId) -> Result<Option<Head>, StoreError>;

    /// As [`Store::load`], for somebody who sees a part: a run outside is not there.
    async fn load_in(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError>;

    /// One page of the runs that the filter lets through, the last created first.
    async fn list(&self, filter: &RunFilter) -> Result<RunPage, StoreError>;

    /// The runs of these agents whose deadline is not after `at`, the earliest first: at most `limit` and at most
    /// [`DUE_LIMIT_MAX`].
    async fn due(&self, agents: &Agents, at: Timestamp, limit: usize) -> Result<Vec<RunId>, StoreError>;

    /// Waits until the run has more than `after` records and returns how many it has. [`StoreError::NotFound`] when there is
    /// no such run, or no more. Dropping the future stops waiting.
    async fn changed(&self, run: &RunId, after: Revision) -> Result<Revision, StoreError>;

    /// What the transitions of a run left in the audit log, in order. Empty for a run that is not there.
    async fn audit(&self, run: &RunId) -> Result<Vec<AuditRow>, StoreError>;

    /// As [`Store::audit`], for somebody who sees a part: of a run outside there is nothing.
    async fn audit_in(&self, scope: &Scope, run: &RunId) -> Result<Vec<AuditRow>, StoreError>;

    /// The audit logs of runs, run by run and row by row, from after `after`: about `limit` rows and at most
    /// [`DUE_LIMIT_MAX`]. Also runs without rows. Each page is as it was at one moment.
    async fn audit_after(
        &self,
        scope: &AuditScope,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<AuditPage, StoreError>;

    /// The heads of the audit chains of a tenant's runs (`None`: of runs without a tenant), in the order of their names,
    /// from after `after`: at most `limit` and at most [`DUE_LIMIT_MAX`]. Only runs that have an audit row.
    async fn audit_heads(
        &self,
        tenant: Option<&str>,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<SealedRun>, StoreError>;

    /// Seals what moved of a tenant's runs since its last seal: at most [`DUE_LIMIT_MAX`] runs, so that it is called until
    /// there is nothing more. Of those who seal at the same time each makes its own seal after the other's. Nothing when
    /// nothing moved.
    async fn seal(&self, tenant: Option<&str>) -> Result<Option<Seal>, StoreError>;

    /// The tenants of which something moved since their last seal, in order; `None` first where there are runs without one.
    async fn unsealed(&self) -> Result<Vec<Unsealed>, StoreError>;

    /// The seals of a tenant from after this number, in order: at most `limit` and at most [`DUE_LIMIT_MAX`].
    async fn seals(&self, tenant: Option<&str>, after: u64, limit: usize) -> Result<Vec<Seal>, StoreError>;

    /// What there is of runs that a seal of a tenant names: one trace for each, in order. All as it was at one moment.
    async fn traces(&self, tenant: Option<&str>, sealed: &[SealedRun]) -> Result<Vec<Trace>, StoreError>;

    /// What is left of a tenant's runs that were pruned, in the order of their names, from after `after`: of at most `limit`
    /// and at most [`DUE_LIMIT_MAX`] names. A name that was used again may have several.
    async fn tombstones(
        &self,
        tenant: Option<&str>,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<Tombstone>, StoreError>;

    /// The tenants that have runs, seals or tombstones, in order; `None` first where there are some without one.
    async fn tenants(&self) -> Result<Vec<Option<Arc<str>>>, StoreError>;

    /// The grants of a tenant for a tool that are neither revoked nor past their time, the newest first: at most
    /// [`crate::GRANTS_MATCHED_MAX`].
    async fn grants_for(&self, tenant: Option<&str>, tool: &ToolName) -> Result<Vec<GrantRow>, StoreError>;

    /// One page of grants, the newest first.
    async fn grants(&self, filter: &GrantFilter) -> Result<GrantPage, StoreError>;

    /// A grant by its name, or nothing when there is none within what somebody sees.
    async fn grant(&self, scope: &Scope, id: &str) -> Result<Option<GrantRow>, StoreError>;

    /// Takes a grant of a tenant back. Says whether there was one to take back: one that nobody had taken back before.
    async fn revoke_grant(&self, tenant: Option<&str>, id: &str, by: &str) -> Result<bool, StoreError>;

    /// Renews the lease of a run that goes on and that this owner holds, also one that lapsed and that nobody claimed. A lease
    /// of 0 ms gives the run back: it can be claimed at once. In any other case, and for a run that paused, ended or was
    /// claimed, [`LeaseState::Lost`].
    async fn renew(&self, run: &RunId, hold: &Hold) -> Result<LeaseState, StoreError>;

    /// Takes runs of these agents that are to go on and whose lease lapsed or that nobody holds, those that wait longest
    /// first. Of those who claim at the same time each run goes to one. The revision does not change: whoever takes a run
    /// over says so by a commit.
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<RunId>, StoreError>;

    /// Leases of these agents' runs and tasks that end later than their own length from now: at most `limit` and at most
    /// [`DUE_LIMIT_MAX`]. Empty unless the store's clock was set back.
    async fn overlong_leases(&self, agents: &Agents, limit: usize) -> Result<Vec<OverlongLease>, StoreError>;

    /// Ends a lease now, if it is still exactly this one: it can be claimed, or counts as lapsed. Says whether it was.
    async fn end_lease(&self, lease: &OverlongLease) -> Result<bool, StoreError>;

    /// Takes tasks that wait, the first available first within a tool. Each gets a new fence, and its attempt counts. A task
    /// past its deadline is not leased, and neither is one whose lease lapsed: what becomes of it must be decided first.
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError>;

    /// Prolongs leases of tasks, never beyond the deadline of the task. A lease that lapsed and that nobody else took is
    /// held again. One answer per lease, in order.
    async fn heartbeat(&self, leases: &[TaskLease], lease_ms: u64) -> Result<Vec<LeaseState>, StoreError>;

    /// Keeps the result of a task until the run takes it. From then on nobody leases the task again; it is there until a
    /// commit closes it. Under one lease the first result stays, and delivering again is [`TaskCompletion::Present`].
    async fn deliver(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError>;

    /// The results that wait to be taken by this run, the first delivered first.
    async fn delivered(&self, run: &RunId) -> Result<Vec<DeliveredTask>, StoreError>;

    /// The runs of these agents that are paused and have results to take, at most `limit` and at most [`DUE_LIMIT_MAX`].
    async fn arrivals(&self, agents: &Agents, limit: usize) -> Result<Vec<RunId>, StoreError>;

    /// Gives a task back.
    async fn release(&self, lease: &TaskLease, how: Release) -> Result<LeaseState, StoreError>;

    /// The tasks of these agents whose lease lapsed, the longest ago first: at most `limit` and at most [`DUE_LIMIT_MAX`].
    async fn lapsed(&self, agents: &Agents, limit: usize) -> Result<Vec<TaskHead>, StoreError>;

    /// What is known of a task, or nothing when there is no such task.
    async fn task(&self, key: &CallKey) -> Result<Option<TaskHead>, StoreError>;

    /// As [`Store::task`], for somebody who sees a part: a task outside is not there.
    async fn task_in(&self, scope: &Scope, key: &CallKey) -> Result<Option<TaskHead>, StoreError>;

    /// One page of the tasks that the filter lets through, the first opened first.
    async fn tasks(&self, filter: &TaskFilter) -> Result<TaskPage, StoreError>;

    /// The question about a call, or nothing when there is none within what somebody sees.
    async fn question(&self, scope: &Scope, key: &CallKey) -> Result<Option<QuestionRow>, StoreError>;

    /// One page of questions, in the order that [`QuestionFilter`] says.
    async fn questions(&self, filter: &QuestionFilter) -> Result<QuestionPage, StoreError>;

    /// The questions that changed after `after`, each once and as it is now: about `limit` and at most about
    /// [`DUE_LIMIT_MAX`]. Without `after`: none, and where to begin. Nobody who goes on from [`QuestionChanges::seq`] misses
    /// a change, or sees one again that was not followed by another.
    ///
    /// A change may show here a moment after its commit; those who wait are woken then.
    /// [`StoreError::InvalidCursor`] when this store was never there: begin anew.
    async fn questions_after(
        &self,
        scope: &Scope,
        after: Option<QuestionSeq>,
        limit: usize,
    ) -> Result<QuestionChanges, StoreError>;

    /// A value that all processes of this store share, if there is one of that name.
    async fn setting(&self, name: &str) -> Result<Option<Arc<str>>, StoreError>;

    /// Keeps a value that everybody who uses this store shares, unless there is one of that name. Returns the one that is
    /// there.
    async fn first_setting(&self, name: &str, value: &str) -> Result<Arc<str>, StoreError>;

    /// Puts a value in the place of another one. Says whether that other one, or the new one already, was there.
    async fn change_setting(&self, name: &str, from: &str, to: &str) -> Result<bool, StoreError>;

    /// One page of sessions, that of the last created run first.
    async fn sessions(&self, filter: &SessionFilter) -> Result<SessionPage, StoreError>;

    /// Begins a request that may be sent again. Of those who begin the same at the same time one gets
    /// [`Reserved::New`]; one who got it and says nothing for [`Reservation::reserved_ms`] gave it up.
    async fn reserve_response(&self, reservation: &Reservation) -> Result<Reserved, StoreError>;

    /// Keeps the response of a request that was begun, for [`crate::RESPONSE_KEPT_MS`] from its beginning. The first one
    /// that is kept stays. Nothing happens when it was not begun.
    async fn keep_response(&self, key: &ResponseKey, response: Vec<u8>) -> Result<(), StoreError>;

    /// The response that was kept for a request, while its time is not over. Looking changes nothing.
    async fn kept_response(&self, key: &ResponseKey) -> Result<Option<Arc<[u8]>>, StoreError>;

    /// Gives up a request that was begun and changed nothing: it may be begun again at once. One that has a response stays.
    async fn drop_response(&self, key: &ResponseKey) -> Result<(), StoreError>;

    /// Notes that a worker is there.
    async fn seen_worker(&self, seen: &WorkerSeen) -> Result<(), StoreError>;

    /// The workers within what somebody sees, those last seen first: at most [`crate::WORKERS_MAX`]
    /// and none that nobody has seen for [`crate::WORKER_KEPT_MS`].
    async fn workers(&self, scope: &Scope) -> Result<Vec<WorkerRow>, StoreError>;

    /// How much of what is there. Counts what is not over: as long as it takes to go through that.
    async fn tally(&self) -> Result<StoreTally, StoreError>;

    /// Throws away responses past their time and workers that nobody has seen for [`crate::WORKER_KEPT_MS`]: at most
    /// [`DUE_LIMIT_MAX`] of each.
    async fn sweep(&self) -> Result<Swept, StoreError>;

    /// Removes runs that are over, with everything that belongs to them, and says which. Of each remains a tombstone.
    async fn prune(&self, request: &PruneRequest) -> Result<Vec<RunId>, StoreError>;

    /// Changes whenever something of this topic may be there to take, in this process or, soon after, in another. Changes
    /// may be lost and may come without a cause: it wakes, and does not tell.
    fn watch(&self, topic: Topic) -> watch::Receiver<u64>;

    /// The moment, by the clock of everything durable. Never goes backwards.
    fn now(&self) -> Timestamp;
}
