//! Tasks: calls that somebody outside the run's process does. A task is there exactly as long as its call waits.

use std::fmt;
use std::sync::Arc;

pub use holdpoint_core::Fence;
use holdpoint_core::{Attempt, CallIndex, CallKey, CallLease, Repeat, Timestamp, ToolName, Turn};

use crate::Cursor;

/// The most tasks that one lease takes, whatever was asked for.
pub const LEASE_LIMIT_MAX: usize = 256;
/// The most tools that one lease asks for.
pub const LEASE_TOOLS_MAX: usize = 4_096;
/// The longest lease of a task or a run.
pub const LEASE_MS_MAX: u64 = 24 * 60 * 60 * 1_000;

/// What a transition does to the queue.
#[derive(Clone, Debug)]
pub enum TaskChange {
    /// A call is handed out.
    Open(Box<TaskOpening>),
    /// A call needs nobody any more. No task at all is fine, unless the guard wants a lease.
    Close {
        /// The turn of the call.
        turn: Turn,
        /// Its place in the turn.
        index: CallIndex,
        /// What must be true of the task; otherwise the whole transition is [`crate::CommitError::LeaseLost`].
        guard: TaskGuard,
    },
}

impl TaskChange {
    /// The call that it is about.
    pub fn place(&self) -> (Turn, CallIndex) {
        match self {
            TaskChange::Open(opening) => (opening.turn, opening.index),
            TaskChange::Close { turn, index, .. } => (*turn, *index),
        }
    }

    /// How many bytes it brings.
    pub fn bytes(&self) -> usize {
        match self {
            TaskChange::Open(opening) => opening.body.len(),
            TaskChange::Close { .. } => 0,
        }
    }
}

/// What must be true of a task for it to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskGuard {
    /// Nothing.
    Any,
    /// No worker has leased it, and it has no result. A missing task passes.
    Waiting,
    /// It has no result, whether or not a worker has leased it. A missing task passes.
    NoResult,
    /// A worker holds it under this lease and has not completed it. The lease may have lapsed.
    Leased(Fence),
    /// As [`TaskGuard::Leased`], and the lease has lapsed by the store's clock at the moment of the commit: a heartbeat or a
    /// result that arrived first wins.
    Lapsed(Fence),
    /// Its result was delivered under this lease.
    Delivered(Fence),
}

impl TaskGuard {
    /// Whether the guard holds for the task of a call, or for a call without one.
    pub fn holds(self, task: Option<&TaskState>, now: Timestamp) -> bool {
        use TaskState::{Delivered, Leased, Waiting};
        match self {
            TaskGuard::Any => true,
            TaskGuard::Waiting => matches!(task, None | Some(Waiting { .. })),
            TaskGuard::NoResult => !matches!(task, Some(Delivered { .. })),
            TaskGuard::Leased(wanted) => matches!(task, Some(Leased { fence, .. }) if *fence == wanted),
            TaskGuard::Lapsed(wanted) => {
                matches!(task, Some(Leased { fence, until, .. }) if *fence == wanted && *until <= now)
            }
            TaskGuard::Delivered(wanted) => matches!(task, Some(Delivered { fence, .. }) if *fence == wanted),
        }
    }

    /// Whether it can only hold for a task that some worker leased.
    pub fn wants_lease(self) -> bool {
        match self {
            TaskGuard::Any | TaskGuard::Waiting | TaskGuard::NoResult => false,
            TaskGuard::Leased(_) | TaskGuard::Lapsed(_) | TaskGuard::Delivered(_) => true,
        }
    }
}

/// A new task, of the run's agent and tenant. A task of the same call that is still there is replaced.
#[derive(Clone)]
pub struct TaskOpening {
    /// The turn of the call.
    pub turn: Turn,
    /// Its place in the turn.
    pub index: CallIndex,
    /// The registered tool.
    pub tool: ToolName,
    /// How often the call was started before.
    pub attempts: Attempt,
    /// How often it may be started in all.
    pub attempts_max: Attempt,
    /// Whether it may be started again in doubt.
    pub repeat: Repeat,
    /// No lease lasts longer than this.
    pub deadline: Option<Timestamp>,
    /// What the worker needs, as the codec wrote it. Holds raw arguments.
    pub body: Vec<u8>,
}

impl TaskOpening {
    /// The task that it opens.
    pub fn head(
        &self,
        key: CallKey,
        agent: Arc<str>,
        tenant: Option<Arc<str>>,
        created_at: Timestamp,
        available_at: Timestamp,
    ) -> TaskHead {
        let Self { tool, attempts, attempts_max, repeat, deadline, .. } = self;
        TaskHead {
            key,
            agent,
            tenant,
            tool: tool.clone(),
            attempts: *attempts,
            attempts_max: *attempts_max,
            repeat: *repeat,
            deadline: *deadline,
            created_at,
            state: TaskState::Waiting { available_at },
        }
    }
}

