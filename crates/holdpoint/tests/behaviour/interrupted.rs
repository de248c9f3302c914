//! A store with something happening around its calls: what another process does meanwhile, and answers that get lost.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use holdpoint::RunId;
use holdpoint_core::Revision;
use holdpoint_store::{
    ClaimRequest, CommitError, Layer, LeaseRequest, LeasedTask, RunLeasesLayer, RunLogLayer, Store, StoreError,
    StoreFault, TaskCompletion, TaskLease, TaskQueueLayer, Transition,
};
use tokio_util::sync::CancellationToken;

/// After the commit of the first intent of a run: the tool has not started.
pub(crate) const AFTER_INTENT: Moment = Moment { at: At::AfterCommit, skip: 1 };
/// Before the commit of the first result of a run: the tool has returned.
pub(crate) const AFTER_EFFECT: Moment = Moment { at: At::BeforeCommit, skip: 2 };

/// Around a call of the store, after `skip` others of its kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) at: At,
    pub(crate) skip: usize,
}

/// Around which call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    BeforeCommit,
    AfterCommit,
    AfterLease,
    AfterClaim,
    BeforeDeliver,
    AfterDeliver,
}

/// What the caller is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// What the store said.
    Answer,
    /// That the store is out of reach.
    LoseAnswer,
    /// That the store takes no writes.
    ReadOnly,
}

type Happening = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Planned {
    at: At,
    /// How many calls of this kind pass before.
    skip: usize,
    happens: Happening,
    then: Then,
}

pub(crate) struct Interrupted {
    inner: Store,
    planned: Mutex<Vec<Planned>>,
}

impl Interrupted {
    pub(crate) fn new(inner: Store) -> Arc<Self> {
        Arc::new(Self { inner, planned: Mutex::default() })
    }

    /// Once, around the call after `skip` others of its kind.
    pub(crate) fn once(&self, at: At, skip: usize, happens: impl Future<Output = ()> + Send + 'static, then: Then) {
        self.planned.lock().unwrap().push(Planned { at, skip, happens: Box::pin(happens), then });
    }

    /// Drives a segment until the process dies at this moment. `None` if it died.
    pub(crate) async fn dies<T>(&self, moment: Moment, segment: impl IntoFuture<Output = T>) -> Option<T> {
        let dead = CancellationToken::new();
        let dying = dead.clone();
        let death = async move {
            dying.cancel();
            std::future::pending::<()>().await;
        };
        self.once(moment.at, moment.skip, death, Then::Answer);
        // Dropping the segment is what a crash leaves.
        tokio::select! {
            biased;
            result = segment.into_future() => Some(result),
            () = dead.cancelled() => None,
        }
    }

    async fn reach(&self, here: At) -> Result<(), StoreError> {
        let due = {
            let mut planned = self.planned.lock().unwrap();
            let next = planned.iter().position(|plan| plan.at == here && plan.skip == 0);
            planned.iter_mut().filter(|plan| plan.at == here).for_each(|plan| plan.skip = plan.skip.saturating_sub(1));
            next.map(|next| planned.remove(next))
        };
        let Some(Planned { happens, then, .. }) = due else { return Ok(()) };
        happens.await;
        match then {
            Then::Answer => Ok(()),
            Then::LoseAnswer => Err(StoreError::fault(StoreFault::Unavailable, "answer", "the link is cut")),
            Then::ReadOnly => Err(StoreError::fault(StoreFault::ReadOnly, "write", "another server is the primary")),
        }
    }
}

impl Layer for Interrupted {
    fn inner(&self) -> &Store {
        &self.inner
    }
}

#[async_trait::async_trait]
impl RunLogLayer for Interrupted {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        self.reach(At::BeforeCommit).await?;
        let committed = self.inner.runs.commit(run, at, transition).await?;
        self.reach(At::AfterCommit).await?;
        Ok(committed)
    }
}

#[async_trait::async_trait]
impl RunLeasesLayer for Interrupted {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<RunId>, StoreError> {
        let claimed = self.inner.leases.claim(request).await?;
        if !claimed.is_empty() {
            self.reach(At::AfterClaim).await?;
        }
        Ok(claimed)
    }
}

#[async_trait::async_trait]
impl TaskQueueLayer for Interrupted {
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError> {
        let leased = self.inner.tasks.lease(request).await?;
        if !leased.is_empty() {
            self.reach(At::AfterLease).await?;
        }
        Ok(leased)
    }

    async fn complete(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError> {
        self.reach(At::BeforeDeliver).await?;
        let delivered = self.inner.tasks.complete(lease, result).await?;
        self.reach(At::AfterDeliver).await?;
        Ok(delivered)
    }
}

impl Interrupted {
    pub(crate) fn store(self: &Arc<Self>) -> Store {
        Store {
            runs: Arc::clone(self) as _,
            leases: Arc::clone(self) as _,
            tasks: Arc::clone(self) as _,
            ..self.inner.clone()
        }
    }
}
