//! The tasks, and what workers do with them.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_core::{CallIndex, CallKey, RunId, Timestamp, ToolName, Turn};

use super::MemoryStore;
use super::indexed::Keyed;
use super::owners::Owner;
use super::runs::RunNo;
use super::table::Table;
use crate::{
    Agents, CommitError, DUE_LIMIT_MAX, DeliveredTask, Fence, LEASE_LIMIT_MAX, LeaseRequest, LeaseState, LeasedTask,
    List, Page, Release, Scope, StoreError, TaskChange, TaskCompletion, TaskFilter, TaskHead, TaskLease, TaskQueue,
    TaskState, Topic, Transition, is_paused, page_size,
};

/// A call, with the run by its number.
pub(super) type CallPlace = (RunNo, Turn, CallIndex);

/// The calls of a run.
pub(super) fn first_call(run: RunNo) -> CallPlace {
    (run, Turn(0), CallIndex(0))
}

pub(super) fn last_call(run: RunNo) -> CallPlace {
    (run, Turn(u32::MAX), CallIndex(u32::MAX))
}

pub(super) struct Task {
    place: CallPlace,
    pub(super) head: TaskHead,
    pub(super) body: Arc<[u8]>,
    /// The result with its number among all results. There exactly while the state is `Delivered`.
    result: Option<(u64, Arc<[u8]>)>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TaskKey {
    Call(CallPlace),
    /// Of an agent's tool, available from this moment on.
    Waiting(Arc<str>, ToolName, Timestamp),
    /// By the end of the lease.
    Leased(Timestamp),
    /// By run and by the number of the result.
    Delivered(RunNo, u64),
}

impl Keyed for Task {
    type Key = TaskKey;

    fn keys(&self) -> impl Iterator<Item = TaskKey> {
        let Self { place, head, result, .. } = self;
        let state = match &head.state {
            TaskState::Waiting { available_at } => {
                TaskKey::Waiting(Arc::clone(&head.agent), head.tool.clone(), *available_at)
            }
            TaskState::Leased { until, .. } => TaskKey::Leased(*until),
            TaskState::Delivered { .. } => {
                TaskKey::Delivered(place.0, result.as_ref().map_or(0, |(delivery, _)| *delivery))
            }
        };
        [TaskKey::Call(*place), state].into_iter()
    }
}

impl Task {
    /// When it can be leased.
    fn ready_at(&self, now: Timestamp) -> Timestamp {
        if let TaskState::Waiting { available_at } = self.head.state { available_at } else { now }
    }
}

impl Table {
    pub(super) fn check_guards(&self, run: RunNo, changes: &[TaskChange], now: Timestamp) -> Result<(), CommitError> {
        let holds = |change: &TaskChange| match change {
            TaskChange::Open(_) => true,
            TaskChange::Close { turn, index, guard } => {
                let task = self.tasks.find(&TaskKey::Call((run, *turn, *index)));
                guard.holds(task.map(|(_, task)| &task.head.state), now)
            }
        };
        if changes.iter().all(holds) { Ok(()) } else { Err(CommitError::LeaseLost) }
    }

    /// Opens and closes the tasks of a transition. A new task takes the place of the one that the call may have.
    pub(super) fn change_tasks(
        &mut self,
        number: RunNo,
        run: &RunId,
        owner: &Owner,
        step: &Transition,
        now: Timestamp,
    ) {
        for change in &step.tasks {
            let (turn, index) = change.place();
            let place = (number, turn, index);
            self.tasks.remove_range(TaskKey::Call(place), TaskKey::Call(place));
            if let TaskChange::Open(opening) = change {
                let key = CallKey { run: run.clone(), turn, index };
                let agent = owner.agent.clone().unwrap_or_default();
                let head = opening.head(key, agent, owner.tenant.clone(), step.at, now);
                self.tasks.add(Task { place, head, body: opening.body.as_slice().into(), result: None });
            }
        }
    }

    /// The task if this lease of it is the current one, or the one under which its result came.
    fn leased_task(&self, lease: &TaskLease) -> Option<i64> {
        let (number, task) = self.tasks.find(&TaskKey::Call(self.place_of(&lease.key)?))?;
        (task.head.state.fence() == Some(lease.fence)).then_some(number)
    }

    pub(super) fn place_of(&self, key: &CallKey) -> Option<CallPlace> {
        Some((self.runs.number_of(&key.run)?, key.turn, key.index))
    }

    fn next_fence(&mut self) -> Fence {
        self.fences += 1;
        Fence(self.fences)
    }