/// Shows the size of the body only.
impl fmt::Debug for TaskOpening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { turn, index, tool, body, .. } = self;
        write!(f, "TaskOpening({turn}.{index} {tool}, {} bytes)", body.len())
    }
}

/// Asks for tasks.
#[derive(Clone, Debug)]
pub struct LeaseRequest {
    /// Who asks, as people see it.
    pub worker: Arc<str>,
    /// The tools that the worker has, each with the agent whose tool it is (the empty name for an agent without one).
    /// Nothing else is leased.
    pub tools: Vec<(Arc<str>, ToolName)>,
    /// Only tasks of this tenant.
    pub tenant: Option<Arc<str>>,
    /// How many at most: never more than [`LEASE_LIMIT_MAX`].
    pub limit: usize,
    /// For how long, by the clock of the store; never beyond the deadline of the task.
    pub lease_ms: u64,
}

impl LeaseRequest {
    /// Whether it may have a task that waits. A lease of a task past its deadline would lapse before it began.
    pub fn may_lease(&self, task: &TaskHead, now: Timestamp) -> bool {
        (self.tenant.is_none() || self.tenant == task.tenant) && task.deadline.is_none_or(|deadline| deadline > now)
    }
}

/// Names a lease of a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TaskLease {
    /// The call.
    pub key: CallKey,
    /// Which lease of it.
    pub fence: Fence,
}

/// A task that a worker got. The lease is the intent: from now on the call may have taken effect.
#[derive(Clone)]
pub struct LeasedTask {
    /// The lease.
    pub lease: TaskLease,
    /// What is known of it.
    pub task: TaskHead,
    /// What the codec wrote when it was opened.
    pub body: Arc<[u8]>,
}

/// Shows the size of the body only.
impl fmt::Debug for LeasedTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LeasedTask({:?}, {} bytes)", self.task, self.body.len())
    }
}

/// What is known of a task without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskHead {
    /// The call.
    pub key: CallKey,
    /// The agent; the empty name for an agent without one.
    pub agent: Arc<str>,
    /// The tenant, where there are tenants.
    pub tenant: Option<Arc<str>>,
    /// The registered tool.
    pub tool: ToolName,
    /// How often it was started: counts a lease from its beginning, and not one that was given back unstarted.
    pub attempts: Attempt,
    /// How often it may be started in all.
    pub attempts_max: Attempt,
    /// Whether it may be started again in doubt.
    pub repeat: Repeat,
    /// When it must be done.
    pub deadline: Option<Timestamp>,
    /// When it was opened.
    pub created_at: Timestamp,
    /// Where it is.
    pub state: TaskState,
}

impl TaskHead {
    /// The lease that a worker holds, or under which it completed the task. Nothing while no worker has it.
    pub fn lease(&self) -> Option<CallLease> {
        let (worker, fence, since) = match &self.state {
            TaskState::Waiting { .. } => return None,
            TaskState::Leased { worker, fence, since, .. } | TaskState::Delivered { worker, fence, since } => {
                (Arc::clone(worker), *fence, *since)
            }
        };
        let CallKey { turn, index, .. } = self.key;
        Some(CallLease { turn, call: index, attempt: self.attempts, fence, worker, since })
    }

    /// A worker leases it: the attempt counts from now on.
    pub fn lease_to(&mut self, worker: &Arc<str>, fence: Fence, lease_ms: u64, now: Timestamp) {
        self.attempts = self.attempts.next();
        let (worker, lease_ms) = (Arc::clone(worker), lease_ms.min(LEASE_MS_MAX));
        self.state = TaskState::Leased { worker, fence, since: now, until: self.lease_end(lease_ms, now), lease_ms };
    }

    /// The worker that holds it renews its lease. A lease under which the result came needs no renewal.
    pub fn renew(&mut self, lease_ms: u64, now: Timestamp) {
        let lease_ms = lease_ms.min(LEASE_MS_MAX);
        let end = self.lease_end(lease_ms, now);
        if let TaskState::Leased { until, lease_ms: length, .. } = &mut self.state {
            (*until, *length) = (end, lease_ms);
        }
    }

    /// No lease lasts beyond the deadline.
    fn lease_end(&self, lease_ms: u64, now: Timestamp) -> Timestamp {
        let end = now.plus_ms(lease_ms);
        self.deadline.map_or(end, |deadline| end.min(deadline))
    }

    /// The worker that holds it brings its result. A worker that did not hear the answer brings it again: the first stays.
    pub fn complete(&mut self) -> TaskCompletion {
        match &self.state {
            TaskState::Leased { worker, fence, since, .. } => {
                self.state = TaskState::Delivered { worker: Arc::clone(worker), fence: *fence, since: *since };
                TaskCompletion::Stored
            }
            TaskState::Waiting { .. } | TaskState::Delivered { .. } => TaskCompletion::Present,
        }
    }

