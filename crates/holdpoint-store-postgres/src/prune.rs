//! Removes runs that are over.

use holdpoint_core::RunId;
use holdpoint_store::rows::{run_ids, signed, tenant_key};
use holdpoint_store::{PRUNE_LIMIT_MAX, PruneRequest, StoreError};

use crate::PostgresStore;
use crate::sql::now;

/// Runs that a commit moves at this moment are left for the next time.
pub(crate) const PRUNE: &str = concat!(
    "with old as materialized ( \
        select run_no, tenant, run_id, audit_revision, audit_link, seal_no from holdpoint_runs \
        where status >= 3 and updated_at < $1 and ($2::text is null or tenant = $2) \
        order by updated_at, run_no limit $3 for update skip locked \
    ), log as (delete from holdpoint_log l using old where l.run_no = old.run_no \
    ), tasks as (delete from holdpoint_tasks t using old where t.run_no = old.run_no \
    ), approvals as (delete from holdpoint_approvals q using old where q.run_no = old.run_no \
    ), stones as ( \
        insert into holdpoint_tombstones as t (tenant, run_id, revision, link, seal, at) \
        select tenant, run_id, audit_revision, audit_link, seal_no, ",
    now!("$4"),
    " from old \
        on conflict (tenant, run_id, link) do update set seal = greatest(t.seal, excluded.seal), at = excluded.at) \
    delete from holdpoint_runs r using old where r.run_no = old.run_no returning r.run_id, r.run_no"
);

pub(crate) async fn prune(store: &PostgresStore, request: &PruneRequest) -> Result<Vec<RunId>, StoreError> {
    let most = signed(request.limit.min(PRUNE_LIMIT_MAX));
    if most == 0 {
        return Ok(Vec::new());
    }
    let key = request.tenant.as_deref().map(|tenant| tenant_key(Some(tenant)));
    let prune = || {
        let prune = sqlx::query(PRUNE).bind(request.before.0).bind(key.as_deref());
        prune.bind(most).bind(store.clock.given_us())
    };
    let rows = store.pool.rows("remove runs", prune).await?;
    for row in &rows {
        store.wakes.pruned(row.int("run_no")?);
    }
    run_ids(&rows)
}
