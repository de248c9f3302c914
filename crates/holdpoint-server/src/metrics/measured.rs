//! A store whose operations are timed.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use holdpoint::RunId;
use holdpoint_core::{CallKey, Revision, Timestamp};
use holdpoint_store::{
    Agents, Approvals, CommitError, DeliveredTask, Head, LeaseRequest, LeaseState, LeasedTask, Page, PruneRequest,
    QuestionChanges, QuestionFilter, QuestionRow, QuestionSeq, Record, Release, RunFilter, RunLog, Scope,
    SessionFilter, SessionRow, Store, StoreError, TaskCompletion, TaskFilter, TaskHead, TaskLease, TaskQueue, Topic,
    Transition,
};
use tokio::sync::watch;

use super::Metrics;

impl Metrics {
    /// The same store, with what people wait for timed.
    pub fn measure(&self, store: Store) -> Store {
        let measured = Arc::new(Measured { inner: store.clone(), metrics: self.clone() });
        Store { runs: Arc::clone(&measured) as _, tasks: Arc::clone(&measured) as _, approvals: measured, ..store }
    }
}

struct Measured {
    inner: Store,
    metrics: Metrics,
}

impl Measured {
    async fn timed<T>(&self, operation: &'static str, doing: impl Future<Output = T>) -> T {
        let started = Instant::now();
        let done = doing.await;
        self.metrics.store_took(operation, started.elapsed());
        done
    }
}

#[async_trait]
impl RunLog for Measured {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        self.timed("commit", self.inner.runs.commit(run, at, transition)).await
    }

    async fn load(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        self.timed("load", self.inner.runs.load(scope, run, after)).await
    }

    async fn head(&self, scope: &Scope, run: &RunId) -> Result<Option<Head>, StoreError> {
        self.timed("head", self.inner.runs.head(scope, run)).await
    }

    async fn list(&self, filter: &RunFilter) -> Result<Page<Head>, StoreError> {
        self.timed("list", self.inner.runs.list(filter)).await
    }

    async fn due(&self, agents: &Agents, at: Timestamp, limit: usize) -> Result<Vec<RunId>, StoreError> {
        self.inner.runs.due(agents, at, limit).await
    }

    async fn changed(&self, run: &RunId, after: Revision) -> Result<Revision, StoreError> {
        self.inner.runs.changed(run, after).await
    }

    async fn sessions(&self, filter: &SessionFilter) -> Result<Page<SessionRow>, StoreError> {
        self.inner.runs.sessions(filter).await
    }

    async fn prune(&self, request: &PruneRequest) -> Result<Vec<RunId>, StoreError> {
        self.inner.runs.prune(request).await
    }

    fn watch(&self, topic: Topic) -> watch::Receiver<u64> {
        self.inner.runs.watch(topic)
    }

    async fn close(&self) {
        self.inner.runs.close().await;
    }

    fn now(&self) -> Timestamp {
        self.inner.runs.now()
    }
}

#[async_trait]
impl TaskQueue for Measured {
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError> {
        self.timed("lease", self.inner.tasks.lease(request)).await
    }

    async fn heartbeat(&self, leases: &[TaskLease], lease_ms: u64) -> Result<Vec<LeaseState>, StoreError> {
        self.inner.tasks.heartbeat(leases, lease_ms).await
    }

    async fn complete(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError> {
        self.inner.tasks.complete(lease, result).await
    }

    async fn completed(&self, run: &RunId) -> Result<Vec<DeliveredTask>, StoreError> {
        self.inner.tasks.completed(run).await
    }

    async fn collectable(&self, agents: &Agents, limit: usize) -> Result<Vec<RunId>, StoreError> {
        self.inner.tasks.collectable(agents, limit).await
    }

    async fn release(&self, lease: &TaskLease, how: Release) -> Result<LeaseState, StoreError> {
        self.inner.tasks.release(lease, how).await
    }

    async fn lapsed(&self, agents: &Agents, limit: usize) -> Result<Vec<TaskHead>, StoreError> {
        self.inner.tasks.lapsed(agents, limit).await
    }

    async fn find(&self, scope: &Scope, key: &CallKey) -> Result<Option<TaskHead>, StoreError> {
        self.inner.tasks.find(scope, key).await
    }

    async fn list(&self, filter: &TaskFilter) -> Result<Page<TaskHead>, StoreError> {
        self.inner.tasks.list(filter).await
    }
}

#[async_trait]
impl Approvals for Measured {
    async fn find(&self, scope: &Scope, key: &CallKey) -> Result<Option<QuestionRow>, StoreError> {
        self.inner.approvals.find(scope, key).await
    }

    async fn list(&self, filter: &QuestionFilter) -> Result<Page<QuestionRow>, StoreError> {
        self.timed("questions", self.inner.approvals.list(filter)).await
    }

    async fn changes(
        &self,
        scope: &Scope,
        after: Option<QuestionSeq>,
        limit: usize,
    ) -> Result<QuestionChanges, StoreError> {
        self.inner.approvals.changes(scope, after, limit).await
    }
}
