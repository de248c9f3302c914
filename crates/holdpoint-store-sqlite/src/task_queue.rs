//! What workers do with tasks.

use std::collections::HashSet;

use async_trait::async_trait;
use holdpoint_core::{CallKey, Fence, RunId};
use holdpoint_store::rows::{limit, page, run_ids, scope_key, signed, tenant_key};
use holdpoint_store::{
    Agents, DeliveredTask, LEASE_LIMIT_MAX, LEASE_MS_MAX, LEASE_TOOLS_MAX, LeaseRequest, LeaseState, LeasedTask, List,
    Page, Release, Scope, StoreError, TaskCompletion, TaskFilter, TaskHead, TaskLease, TaskQueue, packed, task_columns,
};

use crate::batch::Statement;
use crate::columns::Row;
use crate::json_rows::{JsonRows, Values};
use crate::request::About;
use crate::{Readers, SqliteStore};

/// The tasks of a tool that wait: `$1` and `$2` agents with tools, `$3` the moment. A lease of a task past its deadline
/// would lapse before it began.
macro_rules! waiting {
    ($index:literal) => {
        concat!(
            "FROM tasks w INDEXED BY ",
            $index,
            " WHERE w.state = 0 AND w.agent = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT) \
             AND w.tool = CAST(substr($2, j.value->>2, j.value->>3) AS TEXT) AND w.ready_at <= $3 \
             AND (w.deadline IS NULL OR w.deadline > $3)"
        )
    };
    () => {
        waiting!("tasks_waiting")
    };
    (of $tenant:literal) => {
        concat!(waiting!("tasks_waiting_of_tenant"), " AND w.tenant > '' AND w.tenant = ", $tenant)
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
            " ORDER BY w.ready_at, w.task_no LIMIT $4) ORDER BY t.ready_at, t.task_no LIMIT $4"
        )
    };
}

macro_rules! take {
    ($waiting:expr) => {
        concat!(
            "UPDATE tasks SET state = 1, worker = $5, fence = $6, since = $3, attempts = attempts + 1, \
             ready_at = min($7, ifnull(deadline, $7)), lease_ms = $8 WHERE task_no IN (",
            first_waiting!("t.task_no", $waiting),
            ")"
        )
    };
}

