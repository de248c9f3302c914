//! What workers do with tasks.

use std::collections::HashSet;
use std::sync::Arc;

use holdpoint_core::{Attempt, CallKey, RunId, Status, Timestamp};

use super::queue::{CallPlace, Task, TaskNo};
use super::table::Table;
use crate::{
    Agents, DeliveredTask, LEASE_LIMIT_MAX, LEASE_MS_MAX, LeaseRequest, LeaseState, LeasedTask, List, Page, Release,
    StoreError, TaskCompletion, TaskFilter, TaskHead, TaskLease, TaskState, page_size,
};

impl Table {
    pub(super) fn lease(&mut self, request: &LeaseRequest, now: Timestamp) -> Vec<LeasedTask> {
        let limit = request.limit.min(LEASE_LIMIT_MAX);
        let lanes: HashSet<_> = request.tools.iter().collect();
        let mut found: Vec<(Timestamp, TaskNo)> = Vec::new();
        for lane in lanes {
            let available = self.queue.available(lane, now);
            let fitting = available.filter(|(_, _, task)| may_lease(task, request, now));
            found.extend(fitting.take(limit).map(|(at, number, _)| (at, number)));
        }
        found.sort_unstable();
        found.truncate(limit);
        found.into_iter().filter_map(|(_, number)| self.take(number, request, now)).collect()
    }

    fn take(&mut self, number: TaskNo, request: &LeaseRequest, now: Timestamp) -> Option<LeasedTask> {
        let fence = self.queue.next_fence();
        self.queue.change(number, |task| {
            task.head.attempts = task.head.attempts.next();
            let until = lease_end(&task.head, request.lease_ms, now);
            let (worker, lease_ms) = (Arc::clone(&request.worker), request.lease_ms.min(LEASE_MS_MAX));
            task.head.state = TaskState::Leased { worker, fence, since: now, until, lease_ms };
        });
        let task = self.queue.get(number)?;
        let lease = TaskLease { key: task.head.key.clone(), fence };
        Some(LeasedTask { lease, task: task.head.clone(), body: Arc::clone(&task.body) })
    }

    pub(super) fn heartbeat(&mut self, lease: &TaskLease, lease_ms: u64, now: Timestamp) -> LeaseState {
        let Some(number) = self.leased_task(lease) else { return LeaseState::Lost };
        self.queue.change(number, |task| {
            let end = lease_end(&task.head, lease_ms, now);
            if let TaskState::Leased { until, lease_ms: length, .. } = &mut task.head.state {
                (*until, *length) = (end, lease_ms.min(LEASE_MS_MAX));
            }
        });
        LeaseState::Held
    }

    /// Delivering again under the same lease is what somebody does who did not hear the answer: the first result stays.
    pub(super) fn deliver(&mut self, lease: &TaskLease, result: Vec<u8>) -> TaskCompletion {
        let Some(number) = self.leased_task(lease) else { return TaskCompletion::LeaseLost };
        let delivery = self.queue.next_delivery();
        let mut completion = TaskCompletion::Present;
        self.queue.change(number, |task| {
            if let TaskState::Leased { worker, fence, since, .. } = &task.head.state {
                task.head.state = TaskState::Delivered { worker: Arc::clone(worker), fence: *fence, since: *since };
                task.result = Some((delivery, result.into()));
                completion = TaskCompletion::Stored;
            }
        });
        completion
    }

    pub(super) fn release(&mut self, lease: &TaskLease, how: Release, now: Timestamp) -> LeaseState {
        let Some(number) = self.leased_task(lease) else { return LeaseState::Lost };
        let mut state = LeaseState::Lost;
        self.queue.change(number, |task| {
            // A result stays where it is.
            let TaskState::Leased { until, .. } = task.head.state else { return };
            let available_at = match how {
                Release::Unstarted => {
                    task.head.attempts = Attempt(task.head.attempts.0.saturating_sub(1));
                    now
                }
                Release::Retry { delay_ms } => now.plus_ms(delay_ms),
                Release::Lapsed { .. } if until > now => return,
                Release::Lapsed { delay_ms } => now.plus_ms(delay_ms),
            };
            task.head.state = TaskState::Waiting { available_at };
            state = LeaseState::Held;
        });
        state
    }

    pub(super) fn delivered(&self, run: &RunId) -> Vec<DeliveredTask> {
        let Some(run) = self.runs.number_of(run) else { return Vec::new() };
        let with_result = |task: &Task| {
            let (_, result) = task.result.as_ref()?;
            Some(DeliveredTask { task: task.head.clone(), result: Arc::clone(result) })
        };
        self.queue.delivered(run).filter_map(with_result).collect()
    }

    pub(super) fn arrivals(&self, agents: &Agents, limit: usize) -> Vec<RunId> {
        let owners = self.owners.of_agents(agents);
        let runs = self.queue.runs_with_results().filter_map(|run| self.runs.get(run));
        let arrived = runs.filter(|entry| is_paused(entry.status) && owners.contains(entry.owner));
        arrived.take(limit).map(|entry| entry.run.clone()).collect()
    }

    pub(super) fn lapsed(&self, agents: &Agents, now: Timestamp, limit: usize) -> Vec<TaskHead> {
        let ours = self.queue.lapsed(now).filter(|task| agents.contains(&task.head.agent));
        ours.take(limit).map(|task| task.head.clone()).collect()
    }

    pub(super) fn task(&self, key: &CallKey) -> Option<TaskHead> {
        self.queue.at(self.place_of(key)?).map(|(_, task)| task.head.clone())
    }

    pub(super) fn tasks(&self, filter: &TaskFilter) -> Result<Page<TaskHead>, StoreError> {
        let [from] = List::Tasks.position(filter.cursor.as_ref(), [0])?;
        let tasks = self.queue.from(TaskNo(from)).filter(|(_, task)| filter.matches(&task.head));
        Page::collect(
            List::Tasks,
            page_size(filter.limit),
            tasks.map(|(number, task)| Ok(([number.0], task.head.clone()))),
        )
    }

    /// The task if this lease of it is the current one, or the one under which its result came.
    fn leased_task(&self, lease: &TaskLease) -> Option<TaskNo> {
        let (number, task) = self.queue.at(self.place_of(&lease.key)?)?;
        task.has_fence(lease.fence).then_some(number)
    }

    pub(super) fn place_of(&self, key: &CallKey) -> Option<CallPlace> {
        Some((self.runs.number_of(&key.run)?, key.turn, key.index))
    }
}

/// A lease of a task past its deadline would be over before it began.
fn may_lease(task: &Task, request: &LeaseRequest, now: Timestamp) -> bool {
    request.tenant.as_ref().is_none_or(|tenant| Some(tenant) == task.head.tenant.as_ref())
        && task.head.deadline.is_none_or(|deadline| deadline > now)
}

fn lease_end(task: &TaskHead, lease_ms: u64, now: Timestamp) -> Timestamp {
    let end = now.plus_ms(lease_ms.min(LEASE_MS_MAX));
    task.deadline.map_or(end, |deadline| end.min(deadline))
}

pub(super) fn is_paused(status: Status) -> bool {
    match status {
        Status::AwaitingToolConfirmation | Status::AwaitingToolResults => true,
        Status::Running | Status::Finished | Status::Failed | Status::Cancelled => false,
    }
}
