//! The tasks, and the ways to find them: by call, by tool, by the end of their lease, by run.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem::size_of;
use std::ops::Bound;
use std::sync::Arc;

use holdpoint_core::{CallIndex, Timestamp, ToolName, Turn};

use super::runs::RunNo;
use crate::{Fence, TaskHead, TaskState};

/// The number of a task: grows with every task that is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TaskNo(pub(super) i64);

/// The call of a task, with the run by its number.
pub(super) type CallPlace = (RunNo, Turn, CallIndex);

/// An agent's tool.
type Lane = (Arc<str>, ToolName);

/// All tasks. Runs without tasks take nothing here.
#[derive(Default)]
pub(super) struct Queue {
    tasks: BTreeMap<TaskNo, Task>,
    calls: BTreeMap<CallPlace, TaskNo>,
    /// Those that wait, the first available first within a lane. No lane is empty.
    waiting: HashMap<Lane, BTreeSet<(Timestamp, TaskNo)>>,
    /// Those that somebody has, by the end of the lease.
    leased: BTreeSet<(Timestamp, TaskNo)>,
    /// Those with a result, by run, the first delivered first.
    delivered: BTreeMap<(RunNo, u64), TaskNo>,
    opened: i64,
    fences: u64,
    deliveries: u64,
}

/// One task.
pub(super) struct Task {
    pub(super) place: CallPlace,
    pub(super) head: TaskHead,
    pub(super) body: Arc<[u8]>,
    /// The result with its number among all results. There exactly while the state is `Delivered`.
    pub(super) result: Option<(u64, Arc<[u8]>)>,
}

impl Task {
    fn lane(&self) -> Lane {
        (Arc::clone(&self.head.agent), self.head.tool.clone())
    }
}

impl Queue {
    pub(super) fn at(&self, place: CallPlace) -> Option<(TaskNo, &Task)> {
        let number = *self.calls.get(&place)?;
        Some((number, self.tasks.get(&number)?))
    }

    /// Adds a task, in the place of the one that the call may have already.
    pub(super) fn open(&mut self, place: CallPlace, head: TaskHead, body: &[u8]) {
        self.close(place);
        let number = TaskNo(self.opened);
        self.opened += 1;
        let task = Task { place, head, body: body.into(), result: None };
        self.calls.insert(place, number);
        self.link(number, &task);
        self.tasks.insert(number, task);
    }

    /// Takes the task of a call away, if there is one.
    pub(super) fn close(&mut self, place: CallPlace) {
        let Some(number) = self.calls.remove(&place) else { return };
        if let Some(task) = self.tasks.remove(&number) {
            self.unlink(number, &task);
        }
    }

    /// Takes all tasks of a run away.
    pub(super) fn close_run(&mut self, run: RunNo) {
        let places: Vec<CallPlace> = self.calls.range(of_run(run)).map(|(place, _)| *place).collect();
        places.into_iter().for_each(|place| self.close(place));
    }

    /// Moves a task to another state.
    pub(super) fn change(&mut self, number: TaskNo, change: impl FnOnce(&mut Task)) {
        if let Some(mut task) = self.tasks.remove(&number) {
            self.unlink(number, &task);
            change(&mut task);
            self.link(number, &task);
            self.tasks.insert(number, task);
        }
    }

    pub(super) fn next_fence(&mut self) -> Fence {
        self.fences += 1;
        Fence(self.fences)
    }

    pub(super) fn next_delivery(&mut self) -> u64 {
        self.deliveries += 1;
        self.deliveries
    }

    /// The tasks of a lane that can be leased, the first available first.
    pub(super) fn available(&self, lane: &Lane, now: Timestamp) -> impl Iterator<Item = (Timestamp, TaskNo, &Task)> {
        let lane = self.waiting.get(lane).into_iter();
        let until = (now, TaskNo(i64::MAX));
        let waiting = lane.flat_map(move |waiting| waiting.range(..=until));
        waiting.filter_map(|(at, number)| Some((*at, *number, self.tasks.get(number)?)))
    }

    /// The tasks whose lease lapsed, the longest ago first.
    pub(super) fn lapsed(&self, now: Timestamp) -> impl Iterator<Item = &Task> {
        let lapsed = self.leased.range(..=(now, TaskNo(i64::MAX)));
        lapsed.filter_map(|(_, number)| self.tasks.get(number))
    }