    /// Ends the lease without a result. A task that has a result keeps it, and the lease is lost for the caller.
    pub fn release(&mut self, how: Release, now: Timestamp) -> LeaseState {
        let TaskState::Leased { until, .. } = self.state else { return LeaseState::Lost };
        let available_at = match how {
            Release::Unstarted => {
                self.attempts = Attempt(self.attempts.0.saturating_sub(1));
                now
            }
            Release::Lapsed { .. } if until > now => return LeaseState::Lost,
            Release::Retry { delay_ms } | Release::Lapsed { delay_ms } => now.plus_ms(delay_ms),
        };
        self.state = TaskState::Waiting { available_at };
        LeaseState::Held
    }
}

/// Where a task is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// It can be leased from this moment on.
    Waiting {
        /// When.
        available_at: Timestamp,
    },
    /// A worker has it.
    Leased {
        /// Who.
        worker: Arc<str>,
        /// Which lease.
        fence: Fence,
        /// Since when.
        since: Timestamp,
        /// When it lapses unless the worker renews it.
        until: Timestamp,
        /// How long it was when it was written.
        lease_ms: u64,
    },
    /// It has a result, which waits for the run to take it.
    Delivered {
        /// By whom.
        worker: Arc<str>,
        /// Under which lease.
        fence: Fence,
        /// Since when the worker had it.
        since: Timestamp,
    },
}

/// The stages of a task's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskStage {
    /// It can be leased, now or later.
    Waiting,
    /// A worker has it.
    Leased,
    /// It has a result, which waits for the run to take it.
    Delivered,
}

impl TaskStage {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Waiting, Self::Leased, Self::Delivered];
}

impl TaskState {
    /// The current lease, or the one under which the result came.
    pub fn fence(&self) -> Option<Fence> {
        match self {
            TaskState::Waiting { .. } => None,
            TaskState::Leased { fence, .. } | TaskState::Delivered { fence, .. } => Some(*fence),
        }
    }

    /// On which stage it is.
    pub fn stage(&self) -> TaskStage {
        match self {
            TaskState::Waiting { .. } => TaskStage::Waiting,
            TaskState::Leased { .. } => TaskStage::Leased,
            TaskState::Delivered { .. } => TaskStage::Delivered,
        }
    }
}

/// A result that waits to be taken by its run.
#[derive(Clone)]
pub struct DeliveredTask {
    /// What is known of the task. It is in the state [`TaskState::Delivered`].
    pub task: TaskHead,
    /// What the worker delivered, as the codec wrote it.
    pub result: Arc<[u8]>,
}

/// Shows the size of the result only.
impl fmt::Debug for DeliveredTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeliveredTask({:?}, {} bytes)", self.task, self.result.len())
    }
}

/// How a lease ends without a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// The worker did not start it: the attempt does not count, and anybody may have it at once.
    Unstarted,
    /// The worker failed after it had started the task, which may be started again.
    Retry {
        /// When it can be leased again.
        delay_ms: u64,
    },
    /// The lease lapsed, and the task may be started again. A lease that has not lapsed at this moment is
    /// [`LeaseState::Lost`] for the caller and stays as it is: its worker sent a heartbeat.
    Lapsed {
        /// When it can be leased again.
        delay_ms: u64,
    },
}

/// What became of a lease that was to be prolonged or given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseState {
    /// It is the current one.
    Held,
    /// The task was closed, or somebody else has it.
    Lost,
}

/// What became of a result that a worker brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskCompletion {
    /// It is stored now.
    Stored,
    /// The task has a result already, under the same lease: perhaps this one, perhaps another. That one stays.
    Present,
    /// The task was closed, or another worker has it.
    LeaseLost,
}

/// Which tasks to list. The default is all of them.
#[derive(Clone, Debug, Default)]
pub struct TaskFilter {
    /// Only tasks of this tenant.
    pub tenant: Option<Arc<str>>,
    /// Only tasks of this tool.
    pub tool: Option<ToolName>,
    /// Only tasks on this stage.
    pub stage: Option<TaskStage>,
    /// Go on where an earlier page ended.
    pub cursor: Option<Cursor>,
    /// The size of the page: see [`crate::page_size`].
    pub limit: Option<usize>,
}

impl TaskFilter {
    /// Whether a task is one of those to list.
    pub fn matches(&self, task: &TaskHead) -> bool {
        (self.tenant.is_none() || self.tenant == task.tenant)
            && self.tool.as_ref().is_none_or(|tool| *tool == task.tool)
            && self.stage.is_none_or(|stage| stage == task.state.stage())
    }
}
