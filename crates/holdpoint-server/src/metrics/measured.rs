//! A store whose operations are timed.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use holdpoint::RunId;
use holdpoint_core::Revision;
use holdpoint_store::{
    ApprovalsLayer, CommitError, Head, Layer, LeaseRequest, LeasedTask, Page, QuestionFilter, QuestionRow, Record,
    RunFilter, RunLogLayer, Scope, Store, StoreError, TaskQueueLayer, Transition,
};

use super::Metrics;

impl Metrics {
    /// The same store, with what people wait for timed.
    pub fn measure(&self, store: Store) -> Store {
        Arc::new(Measured { inner: store, metrics: self.clone() }).store()
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

impl Layer for Measured {
    fn inner(&self) -> &Store {
        &self.inner
    }
}

#[async_trait]
impl RunLogLayer for Measured {
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
}

#[async_trait]
impl TaskQueueLayer for Measured {
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError> {
        self.timed("lease", self.inner.tasks.lease(request)).await
    }
}

#[async_trait]
impl ApprovalsLayer for Measured {
    async fn list(&self, filter: &QuestionFilter) -> Result<Page<QuestionRow>, StoreError> {
        self.timed("questions", self.inner.approvals.list(filter)).await
    }
}

impl Measured {
    fn store(self: &Arc<Self>) -> Store {
        Store {
            runs: Arc::clone(self) as _,
            tasks: Arc::clone(self) as _,
            approvals: Arc::clone(self) as _,
            ..self.inner.clone()
        }
    }
}