    /// The leases that end later than their own length from now, with their end and length.
    pub(super) fn overlong(&self, now: Timestamp) -> impl Iterator<Item = (&Task, Timestamp, u64)> {
        let held = self.leased.range((now, TaskNo(i64::MAX))..).filter_map(|(_, number)| self.tasks.get(number));
        held.filter_map(move |task| match task.head.state {
            TaskState::Leased { until, lease_ms, .. } if until > now.plus_ms(lease_ms) => Some((task, until, lease_ms)),
            TaskState::Leased { .. } | TaskState::Waiting { .. } | TaskState::Delivered { .. } => None,
        })
    }

    /// Ends the lease that ends at `end`. Returns whether there was one.
    pub(super) fn end_lease(&mut self, place: CallPlace, end: Timestamp, now: Timestamp) -> bool {
        let Some((number, task)) = self.at(place) else { return false };
        if !matches!(task.head.state, TaskState::Leased { until, .. } if until == end) {
            return false;
        }
        self.change(number, |task| {
            if let TaskState::Leased { until, .. } = &mut task.head.state {
                *until = now;
            }
        });
        true
    }

    /// The tasks of a run with a result, the first delivered first.
    pub(super) fn delivered(&self, run: RunNo) -> impl Iterator<Item = &Task> {
        let delivered = self.delivered.range((run, 0)..=(run, u64::MAX));
        delivered.filter_map(|(_, number)| self.tasks.get(number))
    }

    /// The runs with results, each once.
    pub(super) fn runs_with_results(&self) -> impl Iterator<Item = RunNo> {
        let mut from = Bound::Unbounded;
        std::iter::from_fn(move || {
            let ((run, _), _) = self.delivered.range((from, Bound::Unbounded)).next()?;
            from = Bound::Excluded((*run, u64::MAX));
            Some(*run)
        })
    }

    /// From that number on, the first opened first.
    pub(super) fn from(&self, start: TaskNo) -> impl Iterator<Item = (TaskNo, &Task)> {
        self.tasks.range(start..).map(|(number, task)| (*number, task))
    }

    /// What the tasks of a run take. Trees have twice as many places as they need, at worst.
    pub(super) fn bytes(&self, run: RunNo) -> usize {
        let places =
            2 * (size_of::<(TaskNo, Task)>() + size_of::<(CallPlace, TaskNo)>() + size_of::<(Timestamp, TaskNo)>());
        let tasks = self.calls.range(of_run(run)).filter_map(|(_, number)| self.tasks.get(number));
        let result = |task: &Task| task.result.as_ref().map_or(0, |(_, result)| result.len());
        tasks.map(|task| places + task.body.len() + result(task)).sum()
    }

    fn link(&mut self, number: TaskNo, task: &Task) {
        match &task.head.state {
            TaskState::Waiting { available_at } => {
                self.waiting.entry(task.lane()).or_default().insert((*available_at, number));
            }
            TaskState::Leased { until, .. } => {
                self.leased.insert((*until, number));
            }
            TaskState::Delivered { .. } => {
                let delivery = task.result.as_ref().map_or(0, |(delivery, _)| *delivery);
                self.delivered.insert((task.place.0, delivery), number);
            }
        }
    }

    fn unlink(&mut self, number: TaskNo, task: &Task) {
        match &task.head.state {
            TaskState::Waiting { available_at } => {
                let lane = task.lane();
                if let Some(waiting) = self.waiting.get_mut(&lane) {
                    waiting.remove(&(*available_at, number));
                    if waiting.is_empty() {
                        self.waiting.remove(&lane);
                    }
                }
            }
            TaskState::Leased { until, .. } => {
                self.leased.remove(&(*until, number));
            }
            TaskState::Delivered { .. } => {
                let delivery = task.result.as_ref().map_or(0, |(delivery, _)| *delivery);
                self.delivered.remove(&(task.place.0, delivery));
            }
        }
    }
}

fn of_run(run: RunNo) -> std::ops::RangeInclusive<CallPlace> {
    (run, Turn(0), CallIndex(0))..=(run, Turn(u32::MAX), CallIndex(u32::MAX))
}
