//! Makes what happened durable, and reads it back.

use holdpoint_codec::{audit, decode_event, encode_event, encode_grant};
use holdpoint_core::{Conductor, Event, Rejection, Revision, Run, RunId, Status};
use holdpoint_store::{CommitError, GrantOpening, HeadUpdate, StoreError, Transition};

use super::{Driver, Interrupted};
use crate::Error;
use crate::failpoint::Failpoint;
use crate::parts::Parts;
use crate::patience::Patience;

impl Driver {
    /// One transition, one commit; then everybody who listens is told.
    pub(super) async fn commit(&mut self) -> Result<(), Interrupted> {
        if self.conductor.outbox().iter().any(|event| matches!(event, Event::ToolEnded { .. })) {
            self.parts.failpoints.reach(Failpoint::BeforeResult).await?;
        }
        match self.write().await {
            Ok(()) => {}
            Err(CommitError::Stale { .. }) if !self.meter.committed => return Err(Interrupted::Overtaken),
            Err(CommitError::Stale { .. }) => return self.overtaken().await,
            Err(CommitError::LeaseLost) => return Err(Rejection::LeaseLost.into()),
            Err(CommitError::SessionBusy) => return Err(Interrupted::Failed(self.session_busy().await?)),
            Err(CommitError::Store(error)) => return Err(Interrupted::Failed(Error::Store(error))),
            Err(CommitError::Invalid(problem)) => {
                let error = StoreError::failed("store the transition", problem);
                return Err(Interrupted::Failed(Error::Store(error)));
            }
        }
        self.meter.committed = true;
        let events = self.conductor.committed();
        self.out.committed(self.conductor.run());
        self.abandon_settled(&events);
        self.asked.committed(self.conductor.run());
        self.parts.stats.note(&events, self.conductor.run());
        self.listeners.durable(&events);
        Ok(())
    }

    /// Writes the outbox, again and again while the store is out of reach. A try of which nobody knows how it went may
    /// have gone well: then the run is where it should be, with the very events that were to be written.
    async fn write(&self) -> Result<(), CommitError> {
        let mut patience = Patience::new();
        let mut unsure = false;
        loop {
            let tried = self.parts.store.commit(self.run_id(), self.conductor.durable(), self.transition()).await;
            match tried {
                Ok(_) => return Ok(()),
                Err(CommitError::Store(error)) if error.may_pass() => {
                    unsure = true;
                    tracing::warn!(target: "holdpoint", run = %self.run_id(), code = %error.code(), "a commit is tried again");
                    if !patience.wait().await {
                        return Err(CommitError::Store(error));
                    }
                }
                Err(CommitError::Stale { .. }) if unsure && self.is_written().await? => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    async fn is_written(&self) -> Result<bool, StoreError> {
        let records = self.parts.store.load(self.run_id(), self.conductor.durable()).await?;
        let mine = self.conductor.outbox();
        let same = records.iter().zip(mine).all(|(record, event)| *record.body == *encode_event(event));
        Ok(records.len() >= mine.len() && same)
    }

    fn transition(&self) -> Transition {
        let run = self.conductor.run();
        let events = self.conductor.outbox();
        let at = self.parts.store.now();
        Transition {
            records: events.iter().map(encode_event).collect(),
            head: head(run),
            at,
            hold: (run.status() == Status::Running && !self.left).then(|| self.parts.hold()),
            tasks: self.out.changes(run, self.parts.receipts(at)),
            audit: audit::encode(run, events, at),
            grants: grants(events),
            questions: self.asked.changes(run, events),
            session_use: self.session_use.clone(),
        }
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
        self.out = super::tasks::Out::new(&run);
        self.asked = super::questions::Asked::new(&run);
        self.conductor = Conductor::new(run);
        self.abandon_settled(&[]);
        Ok(())
    }
}

/// What people said about calls that are yet to come.
fn grants(events: &[Event]) -> Vec<GrantOpening> {
    let given = events.iter().filter_map(|event| match event {
        Event::GrantGiven { grant, .. } => Some(GrantOpening {
            id: grant.id.as_str().into(),
            tool: grant.tool.clone(),
            until: grant.until,
            body: encode_grant(grant),
        }),
        _ => None,
    });
    given.collect()
}

/// What a list shows of a run.
fn head(run: &Run) -> HeadUpdate {
    HeadUpdate {
        status: run.status(),
        agent: run.agent().cloned(),
        tenant: run.actor().tenant.clone(),
        continuation: run.continuation(),
        deadline: run.next_deadline(),
        session: run.session().cloned(),
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
