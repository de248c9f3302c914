//! Stores that hand on to another store and do a few things differently.

use async_trait::async_trait;
use holdpoint_core::{CallKey, Revision, RunId, Timestamp};
use tokio::sync::watch;

use crate::{
    Agents, AuditRow, ClaimRequest, CommitError, DeliveredTask, Head, Hold, LeaseRequest, LeaseState, LeasedTask,
    PruneRequest, Record, Release, RunFilter, RunPage, Store, StoreError, TaskFilter, TaskHead, TaskLease, TaskPage,
    Topic, Transition,
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

    async fn renew(&self, run: &RunId, hold: &Hold) -> Result<LeaseState, StoreError> {
        self.inner().renew(run, hold).await
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<RunId>, StoreError> {
        self.inner().claim(request).await
    }

    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError> {
        self.inner().lease(request).await
    }

    async fn heartbeat(&self, leases: &[TaskLease], lease_ms: u64) -> Result<Vec<LeaseState>, StoreError> {
        self.inner().heartbeat(leases, lease_ms).await
    }

    async fn deliver(&self, lease: &TaskLease, result: Vec<u8>) -> Result<LeaseState, StoreError> {
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

    async fn renew(&self, run: &RunId, hold: &Hold) -> Result<LeaseState, StoreError> {
        StoreLayer::renew(self, run, hold).await
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<RunId>, StoreError> {
        StoreLayer::claim(self, request).await
    }

    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError> {
        StoreLayer::lease(self, request).await
    }

    async fn heartbeat(&self, leases: &[TaskLease], lease_ms: u64) -> Result<Vec<LeaseState>, StoreError> {
        StoreLayer::heartbeat(self, leases, lease_ms).await
    }

    async fn deliver(&self, lease: &TaskLease, result: Vec<u8>) -> Result<LeaseState, StoreError> {
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
