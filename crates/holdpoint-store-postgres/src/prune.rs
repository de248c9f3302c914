//! Throwing away what is over.

use holdpoint_core::RunId;
use holdpoint_store::{PRUNE_LIMIT_MAX, PruneRequest, StoreError};

use crate::clock::StoreClock;
use crate::pool::Pool;
use crate::row::{column, limit};
use crate::wait::Wakes;

/// Runs that somebody moves at this moment are left for the next time.
pub(crate) const PRUNE: &str = "with old as materialized ( \
        select run_no, audit_tenant, run_id, audit_revision, audit_link, seal_no from holdpoint_runs \
        where status >= 3 and updated_at < $1 and ($2::text is null or tenant = $2) \
        order by updated_at, run_no limit $3 for update skip locked \
    ), log as (delete from holdpoint_log l using old where l.run_no = old.run_no \
    ), tasks as (delete from holdpoint_tasks t using old where t.run_no = old.run_no \
    ), questions as (delete from holdpoint_questions q using old where q.run_no = old.run_no \
    ), stones as ( \
        insert into holdpoint_tombstones as t (tenant, run_id, revision, link, seal, at) \
        select audit_tenant, run_id, audit_revision, audit_link, seal_no, \
            coalesce($4::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) from old \
        on conflict (tenant, run_id, link) do update set seal = greatest(t.seal, excluded.seal), at = excluded.at) \
    delete from holdpoint_runs r using old where r.run_no = old.run_no returning r.run_id, r.run_no";

pub(crate) async fn prune(
    pool: &Pool,
    clock: &StoreClock,
    wakes: &Wakes,
    request: &PruneRequest,
) -> Result<Vec<RunId>, StoreError> {
    let most = limit(request.limit.min(PRUNE_LIMIT_MAX));
    if most == 0 {
        return Ok(Vec::new());
    }
    let rows = pool.rows("remove runs", || {
        let prune = sqlx::query(PRUNE).bind(request.before.0).bind(request.tenant.as_deref());
        prune.bind(most).bind(clock.given_us())
    });
    let mut removed = Vec::new();
    for row in &rows.await? {
        removed.push((column::<i64>(row, 1)?, RunId::new(column::<&str>(row, 0)?)));
    }
    wakes.gone(removed.iter().map(|(run_no, _)| *run_no));
    Ok(removed.into_iter().map(|(_, run)| run).collect())
}
