//! What the writer is asked for, and what it answers.

use std::sync::Arc;

use holdpoint_core::{Revision, RunId, Timestamp};
use holdpoint_store::{
    ClaimRequest, CommitError, GrantOpening, HeadUpdate, Hold, LeaseRequest, LeaseState, LeasedTask, OverlongLease,
    PruneRequest, QuestionChange, Release, Seal, SessionUse, StoreError, TaskChange, TaskCompletion, TaskLease,
};
use sqlx::sqlite::SqliteRow;
use tokio::sync::oneshot;

use crate::batch::{Given, StatementNo};
use crate::columns::tenant_key;
use crate::fault::GroupFailure;
use crate::grants::Revoking;
use crate::run_leases::read_runs;
use crate::server_state::{DeskAnswer, DeskReply, DeskWrite};
use crate::sessions::slot;
use crate::task_queue::Leasing;

/// Where an answer goes. Who no longer listens is not told.
pub(crate) type Answer<T, E = StoreError> = oneshot::Sender<Result<T, E>>;

/// A transition as it is written: its records are one value, and so is the body of each task.
pub(crate) struct Step {
    pub(crate) run: RunId,
    pub(crate) at: Revision,
    pub(crate) records: u64,
    pub(crate) body: Vec<u8>,
    pub(crate) moment: Timestamp,
    pub(crate) head: HeadUpdate,
    pub(crate) hold: Option<Hold>,
    pub(crate) tasks: Vec<TaskChange>,
    pub(crate) audit: Option<Vec<u8>>,
    pub(crate) grants: Vec<GrantOpening>,
    pub(crate) questions: Vec<QuestionChange>,
    pub(crate) session_use: SessionUse,
}

impl Step {
    /// What it would hold, if it creates a run that is alone in its session.
    pub(crate) fn slot(&self) -> Option<String> {
        let alone = self.at == Revision(0) && self.session_use.is_alone();
        let session = self.head.session.as_deref().filter(|_| alone)?;
        Some(slot(self.head.tenant.as_deref(), session))
    }
}

/// One thing to write.
pub(crate) enum Request {
    Commit(Box<Step>, Answer<Revision, CommitError>),
    Renew(RunId, Hold, Answer<LeaseState>),
    Claim(ClaimRequest, Answer<Vec<RunId>>),
    Lease(LeaseRequest, Answer<Vec<LeasedTask>>),
    Heartbeat(Vec<TaskLease>, u64, Answer<Vec<LeaseState>>),
    Deliver(TaskLease, Vec<u8>, Answer<TaskCompletion>),
    Release(TaskLease, Release, Answer<LeaseState>),
    Prune(PruneRequest, Answer<Vec<RunId>>),
    /// What moved of a tenant's runs. Goes alone.
    Seal(Option<Arc<str>>, Answer<Option<Seal>>),
    RevokeGrant(Revoking, Answer<bool>),
    EndLease(OverlongLease, Answer<bool>),
    Desk(DeskWrite, Answer<DeskAnswer>),
    /// A number that changes when somebody else wrote to the file. Nothing is written for it.
    ForeignVersion(Answer<i64>),
}

/// An answer that waits for the commit of its group.
pub(crate) enum Reply {
    Revision(Answer<Revision, CommitError>, Result<Revision, CommitError>),
    State(Answer<LeaseState>, LeaseState),
    Completion(Answer<TaskCompletion>, TaskCompletion),
    States(Answer<Vec<LeaseState>>, Vec<LeaseState>),
    Claimed(Answer<Vec<RunId>>, StatementNo),
    Pruned(Answer<Vec<RunId>>, StatementNo),
    /// Whether the statement gave a row.
    Changed(Answer<bool>, StatementNo),
    Desk(Answer<DeskAnswer>, DeskReply),
    Leased(Answer<Vec<LeasedTask>>, StatementNo, Leasing),
}

