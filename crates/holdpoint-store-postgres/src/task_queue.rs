//! What workers do with tasks.

mod lease;
mod list;

use holdpoint_core::{CallKey, RunId};
use holdpoint_store::{DeliveredTask, LEASE_MS_MAX, LeaseState, Release, StoreError, TaskCompletion, TaskLease};

use crate::clock::StoreClock;
use crate::commit::token;
use crate::pool::Pool;
use crate::row::{AFTER_TASK, TASK, column, milliseconds, task};
use sqlx::AssertSqlSafe;

pub(crate) use lease::lease;
#[cfg(all(test, feature = "testing"))]
pub(crate) use lease::{LEASE, LEASE_OF_TENANT};
#[cfg(all(test, feature = "testing"))]
pub(crate) use list::{ARRIVALS, lapsed_sql};
pub(crate) use list::{arrivals, find, lapsed, tasks};

/// A task that is given back waits at most this long, so that clock stay within their range.
const RETRY_MS_MAX: u64 = 100 * 365 * 24 * 60 * 60 * 1_000;

/// Locks in the order of opening, as commits do, so that nobody waits for each other. Answers come by place.
const HEARTBEAT: &str = "with moment as materialized ( \
        select coalesce($6::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) as now \
    ), held as materialized ( \
        select i.place as asked, t.task_no, t.state \
        from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) as i(place, run_id, turn, call, fence) \
        join holdpoint_runs r on r.run_id = i.run_id \
        join holdpoint_tasks t on t.run_no = r.run_no and t.turn = i.turn and t.place = i.call \
            and t.fence = i.fence and t.state <> 0 \
        order by t.task_no for update of t \
    ), prolonged as ( \
        update holdpoint_tasks t set ready_at = least(moment.now + $7, t.deadline), lease_us = $7 \
        from moment, held where t.task_no = held.task_no and held.state = 1) \
    select asked from held";

/// Delivering again under the same lease is what somebody does who did not hear the answer: the first result stays.
const DELIVER: &str = "with delivered as ( \
        update holdpoint_tasks t set state = 2, result = $5, delivery = nextval('holdpoint_fences') \
        from holdpoint_runs r \
        where r.run_id = $1 and t.run_no = r.run_no and t.turn = $2 and t.place = $3 and t.fence = $4 and t.state = 1 \
        returning 1) \
    select 1 from delivered union all \
    select 2 from holdpoint_runs r join holdpoint_tasks t on t.run_no = r.run_no \
    where r.run_id = $1 and t.turn = $2 and t.place = $3 and t.fence = $4 and t.state = 2 limit 1";

/// Sent again by the same request, it is recognised and changes nothing more.
const RELEASE: &str = "with moment as materialized ( \
        select coalesce($8::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) as now) \
    update holdpoint_tasks t set \
        attempts = case when t.state = 1 then greatest(t.attempts - $5, 0) else t.attempts end, \
        ready_at = case when t.state = 1 then moment.now + $6 else t.ready_at end, \
        state = 0, worker = null, since = null, last_request = $7 \
    from moment, holdpoint_runs r \
    where r.run_id = $1 and t.run_no = r.run_no and t.turn = $2 and t.place = $3 and t.fence = $4 \
        and ((t.state = 1 and (t.ready_at <= moment.now or not $9)) or (t.state = 0 and t.last_request = $7)) \
    returning 1";

/// The place of a task and its fence, as every statement names them. A fence that the database cannot hold is none.
fn named(lease: &TaskLease) -> (&str, i64, i64, i64) {
    let CallKey { run, turn, index } = &lease.key;
    (run.as_str(), i64::from(turn.0), i64::from(index.0), i64::try_from(lease.fence.0).unwrap_or(-1))
}

pub(crate) async fn heartbeat(
    pool: &Pool,
    clock: &StoreClock,
    leases: &[TaskLease],
    lease_ms: u64,
) -> Result<Vec<LeaseState>, StoreError> {
    let mut states = vec![LeaseState::Lost; leases.len()];
    if leases.is_empty() {
        return Ok(states);
    }
    let lease_us = milliseconds(lease_ms, LEASE_MS_MAX);
    let rows = pool.rows("prolong leases", || {
        sqlx::query(HEARTBEAT)
            .bind((0..).take(leases.len()).collect::<Vec<i64>>())
            .bind(leases.iter().map(|lease| named(lease).0).collect::<Vec<_>>())
            .bind(leases.iter().map(|lease| named(lease).1).collect::<Vec<_>>())
            .bind(leases.iter().map(|lease| named(lease).2).collect::<Vec<_>>())
            .bind(leases.iter().map(|lease| named(lease).3).collect::<Vec<_>>())
            .bind(clock.given_us())
            .bind(lease_us)
    });
    for row in &rows.await? {
        let place = usize::try_from(column::<i64>(row, 0)?).unwrap_or(usize::MAX);
        if let Some(state) = states.get_mut(place) {
            *state = LeaseState::Held;
        }
    }
    Ok(states)
}

pub(crate) async fn deliver(pool: &Pool, lease: &TaskLease, result: &[u8]) -> Result<TaskCompletion, StoreError> {
    let (run, turn, place, fence) = named(lease);
    // A statement that waited for another one with the same result does not see in its own snapshot what that one wrote: the
    // second look does.
    for _ in 0..2 {
        let deliver = || sqlx::query(DELIVER).bind(run).bind(turn).bind(place).bind(fence).bind(result);
        if let Some(row) = pool.rows("keep a result", deliver).await?.first() {
            return Ok(if column::<i32>(row, 0)? == 1 { TaskCompletion::Stored } else { TaskCompletion::Present });
        }
    }
    Ok(TaskCompletion::LeaseLost)
}

pub(crate) async fn release(
    pool: &Pool,
    clock: &StoreClock,
    lease: &TaskLease,
    how: Release,
) -> Result<LeaseState, StoreError> {
    let (run, turn, place, fence) = named(lease);
    let (uncounted, delay_us) = match how {
        Release::Unstarted => (1, 0),
        Release::Retry { delay_ms } | Release::Lapsed { delay_ms } => (0, milliseconds(delay_ms, RETRY_MS_MAX)),
    };
    let only_lapsed = matches!(how, Release::Lapsed { .. });
    let request = token();
    let rows = pool.rows("give a task back", || {
        let release = sqlx::query(RELEASE).bind(run).bind(turn).bind(place).bind(fence);
        release.bind(uncounted).bind(delay_us).bind(request).bind(clock.given_us()).bind(only_lapsed)
    });
    Ok(if rows.await?.is_empty() { LeaseState::Lost } else { LeaseState::Held })
}

pub(crate) async fn delivered(pool: &Pool, run: &RunId) -> Result<Vec<DeliveredTask>, StoreError> {
    let sql = || {
        AssertSqlSafe(format!(
            "select {TASK}, t.result from holdpoint_runs r join holdpoint_tasks t on t.run_no = r.run_no \
             where r.run_id = $1 and t.state = 2 order by t.delivery"
        ))
    };
    let rows = pool.rows("read results", || sqlx::query(sql()).bind(run.as_str())).await?;
    let row = |row| Ok(DeliveredTask { task: task(row)?, result: column::<&[u8]>(row, AFTER_TASK)?.into() });
    rows.iter().map(row).collect()
}
