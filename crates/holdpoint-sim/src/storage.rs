//! What a world keeps its runs and tasks in: the model, or a store. Both are asked the same, and whatever they answer, the
//! checkers look on.

use std::fmt;
use std::sync::Arc;

use holdpoint_core::{Attempt, CallIndex, GrantId, Repeat, Revision, Timestamp, ToolName, Turn};
use holdpoint_store::{Fence, Hold, Release, TaskState, Transition};

use crate::disk::{Disk, Slot};
use crate::stored::Record;

/// A call of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) slot: Slot,
    pub(crate) turn: Turn,
    pub(crate) call: CallIndex,
}

/// One attempt of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlacedAttempt {
    pub(crate) place: Place,
    pub(crate) attempt: Attempt,
}

/// The tools of an agent, which has the empty name if it has none.
pub(crate) type Lane = (Arc<str>, ToolName);

/// The names of the agents in a world.
pub(crate) const AGENTS: [&str; 2] = ["", "agent"];

/// Everything durable. The lists are in no order unless one is named; a world sorts them before it draws from them.
pub(crate) trait Storage: TaskStorage {
    /// It is this moment now, for everything that is asked from here on.
    fn set_clock(&mut self, now: Timestamp);

    /// Writes all of it or nothing. Returns the records as they read back.
    fn commit(&mut self, slot: Slot, at: Revision, transition: Transition) -> Result<Vec<Record>, Refused>;

    /// All records of a log. Nothing where there is no copy but the one that the bystanders have.
    fn load(&mut self, slot: Slot) -> Option<Vec<Record>>;

    /// Takes the logs that are to go on and that nobody holds.
    fn claim(&mut self, hold: &Hold) -> Vec<Slot>;

    /// Prolongs a hold.
    fn renew(&mut self, slot: Slot, hold: &Hold) -> Grip;

    /// The logs with a deadline that has come.
    fn due(&mut self) -> Vec<Slot>;

    /// What people said about calls of a tool and nobody took back, as long as it holds: the newest first.
    fn grants_for(&mut self, tool: &ToolName) -> Vec<Arc<[u8]>>;

    /// Takes back what was said in a log. Says whether it was there and not taken back before.
    fn revoke(&mut self, slot: Slot, grant: &GrantId) -> bool;

    /// A process died, and whatever it had in memory is gone.
    fn crash(&mut self);

    /// What is not as the bystanders saw it, at the end of a world.
    fn disagreements(&mut self, disk: &Disk) -> Vec<String>;
}

/// The calls that were handed out.
pub(crate) trait TaskStorage {
    /// Takes tasks of these lanes, the first available first.
    fn lease(&mut self, wanted: &Wanted) -> Vec<Leased>;

    /// Prolongs a lease.
    fn prolong(&mut self, lease: &Lease, lease_ms: u64) -> Grip;

    /// Brings a result.
    fn deliver(&mut self, lease: &Lease, result: Vec<u8>) -> Grip;

    /// Gives a task back.
    fn release(&mut self, lease: &Lease, how: Release) -> Grip;

    /// The results that a log can take, the first delivered first.
    fn delivered(&mut self, slot: Slot) -> Vec<Delivered>;

    /// The logs that are paused and can take results.
    fn arrivals(&mut self) -> Vec<Slot>;

    /// The tasks whose lease lapsed.
    fn lapsed(&mut self) -> Vec<Task>;

    /// The task of a call.
    fn task(&mut self, place: Place) -> Option<Task>;

    /// All tasks, the first opened first.
    fn tasks(&mut self) -> Vec<Task>;
}

/// Why a commit changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The log went on without the committer.
    Stale,
    /// A task that it closes is not as it must be.
    LeaseLost,
}

/// Whether whoever asked still has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grip {
    Held,
    Lost,
}

/// What a worker asks for.
pub(crate) struct Wanted {
    pub(crate) worker: Arc<str>,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) limit: usize,
    pub(crate) lease_ms: u64,
}

/// What a worker got.
#[derive(Clone)]
pub(crate) struct Leased {
    pub(crate) lease: Lease,
    pub(crate) body: Arc<[u8]>,
}

/// A result that waits for its run.
pub(crate) struct Delivered {
    pub(crate) task: Task,
    pub(crate) lease: Lease,
    pub(crate) result: Arc<[u8]>,
}

/// A worker has a task.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Lease {
    pub(crate) place: Place,
    /// Never used twice. Each kind of storage has numbers of its own, so no world looks at them.
    pub(crate) fence: Fence,
    pub(crate) attempt: Attempt,
    pub(crate) worker: Arc<str>,
    pub(crate) since: Timestamp,
}

/// Without the fence: accounts of the same world are the same on every kind of storage.
impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place: Place { slot, turn, call }, attempt, worker, since, fence: _ } = self;
        write!(f, "{worker} with attempt {attempt} of call {call} of turn {turn} of log {} since {}", slot.0, since.0)
    }
}

/// A call that was handed out.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) place: Place,
    pub(crate) lane: Lane,
    pub(crate) repeat: Repeat,
    /// How often it was started; a lease counts from its beginning.
    pub(crate) attempts: Attempt,
    pub(crate) attempts_max: Attempt,
    pub(crate) deadline: Option<Timestamp>,
    pub(crate) state: State,
}

/// Where a task is.
#[derive(Clone, Debug)]
pub(crate) enum State {
    Waiting { available_at: Timestamp },
    Leased { lease: Lease, until: Timestamp },
    Delivered(Lease),
}

impl Task {
    /// Whether a worker could have it now.
    pub(crate) fn can_be_leased(&self, now: Timestamp) -> bool {
        let waits = matches!(self.state, State::Waiting { available_at } if available_at <= now);
        waits && self.deadline.is_none_or(|deadline| deadline > now)
    }

    /// The lease under which a worker has it.
    pub(crate) fn leased(&self) -> Option<&Lease> {
        match &self.state {
            State::Leased { lease, .. } => Some(lease),
            State::Waiting { .. } | State::Delivered(_) => None,
        }
    }

    /// Whether this lease is the current one and nothing was brought.
    pub(crate) fn is_held_under(&self, lease: &Lease) -> bool {
        self.leased().is_some_and(|current| current.fence == lease.fence)
    }

    /// The lease under which a worker has it or brought its result.
    pub(crate) fn lease(&self) -> Option<&Lease> {
        match &self.state {
            State::Leased { lease, .. } | State::Delivered(lease) => Some(lease),
            State::Waiting { .. } => None,
        }
    }

    /// What a guard looks at.
    pub(crate) fn guarded(&self) -> TaskState {
        match self.state.clone() {
            State::Waiting { available_at } => TaskState::Waiting { available_at },
            State::Leased { lease: Lease { worker, fence, since, .. }, until } => {
                TaskState::Leased { worker, fence, since, until, lease_ms: 0 }
            }
            State::Delivered(Lease { worker, fence, since, .. }) => TaskState::Delivered { worker, fence, since },
        }
    }
}
