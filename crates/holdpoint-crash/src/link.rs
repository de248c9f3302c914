//! A store in one process whose answers do not come, as behind a bad link: for stores that have no link to cut.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use clap::ValueEnum;
use holdpoint::store::{
    CommitError, Hold, LeaseRequest, LeaseState, LeasedTask, Record, Store, StoreError, StoreFault, StoreLayer,
    TaskCompletion, TaskLease, Transition,
};
use holdpoint_core::{Revision, RunId};

use crate::broken::has_intent;

/// What the link does after the first intent or lease took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Link {
    /// The answer comes late.
    Hold,
    /// The answer never comes, and for a while nothing reaches the store.
    Cut,
}

impl Link {
    pub(crate) fn wrap(self, store: &Arc<dyn Store>, time: Duration) -> Arc<dyn Store> {
        Arc::new(Linked { inner: Arc::clone(store), link: self, time, used: Mutex::default() })
    }
}

struct Linked {
    inner: Arc<dyn Store>,
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

#[async_trait]
impl StoreLayer for Linked {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        self.reach()?;
        let starts = has_intent(&transition);
        let committed = self.inner.commit(run, at, transition).await?;
        if starts {
            self.fail().await?;
        }
        Ok(committed)
    }

    async fn load(&self, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        self.reach()?;
        self.inner.load(run, after).await
    }

    async fn renew(&self, run: &RunId, hold: &Hold) -> Result<LeaseState, StoreError> {
        self.reach()?;
        self.inner.renew(run, hold).await
    }

    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError> {
        self.reach()?;
        let leased = self.inner.lease(request).await?;
        if !leased.is_empty() {
            self.fail().await?;
        }
        Ok(leased)
    }

    async fn heartbeat(&self, leases: &[TaskLease], lease_ms: u64) -> Result<Vec<LeaseState>, StoreError> {
        self.reach()?;
        self.inner.heartbeat(leases, lease_ms).await
    }

    async fn deliver(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError> {
        self.reach()?;
        self.inner.deliver(lease, result).await
    }
}
