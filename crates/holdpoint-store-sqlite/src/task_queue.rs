//! What workers do with tasks.

use std::collections::HashSet;
use std::sync::Arc;

use holdpoint_core::{Attempt, Timestamp};
use holdpoint_store::{
    Fence, LEASE_LIMIT_MAX, LEASE_MS_MAX, LEASE_TOOLS_MAX, LeaseRequest, LeaseState, LeasedTask, Release, StoreError,
    TaskCompletion, TaskLease, TaskState,
};

use sqlx::sqlite::SqliteRow;

use crate::batch::{Batch, StatementNo, Values};
use crate::columns::{Reader, signed, signed_len, task_columns, unpack_one};
use crate::group::{Group, TaskStage};
use crate::rows::Rows;
use crate::run_log::{Readers, exists};

/// The tasks of a tool that wait: `$1` and `$2` agents with tools, `$3` the moment. A lease of a task past its deadline
/// would be over before it began.
macro_rules! waiting {
    ($index:literal) => {
        concat!(
            "FROM tasks w INDEXED BY ",
            $index,
            " WHERE w.state = 0 AND w.agent = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT) \
             AND w.tool = CAST(substr($2, j.value->>2, j.value->>3) AS TEXT) AND w.moment <= $3 \
             AND (w.deadline IS NULL OR w.deadline > $3)"
        )
    };
    () => {
        waiting!("tasks_waiting")
    };
    (of $tenant:literal) => {
        concat!(waiting!("tasks_waiting_of_tenant"), " AND w.tenant = ", $tenant)
    };
}

/// Of each tool the first `$4`, and of all of these the first `$4`.
macro_rules! first_waiting {
    ($columns:expr, $waiting:expr) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM json_each($1) j CROSS JOIN tasks t CROSS JOIN runs r ON r.run_no = t.run_no \
             WHERE t.task_no IN (SELECT w.task_no ",
            $waiting,
            " ORDER BY w.moment, w.task_no LIMIT $4) ORDER BY t.moment, t.task_no LIMIT $4"
        )
    };
}

macro_rules! take {
    ($waiting:expr) => {
        concat!(
            "UPDATE tasks SET state = 1, worker = $5, fence = $6, since = $3, attempts = attempts + 1, \
             moment = min($7, ifnull(deadline, $7)), lease_ms = $8 WHERE task_no IN (",
            first_waiting!("t.task_no", $waiting),
            ")"
        )
    };
}

macro_rules! any {
    ($waiting:expr) => {
        concat!("SELECT EXISTS (SELECT 1 FROM json_each($1) j WHERE EXISTS (SELECT 1 ", $waiting, "))")
    };
}

/// The statements of a lease, for any tenant or for one.
pub(crate) struct LeaseSql {
    pub(crate) any: &'static str,
    pub(crate) first: &'static str,
    pub(crate) take: &'static str,
}

pub(crate) const OF_ANY_TENANT: LeaseSql = LeaseSql {
    any: any!(waiting!()),
    first: first_waiting!(concat!(task_columns!(), ", t.body"), waiting!()),
    take: take!(waiting!()),
};
/// With the tenant as the last value.
pub(crate) const OF_ONE_TENANT: LeaseSql = LeaseSql {
    any: any!(waiting!(of "$4")),
    first: first_waiting!(concat!(task_columns!(), ", t.body"), waiting!(of "$5")),
    take: take!(waiting!(of "$9")),
};
/// A number that nobody got may be given to the next.
pub(crate) const KEEP_TICKET_IF_USED: &str = "UPDATE tickets SET last = $1 WHERE only = 1 AND changes() > 0";
pub(crate) const KEEP_TICKET: &str = "UPDATE tickets SET last = $1 WHERE only = 1";

/// What is known of a lease beside the rows of its tasks.
pub(crate) struct Leasing {
    worker: Arc<str>,
    fence: Fence,
    now: Timestamp,
    until: Timestamp,
    lease_ms: u64,
}

fn lease_sql(request: &LeaseRequest) -> LeaseSql {
    if request.tenant.is_some() { OF_ONE_TENANT } else { OF_ANY_TENANT }
}

fn with_tenant(values: Values, request: &LeaseRequest) -> Values {
    match &request.tenant {
        Some(tenant) => values.text(tenant),
        None => values,
    }
}

fn tool_rows(request: &LeaseRequest) -> Rows {
    let mut rows = Rows::new();
    let mut seen = HashSet::new();
    for (agent, tool) in request.tools.iter().take(LEASE_TOOLS_MAX) {
        if seen.insert((agent, tool)) {
            rows.row().text(agent).text(tool.as_str()).end();
        }
    }
    rows
}

/// Whether somebody who leases would get something. Idle workers ask often and get nothing: they need not wait for the
/// writer.
pub(crate) async fn any_waiting(readers: &Readers, request: &LeaseRequest, now: Timestamp) -> Result<bool, StoreError> {
    let values = with_tenant(Values::rows(tool_rows(request)).int(now.0), request);
    exists(readers, lease_sql(request).any, values).await
}

