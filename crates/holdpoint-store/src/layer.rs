//! Stores that hand on to another store and do a few things differently.

use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_core::{CallKey, Revision, RunId, Timestamp, ToolName};
use tokio::sync::watch;

use crate::{
    Agents, AuditPage, AuditRow, AuditScope, ClaimRequest, CommitError, Cursor, DeliveredTask, GrantFilter, GrantPage,
    GrantRow, Head, Hold, LeaseRequest, LeaseState, LeasedTask, OverlongLease, PruneRequest, QuestionChanges,
    QuestionFilter, QuestionPage, QuestionRow, QuestionSeq, Record, Release, Reservation, Reserved, ResponseKey,
    RunFilter, RunPage, Scope, Seal, SealedRun, SessionFilter, SessionPage, Store, StoreError, StoreTally, Swept,
    TaskCompletion, TaskFilter, TaskHead, TaskLease, TaskPage, Tombstone, Topic, Trace, Transition, Unsealed,
    WorkerRow, WorkerSeen,
};

/// A store around another one. Whatever is not written hands on, so a layer is as long as what it changes.
#[async_trait]
#[expect(missing_docs, reason = "each is the method of the same name of `Store`")]
pub trait StoreLayer: Send + Sync + 'static {
    /// The store behind this one.
    fn inner(&self) -> &dyn Store;

    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        self.inner().commit(run, at, transition).await
    }

    async fn load(&self, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        self.inner().load(run, after).await
    }

    async fn head(&self, run: &RunId) -> Result<Option<Head>, StoreError> {
        self.inner().head(run).await
    }

    async fn list(&self, filter: &RunFilter) -> Result<RunPage, StoreError> {
        self.inner().list(filter).await
    }

    async fn due(&self, agents: &Agents, at: Timestamp, limit: usize) -> Result<Vec<RunId>, StoreError> {
        self.inner().due(agents, at, limit).await
    }

    async fn changed(&self, run: &RunId, after: Revision) -> Result<Revision, StoreError> {
        self.inner().changed(run, after).await
    }

    async fn audit(&self, run: &RunId) -> Result<Vec<AuditRow>, StoreError> {
        self.inner().audit(run).await
    }

    async fn audit_after(
        &self,
        scope: &AuditScope,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<AuditPage, StoreError> {
        self.inner().audit_after(scope, after, limit).await
    }

    async fn audit_heads(
        &self,
        tenant: Option<&str>,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<SealedRun>, StoreError> {
        self.inner().audit_heads(tenant, after, limit).await
    }

    async fn seal(&self, tenant: Option<&str>) -> Result<Option<Seal>, StoreError> {
        self.inner().seal(tenant).await
    }

    async fn unsealed(&self) -> Result<Vec<Unsealed>, StoreError> {
        self.inner().unsealed().await
    }

    async fn seals(&self, tenant: Option<&str>, after: u64, limit: usize) -> Result<Vec<Seal>, StoreError> {
        self.inner().seals(tenant, after, limit).await
    }

    async fn traces(&self, tenant: Option<&str>, sealed: &[SealedRun]) -> Result<Vec<Trace>, StoreError> {
        self.inner().traces(tenant, sealed).await
    }

    async fn tombstones(
        &self,
        tenant: Option<&str>,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<Tombstone>, StoreError> {
        self.inner().tombstones(tenant, after, limit).await
    }

    async fn tenants(&self) -> Result<Vec<Option<Arc<str>>>, StoreError> {
        self.inner().tenants().await
    }

    async fn grants_for(&self, tenant: Option<&str>, tool: &ToolName) -> Result<Vec<GrantRow>, StoreError> {
        self.inner().grants_for(tenant, tool).await
    }

    async fn grants(&self, filter: &GrantFilter) -> Result<GrantPage, StoreError> {
        self.inner().grants(filter).await
    }

    async fn revoke_grant(&self, tenant: Option<&str>, id: &str, by: &str) -> Result<bool, StoreError> {
        self.inner().revoke_grant(tenant, id, by).await
    }

    async fn renew(&self, run: &RunId, hold: &Hold) -> Result<LeaseState, StoreError> {
        self.inner().renew(run, hold).await
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<RunId>, StoreError> {
        self.inner().claim(request).await
    }

    async fn overlong_leases(&self, agents: &Agents, limit: usize) -> Result<Vec<OverlongLease>, StoreError> {
        self.inner().overlong_leases(agents, limit).await
    }

    async fn end_lease(&self, lease: &OverlongLease) -> Result<bool, StoreError> {
        self.inner().end_lease(lease).await
    }

    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError> {
        self.inner().lease(request).await
    }

    async fn heartbeat(&self, leases: &[TaskLease], lease_ms: u64) -> Result<Vec<LeaseState>, StoreError> {
        self.inner().heartbeat(leases, lease_ms).await
    }

    async fn deliver(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError> {
        self.inner().deliver(lease, result).await
    }

    async fn delivered(&self, run: &RunId) -> Result<Vec<DeliveredTask>, StoreError> {
        self.inner().delivered(run).await
    }

    async fn arrivals(&self, agents: &Agents, limit: usize) -> Result<Vec<RunId>, StoreError> {
        self.inner().arrivals(agents, limit).await
    }

    async fn release(&self, lease: &TaskLease, how: Release) -> Result<LeaseState, StoreError> {
        self.inner().release(lease, how).await
    }

    async fn lapsed(&self, agents: &Agents, limit: usize) -> Result<Vec<TaskHead>, StoreError> {
        self.inner().lapsed(agents, limit).await
    }

    async fn task(&self, key: &CallKey) -> Result<Option<TaskHead>, StoreError> {
        self.inner().task(key).await
    }

    async fn tasks(&self, filter: &TaskFilter) -> Result<TaskPage, StoreError> {
        self.inner().tasks(filter).await
    }

    async fn head_in(&self, scope: &Scope, run: &RunId) -> Result<Option<Head>, StoreError> {
        self.inner().head_in(scope, run).await
    }

    async fn load_in(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        self.inner().load_in(scope, run, after).await
    }

    async fn audit_in(&self, scope: &Scope, run: &RunId) -> Result<Vec<AuditRow>, StoreError> {
        self.inner().audit_in(scope, run).await
    }

    async fn grant(&self, scope: &Scope, id: &str) -> Result<Option<GrantRow>, StoreError> {
        self.inner().grant(scope, id).await
    }

    async fn task_in(&self, scope: &Scope, key: &CallKey) -> Result<Option<TaskHead>, StoreError> {
        self.inner().task_in(scope, key).await
    }

    async fn question(&self, scope: &Scope, key: &CallKey) -> Result<Option<QuestionRow>, StoreError> {
        self.inner().question(scope, key).await
    }

    async fn questions(&self, filter: &QuestionFilter) -> Result<QuestionPage, StoreError> {
        self.inner().questions(filter).await
    }

    async fn questions_after(
        &self,
        scope: &Scope,
        after: Option<QuestionSeq>,
        limit: usize,
    ) -> Result<QuestionChanges, StoreError> {
        self.inner().questions_after(scope, after, limit).await
    }

    async fn setting(&self, name: &str) -> Result<Option<Arc<str>>, StoreError> {
        self.inner().setting(name).await
    }

    async fn first_setting(&self, name: &str, value: &str) -> Result<Arc<str>, StoreError> {
        self.inner().first_setting(name, value).await
    }

    async fn change_setting(&self, name: &str, from: &str, to: &str) -> Result<bool, StoreError> {
        self.inner().change_setting(name, from, to).await
    }

    async fn sessions(&self, filter: &SessionFilter) -> Result<SessionPage, StoreError> {
        self.inner().sessions(filter).await
    }

    async fn reserve_response(&self, reservation: &Reservation) -> Result<Reserved, StoreError> {
        self.inner().reserve_response(reservation).await
    }

    async fn keep_response(&self, key: &ResponseKey, response: Vec<u8>) -> Result<(), StoreError> {
        self.inner().keep_response(key, response).await
    }

    async fn kept_response(&self, key: &ResponseKey) -> Result<Option<Arc<[u8]>>, StoreError> {
        self.inner().kept_response(key).await
    }

    async fn drop_response(&self, key: &ResponseKey) -> Result<(), StoreError> {
        self.inner().drop_response(key).await
    }

    async fn seen_worker(&self, seen: &WorkerSeen) -> Result<(), StoreError> {
        self.inner().seen_worker(seen).await
    }

    async fn workers(&self, scope: &Scope) -> Result<Vec<WorkerRow>, StoreError> {
        self.inner().workers(scope).await
    }

    async fn tally(&self) -> Result<StoreTally, StoreError> {
        self.inner().tally().await
    }

    async fn sweep(&self) -> Result<Swept, StoreError> {
        self.inner().sweep().await
    }

    async fn prune(&self, request: &PruneRequest) -> Result<Vec<RunId>, StoreError> {
        self.inner().prune(request).await
    }

    fn watch(&self, topic: Topic) -> watch::Receiver<u64> {
        self.inner().watch(topic)
    }

    fn now(&self) -> Timestamp {
        self.inner().now()
    }
}

#[async_trait]
impl<L: StoreLayer> Store for L {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        StoreLayer::commit(self, run, at, transition).await
    }

    async fn load(&self, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        StoreLayer::load(self, run, after).await
    }

    async fn head(&self, run: &RunId) -> Result<Option<Head>, StoreError> {
        StoreLayer::head(self, run).await
    }

    async fn list(&self, filter: &RunFilter) -> Result<RunPage, StoreError> {
        StoreLayer::list(self, filter).await
    }

    async fn due(&self, agents: &Agents, at: Timestamp, limit: usize) -> Result<Vec<RunId>, StoreError> {
        StoreLayer::due(self, agents, at, limit).await
    }

    async fn changed(&self, run: &RunId, after: Revision) -> Result<Revision, StoreError> {
        StoreLayer::changed(self, run, after).await
    }

    async fn audit(&self, run: &RunId) -> Result<Vec<AuditRow>, StoreError> {
        StoreLayer::audit(self, run).await
    }

    async fn audit_after(
        &self,
        scope: &AuditScope,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<AuditPage, StoreError> {
        StoreLayer::audit_after(self, scope, after, limit).await
    }

    async fn audit_heads(
        &self,
        tenant: Option<&str>,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<SealedRun>, StoreError> {
        StoreLayer::audit_heads(self, tenant, after, limit).await
    }

    async fn seal(&self, tenant: Option<&str>) -> Result<Option<Seal>, StoreError> {
        StoreLayer::seal(self, tenant).await
    }

    async fn unsealed(&self) -> Result<Vec<Unsealed>, StoreError> {
        StoreLayer::unsealed(self).await
    }

    async fn seals(&self, tenant: Option<&str>, after: u64, limit: usize) -> Result<Vec<Seal>, StoreError> {
        StoreLayer::seals(self, tenant, after, limit).await
    }

    async fn traces(&self, tenant: Option<&str>, sealed: &[SealedRun]) -> Result<Vec<Trace>, StoreError> {
        StoreLayer::traces(self, tenant, sealed).await
    }

    async fn tombstones(
        &self,
        tenant: Option<&str>,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<Tombstone>, StoreError> {
        StoreLayer::tombstones(self, tenant, after, limit).await
    }

    async fn tenants(&self) -> Result<Vec<Option<Arc<str>>>, StoreError> {
        StoreLayer::tenants(self).await
    }

    async fn grants_for(&self, tenant: Option<&str>, tool: &ToolName) -> Result<Vec<GrantRow>, StoreError> {
        StoreLayer::grants_for(self, tenant, tool).await
    }

    async fn grants(&self, filter: &GrantFilter) -> Result<GrantPage, StoreError> {
        StoreLayer::grants(self, filter).await
    }

    async fn revoke_grant(&self, tenant: Option<&str>, id: &str, by: &str) -> Result<bool, StoreError> {
        StoreLayer::revoke_grant(self, tenant, id, by).await
    }

    async fn renew(&self, run: &RunId, hold: &Hold) -> Result<LeaseState, StoreError> {
        StoreLayer::renew(self, run, hold).await
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<RunId>, StoreError> {
        StoreLayer::claim(self, request).await
    }

    async fn overlong_leases(&self, agents: &Agents, limit: usize) -> Result<Vec<OverlongLease>, StoreError> {
        StoreLayer::overlong_leases(self, agents, limit).await
    }

    async fn end_lease(&self, lease: &OverlongLease) -> Result<bool, StoreError> {
        StoreLayer::end_lease(self, lease).await
    }

    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError> {
        StoreLayer::lease(self, request).await
    }

    async fn heartbeat(&self, leases: &[TaskLease], lease_ms: u64) -> Result<Vec<LeaseState>, StoreError> {
        StoreLayer::heartbeat(self, leases, lease_ms).await
    }

    async fn deliver(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError> {
        StoreLayer::deliver(self, lease, result).await
    }

    async fn delivered(&self, run: &RunId) -> Result<Vec<DeliveredTask>, StoreError> {
        StoreLayer::delivered(self, run).await
    }

    async fn arrivals(&self, agents: &Agents, limit: usize) -> Result<Vec<RunId>, StoreError> {
        StoreLayer::arrivals(self, agents, limit).await
    }

    async fn release(&self, lease: &TaskLease, how: Release) -> Result<LeaseState, StoreError> {
        StoreLayer::release(self, lease, how).await
    }

    async fn lapsed(&self, agents: &Agents, limit: usize) -> Result<Vec<TaskHead>, StoreError> {
        StoreLayer::lapsed(self, agents, limit).await
    }

    async fn task(&self, key: &CallKey) -> Result<Option<TaskHead>, StoreError> {
        StoreLayer::task(self, key).await
    }

    async fn tasks(&self, filter: &TaskFilter) -> Result<TaskPage, StoreError> {
        StoreLayer::tasks(self, filter).await
    }

    async fn head_in(&self, scope: &Scope, run: &RunId) -> Result<Option<Head>, StoreError> {
        StoreLayer::head_in(self, scope, run).await
    }

    async fn load_in(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        StoreLayer::load_in(self, scope, run, after).await
    }

    async fn audit_in(&self, scope: &Scope, run: &RunId) -> Result<Vec<AuditRow>, StoreError> {
        StoreLayer::audit_in(self, scope, run).await
    }

    async fn grant(&self, scope: &Scope, id: &str) -> Result<Option<GrantRow>, StoreError> {
        StoreLayer::grant(self, scope, id).await
    }

    async fn task_in(&self, scope: &Scope, key: &CallKey) -> Result<Option<TaskHead>, StoreError> {
        StoreLayer::task_in(self, scope, key).await
    }

    async fn question(&self, scope: &Scope, key: &CallKey) -> Result<Option<QuestionRow>, StoreError> {
        StoreLayer::question(self, scope, key).await
    }

    async fn questions(&self, filter: &QuestionFilter) -> Result<QuestionPage, StoreError> {
        StoreLayer::questions(self, filter).await
    }

    async fn questions_after(
        &self,
        scope: &Scope,
        after: Option<QuestionSeq>,
        limit: usize,
    ) -> Result<QuestionChanges, StoreError> {
        StoreLayer::questions_after(self, scope, after, limit).await
    }

    async fn setting(&self, name: &str) -> Result<Option<Arc<str>>, StoreError> {
        StoreLayer::setting(self, name).await
    }

    async fn first_setting(&self, name: &str, value: &str) -> Result<Arc<str>, StoreError> {
        StoreLayer::first_setting(self, name, value).await
    }

    async fn change_setting(&self, name: &str, from: &str, to: &str) -> Result<bool, StoreError> {
        StoreLayer::change_setting(self, name, from, to).await
    }

    async fn sessions(&self, filter: &SessionFilter) -> Result<SessionPage, StoreError> {
        StoreLayer::sessions(self, filter).await
    }

    async fn reserve_response(&self, reservation: &Reservation) -> Result<Reserved, StoreError> {
        StoreLayer::reserve_response(self, reservation).await
    }

    async fn keep_response(&self, key: &ResponseKey, response: Vec<u8>) -> Result<(), StoreError> {
        StoreLayer::keep_response(self, key, response).await
    }

    async fn kept_response(&self, key: &ResponseKey) -> Result<Option<Arc<[u8]>>, StoreError> {
        StoreLayer::kept_response(self, key).await
    }

    async fn drop_response(&self, key: &ResponseKey) -> Result<(), StoreError> {
        StoreLayer::drop_response(self, key).await
    }

    async fn seen_worker(&self, seen: &WorkerSeen) -> Result<(), StoreError> {
        StoreLayer::seen_worker(self, seen).await
    }

    async fn workers(&self, scope: &Scope) -> Result<Vec<WorkerRow>, StoreError> {
        StoreLayer::workers(self, scope).await
    }

    async fn tally(&self) -> Result<StoreTally, StoreError> {
        StoreLayer::tally(self).await
    }

    async fn sweep(&self) -> Result<Swept, StoreError> {
        StoreLayer::sweep(self).await
    }

    async fn prune(&self, request: &PruneRequest) -> Result<Vec<RunId>, StoreError> {
        StoreLayer::prune(self, request).await
    }

    fn watch(&self, topic: Topic) -> watch::Receiver<u64> {
        StoreLayer::watch(self, topic)
    }

    fn now(&self) -> Timestamp {
        StoreLayer::now(self)
    }
}
