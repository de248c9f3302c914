//! What the rules about tasks share: runs with tasks, and workers who ask for them.

use std::sync::Arc;

use holdpoint_core::{Attempt, CallIndex, CallKey, Repeat, Revision, RunId, Status, Timestamp, ToolName, Turn};

use super::{Checked, expect, must};
use crate::{
    Clock, CommitError, Fence, HeadUpdate, LeaseRequest, LeaseState, LeasedTask, ManualClock, Scope, Store, TaskChange,
    TaskCompletion, TaskGuard, TaskHead, TaskLease, TaskOpening, TaskState, Transition,
};

/// How long the leases of the rules last.
pub(super) const LEASE_MS: u64 = 10_000;

/// The place where tasks are opened and taken: a store with its clock.
pub(super) struct Desk {
    pub(super) store: Store,
    pub(super) clock: Arc<ManualClock>,
}

impl Desk {
    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Lets every lease of the rules lapse.
    pub(super) fn let_leases_lapse(&self) {
        self.clock.advance_ms(LEASE_MS + 1);
    }

    /// A transition of a run that waits for results, with these changes to the queue.
    pub(super) fn step(&self, tasks: Vec<TaskChange>) -> Transition {
        let head = HeadUpdate::new(Status::AwaitingToolResults);
        Transition { tasks, ..Transition::new(vec![b"step".to_vec()], head, self.now()) }
    }

    /// A paused run of one record with these tasks.
    pub(super) async fn open(&self, name: &str, openings: Vec<TaskOpening>) -> Result<RunId, String> {
        self.open_of(name, HeadUpdate::new(Status::AwaitingToolResults), openings).await
    }

    /// A run with this head and these tasks.
    pub(super) async fn open_of(
        &self,
        name: &str,
        head: HeadUpdate,
        openings: Vec<TaskOpening>,
    ) -> Result<RunId, String> {
        let run = RunId::new(name);
        let transition = Transition { head, ..self.step(openings.into_iter().map(opens).collect()) };
        must("opening tasks", self.store.runs.commit(&run, Revision(0), transition).await)?;
        Ok(run)
    }

    /// Closes one task of a run, with this guard.
    pub(super) async fn close(&self, run: &RunId, at: u64, change: TaskChange) -> Result<Revision, CommitError> {
        self.store.runs.commit(run, Revision(at), self.step(vec![change])).await
    }

    /// What a worker gets that has these tools of an agent without a name.
    pub(super) async fn lease(&self, tools: &[&str], limit: usize) -> Result<Vec<LeasedTask>, String> {
        must("lease", self.store.tasks.lease(&wants(tools, limit)).await)
    }

    /// The one task that a worker with this tool gets.
    pub(super) async fn lease_one(&self, tool: &str) -> Result<LeasedTask, String> {
        let leased = self.lease(&[tool], 1).await?;
        leased.into_iter().next().ok_or_else(|| format!("there is no task of `{tool}` to lease"))
    }

    /// Nobody gets a task of this tool.
    pub(super) async fn expect_none(&self, tool: &str, when: &str) -> Checked {
        let leased = self.lease(&[tool], 10).await?;
        expect(leased.is_empty(), || format!("{when}, {leased:?} was leased"))
    }

    pub(super) async fn heartbeat(&self, lease: &TaskLease) -> Result<LeaseState, String> {
        let states = must("heartbeat", self.store.tasks.heartbeat(std::slice::from_ref(lease), LEASE_MS).await)?;
        let [state] = states.as_slice() else { return Err(format!("one heartbeat has the answers {states:?}")) };
        Ok(*state)
    }

    pub(super) async fn deliver(&self, lease: &TaskLease, result: &[u8]) -> Result<TaskCompletion, String> {
        must("deliver", self.store.tasks.complete(lease, result.to_vec()).await)
    }

    pub(super) async fn task(&self, key: &CallKey) -> Result<TaskHead, String> {
        must("task", self.store.tasks.find(&Scope::All, key).await)?.ok_or_else(|| format!("{key:?} has no task"))
    }

    /// The names of the runs with results to take.
    pub(super) async fn arrivals(&self, agents: &[&str], limit: usize) -> Result<Vec<String>, String> {
        let runs = must("arrivals", self.store.tasks.collectable(&agents_named(agents), limit).await)?;
        let mut names: Vec<String> = runs.iter().map(ToString::to_string).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// The calls whose lease lapsed, as their index.
    pub(super) async fn lapsed(&self, agents: &[&str], limit: usize) -> Result<Vec<u32>, String> {
        let tasks = must("lapsed", self.store.tasks.lapsed(&agents_named(agents), limit).await)?;
        Ok(tasks.iter().map(|task| task.key.index.0).collect())
    }
}

/// A task of the first turn that nobody started yet.
pub(super) fn task(index: u32, tool: &str) -> TaskOpening {
    TaskOpening {
        turn: Turn(1),
        index: CallIndex(index),
        tool: ToolName::new(tool),
        attempts: Attempt(0),
        attempts_max: Attempt(3),
        repeat: Repeat::Safe,
        deadline: None,
        body: format!("{tool} {index}").into_bytes(),
    }
}

pub(super) fn opens(opening: TaskOpening) -> TaskChange {
    TaskChange::Open(Box::new(opening))
}

pub(super) fn closes(index: u32, guard: TaskGuard) -> TaskChange {
    TaskChange::Close { turn: Turn(1), index: CallIndex(index), guard }
}

pub(super) fn key(run: &RunId, index: u32) -> CallKey {
    CallKey { run: run.clone(), turn: Turn(1), index: CallIndex(index) }
}

pub(super) fn agents_named(names: &[&str]) -> Vec<Arc<str>> {
    names.iter().map(|name| Arc::from(*name)).collect()
}

/// What a worker with these tools of an agent without a name asks for.
pub(super) fn wants(tools: &[&str], limit: usize) -> LeaseRequest {
    LeaseRequest {
        worker: "worker".into(),
        tools: tools.iter().map(|tool| ("".into(), ToolName::new(*tool))).collect(),
        tenant: None,
        limit,
        lease_ms: LEASE_MS,
    }
}

/// The lease of a task that is leased: its number and its end.
pub(super) fn lease_of(task: &TaskHead) -> Result<(Fence, Timestamp), String> {
    match &task.state {
        TaskState::Leased { fence, until, .. } => Ok((*fence, *until)),
        TaskState::Waiting { .. } | TaskState::Delivered { .. } => Err(format!("{task:?} is not leased")),
    }
}

pub(super) fn indexes(leased: &[LeasedTask]) -> Vec<u32> {
    leased.iter().map(|leased| leased.lease.key.index.0).collect()
}

/// A lease must be answered so.
pub(super) fn expect_completion(doing: &str, completion: TaskCompletion, wanted: TaskCompletion) -> Checked {
    expect(completion == wanted, || format!("{doing} gave {completion:?}, not {wanted:?}"))
}

pub(super) fn expect_state(doing: &str, state: LeaseState, wanted: LeaseState) -> Checked {
    expect(state == wanted, || format!("{doing} gave {state:?}, not {wanted:?}"))
}
