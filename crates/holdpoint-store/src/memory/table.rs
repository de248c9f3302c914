//! What is under the lock: the runs, the queue, and the ways to find them.

use std::collections::BTreeSet;
use std::mem::size_of;

use holdpoint_core::{CallKey, Revision, RunId, Status, Timestamp};
use tokio::sync::watch;

use super::approvals::Questions;
use super::audit_log::Sealed;
use super::entry::Entry;
use super::grants::Grants;
use super::owners::{OwnerIndex, Owners};
use super::queue::{Opener, Queue};
use super::run_leases::Holds;
use super::runs::{RunNo, Runs};
use super::server_state::FrontDesk;
use super::sessions::Sessions;
use super::task_queue::is_paused;
use super::waiters::{Waiter, Waiters};
use crate::{
    Agents, CLAIM_LIMIT_MAX, ClaimRequest, CommitError, Head, Hold, LeaseOf, LeaseState, List, OverlongLease,
    PRUNE_LIMIT_MAX, Page, PruneRequest, Record, RunFilter, Scope, StoreError, TaskChange, Topic, Transition,
    page_size,
};

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
    pub(super) front_desk: FrontDesk,
    holds: Holds,
    /// Every run with a deadline, the earliest first.
    deadlines: BTreeSet<(Timestamp, RunNo)>,
    waiters: Waiters,
    tasks_moved: watch::Sender<u64>,
    runs_moved: watch::Sender<u64>,
    questions_moved: watch::Sender<u64>,
    bytes_written: u64,
}

/// Whether a run has more records than somebody has seen.
pub(super) enum Moved {
    To(Revision),
    NotYet(Waiter),
}

/// A transition that somebody wants to be written.
pub(super) struct Wanted<'a> {
    pub(super) run: &'a RunId,
    pub(super) at: Revision,
    pub(super) step: &'a Transition,
    pub(super) now: Timestamp,
}

