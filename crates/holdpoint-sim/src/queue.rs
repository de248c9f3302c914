//! The simulated queue: calls that were handed out, who has them, and what was brought. It changes with the commits of
//! the runs, all or nothing.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use holdpoint_codec::tasks::encode_task;
use holdpoint_core::planted::{self, Bug};
use holdpoint_core::{Attempt, CallIndex, CallState, Repeat, Run, Timestamp, Turn};

use crate::disk::Slot;

/// A call of a log.
pub(crate) type Place = (Slot, Turn, CallIndex);

/// All tasks. A call has one exactly as long as somebody outside must do it.
#[derive(Default)]
pub(crate) struct Queue {
    tasks: BTreeMap<Place, Task>,
    fences: u64,
    begun: HashSet<u64>,
}

/// A call that was handed out.
pub(crate) struct Task {
    pub(crate) body: Vec<u8>,
    pub(crate) repeat: Repeat,
    /// How often it was started; a lease counts from its beginning.
    pub(crate) attempts: Attempt,
    pub(crate) attempts_max: Attempt,
    pub(crate) deadline: Option<Timestamp>,
    pub(crate) state: State,
}

/// Where a task is.
#[derive(Clone)]
pub(crate) enum State {
    Waiting { available_at: Timestamp },
    Leased(Lease),
    Delivered(Lease, Vec<u8>),
}

/// A worker has a task.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    pub(crate) place: Place,
    /// Never used twice.
    pub(crate) fence: u64,
    pub(crate) attempt: Attempt,
    pub(crate) worker: Arc<str>,
    pub(crate) since: Timestamp,
    pub(crate) until: Timestamp,
}

/// What must be true of the tasks that a commit closes.
#[derive(Clone, Debug)]
pub(crate) enum Guards {
    Any,
    /// Nobody has them.
    Waiting,
    /// These leases are the current ones; about other tasks nothing is said.
    Leases(Vec<(Place, u64)>),
}

/// What a commit does to the queue.
pub(crate) struct Changes {
    closed: Vec<Place>,
    opened: Vec<(Place, Task)>,
}

impl Changes {
    /// From the run as it was durable to the run as it will be.
    pub(crate) fn between(slot: Slot, (before, after): (&Run, &Run), now: Timestamp) -> Self {
        let (out, stays) = (deferred(before), deferred(after));
        let closed = out.iter().filter(|(place, attempt)| stays.get(place) != Some(attempt));
        let opened = stays.iter().filter(|(place, attempt)| out.get(place) != Some(attempt));
        let opened = opened.filter_map(|((turn, index), attempt)| {
            Some(((slot, *turn, *index), task(after, (*index, *attempt), now)?))
        });
        Self { closed: closed.map(|((turn, index), _)| (slot, *turn, *index)).collect(), opened: opened.collect() }
    }
}

fn deferred(run: &Run) -> BTreeMap<(Turn, CallIndex), Attempt> {
    let out = run.deferred().map(|(index, call)| ((run.turn(), index), call.attempts));
    out.collect()
}

fn task(run: &Run, (index, attempt): (CallIndex, Attempt), now: Timestamp) -> Option<Task> {
    let call = run.call(index)?;
    let CallState::Deferred { deadline, .. } = call.state else { return None };
    let before = attempt.0.saturating_sub(1);
    Some(Task {
        body: encode_task(run, index)?,
        repeat: call.tool.as_ref()?.repeat,
        attempts: Attempt(before),
        attempts_max: Attempt(before + run.settings().task_attempts_max),
        deadline,
        state: State::Waiting { available_at: now },
    })
}

impl Queue {
    /// Whether the guards hold.
    pub(crate) fn allows(&self, changes: &Changes, guards: &Guards) -> bool {
        changes.closed.iter().all(|place| match (guards, self.tasks.get(place).map(|task| &task.state)) {
            (Guards::Any, _) => true,
            (Guards::Waiting, state) => {
                matches!(state, Some(State::Waiting { .. }) | None) || planted::active(Bug::ExpireTaken)
            }
            (Guards::Leases(leases), state) => {
                let wanted = leases.iter().find(|(other, _)| other == place).map(|(_, fence)| *fence);
                let current = match state {
                    Some(State::Leased(lease) | State::Delivered(lease, _)) => Some(lease.fence),
                    Some(State::Waiting { .. }) | None => None,
                };
                wanted.is_none() || wanted == current
            }
        })
    }

