//! The queue of the model: calls that were handed out, who has them, and what was brought. It changes with the commits of
//! the runs, all or nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use holdpoint_core::{Attempt, Timestamp};
use holdpoint_store::{Fence, Release, TaskChange, TaskGuard, TaskOpening};

use crate::disk::Slot;
use crate::mistake::Mistake;
use crate::storage::{Delivered, Grip, Lease, Leased, Place, State, Task, Wanted};

/// All tasks. A call has one exactly as long as somebody outside must do it.
pub(crate) struct Queue {
    mistake: Option<Mistake>,
    tasks: BTreeMap<Place, Entry>,
    opened: u64,
    fences: u64,
    deliveries: u64,
}

struct Entry {
    /// The first opened has the lowest.
    number: u64,
    task: Task,
    body: Arc<[u8]>,
    /// The first delivered has the lowest number.
    result: Option<(u64, Arc<[u8]>)>,
}

impl Queue {
    pub(crate) fn new(mistake: Option<Mistake>) -> Self {
        Self { mistake, tasks: BTreeMap::new(), opened: 0, fences: 0, deliveries: 0 }
    }

    /// Whether the guards hold.
    pub(crate) fn allows(&self, slot: Slot, changes: &[TaskChange], now: Timestamp) -> bool {
        changes.iter().all(|change| match change {
            TaskChange::Open(_) => true,
            TaskChange::Close { turn, index, guard } => {
                let place = Place { slot, turn: *turn, call: *index };
                let task = self.tasks.get(&place).map(|entry| entry.task.guarded());
                let ignored = *guard == TaskGuard::Waiting && self.mistake == Some(Mistake::ExpiresTaken);
                guard.holds(task.as_ref(), now) || ignored
            }
        })
    }

    /// Does what a commit says. The tasks that it opens can be leased from now on.
    pub(crate) fn apply(&mut self, slot: Slot, agent: &Arc<str>, changes: Vec<TaskChange>, now: Timestamp) {
        for change in changes {
            match change {
                TaskChange::Close { turn, index, .. } => {
                    self.tasks.remove(&Place { slot, turn, call: index });
                }
                TaskChange::Open(opening) => self.open(slot, agent, *opening, now),
            }
        }
    }

    fn open(&mut self, slot: Slot, agent: &Arc<str>, opening: TaskOpening, now: Timestamp) {
        let place = Place { slot, turn: opening.turn, call: opening.index };
        let task = Task {
            place,
            lane: (Arc::clone(agent), opening.tool),
            repeat: opening.repeat,
            attempts: opening.attempts,
            attempts_max: opening.attempts_max,
            deadline: opening.deadline,
            state: State::Waiting { available_at: now },
        };
        self.opened += 1;
        self.tasks.insert(place, Entry { number: self.opened, task, body: opening.body.into(), result: None });
    }

    pub(crate) fn get(&self, place: Place) -> Option<&Task> {
        self.tasks.get(&place).map(|entry| &entry.task)
    }

    /// The first opened first.
    pub(crate) fn all(&self) -> Vec<Task> {
        let mut entries: Vec<&Entry> = self.tasks.values().collect();
        entries.sort_by_key(|entry| entry.number);
        entries.into_iter().map(|entry| entry.task.clone()).collect()
    }

    /// The leases that nobody prolonged.
    pub(crate) fn lapsed(&self, now: Timestamp) -> Vec<Task> {
        let tasks = self.tasks.values().map(|entry| &entry.task);
        let lapsed = tasks.filter(|task| matches!(task.state, State::Leased { until, .. } if until <= now));
        lapsed.cloned().collect()
    }

