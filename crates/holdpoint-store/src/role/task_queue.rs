//! Calls that workers do.

use async_trait::async_trait;
use holdpoint_core::{CallKey, RunId};

use crate::{
    Agents, DeliveredTask, LeaseRequest, LeaseState, LeasedTask, Page, Release, Scope, StoreError, TaskCompletion,
    TaskFilter, TaskHead, TaskLease,
};

/// The queue of calls that workers do.
#[async_trait]
pub trait TaskQueue: Send + Sync + 'static {
    /// Takes tasks that wait, the first available first within a tool. Each gets a new fence, and its attempt counts. A task
    /// past its deadline is not leased, and neither is one whose lease lapsed: what becomes of it must be decided first.
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError>;

    /// Prolongs leases of tasks, never beyond the deadline of the task. A lease that lapsed and that nobody else took is
    /// held again. One answer per lease, in order.
    async fn heartbeat(&self, leases: &[TaskLease], lease_ms: u64) -> Result<Vec<LeaseState>, StoreError>;

    /// Keeps the result of a task until the run takes it. From then on nobody leases the task again; it is there until a
    /// commit closes it. Under one lease the first result stays, and delivering again is [`TaskCompletion::Present`].
    async fn complete(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError>;

    /// The results that wait to be taken by this run, the first delivered first.
    async fn completed(&self, run: &RunId) -> Result<Vec<DeliveredTask>, StoreError>;

    /// The runs of these agents that are paused and have results to take, at most `limit` and at most [`crate::DUE_LIMIT_MAX`].
    async fn collectable(&self, agents: &Agents, limit: usize) -> Result<Vec<RunId>, StoreError>;

    /// Gives a task back.
    async fn release(&self, lease: &TaskLease, how: Release) -> Result<LeaseState, StoreError>;

    /// The tasks of these agents whose lease lapsed, the longest ago first: at most `limit` and at most [`crate::DUE_LIMIT_MAX`].
    async fn lapsed(&self, agents: &Agents, limit: usize) -> Result<Vec<TaskHead>, StoreError>;

    /// What is known of a task, or nothing when there is no such task within the scope.
    async fn find(&self, scope: &Scope, key: &CallKey) -> Result<Option<TaskHead>, StoreError>;

    /// One page of the tasks that the filter lets through, the first opened first.
    async fn list(&self, filter: &TaskFilter) -> Result<Page<TaskHead>, StoreError>;
}