impl Table {
    pub(super) fn commit(&mut self, wanted: &Wanted<'_>) -> Result<Revision, CommitError> {
        let Wanted { run, at, step, .. } = *wanted;
        let found = self.runs.find(run).map(|(number, entry)| (number, entry.revision, entry.owner));
        let current = found.map_or(Revision(0), |(_, revision, _)| revision);
        if current != at {
            return Err(CommitError::Stale { current });
        }
        // Whatever can fail comes before the first change.
        self.check_guards(found.map(|(number, ..)| number), &step.tasks, wanted.now)?;
        if found.is_none() {
            self.sessions.admit(step)?;
            self.check_last(step)?;
        }
        let owner = self.owners.index_of(&step.head, found.map(|(.., owner)| owner))?;
        let number = match found {
            Some((number, ..)) => number,
            None => {
                let number = self.runs.add(Entry::new(run.clone(), step.at, owner));
                self.sessions.add(number, step);
                number
            }
        };
        let revision = self.append(number, owner, wanted);
        self.sessions.moved(number, step.head.status);
        self.change_tasks(number, wanted);
        self.grants.open(step);
        self.questions.change((number, run), step);
        self.bytes_written += step.questions.iter().map(|change| change.bytes() as u64).sum::<u64>();
        self.wake(number, wanted);
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

    fn append(&mut self, run: RunNo, owner: OwnerIndex, wanted: &Wanted<'_>) -> Revision {
        let Wanted { at, step, now, .. } = *wanted;
        let Some(entry) = self.runs.get_mut(run) else { return at };
        let (bytes_before, deadline_before) = (entry.log.len(), entry.deadline());
        entry.log.append(&step.records, step.at, entry.updated_at);
        entry.revision = Revision(entry.revision.0 + step.records.len() as u64);
        if let Some(audit) = &step.audit {
            entry.log.append_audit(audit);
            entry.audited = entry.revision;
        }
        entry.updated_at = step.at;
        entry.update(&step.head, owner);
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

    fn change_tasks(&mut self, number: RunNo, wanted: &Wanted<'_>) {
        let Wanted { run, step, now, .. } = *wanted;
        for change in &step.tasks {
            match change {
                TaskChange::Open(opening) => {
                    let (turn, index) = (opening.turn, opening.index);
                    let by = Opener {
                        place: (number, turn, index),
                        key: CallKey { run: run.clone(), turn, index },
                        agent: step.head.agent.clone().unwrap_or_default(),
                        tenant: step.head.tenant.clone(),
                        at: step.at,
                        available_at: now,
                    };
                    self.bytes_written += opening.body.len() as u64;
                    self.queue.open(opening, by);
                }
                TaskChange::Close { turn, index, .. } => self.queue.close((number, *turn, *index)),
            }
        }
    }

    fn wake(&mut self, number: RunNo, wanted: &Wanted<'_>) {
        let Wanted { run, step, .. } = *wanted;
        self.waiters.wake(run);
        if step.tasks.iter().any(|change| matches!(change, TaskChange::Open(_))) {
            self.notify(Topic::Tasks);
        }
        if !step.questions.is_empty() {
            self.notify(Topic::Questions);
        }
        let status = step.head.status;
        let free = status == Status::Running && step.hold.is_none();
        let waits = is_paused(status) && (step.head.deadline.is_some() || self.queue.has_results(number));
        if free || waits {
            self.notify(Topic::Runs);
        }
    }

    pub(super) fn notify(&self, topic: Topic) {
        let sender = self.topic(topic);
        // Who begins to watch later looks first: nobody misses anything.
        if sender.receiver_count() > 0 {
            sender.send_modify(|times| *times = times.wrapping_add(1));
        }
    }

    pub(super) fn watch(&self, topic: Topic) -> watch::Receiver<u64> {
        self.topic(topic).subscribe()
    }

    fn topic(&self, topic: Topic) -> &watch::Sender<u64> {
        match topic {
            Topic::Tasks => &self.tasks_moved,
            Topic::Runs => &self.runs_moved,
            Topic::Questions => &self.questions_moved,
        }
    }

    pub(super) fn load(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        let entry = self.find(run).and_then(|entry| {
            let seen = scope.covers(self.owners.get(entry.owner).tenant.as_deref());
            if seen { Ok(entry) } else { Err(StoreError::NotFound { run: run.clone() }) }
        })?;
        if after >= entry.revision {
            return Ok(Vec::new());
        }
        Ok(entry.log.records(after, entry.created_at))
    }

    pub(super) fn head(&self, scope: &Scope, run: &RunId) -> Option<Head> {
        let (number, entry) = self.runs.find(run)?;
        let head = self.head_of(number, entry);
        scope.covers(head.tenant.as_deref()).then_some(head)
    }

    pub(super) fn list(&self, filter: &RunFilter) -> Result<Page<Head>, StoreError> {
        let [from] = List::Runs.position(filter.cursor.as_ref(), [i64::MAX])?;
        let runs = self.runs.down_from(RunNo::from(from));
        let runs = runs.filter(|(_, entry)| filter.status.is_none_or(|status| status == entry.status));
        let heads = runs.map(|(number, entry)| (number, self.head_of(number, entry)));
        let heads = heads.filter(|(_, head)| filter.matches(head));
        Page::collect(List::Runs, page_size(filter.limit), heads.map(|(number, head)| Ok(([number.into()], head))))
    }

    pub(super) fn due(&self, agents: &Agents, at: Timestamp, limit: usize) -> Vec<RunId> {
        let owners = self.owners.of_agents(agents);
        let due = self.deadlines.range(..=(at, RunNo(u64::MAX)));
        let entries = due.filter_map(|(_, run)| self.runs.get(*run)).filter(|entry| owners.contains(entry.owner));
        entries.take(limit).map(|entry| entry.run.clone()).collect()
    }

    pub(super) fn moved(&mut self, run: &RunId, after: Revision) -> Result<Moved, StoreError> {
        let revision = self.find(run)?.revision;
        Ok(if revision > after { Moved::To(revision) } else { Moved::NotYet(self.waiters.wait(run)) })
    }

    pub(super) fn renew(&mut self, run: &RunId, hold: &Hold, now: Timestamp) -> LeaseState {
        match self.runs.number_of(run) {
            Some(number) => self.holds.renew(number, hold, now),
            None => LeaseState::Lost,
        }
    }

    pub(super) fn claim(&mut self, request: &ClaimRequest, now: Timestamp) -> Vec<RunId> {
        let owners = self.owners.of_agents(&request.agents);
        let ours = |run: &RunNo| self.runs.get(*run).is_some_and(|entry| owners.contains(entry.owner));
        let limit = request.limit.min(CLAIM_LIMIT_MAX);
        let claimed: Vec<RunNo> = self.holds.claimable(now).filter(ours).take(limit).collect();
        for run in &claimed {
            self.holds.set(*run, Some(&request.hold), now);
        }
        claimed.iter().filter_map(|run| self.runs.get(*run)).map(|entry| entry.run.clone()).collect()
    }

    pub(super) fn overlong_leases(&self, agents: &Agents, limit: usize, now: Timestamp) -> Vec<OverlongLease> {
        let owners = self.owners.of_agents(agents);
        let runs = self.holds.overlong(now).filter_map(|(run, until, lease_ms)| {
            let entry = self.runs.get(run).filter(|entry| owners.contains(entry.owner))?;
            Some(OverlongLease { of: LeaseOf::Run(entry.run.clone()), until, lease_ms })
        });
        let tasks = self.queue.overlong(now).filter(|(task, ..)| agents.contains(&task.head.agent));
        let tasks = tasks.map(|(task, until, lease_ms)| OverlongLease {
            of: LeaseOf::Task(task.head.key.clone()),
            until,
            lease_ms,
        });
        runs.chain(tasks).take(limit).collect()
    }

    pub(super) fn end_lease(&mut self, lease: &OverlongLease, now: Timestamp) -> bool {
        match &lease.of {
            LeaseOf::Run(run) => self.runs.number_of(run).is_some_and(|run| self.holds.end(run, lease.until, now)),
            LeaseOf::Task(CallKey { run, turn, index }) => {
                let run = self.runs.number_of(run);
                run.is_some_and(|run| self.queue.end_lease((run, *turn, *index), lease.until, now))
            }
        }
    }

    pub(super) fn prune(&mut self, request: &PruneRequest, now: Timestamp) -> Vec<RunId> {
        let fits = |entry: &Entry| {
            let tenant = &self.owners.get(entry.owner).tenant;
            PruneRequest::may_remove(entry.status)
                && entry.updated_at < request.before
                && request.tenant.as_ref().is_none_or(|wanted| Some(wanted) == tenant.as_ref())
        };
        let limit = request.limit.min(PRUNE_LIMIT_MAX);
        let over = self.runs.iter().filter(|(_, entry)| fits(entry)).take(limit);
        let over: Vec<RunNo> = over.map(|(run, _)| run).collect();
        over.into_iter().filter_map(|run| self.remove(run, now)).collect()
    }

    fn remove(&mut self, run: RunNo, now: Timestamp) -> Option<RunId> {
        self.bury(run, now);
        let entry = self.runs.remove(run)?;
        entry.deadline().map(|at| self.deadlines.remove(&(at, run)));
        self.holds.clear(run);
        self.queue.close_run(run);
        self.questions.remove_run(run);
        self.sessions.moved(run, Status::Finished);
        self.sessions.remove(run);
        // Who waits for it learns that it is gone.
        self.waiters.wake(&entry.run);
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

    pub(super) fn bytes_written(&self) -> u64 {
        self.bytes_written
    }

    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    #[cfg(test)]
    pub(super) fn holds_bytes(&self, run: &RunId) -> Option<usize> {
        Some(self.holds.bytes(self.runs.number_of(run)?))
    }

    #[cfg(test)]
    pub(super) fn bells(&self) -> usize {
        self.waiters.bells()
    }

    fn find(&self, run: &RunId) -> Result<&Entry, StoreError> {
        let found = self.runs.find(run).map(|(_, entry)| entry);
        found.ok_or_else(|| StoreError::NotFound { run: run.clone() })
    }

    fn head_of(&self, run: RunNo, entry: &Entry) -> Head {
        let owner = self.owners.get(entry.owner);
        let session = self.sessions.of(run).cloned();
        Head { agent: owner.agent.clone(), tenant: owner.tenant.clone(), session, ..entry.head() }
    }
}
