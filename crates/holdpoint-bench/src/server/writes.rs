//! A store that counts what is written to it, so that the commits of a run are measured and not assumed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use holdpoint_core::{Revision, RunId};
use holdpoint_store::{
    CommitError, Hold, Layer, LeaseState, Reservation, Reserved, ResponseKey, RunLeasesLayer, RunLogLayer,
    ServerStateLayer, Store, StoreError, Transition,
};

/// Counts, and hands on.
pub(super) struct Writes {
    inner: Store,
    commits: AtomicU64,
    others: AtomicU64,
}

/// The counts at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    /// Steps of runs.
    pub(super) commits: u64,
    /// Whatever else a request may have written: holds and kept responses.
    pub(super) others: u64,
}

impl Writes {
    pub(super) fn new(inner: Store) -> Arc<Self> {
        Arc::new(Self { inner, commits: AtomicU64::new(0), others: AtomicU64::new(0) })
    }

    pub(super) fn written(&self) -> Written {
        Written { commits: self.commits.load(Ordering::Relaxed), others: self.others.load(Ordering::Relaxed) }
    }

    fn other(&self) {
        self.others.fetch_add(1, Ordering::Relaxed);
    }
}

impl Layer for Writes {
    fn inner(&self) -> &Store {
        &self.inner
    }
}

#[async_trait]
impl RunLogLayer for Writes {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.inner.runs.commit(run, at, transition).await
    }
}

#[async_trait]
impl RunLeasesLayer for Writes {
    async fn renew(&self, run: &RunId, hold: &Hold) -> Result<LeaseState, StoreError> {
        self.other();
        self.inner.leases.renew(run, hold).await
    }
}

#[async_trait]
impl ServerStateLayer for Writes {
    async fn reserve(&self, reservation: &Reservation) -> Result<Reserved, StoreError> {
        self.other();
        self.inner.state.reserve(reservation).await
    }

    async fn keep(&self, key: &ResponseKey, response: Vec<u8>) -> Result<(), StoreError> {
        self.other();
        self.inner.state.keep(key, response).await
    }
}

impl Writes {
    pub(super) fn store(self: &Arc<Self>) -> Store {
        Store {
            runs: Arc::clone(self) as _,
            leases: Arc::clone(self) as _,
            state: Arc::clone(self) as _,
            ..self.inner.clone()
        }
    }
}
