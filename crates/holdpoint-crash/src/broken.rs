//! Stores that break a promise on purpose, to prove that the test can fail.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use clap::ValueEnum;
use holdpoint_core::{Revision, RunId};
use holdpoint_store::{
    CommitError, Hold, Layer, LeaseState, RunLeasesLayer, RunLogLayer, Scope, Store, StoreError, TaskChange,
    TaskCompletion, TaskGuard, TaskLease, TaskQueueLayer, TaskState, Transition,
};
use tokio::task::JoinHandle;

use crate::parking::{has, is_intent};

/// How long after its acknowledgement an intent becomes durable when intents are switched off.
const INTENT_DELAY: Duration = Duration::from_millis(150);

/// What is switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Break {
    /// The intent of an execution is acknowledged before it is durable.
    Intent,
    /// A result is taken whatever lease it is delivered under, and a lost task is closed whatever became of it.
    Fence,
    /// The clocks by which a process sees that its lease lapsed stand still.
    Clock,
}

impl Break {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Break::Intent => "intent",
            Break::Fence => "fence",
            Break::Clock => "clock",
        }
    }
}

pub(crate) fn wrap(store: Store, broken: Option<Break>) -> Store {
    match broken {
        None | Some(Break::Clock) => store,
        Some(Break::Intent) => Arc::new(NoIntent { inner: store, writing: Mutex::default() }).store(),
        Some(Break::Fence) => Arc::new(NoFence { inner: store }).store(),
    }
}

/// Acknowledges intents before they are durable. Everything else of the run waits for them, so that nothing else breaks.
struct NoIntent {
    inner: Store,
    writing: Mutex<HashMap<RunId, JoinHandle<()>>>,
}

impl NoIntent {
    fn writing(&self) -> std::sync::MutexGuard<'_, HashMap<RunId, JoinHandle<()>>> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Layer for NoIntent {
    fn inner(&self) -> &Store {
        &self.inner
    }
}

#[async_trait]
impl RunLogLayer for NoIntent {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        let before = self.writing().remove(run);
        if let Some(before) = before {
            // It cannot fail: it has nothing to return.
            let _ = before.await;
        }
        if !has(&transition, is_intent) {
            return self.inner.runs.commit(run, at, transition).await;
        }
        let then = Revision(at.0 + transition.records.len() as u64);
        let (inner, id) = (self.inner.clone(), run.clone());
        let write = tokio::spawn(async move {
            tokio::time::sleep(INTENT_DELAY).await;
            let _ = inner.runs.commit(&id, at, transition).await;
        });
        self.writing().insert(run.clone(), write);
        Ok(then)
    }
}

#[async_trait]
impl RunLeasesLayer for NoIntent {
    /// The hold that an intent brings is not there yet; nobody may notice.
    async fn renew(&self, run: &RunId, hold: &Hold) -> Result<LeaseState, StoreError> {
        if self.writing().get(run).is_some_and(|write| !write.is_finished()) {
            return Ok(LeaseState::Held);
        }
        self.inner.leases.renew(run, hold).await
    }
}

impl NoIntent {
    fn store(self: &Arc<Self>) -> Store {
        Store { runs: Arc::clone(self) as _, leases: Arc::clone(self) as _, ..self.inner.clone() }
    }
}

/// Takes results under any lease.
struct NoFence {
    inner: Store,
}

impl Layer for NoFence {
    fn inner(&self) -> &Store {
        &self.inner
    }
}

#[async_trait]
impl RunLogLayer for NoFence {
    async fn commit(&self, run: &RunId, at: Revision, mut transition: Transition) -> Result<Revision, CommitError> {
        for change in &mut transition.tasks {
            if let TaskChange::Close { guard, .. } = change {
                *guard = TaskGuard::Any;
            }
        }
        self.inner.runs.commit(run, at, transition).await
    }
}

#[async_trait]
impl TaskQueueLayer for NoFence {
    async fn complete(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError> {
        let current = match self.inner.tasks.find(&Scope::All, &lease.key).await?.map(|task| task.state) {
            Some(TaskState::Leased { fence, .. } | TaskState::Delivered { fence, .. }) => fence,
            Some(TaskState::Waiting { .. }) | None => lease.fence,
        };
        self.inner.tasks.complete(&TaskLease { key: lease.key.clone(), fence: current }, result).await
    }
}

impl NoFence {
    fn store(self: &Arc<Self>) -> Store {
        Store { runs: Arc::clone(self) as _, tasks: Arc::clone(self) as _, ..self.inner.clone() }
    }
}
