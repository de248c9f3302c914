//! A store that counts what is asked of it: how many transitions a cycle takes is measured, not assumed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use holdpoint_core::{Revision, RunId, Status};
use holdpoint_store::{
    Agents, CommitError, Layer, LeaseRequest, LeasedTask, Record, RunLogLayer, Scope, Store, StoreError,
    TaskCompletion, TaskLease, TaskQueueLayer, Transition,
};
use tokio::sync::Notify;

/// Counts, and hands on.
pub(crate) struct Counting {
    inner: Store,
    counts: Counts,
    /// Told at every run that ends.
    ended: Notify,
}

/// How often something was asked of a store.
#[derive(Debug, Default)]
struct Counts {
    commits: AtomicU64,
    loads: AtomicU64,
    leases: AtomicU64,
    deliveries: AtomicU64,
    looks: AtomicU64,
    finished: AtomicU64,
}

/// The counts at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    pub(crate) commits: u64,
    pub(crate) loads: u64,
    pub(crate) leases: u64,
    pub(crate) deliveries: u64,
    /// How often a keeper looked for results to take.
    pub(crate) looks: u64,
    pub(crate) finished: u64,
}

impl Counting {
    pub(crate) fn new(inner: Store) -> Arc<Self> {
        Arc::new(Self { inner, counts: Counts::default(), ended: Notify::new() })
    }

    pub(crate) fn counted(&self) -> Counted {
        let Counts { commits, loads, leases, deliveries, looks, finished } = &self.counts;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counted {
            commits: read(commits),
            loads: read(loads),
            leases: read(leases),
            deliveries: read(deliveries),
            looks: read(looks),
            finished: read(finished),
        }
    }

    /// Waits until so many runs ended.
    pub(crate) async fn until_finished(&self, runs: u64) {
        loop {
            let ended = self.ended.notified();
            if self.counted().finished >= runs {
                return;
            }
            ended.await;
        }
    }
}

impl Counted {
    /// What was added since.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            commits: self.commits - before.commits,
            loads: self.loads - before.loads,
            leases: self.leases - before.leases,
            deliveries: self.deliveries - before.deliveries,
            looks: self.looks - before.looks,
            finished: self.finished - before.finished,
        }
    }
}

fn one_more(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

impl Layer for Counting {
    fn inner(&self) -> &Store {
        &self.inner
    }
}

#[async_trait]
impl RunLogLayer for Counting {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        let ends = transition.head.status == Status::Finished;
        let revision = self.inner.runs.commit(run, at, transition).await?;
        one_more(&self.counts.commits);
        if ends {
            one_more(&self.counts.finished);
            self.ended.notify_waiters();
        }
        Ok(revision)
    }

    async fn load(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        one_more(&self.counts.loads);
        self.inner.runs.load(scope, run, after).await
    }
}

#[async_trait]
impl TaskQueueLayer for Counting {
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError> {
        one_more(&self.counts.leases);
        self.inner.tasks.lease(request).await
    }

    async fn complete(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError> {
        one_more(&self.counts.deliveries);
        self.inner.tasks.complete(lease, result).await
    }

    async fn collectable(&self, agents: &Agents, limit: usize) -> Result<Vec<RunId>, StoreError> {
        one_more(&self.counts.looks);
        self.inner.tasks.collectable(agents, limit).await
    }
}

impl Counting {
    pub(super) fn store(self: &Arc<Self>) -> Store {
        Store { runs: Arc::clone(self) as _, tasks: Arc::clone(self) as _, ..self.inner.clone() }
    }
}
