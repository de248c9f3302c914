//! What a group of requests finds and makes of it, in memory: every request sees what those before it did.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use holdpoint_core::{Attempt, CallKey, Revision, RunId, Status, Timestamp};
use holdpoint_store::{Clock, Fence, GuardedTask, Link, TaskOpening};

/// Values by key, in the order in which they came.
pub(crate) struct Keyed<K, V> {
    places: HashMap<K, usize>,
    entries: Vec<(K, V)>,
}

impl<K: Clone + Eq + Hash, V> Keyed<K, V> {
    pub(crate) fn new() -> Self {
        Self { places: HashMap::new(), entries: Vec::new() }
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.places.get(key).map(|place| &self.entries[*place].1)
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.places.get(key).map(|place| &mut self.entries[*place].1)
    }

    /// The value of the key, put there if there is none.
    pub(crate) fn entry(&mut self, key: &K, make: impl FnOnce() -> V) -> &mut V {
        let place = *self.places.entry(key.clone()).or_insert(self.entries.len());
        if place == self.entries.len() {
            self.entries.push((key.clone(), make()));
        }
        &mut self.entries[place].1
    }

    /// The key and the value that came at that place.
    pub(crate) fn at_mut(&mut self, place: usize) -> Option<&mut V> {
        self.entries.get_mut(place).map(|(_, value)| value)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(K, V)> {
        self.entries.iter()
    }
}

/// A run that a group is about. Nothing when there is no such run.
pub(crate) type RunSeen = Option<RunNow>;

/// A run as it is by now.
pub(crate) struct RunNow {
    pub(crate) run_no: i64,
    pub(crate) revision: Revision,
    pub(crate) status: Status,
    pub(crate) agent: Arc<str>,
    pub(crate) tenant: Option<Arc<str>>,
    pub(crate) owner: Option<Arc<str>>,
    pub(crate) lease_until: Timestamp,
    pub(crate) lease_ms: u64,
    pub(crate) chain: Chain,
    pub(crate) change: RunChange,
    /// There when the group created the run.
    pub(crate) session: Option<Arc<str>>,
    /// What it holds while it is not over, when the group created it alone in its session.
    pub(crate) slot: Option<String>,
}

/// The end of the audit chain of a run.
#[derive(Clone)]
pub(crate) struct Chain {
    /// The tenant of the first transition, as it is stored.
    pub(crate) tenant: Arc<str>,
    pub(crate) revision: Revision,
    pub(crate) rows: u64,
    pub(crate) link: Link,
}

/// What the group did to a run.
#[derive(Clone, Copy)]
pub(crate) enum RunChange {
    Nothing,
    Renewed,
    Moved(Moved),
    Created { at: Timestamp, moved: Moved },
}

/// The part of a head that is not looked at again.
#[derive(Clone, Copy)]
pub(crate) struct Moved {
    pub(crate) pause: Option<u32>,
    pub(crate) deadline: Option<Timestamp>,
    pub(crate) updated_at: Timestamp,
}

/// The task of a call.
#[derive(Default)]
pub(crate) struct TaskSeen {
    /// The row that is stored, if one is.
    pub(crate) stored: Option<i64>,
    /// What there is by now.
    pub(crate) now: Option<TaskNow>,
}

/// A task as it is by now.
pub(crate) struct TaskNow {
    pub(crate) state: TaskStage,
    pub(crate) moment: Timestamp,
    /// The length of the lease when it was written.
    pub(crate) lease_ms: Option<u64>,
    pub(crate) attempts: Attempt,
    pub(crate) deadline: Option<Timestamp>,
    /// There when the group opened it.
    pub(crate) opened: Option<Opened>,
    pub(crate) is_changed: bool,
}

pub(crate) enum TaskStage {
    Waiting,
    Leased(Fence),
    /// With the number and the bytes of the result if the group delivered it.
    Delivered(Fence, Option<(i64, Vec<u8>)>),
}

/// A new task.
pub(crate) struct Opened {
    pub(crate) task_no: i64,
    pub(crate) run_no: i64,
    pub(crate) agent: Arc<str>,
    pub(crate) tenant: Option<Arc<str>>,
    pub(crate) at: Timestamp,
    pub(crate) opening: Box<TaskOpening>,
}

impl TaskNow {
    /// What a guard looks at.
    pub(crate) fn guarded(&self) -> GuardedTask {
        match &self.state {
            TaskStage::Waiting => GuardedTask::Waiting,
            TaskStage::Leased(fence) => GuardedTask::Leased { fence: *fence, until: self.moment },
            TaskStage::Delivered(fence, _) => GuardedTask::Delivered { fence: *fence },
        }
    }

    /// The lease that is the current one, or the one under which the result came.
    pub(crate) fn fence(&self) -> Option<Fence> {
        match &self.state {
            TaskStage::Waiting => None,
            TaskStage::Leased(fence) | TaskStage::Delivered(fence, _) => Some(*fence),
        }
    }
}

/// Everything that a group is about.
pub(crate) struct Group {
    pub(crate) now: Timestamp,
    /// The moment by which leases begin and lapse.
    pub(crate) lease_now: Timestamp,
    pub(crate) runs: Keyed<RunId, RunSeen>,
    pub(crate) tasks: Keyed<CallKey, TaskSeen>,
    /// The sessions in which somebody is alone, of those that the group asks for.
    pub(crate) slots: HashSet<String>,
    /// The last run of each session that the group goes on with, by name and tenant as they are stored.
    pub(crate) lasts: HashMap<(Arc<str>, String), Option<RunId>>,
    /// The last numbers that were given away.
    pub(crate) last_run: i64,
    pub(crate) last_task: i64,
    pub(crate) last_ticket: i64,
}

impl Group {
    pub(crate) fn new(clock: &dyn Clock) -> Self {
        Self {
            now: clock.now(),
            lease_now: clock.lease_moment(),
            runs: Keyed::new(),
            tasks: Keyed::new(),
            slots: HashSet::new(),
            lasts: HashMap::new(),
            last_run: 0,
            last_task: 0,
            last_ticket: 0,
        }
    }

    /// Names a run that must be looked up.
    pub(crate) fn ask_run(&mut self, run: &RunId) {
        self.runs.entry(run, || None);
    }

    /// Names a call whose task must be looked up.
    pub(crate) fn ask_task(&mut self, key: &CallKey) {
        self.tasks.entry(key, TaskSeen::default);
    }

    pub(crate) fn run(&self, run: &RunId) -> Option<&RunNow> {
        self.runs.get(run)?.as_ref()
    }

    pub(crate) fn run_mut(&mut self, run: &RunId) -> Option<&mut RunNow> {
        self.runs.get_mut(run)?.as_mut()
    }

    pub(crate) fn task(&self, key: &CallKey) -> Option<&TaskNow> {
        self.tasks.get(key)?.now.as_ref()
    }

    /// The task if this lease of it is the current one, or the one under which its result came.
    pub(crate) fn leased(&mut self, key: &CallKey, fence: Fence) -> Option<&mut TaskNow> {
        let task = self.tasks.get_mut(key)?.now.as_mut()?;
        (task.fence() == Some(fence)).then_some(task)
    }
}
