//! Makes what happened durable, and reads it back.

use holdpoint_codec::{decode_event, encode_event};
use holdpoint_core::{Conductor, Event, Revision, Run, RunId, Status};
use holdpoint_store::{CommitError, HeadUpdate, StoreError, Transition};

use super::{Driver, Interrupted};
use crate::Error;
use crate::parts::Parts;

impl Driver {
    /// One transition, one commit; then everybody who listens is told.
    pub(super) async fn commit(&mut self) -> Result<(), Interrupted> {
        let records = self.conductor.outbox().iter().map(encode_event).collect();
        let transition = Transition { records, head: head(self.run()), at: self.parts.store.now() };
        match self.parts.store.commit(self.run_id(), self.conductor.durable(), transition).await {
            Ok(_) => {}
            Err(CommitError::Stale { .. }) if !self.meter.committed => return Err(Interrupted::Overtaken),
            Err(CommitError::Stale { .. }) => return self.overtaken().await,
            Err(CommitError::Store(error)) => return Err(Interrupted::Failed(Error::Store(error))),
            Err(CommitError::Invalid(problem)) => {
                let error = StoreError::failed("store the transition", problem);
                return Err(Interrupted::Failed(Error::Store(error)));
            }
        }
        self.meter.committed = true;
        let events = self.conductor.committed();
        self.listeners.durable(&events);
        Ok(())
    }

    /// Somebody else moved the run while it was driven here: it was cancelled or taken over. What they committed is the
    /// truth; whoever streams the run from here sees its end too.
    pub(super) async fn overtaken(&mut self) -> Result<(), Interrupted> {
        let events = load_events(&self.parts, self.run_id()).await?;
        let mut run = Run::new(self.run_id().clone());
        events.iter().for_each(|event| run.apply(event));
        if run.status() != Status::Cancelled {
            return Err(Interrupted::Failed(Error::TakenOver));
        }
        let durable = usize::try_from(self.conductor.durable().0).unwrap_or(usize::MAX);
        self.listeners.overtaken(events.get(durable..).unwrap_or_default());
        self.conductor = Conductor::new(run);
        Ok(())
    }
}

/// What a list shows of a run.
fn head(run: &Run) -> HeadUpdate {
    HeadUpdate {
        status: run.status(),
        agent: run.agent().cloned(),
        tenant: run.actor().tenant.clone(),
        continuation: run.continuation(),
        deadline: run.next_deadline(),
    }
}

/// The run as its log tells it.
pub(crate) async fn load_run(parts: &Parts, id: &RunId) -> Result<Run, Error> {
    let mut run = Run::new(id.clone());
    load_events(parts, id).await?.iter().for_each(|event| run.apply(event));
    Ok(run)
}

async fn load_events(parts: &Parts, id: &RunId) -> Result<Vec<Event>, Error> {
    let records = parts.store.load(id, Revision(0)).await?;
    let events = records.iter().map(|record| decode_event(&record.body));
    Ok(events.collect::<Result<_, _>>()?)
}

/// The run as its log tells it, if the store knows it.
pub(crate) async fn try_load_run(parts: &Parts, id: &RunId) -> Result<Option<Run>, Error> {
    match load_run(parts, id).await {
        Ok(run) => Ok(Some(run)),
        Err(Error::Store(StoreError::NotFound { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}
