//! A group of writes that become one transaction: what they are about, as it is stored, and what they make of it in memory.
//! Every write sees what those before it did.

mod commit;
mod look;
mod write;

use std::sync::Arc;

use holdpoint_core::{CallKey, Revision, RunId, Status, Timestamp};
use holdpoint_store::{Clock, Hold, LeaseState, Link, TaskHead, TaskLease, TaskState, Topics};
use indexmap::IndexMap;

use crate::approvals::Changes;
use crate::json_rows::JsonRows;

#[cfg(test)]
pub(crate) use look::{LAST_NUMBERS, LOOK_RUNS, LOOK_SESSIONS, LOOK_TASKS};
#[cfg(test)]
pub(crate) use write::STATEMENTS;

/// A session of a tenant: the tenant as it is stored, and the name.
pub(crate) type SessionKey = (String, Arc<str>);

/// The state of a group.
pub(crate) struct Group {
    pub(crate) now: Timestamp,
    /// The moment by which leases begin and lapse.
    pub(crate) lease_now: Timestamp,
    /// The runs that it is about; nothing where there is no such run.
    runs: IndexMap<RunId, Option<RunNow>>,
    tasks: IndexMap<CallKey, TaskNow>,
    sessions: IndexMap<SessionKey, SessionNow>,
    /// The last numbers that were given away.
    last_run: i64,
    last_task: i64,
    pub(crate) last_ticket: i64,
    /// What is added and not looked at again.
    log: JsonRows,
    grants: JsonRows,
    approvals: Changes,
    /// What callers must hear after the commit.
    pub(crate) topics: Topics,
    pub(crate) moved: Vec<(RunId, Revision)>,
}

/// A run as the group has it by now.
struct RunNow {
    run_no: i64,
    revision: Revision,
    status: Status,
    agent: Arc<str>,
    tenant: Option<Arc<str>>,
    owner: Option<Arc<str>>,
    lease_until: Timestamp,
    lease_ms: u64,
    chain: Chain,
    change: RunChange,
}

/// The end of the audit chain of a run.
#[derive(Clone, Copy)]
struct Chain {
    revision: Revision,
    rows: u64,
    link: Link,
}

/// What the group did to a run.
#[derive(Clone)]
enum RunChange {
    Nothing,
    Renewed,
    Moved(Moved),
    Created { at: Timestamp, session: Option<Arc<str>>, is_alone: bool, moved: Moved },
}

/// The part of a head that is not looked at again.
#[derive(Clone, Copy)]
struct Moved {
    pause: Option<u32>,
    deadline: Option<Timestamp>,
    updated_at: Timestamp,
}

/// The task of a call.
#[derive(Default)]
struct TaskNow {
    /// The number of the row that is stored, if one is.
    stored: Option<i64>,
    /// The task by now, if there is one.
    head: Option<TaskHead>,
    /// There when the group opened it.
    opened: Option<Opened>,
    /// The number and the bytes of the result, when the group completed it.
    result: Option<(i64, Vec<u8>)>,
    is_changed: bool,
}

/// A new task.
struct Opened {
    task_no: i64,
    run_no: i64,
    body: Vec<u8>,
}

/// A session that a run is to be created in.
#[derive(Default)]
struct SessionNow {
    /// Whether a run that must be alone in it is not over.
    is_taken: bool,
    last: Option<RunId>,
}

impl Group {
    fn new(clock: &dyn Clock) -> Self {
        Self {
            now: clock.now(),
            lease_now: clock.lease_moment(),
            runs: IndexMap::new(),
            tasks: IndexMap::new(),
            sessions: IndexMap::new(),
            last_run: 0,
            last_task: 0,
            last_ticket: 0,
            log: JsonRows::default(),
            grants: JsonRows::default(),
            approvals: Changes::default(),
            topics: Topics::default(),
            moved: Vec::new(),
        }
    }

    /// A number that no lease, result or approval had before.
    pub(crate) fn next_ticket(&mut self) -> i64 {
        self.last_ticket += 1;
        self.last_ticket
    }

    /// Renews the lease of a run.
    pub(crate) fn renew(&mut self, run: &RunId, hold: &Hold) -> LeaseState {
        let Some(run) = self.runs.get_mut(run).and_then(Option::as_mut) else { return LeaseState::Lost };
        if run.status != Status::Running || run.owner.as_deref() != Some(hold.owner.as_str()) {
            return LeaseState::Lost;
        }
        run.lease_ms = hold.length_ms();
        run.lease_until = self.lease_now.plus_ms(run.lease_ms);
        if matches!(run.change, RunChange::Nothing) {
            run.change = RunChange::Renewed;
        }
        LeaseState::Held
    }

    /// Changes the task if this lease of it is the current one, or the one under which its result came.
    pub(crate) fn change_leased<T>(
        &mut self,
        lease: &TaskLease,
        change: impl FnOnce(&mut TaskHead, Timestamp) -> T,
    ) -> Option<T> {
        let (task, now) = (self.tasks.get_mut(&lease.key)?, self.lease_now);
        let head = task.head.as_mut().filter(|head| head.state.fence() == Some(lease.fence))?;
        // A task with a result keeps it, whatever its worker says.
        task.is_changed |= matches!(head.state, TaskState::Leased { .. });
        Some(change(head, now))
    }

    /// Keeps the result of a task that was completed now.
    pub(crate) fn keep_result(&mut self, key: &CallKey, result: Vec<u8>) {
        let ticket = self.next_ticket();
        if let Some(task) = self.tasks.get_mut(key) {
            task.result = Some((ticket, result));
        }
        self.topics.runs = true;
    }
}
