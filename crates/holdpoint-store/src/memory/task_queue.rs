//! What workers do with tasks.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_core::{CallKey, RunId, Timestamp};

use super::MemoryStore;
use super::queue::{CallPlace, Task, TaskNo};
use super::table::Table;
use crate::{
    Agents, DUE_LIMIT_MAX, DeliveredTask, LEASE_LIMIT_MAX, LeaseRequest, LeaseState, LeasedTask, List, Page, Release,
    Scope, StoreError, TaskCompletion, TaskFilter, TaskHead, TaskLease, TaskQueue, Topic, is_paused, page_size,
};

impl Table {
    /// The task if this lease of it is the current one, or the one under which its result came.
    fn leased_task(&self, lease: &TaskLease) -> Option<TaskNo> {
        let (number, task) = self.queue.at(self.place_of(&lease.key)?)?;
        (task.head.state.fence() == Some(lease.fence)).then_some(number)
    }

    pub(super) fn place_of(&self, key: &CallKey) -> Option<CallPlace> {
        Some((self.runs.number_of(&key.run)?, key.turn, key.index))
    }
}

#[async_trait]
impl TaskQueue for MemoryStore {
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError> {
        let (now, limit) = (self.clock.lease_moment(), request.limit.min(LEASE_LIMIT_MAX));
        let lanes: HashSet<_> = request.tools.iter().collect();
        let queue = &mut self.table().queue;
        let mut found: Vec<(Timestamp, TaskNo)> = Vec::new();
        for lane in lanes {
            let available = queue.available(lane, now).filter(|(_, _, task)| request.may_lease(&task.head, now));
            found.extend(available.take(limit).map(|(at, number, _)| (at, number)));
        }
        found.sort_unstable();
        found.truncate(limit);
        let mut leased = Vec::with_capacity(found.len());
        for (_, number) in found {
            let fence = queue.next_fence();
            queue.change(number, |task| {
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
            table.queue.change(number, |task| task.head.renew(lease_ms, now));
            LeaseState::Held
        };
        Ok(leases.iter().map(renew).collect())
    }

    async fn complete(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError> {
        let mut table = self.table();
        let Some(number) = table.leased_task(lease) else { return Ok(TaskCompletion::LeaseLost) };
        let delivery = table.queue.next_delivery();
        let mut completion = TaskCompletion::Present;
        table.queue.change(number, |task| {
            completion = task.head.complete();
            if completion == TaskCompletion::Stored {
                task.result = Some((delivery, result.into()));
            }
        });
        drop(table);
        if completion == TaskCompletion::Stored {
            self.notifier.notify(Topic::Runs);
        }
        Ok(completion)
    }

    async fn completed(&self, run: &RunId) -> Result<Vec<DeliveredTask>, StoreError> {
        let table = self.table();
        let Some(run) = table.runs.number_of(run) else { return Ok(Vec::new()) };
        let with_result = |task: &Task| {
            let (_, result) = task.result.as_ref()?;
            Some(DeliveredTask { task: task.head.clone(), result: Arc::clone(result) })
        };
        Ok(table.queue.delivered(run).filter_map(with_result).collect())
    }

    async fn collectable(&self, agents: &Agents, limit: usize) -> Result<Vec<RunId>, StoreError> {
        let table = self.table();
        let owners = table.owners.of_agents(agents);
        let runs = table.queue.runs_with_results().filter_map(|run| table.runs.get(run));
        let paused = runs.filter(|entry| is_paused(entry.status) && owners.contains(entry.owner));
        Ok(paused.take(limit.min(DUE_LIMIT_MAX)).map(|entry| entry.run.clone()).collect())
    }

    async fn release(&self, lease: &TaskLease, how: Release) -> Result<LeaseState, StoreError> {
        let now = self.clock.lease_moment();
        let mut table = self.table();
        let Some(number) = table.leased_task(lease) else { return Ok(LeaseState::Lost) };
        let mut state = LeaseState::Lost;
        table.queue.change(number, |task| state = task.head.release(how, now));
        drop(table);
        if state == LeaseState::Held {
            self.notifier.notify(Topic::Tasks);
        }
        Ok(state)
    }

    async fn lapsed(&self, agents: &Agents, limit: usize) -> Result<Vec<TaskHead>, StoreError> {
        let now = self.clock.lease_moment();
        let table = self.table();
        let ours = table.queue.lapsed(now).filter(|task| agents.contains(&task.head.agent));
        Ok(ours.take(limit.min(DUE_LIMIT_MAX)).map(|task| task.head.clone()).collect())
    }

    async fn find(&self, scope: &Scope, key: &CallKey) -> Result<Option<TaskHead>, StoreError> {
        let table = self.table();
        let task = table.place_of(key).and_then(|place| table.queue.at(place)).map(|(_, task)| &task.head);
        Ok(task.filter(|task| scope.covers(task.tenant.as_deref())).cloned())
    }

    async fn list(&self, filter: &TaskFilter) -> Result<Page<TaskHead>, StoreError> {
        let [from] = List::Tasks.position(filter.cursor.as_ref(), [0])?;
        let table = self.table();
        let tasks = table.queue.from(TaskNo(from)).filter(|(_, task)| filter.matches(&task.head));
        let heads = tasks.map(|(number, task)| Ok(([number.0], task.head.clone())));
        Page::collect(List::Tasks, page_size(filter.limit), heads)
    }
}
