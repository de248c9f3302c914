//! Everything under the lock: the runs, and what belongs to them.

use std::collections::BTreeSet;
use std::mem::size_of;

use holdpoint_core::{CallKey, Revision, RunId, Status, Timestamp};

use super::approvals::Questions;
use super::audit_log::Sealed;
use super::entry::Entry;
use super::grants::Grants;
use super::owners::Owners;
use super::queue::Queue;
use super::run_leases::Holds;
use super::runs::{RunNo, Runs};
use super::server_state::Shared;
use super::sessions::Sessions;
use crate::{CommitError, Head, PRUNE_LIMIT_MAX, PruneRequest, QuestionChange, Scope, TaskChange, Transition, is_over};

/// All runs and tasks.
#[derive(Default)]
pub(super) struct Table {
    pub(super) runs: Runs,
    pub(super) owners: Owners,
    pub(super) queue: Queue,
    pub(super) sealed: Sealed,
    pub(super) grants: Grants,
    pub(super) questions: Questions,
    pub(super) sessions: Sessions,
    pub(super) shared: Shared,
    pub(super) holds: Holds,
    /// Every run with a deadline, the earliest first.
    pub(super) deadlines: BTreeSet<(Timestamp, RunNo)>,
    pub(super) bytes_written: u64,
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
        // Everything that can fail comes before the first change.
        self.check_guards(found.map(|(number, _)| number), &step.tasks, now)?;
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
        self.change_tasks(number, step, now);
        let owner = self.runs.get(number).map(|entry| self.owners.get(entry.owner).clone()).unwrap_or_default();
        self.grants.open(&owner, step);
        self.questions.change(number, run, &owner, step);
        let brought = step.questions.iter().map(QuestionChange::bytes).chain(step.tasks.iter().map(TaskChange::bytes));
        self.bytes_written += brought.map(|bytes| bytes as u64).sum::<u64>();
        Ok(revision)
    }

    /// Whether the session of a run that is to be created is as far as its author knows.
    fn check_last(&self, step: &Transition) -> Result<(), CommitError> {
        let Some(wanted) = step.session_use.after().filter(|_| step.head.session.is_some()) else { return Ok(()) };
        let last = self.sessions.last(step).and_then(|number| self.runs.get(number)).map(|entry| &entry.run);
        if last == wanted { Ok(()) } else { Err(CommitError::SessionBusy) }
    }

    fn check_guards(&self, run: Option<RunNo>, changes: &[TaskChange], now: Timestamp) -> Result<(), CommitError> {
        let holds = |change: &TaskChange| match change {
            TaskChange::Open(_) => true,
            TaskChange::Close { turn, index, guard } => {
                let task = run.and_then(|run| self.queue.at((run, *turn, *index)));
                guard.holds(task.map(|(_, task)| task.head.state.guarded()), now)
            }
        };
        if changes.iter().all(holds) { Ok(()) } else { Err(CommitError::LeaseLost) }
    }

    fn append(&mut self, run: RunNo, at: Revision, step: &Transition, now: Timestamp) -> Revision {
        let Some(entry) = self.runs.get_mut(run) else { return at };
        let (bytes_before, deadline_before) = (entry.log.len(), entry.deadline());
        entry.log.append(&step.records, step.at, entry.updated_at);
        entry.revision = Revision(entry.revision.0 + step.records.len() as u64);
        if let Some(audit) = &step.audit {
            entry.log.append_audit(audit);
            entry.audited = entry.revision;
        }
        entry.updated_at = step.at;
        entry.update(&step.head);
        if entry.status == Status::Running {
            self.holds.set(run, step.hold.as_ref(), now);
        } else {
            entry.log.shrink();
            self.holds.clear(run);
        }
        self.bytes_written += (entry.log.len() - bytes_before) as u64;
        let deadline = entry.deadline();
        if deadline != deadline_before {
            deadline_before.map(|at| self.deadlines.remove(&(at, run)));
            deadline.map(|at| self.deadlines.insert((at, run)));
        }
        entry.revision
    }

    fn change_tasks(&mut self, number: RunNo, step: &Transition, now: Timestamp) {
        let Some(entry) = self.runs.get(number) else { return };
        let owner = self.owners.get(entry.owner);
        for change in &step.tasks {
            let (turn, index) = change.place();
            match change {
                TaskChange::Open(opening) => {
                    let key = CallKey { run: entry.run.clone(), turn, index };
                    let (agent, tenant) = (owner.agent.clone().unwrap_or_default(), owner.tenant.clone());
                    let head = opening.head(key, agent, tenant, step.at, now);
                    self.queue.open((number, turn, index), head, &opening.body);
                }
                TaskChange::Close { .. } => self.queue.close((number, turn, index)),
            }
        }
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
        self.holds.clear(run);
        self.queue.close_run(run);
        self.questions.remove_run(run);
        self.sessions.moved(run, Status::Finished);
        self.sessions.remove(run);
        Some(entry.run)
    }

    pub(super) fn bytes_held(&self, run: &RunId) -> Option<usize> {
        let (number, entry) = self.runs.find(run)?;
        // An `Arc<str>` keeps two counters beside its text.
        let name = run.as_str().len() + 2 * size_of::<usize>();
        let timer = entry.deadline().map_or(0, |_| 2 * size_of::<(Timestamp, RunNo)>());
        let held = self.holds.bytes(number) + self.queue.bytes(number);
        Some(size_of::<Entry>() + entry.log.capacity() + name + self.runs.index_bytes() + timer + held)
    }

    #[cfg(test)]
    pub(super) fn holds_bytes(&self, run: &RunId) -> Option<usize> {
        Some(self.holds.bytes(self.runs.number_of(run)?))
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