/// Adds the statements of a lease. The first gives the tasks as they were before. All tasks of one lease share a fence:
/// it is higher than any that one of them had.
pub(crate) fn lease(batch: &mut Batch, group: &mut Group, request: &LeaseRequest) -> (StatementNo, Leasing) {
    let now = group.now;
    let sql = lease_sql(request);
    let values = || {
        let limit = signed_len(request.limit.min(LEASE_LIMIT_MAX));
        Values::rows(tool_rows(request)).int(now.0).int(limit)
    };
    group.last_ticket += 1;
    let lease_ms = request.lease_ms.min(LEASE_MS_MAX);
    let until = group.lease_now.plus_ms(lease_ms);
    let tasks = batch.add(sql.first, with_tenant(values(), request));
    let taken = values().text(&request.worker).int(group.last_ticket).int(until.0).int(signed(lease_ms));
    batch.add(sql.take, with_tenant(taken, request));
    batch.add(KEEP_TICKET_IF_USED, Values::none().int(group.last_ticket));
    let fence = Fence(group.last_ticket.unsigned_abs());
    (tasks, Leasing { worker: Arc::clone(&request.worker), fence, now, until, lease_ms })
}

impl Leasing {
    /// The tasks as the lease left them.
    pub(crate) fn read(&self, rows: &[SqliteRow]) -> Result<Vec<LeasedTask>, StoreError> {
        rows.iter().map(|row| self.read_one(row)).collect()
    }

    fn read_one(&self, row: &SqliteRow) -> Result<LeasedTask, StoreError> {
        let mut reader = Reader::new(row);
        let mut task = reader.task()?;
        let body = unpack_one(reader.bytes()?)?;
        task.attempts = task.attempts.next();
        task.state = TaskState::Leased {
            worker: Arc::clone(&self.worker),
            fence: self.fence,
            since: self.now,
            until: until(self.until, task.deadline),
            lease_ms: self.lease_ms,
        };
        let lease = TaskLease { key: task.key.clone(), fence: self.fence };
        Ok(LeasedTask { lease, task, body })
    }
}

/// No lease lasts beyond the deadline.
fn until(end: Timestamp, deadline: Option<Timestamp>) -> Timestamp {
    deadline.map_or(end, |deadline| end.min(deadline))
}

/// A lease under which the result came needs no more time and is not lost either.
pub(crate) fn heartbeat(group: &mut Group, lease: &TaskLease, lease_ms: u64) -> LeaseState {
    let end = group.lease_now.plus_ms(lease_ms.min(LEASE_MS_MAX));
    let Some(task) = group.leased(&lease.key, lease.fence) else { return LeaseState::Lost };
    match task.state {
        TaskStage::Leased(_) => {
            task.moment = until(end, task.deadline);
            task.lease_ms = Some(lease_ms.min(LEASE_MS_MAX));
            task.is_changed = true;
        }
        TaskStage::Waiting | TaskStage::Delivered(..) => {}
    }
    LeaseState::Held
}

/// Delivering again under the same lease is what somebody does who did not hear the answer: the first result stays.
pub(crate) fn deliver(group: &mut Group, lease: &TaskLease, result: Vec<u8>) -> TaskCompletion {
    let (now, ticket) = (group.now, group.last_ticket + 1);
    let Some(task) = group.leased(&lease.key, lease.fence) else { return TaskCompletion::LeaseLost };
    match task.state {
        TaskStage::Leased(fence) => {
            task.state = TaskStage::Delivered(fence, Some((ticket, result)));
            task.moment = now;
            task.is_changed = true;
            group.last_ticket = ticket;
            TaskCompletion::Stored
        }
        TaskStage::Waiting | TaskStage::Delivered(..) => TaskCompletion::Present,
    }
}

/// A result that is there stays there.
pub(crate) fn release(group: &mut Group, lease: &TaskLease, how: Release) -> LeaseState {
    let (now, lapsed) = (group.now, group.lease_now);
    let Some(task) = group.leased(&lease.key, lease.fence) else { return LeaseState::Lost };
    match task.state {
        TaskStage::Leased(_) => {}
        TaskStage::Waiting | TaskStage::Delivered(..) => return LeaseState::Lost,
    }
    task.moment = match how {
        Release::Unstarted => {
            task.attempts = Attempt(task.attempts.0.saturating_sub(1));
            now
        }
        Release::Retry { delay_ms } => now.plus_ms(delay_ms),
        Release::Lapsed { .. } if task.moment > lapsed => return LeaseState::Lost,
        Release::Lapsed { delay_ms } => now.plus_ms(delay_ms),
    };
    task.state = TaskStage::Waiting;
    task.is_changed = true;
    LeaseState::Held
}
