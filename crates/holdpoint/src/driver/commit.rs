//! Makes what happened durable, and reads it back.

use std::cmp::Ordering;

use holdpoint_codec::{audit, decode_event, encode_event, encode_grant, new_run};
use holdpoint_core::{Conductor, Event, LogEntry, Rejection, Revision, Run, RunId, Status};
use holdpoint_store::{CommitError, GrantOpening, HeadUpdate, Scope, Store, StoreError, Transition};

use super::{Driver, Interrupted};
use crate::Error;
use crate::background::patience::Patience;
use crate::parts::Parts;

/// What became of a transition that is in the log.
enum Written {
    /// It is the end of the log.
    Last,
    /// Another process has moved the run since.
    Overtaken,
}

impl Driver {
    /// One transition, one commit; then every listener is told.
    pub(super) async fn commit(&mut self) -> Result<(), Interrupted> {
        match self.write().await {
            Ok(Written::Last) => {}
            Ok(Written::Overtaken) => {
                self.recorded();
                return self.overtaken().await;
            }
            Err(CommitError::Stale { .. }) if !self.meter.committed => return Err(Interrupted::Overtaken),
            Err(CommitError::Stale { .. }) => return self.overtaken().await,
            Err(CommitError::LeaseLost) => return Err(Rejection::LeaseLost.into()),
            Err(CommitError::SessionBusy) => return Err(Interrupted::Failed(self.session_busy().await?)),
            Err(CommitError::Store(error)) => {
                self.keep_results();
                return Err(Interrupted::Failed(Error::Store(error)));
            }
            Err(CommitError::Invalid(problem)) => {
                let error = StoreError::failed("store the transition", problem);
                return Err(Interrupted::Failed(Error::Store(error)));
            }
        }
        self.recorded();
        Ok(())
    }

    /// The outbox is durable.
    fn recorded(&mut self) {
        let is_first = !std::mem::replace(&mut self.meter.committed, true);
        self.unsaved.clear();
        let log = self.conductor.committed();
        if is_first {
            self.listeners.accepted(|| self.so_far());
        }
        self.out.committed(self.conductor.run());
        self.abandon_settled(&log);
        self.asked.committed(self.conductor.run());
        self.listeners.durable();
    }

    /// Whether the outbox holds the result of a tool. It must not get lost: the tool has already run.
    fn has_results(&self) -> bool {
        self.conductor.outbox().iter().any(|entry| matches!(entry.event, Event::ToolEnded { .. }))
    }

    /// Whether this driver holds the run once the outbox is durable.
    fn holds_after(&self) -> bool {
        self.run().status() == Status::Running && !self.left
    }

    /// Writes the outbox; tries again while the store is out of reach. If the outcome of a try is unknown, it may have
    /// succeeded: then the log has exactly these events next.
    async fn write(&self) -> Result<Written, CommitError> {
        let mut patience = Patience::at_least(self.parts.lease);
        let mut unsure = false;
        let sent = self.lease.sending();
        loop {
            let tried = self.parts.store.runs.commit(self.run_id(), self.conductor.durable(), self.transition()).await;
            let error = match tried {
                Ok(_) => {
                    if self.holds_after() {
                        self.lease.committed(sent);
                    }
                    return Ok(Written::Last);
                }
                Err(stale @ CommitError::Stale { .. }) if unsure => match self.found_written().await {
                    Ok(Some(written)) => return Ok(written),
                    Ok(None) => return Err(stale),
                    Err(error) => error,
                },
                Err(CommitError::Store(error)) => {
                    unsure = true;
                    error
                }
                Err(error) => return Err(error),
            };
            // The lease that an unknown commit may have set is renewed before anything starts under it.
            self.lease.doubt();
            let again = error.may_pass() || self.has_results();
            if again {
                tracing::warn!(target: "holdpoint", run = %self.run_id(), code = %error.code(), "commit failed; trying again");
            }
            if !again || !patience.wait().await {
                return Err(CommitError::Store(error));
            }
        }
    }

    /// Whether the log has the events of the outbox next, and whether they are its last.
    async fn found_written(&self) -> Result<Option<Written>, StoreError> {
        let records = self.parts.store.runs.load(&Scope::All, self.run_id(), self.conductor.durable()).await?;
        let ours = self.conductor.outbox();
        let same = records.iter().zip(ours).all(|(record, entry)| *record.body == *encode_event(entry));
        Ok(match records.len().cmp(&ours.len()) {
            Ordering::Less => None,
            _ if !same => None,
            Ordering::Equal => Some(Written::Last),
            Ordering::Greater => Some(Written::Overtaken),
        })
    }

    fn transition(&self) -> Transition {
        let run = self.conductor.run();
        let log = self.conductor.outbox();
        let at = self.parts.store.runs.now();
        Transition {
            records: log.iter().map(encode_event).collect(),
            head: head(run),
            at,
            hold: self.holds_after().then(|| self.lease.hold().clone()),
            tasks: self.out.changes(run, self.parts.receipts(at)),
            audit: audit::encode(run, log, at),
            grants: grants(log),
            questions: self.asked.changes(run, log),
            session_use: self.session_use.clone(),
        }
    }

    /// Another process moved the run while it was driven here: it was cancelled or taken over. What that process committed
    /// is the truth; a stream of the run from here shows its end too. Results that it does not have are evidence.
    pub(super) async fn overtaken(&mut self) -> Result<(), Interrupted> {
        self.keep_results();
        let log = read_log(&self.parts.store, &Scope::All, self.run_id()).await?;
        let mut run = new_run(self.run_id().clone());
        let mut missed = Vec::new();
        for entry in &log {
            run.apply(entry);
            if run.revision() > self.conductor.durable() {
                missed.extend(self.listeners.view(entry, &run));
            }
        }
        if run.status() != Status::Cancelled {
            return Err(Interrupted::Failed(Error::TakenOver));
        }
        self.listeners.overtaken(missed);
        self.out = super::tasks::Out::new(&run);
        self.asked = super::questions::Asked::new(&run);
        self.conductor = Conductor::new(run);
        self.abandon_settled(&[]);
        Ok(())
    }
}

/// What people said about calls that are yet to come.
fn grants(log: &[LogEntry]) -> Vec<GrantOpening> {
    let given = log.iter().filter_map(|entry| match &entry.event {
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
    read_run(&parts.store, &Scope::All, id).await
}

/// The run as its log tells it, if it is within the scope.
pub(crate) async fn read_run(store: &Store, scope: &Scope, id: &RunId) -> Result<Run, Error> {
    let mut run = new_run(id.clone());
    read_log(store, scope, id).await?.iter().for_each(|entry| run.apply(entry));
    Ok(run)
}

async fn read_log(store: &Store, scope: &Scope, id: &RunId) -> Result<Vec<LogEntry>, Error> {
    let records = store.runs.load(scope, id, Revision(0)).await?;
    let log = records.iter().map(|record| decode_event(&record.body));
    Ok(log.collect::<Result<_, _>>()?)
}
