//! A store in one process whose answers do not come, as behind a bad link: for stores that have no link to cut.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use clap::ValueEnum;
use holdpoint_core::{Revision, RunId};
use holdpoint_store::{
    CommitError, Hold, Layer, LeaseRequest, LeaseState, LeasedTask, Record, RunLeasesLayer, RunLogLayer, Scope, Store,
    StoreError, StoreFault, TaskCompletion, TaskLease, TaskQueueLayer, Transition,
};

use crate::parking::{has, is_intent};

/// What the link does after the first intent or lease took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Link {
    /// The answer comes late.
    Hold,
    /// The answer never comes, and for a while nothing reaches the store.
    Cut,
}

impl Link {
    pub(crate) fn wrap(self, store: &Store, time: Duration) -> Store {
        Arc::new(Linked { inner: store.clone(), link: self, time, used: Mutex::default() }).store()
    }
}

struct Linked {
    inner: Store,
    link: Link,
    time: Duration,
    /// When the fault happened. It happens once.
    used: Mutex<Option<Instant>>,
}

impl Linked {
    fn used(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing reaches the store while the link is cut.
    fn reach(&self) -> Result<(), StoreError> {
        let cut = self.link == Link::Cut && self.used().is_some_and(|at| at.elapsed() < self.time);
        if cut { Err(gone()) } else { Ok(()) }
    }

    /// The fault, after the store did what it was asked.
    async fn fail(&self) -> Result<(), StoreError> {
        if self.used().is_some() {
            return Ok(());
        }
        *self.used() = Some(Instant::now());
        match self.link {
            Link::Hold => {
                tokio::time::sleep(self.time).await;
                Ok(())
            }
            Link::Cut => Err(gone()),
        }
    }
}

fn gone() -> StoreError {
    StoreError::fault(StoreFault::Unavailable, "answer", "the link is cut")
}

impl Layer for Linked {
    fn inner(&self) -> &Store {
        &self.inner
    }
}

#[async_trait]
impl RunLogLayer for Linked {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        self.reach()?;
        let starts = has(&transition, is_intent);
        let committed = self.inner.runs.commit(run, at, transition).await?;
        if starts {
            self.fail().await?;
        }
        Ok(committed)
    }

    async fn load(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        self.reach()?;
        self.inner.runs.load(scope, run, after).await
    }
}

#[async_trait]
impl RunLeasesLayer for Linked {
    async fn renew(&self, run: &RunId, hold: &Hold) -> Result<LeaseState, StoreError> {
        self.reach()?;
        self.inner.leases.renew(run, hold).await
    }
}

#[async_trait]
impl TaskQueueLayer for Linked {
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError> {
        self.reach()?;
        let leased = self.inner.tasks.lease(request).await?;
        if !leased.is_empty() {
            self.fail().await?;
        }
        Ok(leased)
    }

    async fn heartbeat(&self, leases: &[TaskLease], lease_ms: u64) -> Result<Vec<LeaseState>, StoreError> {
        self.reach()?;
        self.inner.tasks.heartbeat(leases, lease_ms).await
    }

    async fn complete(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError> {
        self.reach()?;
        self.inner.tasks.complete(lease, result).await
    }
}

impl Linked {
    fn store(self: &Arc<Self>) -> Store {
        Store {
            runs: Arc::clone(self) as _,
            leases: Arc::clone(self) as _,
            tasks: Arc::clone(self) as _,
            ..self.inner.clone()
        }
    }
}