    /// Gives tasks to a worker.
    pub(crate) fn lease(&mut self, wanted: &Wanted, now: Timestamp) -> Vec<Leased> {
        let fitting = |entry: &&mut Entry| entry.task.can_be_leased(now) && wanted.lanes.contains(&entry.task.lane);
        let mut waiting: Vec<&mut Entry> = self.tasks.values_mut().filter(fitting).collect();
        waiting.sort_by_key(|entry| match entry.task.state {
            State::Waiting { available_at } => (available_at, entry.number),
            State::Leased { .. } | State::Delivered(_) => (now, entry.number),
        });
        let mut leased = Vec::new();
        for entry in waiting.into_iter().take(wanted.limit) {
            self.fences += 1;
            let task = &mut entry.task;
            task.attempts = task.attempts.next();
            let lease = Lease {
                place: task.place,
                fence: Fence(self.fences),
                attempt: task.attempts,
                worker: Arc::clone(&wanted.worker),
                since: now,
            };
            task.state = State::Leased { lease: lease.clone(), until: task.until(now, wanted.lease_ms) };
            leased.push(Leased { lease, body: Arc::clone(&entry.body) });
        }
        leased
    }

    /// The task under this lease, if it is the current one and nothing was brought.
    fn held(&mut self, lease: &Lease) -> Option<&mut Task> {
        let task = &mut self.tasks.get_mut(&lease.place)?.task;
        let held = task.leased().is_some_and(|current| current.fence == lease.fence);
        held.then_some(task)
    }

    /// Prolongs a lease that is still the current one.
    pub(crate) fn prolong(&mut self, lease: &Lease, now: Timestamp, lease_ms: u64) -> Grip {
        let Some(task) = self.held(lease) else { return Grip::Lost };
        task.state = State::Leased { lease: lease.clone(), until: task.until(now, lease_ms) };
        Grip::Held
    }

    /// A lease ends without a result.
    pub(crate) fn release(&mut self, lease: &Lease, how: Release, now: Timestamp) -> Grip {
        let Some(task) = self.held(lease) else { return Grip::Lost };
        let available_at = match how {
            Release::Unstarted => {
                task.attempts = Attempt(task.attempts.0 - 1);
                now
            }
            Release::Retry { delay_ms } => now.plus_ms(delay_ms),
            Release::Lapsed { .. } if matches!(task.state, State::Leased { until, .. } if until > now) => {
                return Grip::Lost;
            }
            Release::Lapsed { delay_ms } => now.plus_ms(delay_ms),
        };
        task.state = State::Waiting { available_at };
        Grip::Held
    }

    /// Takes a result, if the lease is the current one.
    pub(crate) fn deliver(&mut self, lease: &Lease, result: Vec<u8>) -> Grip {
        let Some(entry) = self.tasks.get_mut(&lease.place) else { return Grip::Lost };
        match &entry.task.state {
            State::Leased { lease: current, .. }
                if current.fence == lease.fence || self.mistake == Some(Mistake::IgnoresFence) =>
            {
                self.deliveries += 1;
                entry.result = Some((self.deliveries, result.into()));
                entry.task.state = State::Delivered(current.clone());
                Grip::Held
            }
            // It came before.
            State::Delivered(current) if current.fence == lease.fence => Grip::Held,
            State::Leased { .. } | State::Waiting { .. } | State::Delivered(_) => Grip::Lost,
        }
    }

    /// What was brought for a log, the first delivered first.
    pub(crate) fn delivered(&self, slot: Slot) -> Vec<Delivered> {
        let entries = self.tasks.values().filter(|entry| entry.task.place.slot == slot);
        let mut found: Vec<(u64, Delivered)> = entries
            .filter_map(|entry| match (&entry.task.state, &entry.result) {
                (State::Delivered(lease), Some((number, result))) => {
                    let (task, lease, result) = (entry.task.clone(), lease.clone(), Arc::clone(result));
                    Some((*number, Delivered { task, lease, result }))
                }
                _ => None,
            })
            .collect();
        found.sort_by_key(|(number, _)| *number);
        found.into_iter().map(|(_, delivered)| delivered).collect()
    }
}

impl Task {
    /// When a lease that begins now ends: never after the deadline.
    fn until(&self, now: Timestamp, lease_ms: u64) -> Timestamp {
        let until = now.plus_ms(lease_ms);
        self.deadline.map_or(until, |deadline| until.min(deadline))
    }
}