macro_rules! any {
    ($waiting:expr) => {
        concat!("SELECT EXISTS (SELECT 1 FROM json_each($1) j WHERE EXISTS (SELECT 1 ", $waiting, ")) AS found")
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
/// A number that no task got may be given to the next lease.
pub(crate) const KEEP_TICKET_IF_USED: &str = "UPDATE tickets SET last = $1 WHERE only = 1 AND changes() > 0";
pub(crate) const LAPSED: &str = concat!(
    "SELECT ",
    task_columns!(),
    " FROM json_each($1) j CROSS JOIN tasks t CROSS JOIN runs r ON r.run_no = t.run_no WHERE t.task_no IN (\
     SELECT l.task_no FROM tasks l INDEXED BY tasks_leased WHERE l.state = 1 \
     AND l.agent = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT) AND l.ready_at <= $3 \
     ORDER BY l.ready_at, l.task_no LIMIT $4) ORDER BY t.ready_at, t.task_no LIMIT $4"
);
pub(crate) const COLLECTABLE: &str = "SELECT DISTINCT r.run_id FROM json_each($1) j \
     CROSS JOIN tasks t INDEXED BY tasks_delivered CROSS JOIN runs r ON r.run_no = t.run_no WHERE t.state = 2 \
     AND t.agent = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT) AND r.status IN (1, 2) LIMIT $3";
pub(crate) const COMPLETED: &str = concat!(
    "SELECT ",
    task_columns!(),
    ", t.result FROM runs r JOIN tasks t ON t.run_no = r.run_no \
     WHERE r.run_id = $1 AND t.state = 2 ORDER BY t.delivery"
);
pub(crate) const TASK: &str = concat!(
    "SELECT ",
    task_columns!(),
    " FROM runs r JOIN tasks t ON t.run_no = r.run_no WHERE r.run_id = $1 AND t.turn = $2 AND t.call_index = $3 \
     AND ($4 IS NULL OR t.tenant = $4)"
);

pub(crate) const TASKS: &str =
    concat!("SELECT ", task_columns!(), " FROM tasks t CROSS JOIN runs r ON r.run_no = t.run_no WHERE ");

fn tool_rows(request: &LeaseRequest) -> Values {
    let (mut rows, mut seen) = (JsonRows::default(), HashSet::new());
    for (agent, tool) in request.tools.iter().take(LEASE_TOOLS_MAX) {
        if seen.insert((agent, tool)) {
            rows.row().text(agent).text(tool.as_str()).end();
        }
    }
    rows.into_values()
}

#[async_trait]
impl TaskQueue for SqliteStore {
    /// All tasks of one lease share a fence: it is higher than any that one of them had.
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError> {
        let tenant = request.tenant.as_deref().map(|tenant| tenant_key(Some(tenant)));
        let sql = if tenant.is_some() { OF_ONE_TENANT } else { OF_ANY_TENANT };
        let tools = tool_rows(request);
        let any = Readers::search(sql.any, tools.clone()).bind(self.clock.lease_moment().0);
        let any = if let Some(tenant) = tenant.clone() { any.bind(tenant) } else { any };
        // Idle workers ask often and get nothing: they need not wait for the writer.
        if !self.readers.exists(any).await? {
            return Ok(Vec::new());
        }
        let LeaseRequest { worker, limit, lease_ms, .. } = request.clone();
        self.execute(0, move |group, batch| {
            let (ticket, now) = (group.next_ticket(), group.lease_now);
            let fence = Fence(ticket.unsigned_abs());
            let most = signed(limit.min(LEASE_LIMIT_MAX));
            let bind_tenant = |statement: Statement<'_>| match &tenant {
                Some(tenant) => statement.bind(tenant.as_str()).number(),
                None => statement.number(),
            };
            // The tasks as they were before.
            let tasks = bind_tenant(batch.add(sql.first).bind_search(&tools, now, most));
            let length_ms = lease_ms.min(LEASE_MS_MAX);
            let take = batch.add(sql.take).bind_search(&tools, now, most).bind(&*worker).bind(ticket);
            bind_tenant(take.bind(now.plus_ms(length_ms).0).bind(signed(length_ms)));
            batch.add(KEEP_TICKET_IF_USED).bind(ticket);
            let leased = move |row: &Row| {
                let (mut task, body) = (row.task()?, row.packed("body")?);
                task.lease_to(&worker, fence, lease_ms, now);
                Ok(LeasedTask { lease: TaskLease { key: task.key.clone(), fence }, task, body })
            };
            Box::new(move |given| given.take(tasks).iter().map(leased).collect())
        })
        .await
    }

    async fn heartbeat(&self, leases: &[TaskLease], lease_ms: u64) -> Result<Vec<LeaseState>, StoreError> {
        if leases.is_empty() {
            return Ok(Vec::new());
        }
        let leases = leases.to_vec();
        let about = About { tasks: leases.iter().map(|lease| lease.key.clone()).collect(), ..About::default() };
        self.decide("write", about, move |group| {
            let renew = |lease| match group.change_leased(lease, |task, now| task.renew(lease_ms, now)) {
                Some(()) => LeaseState::Held,
                None => LeaseState::Lost,
            };
            Ok(leases.iter().map(renew).collect())
        })
        .await
    }

    async fn complete(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError> {
        let (lease, result) = (lease.clone(), packed::pack_one(result));
        let about = About { tasks: vec![lease.key.clone()], bytes: result.len(), ..About::default() };
        self.decide("write", about, move |group| {
            let completion = group.change_leased(&lease, |task, _| task.complete());
            if completion == Some(TaskCompletion::Stored) {
                group.keep_result(&lease.key, result);
            }
            Ok(completion.unwrap_or(TaskCompletion::LeaseLost))
        })
        .await
    }

    async fn completed(&self, run: &RunId) -> Result<Vec<DeliveredTask>, StoreError> {
        let rows = self.readers.rows("read the results of tasks", sqlx::query(COMPLETED).bind(run.as_str())).await?;
        rows.iter().map(|row| Ok(DeliveredTask { task: row.task()?, result: row.packed("result")? })).collect()
    }

    async fn collectable(&self, agents: &Agents, most: usize) -> Result<Vec<RunId>, StoreError> {
        let find = Readers::search(COLLECTABLE, Values::of_agents(agents)).bind(limit(most));
        run_ids(&self.readers.rows("find runs with results", find).await?)
    }

    async fn release(&self, lease: &TaskLease, how: Release) -> Result<LeaseState, StoreError> {
        let lease = lease.clone();
        let about = About { tasks: vec![lease.key.clone()], ..About::default() };
        self.decide("write", about, move |group| {
            let state = group.change_leased(&lease, |task, now| task.release(how, now));
            group.topics.tasks |= state == Some(LeaseState::Held);
            Ok(state.unwrap_or(LeaseState::Lost))
        })
        .await
    }

    async fn lapsed(&self, agents: &Agents, most: usize) -> Result<Vec<TaskHead>, StoreError> {
        let find =
            Readers::search(LAPSED, Values::of_agents(agents)).bind(self.clock.lease_moment().0).bind(limit(most));
        self.readers.rows("find leases that lapsed", find).await?.iter().map(Row::task).collect()
    }

    async fn find(&self, scope: &Scope, key: &CallKey) -> Result<Option<TaskHead>, StoreError> {
        let find = sqlx::query(TASK).bind(key.run.as_str()).bind(key.turn.0).bind(key.index.0);
        let rows = self.readers.rows("read the task", find.bind(scope_key(scope))).await?;
        rows.first().map(Row::task).transpose()
    }

    async fn list(&self, filter: &TaskFilter) -> Result<Page<TaskHead>, StoreError> {
        let rows = self.readers.list("list tasks", &filter.search(TASKS)?).await?;
        page(List::Tasks, filter.limit, &rows, ["task_no"], Row::task)
    }
}
