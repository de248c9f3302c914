//! Throwing away what is over.

use holdpoint_core::RunId;
use holdpoint_store::{PRUNE_LIMIT_MAX, PruneRequest, StoreError};

use crate::lines::Lines;
use crate::row::{column, limit};
use crate::wait::Wakes;

/// Runs that somebody moves at this moment are left for the next time.
pub(crate) const PRUNE: &str = "with old as materialized ( \
        select run_no from holdpoint_runs \
        where status >= 3 and updated_at < $1 and ($2::text is null or tenant = $2) \
        order by updated_at, run_no limit $3 for update skip locked \
    ), log as (delete from holdpoint_log l using old where l.run_no = old.run_no \
    ), tasks as (delete from holdpoint_tasks t using old where t.run_no = old.run_no) \
    delete from holdpoint_runs r using old where r.run_no = old.run_no returning r.run_id, r.run_no";

pub(crate) async fn prune(lines: &Lines, wakes: &Wakes, request: &PruneRequest) -> Result<Vec<RunId>, StoreError> {
    let most = limit(request.limit.min(PRUNE_LIMIT_MAX));
    if most == 0 {
        return Ok(Vec::new());
    }
    let rows = lines
        .rows("remove runs", || sqlx::query(PRUNE).bind(request.before.0).bind(request.tenant.as_deref()).bind(most));
    let mut removed = Vec::new();
    for row in &rows.await? {
        removed.push((column::<i64>(row, 1)?, RunId::new(column::<&str>(row, 0)?)));
    }
    wakes.gone(removed.iter().map(|(run_no, _)| *run_no));
    Ok(removed.into_iter().map(|(_, run)| run).collect())
}
