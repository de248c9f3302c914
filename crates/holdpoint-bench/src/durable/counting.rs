//! A store that counts what is asked of it: how many transitions a cycle takes is measured, not assumed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use holdpoint_core::{Revision, RunId, Status};
use holdpoint_store::{
    Agents, CommitError, LeaseRequest, LeasedTask, Record, Store, StoreError, StoreLayer, TaskCompletion, TaskLease,
    Transition,
};
use tokio::sync::Notify;

/// Counts, and hands on.
pub(crate) struct Counting {
    inner: Arc<dyn Store>,
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
    pub(crate) fn new(inner: Arc<dyn Store>) -> Arc<Self> {
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

#[async_trait]
impl StoreLayer for Counting {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        let ends = transition.head.status == Status::Finished;
        let revision = self.inner.commit(run, at, transition).await?;
        one_more(&self.counts.commits);
        if ends {
            one_more(&self.counts.finished);
            self.ended.notify_waiters();
        }
        Ok(revision)
    }

    async fn load(&self, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        one_more(&self.counts.loads);
        self.inner.load(run, after).await
    }

    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError> {
        one_more(&self.counts.leases);
        self.inner.lease(request).await
    }

    async fn deliver(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError> {
        one_more(&self.counts.deliveries);
        self.inner.deliver(lease, result).await
    }

    async fn arrivals(&self, agents: &Agents, limit: usize) -> Result<Vec<RunId>, StoreError> {
        one_more(&self.counts.looks);
        self.inner.arrivals(agents, limit).await
    }
}
