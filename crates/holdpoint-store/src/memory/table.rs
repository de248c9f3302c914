//! Everything under the lock: the runs, and what belongs to them.

use std::collections::BTreeSet;

use holdpoint_core::{Revision, RunId, Status, Timestamp};

use super::approvals::{Question, QuestionKey};
use super::audit_log::Sealed;
use super::entry::Entry;
use super::indexed::Indexed;
use super::owners::Owners;
use super::run_leases::Running;
use super::runs::{RunNo, Runs};
use super::server_state::Shared;
use super::sessions::Sessions;
use super::task_queue::{Task, TaskKey, first_call, last_call};
use crate::{CommitError, GrantRow, Head, PRUNE_LIMIT_MAX, PruneRequest, Scope, Transition, is_over};

/// All runs and tasks.
#[derive(Default)]
pub(super) struct Table {
    pub(super) runs: Runs,
    pub(super) owners: Owners,
    pub(super) tasks: Indexed<Task>,
    /// The last number that a lease or a result got.
    pub(super) fences: u64,
    pub(super) sealed: Sealed,
    pub(super) grants: Indexed<GrantRow>,
    pub(super) questions: Indexed<Question>,
    pub(super) question_changes: u64,
    pub(super) sessions: Sessions,
    pub(super) shared: Shared,
    /// The runs that are to go on, and no others.
    pub(super) running: Indexed<Running>,
    /// Every run with a deadline, the earliest first.
    pub(super) deadlines: BTreeSet<(Timestamp, RunNo)>,
}

impl Table {
    /// Leases begin at `now`.
    pub(super) fn commit(
        &mut self,
        run: &RunId,
        at: Revision,
        step: &Transition,
        now: Timestamp,
    ) -> Result<Revision, CommitError> {
        let found = self.runs.find(run).map(|(number, entry)| (number, entry.revision));
        let current = found.map_or(Revision(0), |(_, revision)| revision);
        if current != at {
            return Err(CommitError::Stale { current });
        }
        // Everything that can fail comes before the first change. A run that is not there has no tasks.
        self.check_guards(found.map_or(RunNo(-1), |(number, _)| number), &step.tasks, now)?;
        let number = match found {
            Some((number, _)) => number,
            None => {
                self.sessions.admit(step)?;
                self.check_last(step)?;
                let owner = self.owners.index_of(&step.head)?;
                let number = self.runs.add(Entry::new(run.clone(), step.at, owner));
                self.sessions.add(number, step);
                number
            }
        };
        let revision = self.append(number, at, step, now);
        self.sessions.moved(number, step.head.status);
        let owner = self.runs.get(number).map(|entry| self.owners.get(entry.owner).clone()).unwrap_or_default();
        self.change_tasks(number, run, &owner, step, now);
        self.open_grants(&owner, step);
        self.change_questions(number, run, &owner, step);
        Ok(revision)
    }

    /// Whether the session of a run that is to be created is as far as its author knows.
    fn check_last(&self, step: &Transition) -> Result<(), CommitError> {
        let Some(wanted) = step.session_use.after().filter(|_| step.head.session.is_some()) else { return Ok(()) };
        let last = self.sessions.last(step).and_then(|number| self.runs.get(number)).map(|entry| &entry.run);
        if last == wanted { Ok(()) } else { Err(CommitError::SessionBusy) }
    }

    fn append(&mut self, run: RunNo, at: Revision, step: &Transition, now: Timestamp) -> Revision {
        let Some(entry) = self.runs.get_mut(run) else { return at };
        let deadline_before = entry.deadline();
        entry.log.append(&step.records, step.at, entry.updated_at);
        entry.revision = Revision(entry.revision.0 + step.records.len() as u64);
        if let Some(audit) = &step.audit {
            entry.log.append_audit(audit);
            entry.audited = entry.revision;
        }
        entry.updated_at = step.at;
        entry.update(&step.head);
        if entry.status == Status::Running {
            self.running.put(run.0, Running::new(step.hold.as_ref(), now));
        } else {
            entry.log.shrink();
            self.running.take(run.0);
        }
        let deadline = entry.deadline();
        if deadline != deadline_before {
            deadline_before.map(|at| self.deadlines.remove(&(at, run)));
            deadline.map(|at| self.deadlines.insert((at, run)));
        }
        entry.revision
    }

    pub(super) fn prune(&mut self, request: &PruneRequest, now: Timestamp) -> Vec<RunId> {
        let fits = |entry: &Entry| {
            is_over(entry.status)
                && entry.updated_at < request.before
                && (request.tenant.is_none() || request.tenant == self.owners.get(entry.owner).tenant)
        };
        let limit = request.limit.min(PRUNE_LIMIT_MAX);
        let over = self.runs.iter().filter(|(_, entry)| fits(entry)).take(limit);
        let over: Vec<RunNo> = over.map(|(run, _)| run).collect();
        over.into_iter().filter_map(|run| self.remove(run, now)).collect()
    }

    fn remove(&mut self, run: RunNo, now: Timestamp) -> Option<RunId> {
        self.leave_tombstone(run, now);
        let entry = self.runs.remove(run)?;
        entry.deadline().map(|at| self.deadlines.remove(&(at, run)));
        self.running.take(run.0);
        let (first, last) = (first_call(run), last_call(run));
        self.tasks.remove_range(TaskKey::Call(first), TaskKey::Call(last));
        self.questions.remove_range(QuestionKey::Call(first), QuestionKey::Call(last));
        self.sessions.moved(run, Status::Finished);
        self.sessions.remove(run);
        Some(entry.run)
    }

    /// The run, unless it is outside the scope.
    pub(super) fn visible(&self, scope: &Scope, run: &RunId) -> Option<(RunNo, &Entry)> {
        let found = self.runs.find(run)?;
        scope.covers(self.owners.get(found.1.owner).tenant.as_deref()).then_some(found)
    }

    pub(super) fn head_of(&self, run: RunNo, entry: &Entry) -> Head {
        let owner = self.owners.get(entry.owner);
        let session = self.sessions.of(run).cloned();
        Head { agent: owner.agent.clone(), tenant: owner.tenant.clone(), session, ..entry.head() }
    }
}