    pub(crate) fn apply(&mut self, changes: Changes) {
        for place in changes.closed {
            self.tasks.remove(&place);
        }
        self.tasks.extend(changes.opened);
    }

    pub(crate) fn get(&self, place: &Place) -> Option<&Task> {
        self.tasks.get(place)
    }

    pub(crate) fn of(&self, slot: Slot) -> impl Iterator<Item = (&Place, &Task)> {
        self.tasks.iter().filter(move |(place, _)| place.0 == slot)
    }

    /// The tasks that can be leased.
    pub(crate) fn waiting(&self, now: Timestamp) -> Vec<Place> {
        let waits = |task: &Task| matches!(task.state, State::Waiting { available_at } if available_at <= now);
        let in_time = |task: &Task| task.deadline.is_none_or(|deadline| deadline > now);
        self.tasks.iter().filter(|(_, task)| waits(task) && in_time(task)).map(|(place, _)| *place).collect()
    }

    /// The leases that nobody prolonged.
    pub(crate) fn lapsed(&self, now: Timestamp) -> Vec<Lease> {
        let leases = self.tasks.values().filter_map(|task| match &task.state {
            State::Leased(lease) if lease.until <= now => Some(lease.clone()),
            State::Leased(_) | State::Waiting { .. } | State::Delivered(..) => None,
        });
        leases.collect()
    }

    /// Gives a task to a worker.
    pub(crate) fn lease(
        &mut self,
        place: Place,
        worker: Arc<str>,
        (since, until): (Timestamp, Timestamp),
    ) -> Option<Lease> {
        let task = self.tasks.get_mut(&place)?;
        self.fences += 1;
        task.attempts = task.attempts.next();
        let until = task.deadline.map_or(until, |deadline| until.min(deadline));
        let lease = Lease { place, fence: self.fences, attempt: task.attempts, worker, since, until };
        task.state = State::Leased(lease.clone());
        Some(lease)
    }

    /// The task under this lease, if it is the current one.
    fn held(&mut self, lease: &Lease) -> Option<&mut Task> {
        let task = self.tasks.get_mut(&lease.place)?;
        let held = matches!(&task.state, State::Leased(current) if current.fence == lease.fence);
        held.then_some(task)
    }

    /// Whether this worker may start now: once for each lease that it still has.
    pub(crate) fn begin(&mut self, lease: &Lease) -> bool {
        self.held(lease).is_some() && self.begun.insert(lease.fence)
    }

    /// Prolongs a lease that is still the current one.
    pub(crate) fn prolong(&mut self, lease: &Lease, until: Timestamp) {
        if let Some(task) = self.held(lease) {
            let until = task.deadline.map_or(until, |deadline| until.min(deadline));
            task.state = State::Leased(Lease { until, ..lease.clone() });
        }
    }

    /// A worker had not started: the attempt does not count.
    pub(crate) fn give_back(&mut self, lease: &Lease, now: Timestamp) -> bool {
        let Some(task) = self.held(lease) else { return false };
        task.attempts = Attempt(task.attempts.0 - 1);
        task.state = State::Waiting { available_at: now };
        true
    }

    /// It may be started again.
    pub(crate) fn retry(&mut self, lease: &Lease, available_at: Timestamp) {
        if let Some(task) = self.held(lease) {
            task.state = State::Waiting { available_at };
        }
    }

    /// Takes a result. Returns whether the lease was the current one.
    pub(crate) fn deliver(&mut self, lease: &Lease, result: Vec<u8>) -> bool {
        let Some(task) = self.tasks.get_mut(&lease.place) else { return false };
        match &task.state {
            State::Leased(current) if current.fence == lease.fence || planted::active(Bug::IgnoreFence) => {
                task.state = State::Delivered(current.clone(), result);
                true
            }
            // It came before.
            State::Delivered(current, _) => current.fence == lease.fence,
            State::Leased(_) | State::Waiting { .. } => false,
        }
    }
}
