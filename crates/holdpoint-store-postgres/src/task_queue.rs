//! What workers do with tasks.

mod lease;

use async_trait::async_trait;
use holdpoint_core::{CallKey, RunId};
use holdpoint_store::rows::{distinct, limit, page, run_ids, scope_key, signed};
use holdpoint_store::{
    Agents, DeliveredTask, LEASE_MS_MAX, LeaseRequest, LeaseState, LeasedTask, List, Page, Release, Scope, StoreError,
    TaskCompletion, TaskFilter, TaskHead, TaskLease, TaskQueue, Topic, packed, task_columns,
};

use crate::PostgresStore;
use crate::columns::{Row, micros};
use crate::commit::token;
use crate::pool::Statement;
use crate::sql::{moment, now, of_call, of_run};

#[cfg(all(test, feature = "server-tests"))]
pub(crate) use lease::{LEASE, LEASE_OF_TENANT};

/// A task that is given back waits at most this long, so that moments stay within their range.
const RETRY_MS_MAX: u64 = 100 * 365 * 24 * 60 * 60 * 1_000;

/// Locks in the order of opening, as commits do, so that none waits for another in a circle. Answers come by position.
pub(crate) const HEARTBEAT: &str = concat!(
    moment!("$6"),
    ", found as materialized ( \
        select i.position, i.fence, t.task_no \
        from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) \
            as i(position, run_id, turn, call_index, fence) cross join lateral ( \
            select task_no from holdpoint_tasks \
            where run_no = (select run_no from holdpoint_runs where run_id = i.run_id) \
                and turn = i.turn and call_index = i.call_index \
            offset 0) t \
    ), held as materialized ( \
        select task_no, state, fence from holdpoint_tasks \
        where task_no = any(array(select task_no from found)) and state <> 0 \
        order by task_no for update \
    ), kept as materialized ( \
        select f.position, h.task_no, h.state from found f join held h on h.task_no = f.task_no and h.fence = f.fence \
    ), prolonged as ( \
        update holdpoint_tasks t set ready_at = least(moment.now + $7 * 1000, t.deadline), lease_ms = $7 \
        from moment where t.task_no = any(array(select task_no from kept where state = 1))) \
    select position from kept"
);

/// A worker that did not hear the answer brings its result again under the same lease: the first result stays.
pub(crate) const COMPLETE: &str = concat!(
    "with completed as ( \
        update holdpoint_tasks t set state = 2, result = $5, delivery = nextval('holdpoint_fences') where ",
    of_call!("$1", "$2", "$3"),
    " and t.fence = $4 and t.state + 0 = 1 returning 1) \
    select 1 as is_first from completed union all select 0 from holdpoint_tasks t where ",
    of_call!("$1", "$2", "$3"),
    " and t.fence = $4 and t.state + 0 = 2 limit 1"
);

/// Sent again by the same request, it is recognised and changes nothing more.
pub(crate) const RELEASE: &str = concat!(
    moment!("$8"),
    " update holdpoint_tasks t set \
        attempts = case when t.state = 1 then greatest(t.attempts - $5, 0) else t.attempts end, \
        ready_at = case when t.state = 1 then moment.now + $6 else t.ready_at end, \
        state = 0, worker = null, since = null, last_request = $7 \
    from moment where ",
    of_call!("$1", "$2", "$3"),
    " and t.fence = $4 \
        and ((t.state + 0 = 1 and (t.ready_at <= moment.now or not $9)) or (t.state + 0 = 0 and t.last_request = $7)) \
    returning 1"
);

pub(crate) const COMPLETED: &str = concat!(
    "select ",
    task_columns!(),
    ", t.result from holdpoint_runs r join holdpoint_tasks t on t.run_no = r.run_no \
     where ",
    of_run!("$1"),
    " and t.state + 0 = 2 order by t.delivery"
);

/// Completed tasks are few: they go as soon as their run collects them.
pub(crate) const COLLECTABLE: &str = "select r.run_id from ( \
        select distinct t.run_no from unnest($1::text[]) as a(agent) \
        join holdpoint_tasks t on t.agent = a.agent and t.state = 2) t \
    join holdpoint_runs r on r.run_no = t.run_no and r.status in (1, 2) limit $2";

/// The longest ago of each agent, so that the index gives them in order, and then the longest ago of all.
pub(crate) const LAPSED: &str = concat!(
    "select ",
    task_columns!(),
    " from unnest($1::text[]) as a(agent) cross join lateral ( \
        select * from holdpoint_tasks where state = 1 and agent = a.agent and ready_at <= (select ",
    now!("$3"),
    ") order by ready_at, task_no limit $2) t \
     join holdpoint_runs r on r.run_no = t.run_no order by t.ready_at, t.task_no limit $2"
);

pub(crate) const TASK: &str = concat!(
    "select ",
    task_columns!(),
    " from holdpoint_runs r join holdpoint_tasks t on t.run_no = r.run_no \
     where ",
    of_call!("$1", "$2", "$3"),
    " and ($4::text is null or t.tenant = $4)"
);

const TASKS: &str =
    concat!("select ", task_columns!(), " from holdpoint_tasks t join holdpoint_runs r on r.run_no = t.run_no where ");