    /// The tasks of an agent's tool that can be leased, the first available first.
    fn available(&self, agent: &Arc<str>, tool: &ToolName, now: Timestamp) -> impl Iterator<Item = (i64, &Task)> {
        let key = |at| TaskKey::Waiting(Arc::clone(agent), tool.clone(), at);
        self.tasks.range(key(Timestamp(i64::MIN)), key(now))
    }
}

#[async_trait]
impl TaskQueue for MemoryStore {
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError> {
        let (now, limit) = (self.clock.lease_moment(), request.limit.min(LEASE_LIMIT_MAX));
        let mut table = self.table();
        let mut found = Vec::new();
        for (agent, tool) in request.tools.iter().collect::<HashSet<_>>() {
            let available = table.available(agent, tool, now).filter(|(_, task)| request.may_lease(&task.head, now));
            found.extend(available.take(limit).map(|(number, task)| (task.ready_at(now), number)));
        }
        found.sort_unstable();
        found.truncate(limit);
        let mut leased = Vec::with_capacity(found.len());
        for (_, number) in found {
            let fence = table.next_fence();
            table.tasks.change(number, |task| {
                task.head.lease_to(&request.worker, fence, request.lease_ms, now);
                let lease = TaskLease { key: task.head.key.clone(), fence };
                leased.push(LeasedTask { lease, task: task.head.clone(), body: Arc::clone(&task.body) });
            });
        }
        Ok(leased)
    }

    async fn heartbeat(&self, leases: &[TaskLease], lease_ms: u64) -> Result<Vec<LeaseState>, StoreError> {
        let now = self.clock.lease_moment();
        let mut table = self.table();
        let renew = |lease| {
            let Some(number) = table.leased_task(lease) else { return LeaseState::Lost };
            table.tasks.change(number, |task| task.head.renew(lease_ms, now));
            LeaseState::Held
        };
        Ok(leases.iter().map(renew).collect())
    }

    async fn complete(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError> {
        let mut table = self.table();
        let Some(number) = table.leased_task(lease) else { return Ok(TaskCompletion::LeaseLost) };
        let delivery = table.next_fence().0;
        let completion = table.tasks.change(number, |task| {
            let completion = task.head.complete();
            if completion == TaskCompletion::Stored {
                task.result = Some((delivery, result.into()));
            }
            completion
        });
        drop(table);
        if completion == Some(TaskCompletion::Stored) {
            self.notifier.notify(Topic::Runs);
        }
        Ok(completion.unwrap_or(TaskCompletion::LeaseLost))
    }

    async fn completed(&self, run: &RunId) -> Result<Vec<DeliveredTask>, StoreError> {
        let table = self.table();
        let Some(run) = table.runs.number_of(run) else { return Ok(Vec::new()) };
        let delivered = table.tasks.range(TaskKey::Delivered(run, 0), TaskKey::Delivered(run, u64::MAX));
        let with_result = |(_, task): (i64, &Task)| {
            let (_, result) = task.result.as_ref()?;
            Some(DeliveredTask { task: task.head.clone(), result: Arc::clone(result) })
        };
        Ok(delivered.filter_map(with_result).collect())
    }

    async fn collectable(&self, agents: &Agents, limit: usize) -> Result<Vec<RunId>, StoreError> {
        let table = self.table();
        let delivered =
            table.tasks.range(TaskKey::Delivered(RunNo(0), 0), TaskKey::Delivered(RunNo(i64::MAX), u64::MAX));
        let mut runs: Vec<RunNo> = delivered.map(|(_, task)| task.place.0).collect();
        runs.dedup();
        let ours = runs.into_iter().filter_map(|run| table.runs.get(run));
        let ours = ours.filter(|entry| is_paused(entry.status) && table.owners.is_of(entry.owner, agents));
        Ok(ours.take(limit.min(DUE_LIMIT_MAX)).map(|entry| entry.run.clone()).collect())
    }

    async fn release(&self, lease: &TaskLease, how: Release) -> Result<LeaseState, StoreError> {
        let now = self.clock.lease_moment();
        let mut table = self.table();
        let Some(number) = table.leased_task(lease) else { return Ok(LeaseState::Lost) };
        let state = table.tasks.change(number, |task| task.head.release(how, now));
        drop(table);
        if state == Some(LeaseState::Held) {
            self.notifier.notify(Topic::Tasks);
        }
        Ok(state.unwrap_or(LeaseState::Lost))
    }

    async fn lapsed(&self, agents: &Agents, limit: usize) -> Result<Vec<TaskHead>, StoreError> {
        let now = self.clock.lease_moment();
        let table = self.table();
        let lapsed = table.tasks.range(TaskKey::Leased(Timestamp(i64::MIN)), TaskKey::Leased(now));
        let ours = lapsed.map(|(_, task)| &task.head).filter(|task| agents.contains(&task.agent));
        Ok(ours.take(limit.min(DUE_LIMIT_MAX)).cloned().collect())
    }

    async fn find(&self, scope: &Scope, key: &CallKey) -> Result<Option<TaskHead>, StoreError> {
        let table = self.table();
        let task = table.place_of(key).and_then(|place| table.tasks.find(&TaskKey::Call(place)));
        let task = task.map(|(_, task)| &task.head);
        Ok(task.filter(|task| scope.covers(task.tenant.as_deref())).cloned())
    }

    async fn list(&self, filter: &TaskFilter) -> Result<Page<TaskHead>, StoreError> {
        let [from] = List::Tasks.position(filter.cursor.as_ref(), [0])?;
        let table = self.table();
        let tasks = table.tasks.rows().range(from..).filter(|(_, task)| filter.matches(&task.head));
        let heads = tasks.map(|(number, task)| Ok(([*number], task.head.clone())));
        Page::collect(List::Tasks, page_size(filter.limit), heads)
    }
}
