//! A store whose operations are timed.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use holdpoint::RunId;
use holdpoint::store::{
    CommitError, Head, LeaseRequest, LeasedTask, QuestionFilter, QuestionPage, Record, RunFilter, RunPage, Scope,
    Store, StoreError, StoreLayer, Transition,
};
use holdpoint_core::Revision;

use super::Metrics;

impl Metrics {
    /// The same store, with what people wait for timed.
    pub fn measure(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(Measured { inner: store, metrics: self.clone() })
    }
}

struct Measured {
    inner: Arc<dyn Store>,
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
impl StoreLayer for Measured {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        self.timed("commit", self.inner.commit(run, at, transition)).await
    }

    async fn load(&self, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        self.timed("load", self.inner.load(run, after)).await
    }

    async fn load_in(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        self.timed("load", self.inner.load_in(scope, run, after)).await
    }

    async fn head_in(&self, scope: &Scope, run: &RunId) -> Result<Option<Head>, StoreError> {
        self.timed("head", self.inner.head_in(scope, run)).await
    }

    async fn list(&self, filter: &RunFilter) -> Result<RunPage, StoreError> {
        self.timed("list", self.inner.list(filter)).await
    }

    async fn questions(&self, filter: &QuestionFilter) -> Result<QuestionPage, StoreError> {
        self.timed("questions", self.inner.questions(filter)).await
    }

    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError> {
        self.timed("lease", self.inner.lease(request)).await
    }
}
