//! Who drives a run.

use holdpoint_core::RunId;
use holdpoint_store::{CLAIM_LIMIT_MAX, ClaimRequest, Hold, LEASE_MS_MAX, LeaseState, StoreError};

use crate::clock::Moments;
use crate::lines::Lines;
use crate::read::distinct;
use crate::row::{column, limit, milliseconds};

const RENEW: &str = "update holdpoint_runs \
    set free_at = coalesce($4::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) + $3 \
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
    update holdpoint_runs r set owner = $3, free_at = moment.now + $4 \
    from moment, found where r.run_no = found.run_no returning r.run_id, found.free_at, found.run_no";

pub(crate) async fn renew(
    lines: &Lines,
    moments: &Moments,
    run: &RunId,
    hold: &Hold,
) -> Result<LeaseState, StoreError> {
    let lease_us = milliseconds(hold.lease_ms, LEASE_MS_MAX);
    let rows = lines.rows("hold the run", || {
        sqlx::query(RENEW).bind(run.as_str()).bind(hold.owner.as_str()).bind(lease_us).bind(moments.given_us())
    });
    Ok(if rows.await?.is_empty() { LeaseState::Lost } else { LeaseState::Held })
}

/// When the answer is lost, the runs that it named stay held until their lease lapses: nothing has begun.
pub(crate) async fn claim(lines: &Lines, moments: &Moments, request: &ClaimRequest) -> Result<Vec<RunId>, StoreError> {
    let agents = distinct(&request.agents);
    let most = limit(request.limit.min(CLAIM_LIMIT_MAX));
    if agents.is_empty() || most == 0 {
        return Ok(Vec::new());
    }
    let lease_us = milliseconds(request.hold.lease_ms, LEASE_MS_MAX);
    let rows = lines.rows("claim runs", || {
        let claim = sqlx::query(CLAIM).bind(&agents).bind(most).bind(request.hold.owner.as_str());
        claim.bind(lease_us).bind(moments.given_us())
    });
    let mut claimed = Vec::new();
    for row in &rows.await? {
        let order: (i64, i64) = (column(row, 1)?, column(row, 2)?);
        claimed.push((order, RunId::new(column::<&str>(row, 0)?)));
    }
    claimed.sort_unstable_by_key(|(order, _)| *order);
    Ok(claimed.into_iter().map(|(_, run)| run).collect())
}