impl Request {
    /// About how much memory it takes to write it.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Request::Commit(step, _) => {
                let bodies = step.tasks.iter().map(|change| match change {
                    TaskChange::Open(opening) => opening.body.len(),
                    TaskChange::Close { .. } => 0,
                });
                let grants = step.grants.iter().map(|grant| grant.body.len());
                let audit = step.audit.as_ref().map_or(0, Vec::len);
                let questions = step.questions.iter().map(QuestionChange::bytes).sum::<usize>();
                step.body.len() + audit + questions + bodies.sum::<usize>() + grants.sum::<usize>()
            }
            Request::Deliver(_, result, _) => result.len(),
            Request::Desk(write, _) => write.bytes(),
            Request::Renew(..)
            | Request::Claim(..)
            | Request::Lease(..)
            | Request::Heartbeat(..)
            | Request::Release(..)
            | Request::Prune(..)
            | Request::Seal(..)
            | Request::RevokeGrant(..)
            | Request::EndLease(..)
            | Request::ForeignVersion(_) => 0,
        }
    }

    /// The session whose last run matters to it: its name and its tenant, as they are stored.
    pub(crate) fn continues(&self) -> Option<(Arc<str>, String)> {
        let Request::Commit(step, _) = self else { return None };
        step.session_use.after().filter(|_| step.at == Revision(0))?;
        Some((step.head.session.clone()?, tenant_key(step.head.tenant.as_deref())))
    }

    /// The session that it wants for itself.
    pub(crate) fn slot(&self) -> Option<String> {
        if let Request::Commit(step, _) = self { step.slot() } else { None }
    }

    /// Says that nothing was written.
    pub(crate) fn fail(self, failure: &GroupFailure) {
        match self {
            Request::Commit(_, answer) => fail_commit(answer, failure),
            Request::Renew(_, _, answer) | Request::Release(_, _, answer) => fail(answer, failure),
            Request::Deliver(_, _, answer) => fail(answer, failure),
            Request::Claim(_, answer) | Request::Prune(_, answer) => fail(answer, failure),
            Request::Lease(_, answer) => fail(answer, failure),
            Request::Heartbeat(_, _, answer) => fail(answer, failure),
            Request::Seal(_, answer) => fail(answer, failure),
            Request::RevokeGrant(_, answer) | Request::EndLease(_, answer) => fail(answer, failure),
            Request::Desk(_, answer) => fail(answer, failure),
            Request::ForeignVersion(answer) => fail(answer, failure),
        }
    }
}

impl Reply {
    /// Gives the answer, once the group is durable.
    pub(crate) fn send(self, given: &mut Given) -> Vec<RunId> {
        match self {
            Reply::Revision(answer, result) => _ = answer.send(result),
            Reply::State(answer, state) => _ = answer.send(Ok(state)),
            Reply::Completion(answer, completion) => _ = answer.send(Ok(completion)),
            Reply::States(answer, states) => _ = answer.send(Ok(states)),
            Reply::Claimed(answer, statement) => _ = answer.send(read_runs(&given.take(statement))),
            Reply::Leased(answer, statement, leasing) => _ = answer.send(leasing.read(&given.take(statement))),
            Reply::Changed(answer, statement) => _ = answer.send(Ok(!given.take(statement).is_empty())),
            Reply::Desk(answer, reply) => _ = answer.send(reply.read(given)),
            Reply::Pruned(answer, statement) => return send_pruned(answer, &given.take(statement)),
        }
        Vec::new()
    }

    /// Says that nothing was written.
    pub(crate) fn fail(self, failure: &GroupFailure) {
        match self {
            Reply::Revision(answer, _) => fail_commit(answer, failure),
            Reply::State(answer, _) => fail(answer, failure),
            Reply::Completion(answer, _) => fail(answer, failure),
            Reply::States(answer, _) => fail(answer, failure),
            Reply::Claimed(answer, _) | Reply::Pruned(answer, _) => fail(answer, failure),
            Reply::Leased(answer, ..) => fail(answer, failure),
            Reply::Changed(answer, _) => fail(answer, failure),
            Reply::Desk(answer, _) => fail(answer, failure),
        }
    }
}

/// Those who wait for a run that is gone must hear of it too.
fn send_pruned(answer: Answer<Vec<RunId>>, rows: &[SqliteRow]) -> Vec<RunId> {
    let runs = read_runs(rows);
    let gone = runs.as_ref().map(Clone::clone).unwrap_or_default();
    _ = answer.send(runs);
    gone
}

fn fail<T>(answer: Answer<T>, failure: &GroupFailure) {
    _ = answer.send(Err(failure.store_error("write")));
}

fn fail_commit(answer: Answer<Revision, CommitError>, failure: &GroupFailure) {
    _ = answer.send(Err(CommitError::Store(failure.store_error("commit"))));
}
