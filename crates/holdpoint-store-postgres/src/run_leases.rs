//! Who drives a run.

use holdpoint_core::{CallIndex, CallKey, RunId, Timestamp, Turn};
use holdpoint_store::{
    CLAIM_LIMIT_MAX, ClaimRequest, Hold, LEASE_MS_MAX, LeaseOf, LeaseState, OverlongLease, StoreError,
};
use sqlx::postgres::PgRow;

use crate::clock::StoreClock;
use crate::pool::Pool;
use crate::row::{column, limit, milliseconds, small, unsigned};
use crate::run_log::distinct;

const RENEW: &str = "update holdpoint_runs \
    set free_at = coalesce($4::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) + $3, \
        lease_us = $3 \
    where run_id = $1 and status = 0 and owner = $2 returning 1";

/// Those that wait longest of each agent, locked one by one as the index gives them, and then the longest of all.
pub(crate) const CLAIM: &str = "with moment as materialized ( \
        select coalesce($5::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) as now \
    ), found as materialized ( \
        select r.run_no, r.free_at from moment cross join unnest($1::text[]) as a(agent) cross join lateral ( \
            select run_no, free_at from holdpoint_runs \
            where status = 0 and agent = a.agent and free_at <= now \
            order by free_at, run_no limit $2 for update skip locked) r \
        order by r.free_at, r.run_no limit $2) \
    update holdpoint_runs r set owner = $3, free_at = moment.now + $4, lease_us = $4 \
    from moment, found where r.run_no = found.run_no returning r.run_id, found.free_at, found.run_no";

/// `$1` agents, `$2` how many, `$3` the moment if it is given.
pub(crate) const OVERLONG: &str = "with moment as materialized ( \
        select coalesce($3::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) as now \
    ), runs as ( \
        select r.run_id, null::bigint as turn, null::bigint as place, r.free_at as until, r.lease_us \
        from moment cross join unnest($1::text[]) as a(agent) join holdpoint_runs r \
            on r.status = 0 and r.agent = a.agent and r.free_at > now and r.free_at > now + r.lease_us limit $2 \
    ), tasks as ( \
        select r.run_id, t.turn, t.place, t.ready_at, t.lease_us \
        from moment cross join unnest($1::text[]) as a(agent) join holdpoint_tasks t \
            on t.state = 1 and t.agent = a.agent and t.ready_at > now and t.ready_at > now + t.lease_us \
        join holdpoint_runs r on r.run_no = t.run_no limit $2) \
    select * from runs union all select * from tasks limit $2";
const END_RUN_LEASE: &str = "update holdpoint_runs \
    set free_at = coalesce($3::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) \
    where run_id = $1 and free_at = $2 and status = 0 returning 1";
const END_TASK_LEASE: &str = "update holdpoint_tasks t \
    set ready_at = coalesce($3::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) \
    from holdpoint_runs r \
    where r.run_id = $1 and t.run_no = r.run_no and t.turn = $4 and t.place = $5 and t.ready_at = $2 and t.state = 1 \
    returning 1";

pub(crate) async fn overlong(
    pool: &Pool,
    clock: &StoreClock,
    agents: &[&str],
    most: i64,
) -> Result<Vec<OverlongLease>, StoreError> {
    let find = || sqlx::query(OVERLONG).bind(agents).bind(most).bind(clock.given_us());
    let read = |row: &PgRow| {
        let run = RunId::new(column::<&str>(row, 0)?);
        let of = match (column::<Option<i64>>(row, 1)?, column::<Option<i64>>(row, 2)?) {
            (Some(turn), Some(place)) => {
                LeaseOf::Task(CallKey { run, turn: Turn(small(turn)?), index: CallIndex(small(place)?) })
            }
            _ => LeaseOf::Run(run),
        };
        let lease_us = unsigned(column::<Option<i64>>(row, 4)?.unwrap_or(0))?;
        Ok(OverlongLease { of, until: Timestamp(column(row, 3)?), lease_ms: lease_us / 1_000 })
    };
    pool.rows("find overlong leases", find).await?.iter().map(read).collect()
}

/// Sent again after its answer was lost, it finds another end and says that there was nothing to end.
pub(crate) async fn end(pool: &Pool, clock: &StoreClock, lease: &OverlongLease) -> Result<bool, StoreError> {
    let rows = pool.rows("end a lease", || match &lease.of {
        LeaseOf::Run(run) => sqlx::query(END_RUN_LEASE).bind(run.as_str()).bind(lease.until.0).bind(clock.given_us()),
        LeaseOf::Task(CallKey { run, turn, index }) => {
            let end = sqlx::query(END_TASK_LEASE).bind(run.as_str()).bind(lease.until.0).bind(clock.given_us());
            end.bind(i64::from(turn.0)).bind(i64::from(index.0))
        }
    });
    Ok(!rows.await?.is_empty())
}

pub(crate) async fn renew(pool: &Pool, clock: &StoreClock, run: &RunId, hold: &Hold) -> Result<LeaseState, StoreError> {
    let lease_us = milliseconds(hold.lease_ms, LEASE_MS_MAX);
    let rows = pool.rows("hold the run", || {
        sqlx::query(RENEW).bind(run.as_str()).bind(hold.owner.as_str()).bind(lease_us).bind(clock.given_us())
    });
    Ok(if rows.await?.is_empty() { LeaseState::Lost } else { LeaseState::Held })
}

/// When the answer is lost, the runs that it named stay held until their lease lapses: nothing has begun.
pub(crate) async fn claim(pool: &Pool, clock: &StoreClock, request: &ClaimRequest) -> Result<Vec<RunId>, StoreError> {
    let agents = distinct(&request.agents);
    let most = limit(request.limit.min(CLAIM_LIMIT_MAX));
    if agents.is_empty() || most == 0 {
        return Ok(Vec::new());
    }
    let lease_us = milliseconds(request.hold.lease_ms, LEASE_MS_MAX);
    let rows = pool.rows("claim runs", || {
        let claim = sqlx::query(CLAIM).bind(&agents).bind(most).bind(request.hold.owner.as_str());
        claim.bind(lease_us).bind(clock.given_us())
    });
    let mut claimed = Vec::new();
    for row in &rows.await? {
        let order: (i64, i64) = (column(row, 1)?, column(row, 2)?);
        claimed.push((order, RunId::new(column::<&str>(row, 0)?)));
    }
    claimed.sort_unstable_by_key(|(order, _)| *order);
    Ok(claimed.into_iter().map(|(_, run)| run).collect())
}