/// A fence that the database cannot hold is that of no lease.
fn fence(lease: &TaskLease) -> i64 {
    i64::try_from(lease.fence.0).unwrap_or(-1)
}

/// A statement that begins with a call and the fence of its lease.
fn about<'q>(sql: &'static str, lease: &'q TaskLease) -> Statement<'q> {
    let CallKey { run, turn, index } = &lease.key;
    sqlx::query(sql).bind(run.as_str()).bind(i64::from(turn.0)).bind(i64::from(index.0)).bind(fence(lease))
}

#[async_trait]
impl TaskQueue for PostgresStore {
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError> {
        lease::lease(&self.pool, &self.clock, request).await
    }

    async fn heartbeat(&self, leases: &[TaskLease], lease_ms: u64) -> Result<Vec<LeaseState>, StoreError> {
        let mut states = vec![LeaseState::Lost; leases.len()];
        if leases.is_empty() {
            return Ok(states);
        }
        let heartbeat = || {
            sqlx::query(HEARTBEAT)
                .bind((0..).take(leases.len()).collect::<Vec<i64>>())
                .bind(leases.iter().map(|lease| lease.key.run.as_str()).collect::<Vec<_>>())
                .bind(leases.iter().map(|lease| i64::from(lease.key.turn.0)).collect::<Vec<_>>())
                .bind(leases.iter().map(|lease| i64::from(lease.key.index.0)).collect::<Vec<_>>())
                .bind(leases.iter().map(fence).collect::<Vec<_>>())
                .bind(self.clock.given_us())
                .bind(signed(lease_ms.min(LEASE_MS_MAX)))
        };
        for row in &self.pool.rows("prolong leases", heartbeat).await? {
            if let Some(state) = states.get_mut(row.number::<usize>("position")?) {
                *state = LeaseState::Held;
            }
        }
        Ok(states)
    }

    async fn complete(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError> {
        let result = packed::pack_one(result);
        // A statement that waited for another one with the same result does not see in its own snapshot what that one wrote:
        // the second look does.
        for _ in 0..2 {
            let complete = || about(COMPLETE, lease).bind(&*result);
            if let Some(row) = self.pool.rows("keep a result", complete).await?.first() {
                if row.int("is_first")? == 1 {
                    self.wakes.notify(Topic::Runs);
                    return Ok(TaskCompletion::Stored);
                }
                return Ok(TaskCompletion::Present);
            }
        }
        Ok(TaskCompletion::LeaseLost)
    }

    async fn completed(&self, run: &RunId) -> Result<Vec<DeliveredTask>, StoreError> {
        let rows = self.pool.rows("read results", || sqlx::query(COMPLETED).bind(run.as_str())).await?;
        rows.iter().map(|row| Ok(DeliveredTask { task: row.task()?, result: row.packed("result")? })).collect()
    }

    async fn collectable(&self, agents: &Agents, most: usize) -> Result<Vec<RunId>, StoreError> {
        let agents = distinct(agents);
        let find = || sqlx::query(COLLECTABLE).bind(&agents).bind(limit(most));
        run_ids(&self.pool.rows("find runs with results", find).await?)
    }

    async fn release(&self, lease: &TaskLease, how: Release) -> Result<LeaseState, StoreError> {
        let (uncounted, delay_ms, only_lapsed) = match how {
            Release::Unstarted => (1_i64, 0, false),
            Release::Retry { delay_ms } => (0, delay_ms, false),
            Release::Lapsed { delay_ms } => (0, delay_ms, true),
        };
        let (delay_us, token) = (micros(delay_ms.min(RETRY_MS_MAX)), token());
        let release = || {
            let release = about(RELEASE, lease).bind(uncounted).bind(delay_us);
            release.bind(token).bind(self.clock.given_us()).bind(only_lapsed)
        };
        if self.pool.rows("give a task back", release).await?.is_empty() {
            return Ok(LeaseState::Lost);
        }
        self.wakes.notify(Topic::Tasks);
        Ok(LeaseState::Held)
    }

    async fn lapsed(&self, agents: &Agents, most: usize) -> Result<Vec<TaskHead>, StoreError> {
        let agents = distinct(agents);
        let find = || sqlx::query(LAPSED).bind(&agents).bind(limit(most)).bind(self.clock.given_us());
        self.pool.rows("find lapsed leases", find).await?.iter().map(Row::task).collect()
    }

    async fn find(&self, scope: &Scope, key: &CallKey) -> Result<Option<TaskHead>, StoreError> {
        let tenant = scope_key(scope);
        let find = || {
            let find = sqlx::query(TASK).bind(key.run.as_str()).bind(i64::from(key.turn.0));
            find.bind(i64::from(key.index.0)).bind(tenant.as_deref())
        };
        self.pool.rows("read a task", find).await?.first().map(Row::task).transpose()
    }

    async fn list(&self, filter: &TaskFilter) -> Result<Page<TaskHead>, StoreError> {
        let rows = self.pool.list("list tasks", &filter.search(TASKS)?).await?;
        page(List::Tasks, filter.limit, &rows, ["task_no"], Row::task)
    }
}
