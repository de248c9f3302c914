//! A store whose calls are places where a process waits to be killed: after an intent or a lease became durable, and before a
//! result does.

use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_codec::decode_event;
use holdpoint_core::{Event, Revision, RunId};
use holdpoint_store::{
    CommitError, Layer, LeaseRequest, LeasedTask, RunLogLayer, Store, StoreError, TaskCompletion, TaskLease,
    TaskQueueLayer, Transition,
};

use crate::ledger::Point;
use crate::tools::Bench;

pub(crate) struct Parking {
    inner: Store,
    bench: Arc<Bench>,
}

impl Parking {
    pub(crate) fn wrap(inner: &Store, bench: &Arc<Bench>) -> Store {
        let parking = Arc::new(Self { inner: inner.clone(), bench: Arc::clone(bench) });
        Store { runs: Arc::clone(&parking) as _, tasks: parking, ..inner.clone() }
    }
}

/// Whether the transition has an event of this kind.
pub(crate) fn has(transition: &Transition, kind: fn(&Event) -> bool) -> bool {
    transition.records.iter().any(|record| decode_event(record).is_ok_and(|entry| kind(&entry.event)))
}

pub(crate) fn is_intent(event: &Event) -> bool {
    matches!(event, Event::ToolStarted { .. })
}

fn is_result(event: &Event) -> bool {
    matches!(event, Event::ToolEnded { .. })
}

impl Layer for Parking {
    fn inner(&self) -> &Store {
        &self.inner
    }
}

#[async_trait]
impl RunLogLayer for Parking {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        if has(&transition, is_result) {
            self.bench.park(Point::BeforeResult).await;
        }
        let has_intent = has(&transition, is_intent);
        let committed = self.inner.runs.commit(run, at, transition).await?;
        if has_intent {
            self.bench.park(Point::AfterIntent).await;
        }
        Ok(committed)
    }
}

#[async_trait]
impl TaskQueueLayer for Parking {
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError> {
        let leased = self.inner.tasks.lease(request).await?;
        if !leased.is_empty() {
            self.bench.park(Point::AfterIntent).await;
        }
        Ok(leased)
    }

    async fn complete(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError> {
        self.bench.park(Point::BeforeResult).await;
        self.inner.tasks.complete(lease, result).await
    }
}
