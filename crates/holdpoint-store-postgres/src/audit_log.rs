//! The audit log of all runs: heads of chains, seals over them, and tombstones of runs that were pruned.

mod seal;

use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_core::RunId;
use holdpoint_store::rows::{audit_page, limit, scope_key, signed, tenant_key};
use holdpoint_store::{
    AuditLog, AuditRow, AuditScope, AuditedRun, Cursor, DUE_LIMIT_MAX, List, Page, Scope, Seal, SealedRun, StoreError,
    Tombstone, Trace, Unsealed,
};

use crate::PostgresStore;
use crate::columns::Row;

#[cfg(all(test, feature = "server-tests"))]
pub(crate) use seal::{LAST, TO_SEAL};

const AUDIT: &str = "select l.last_seq, l.at, l.audit, l.link from holdpoint_runs r \
    join holdpoint_log l on l.run_no = r.run_no \
    where r.run_id = $1 and ($2::text is null or r.tenant = $2) and l.audit is not null order by l.last_seq";
pub(crate) const SEALS: &str = "select tenant, number, at, link, runs from holdpoint_seals \
    where tenant = $1 and number > $2 order by number limit $3";
/// Goes on after row `$2` of run `$1`. A run without rows gives one row of nulls.
macro_rules! audit_after {
    ($which:literal) => {
        concat!(
            "select r.run_no, l.last_seq, l.audit_no, l.at, l.link, l.audit, r.run_id, r.tenant, \
                r.audit_revision, r.audit_rows, r.audit_link, r.seal_no, r.sealed_revision \
            from holdpoint_runs r left join lateral ( \
                select * from holdpoint_log where run_no = r.run_no and audit is not null \
                    and last_seq > case when r.run_no = $1 then $2::bigint else 0 end order by last_seq limit $3) l on true \
            where r.run_no >= $1",
            $which,
            " order by r.run_no, l.last_seq limit $3"
        )
    };
}
pub(crate) const AUDIT_AFTER: &str = audit_after!("");
pub(crate) const AUDIT_OF_TENANT: &str = audit_after!(" and r.tenant = $4");
pub(crate) const AUDIT_OF_RUN: &str = audit_after!(" and r.run_id = $4");
/// From one tenant to the next, so that it takes as long as there are such tenants.
pub(crate) const UNSEALED: &str = "with recursive moved (tenant) as ( \
        select min(tenant) from holdpoint_runs where audit_revision > sealed_revision \
        union all \
        select (select min(r.tenant) from holdpoint_runs r \
            where r.audit_revision > r.sealed_revision and r.tenant > m.tenant) \
        from moved m where m.tenant is not null) \
    select m.tenant, (select s.at from holdpoint_seals s where s.tenant = m.tenant order by s.number desc limit 1) as at \
    from moved m where m.tenant is not null";
/// Runs and tombstones in one statement, so that no run is pruned in between. A tombstone has no `run_no`.
pub(crate) const TRACES: &str = "with asked as materialized ( \
        select a.run_id, a.revision, a.nth - 1 as position \
        from unnest($1::text[], $2::bigint[]) with ordinality as a(run_id, revision, nth)) \
    select a.position, r.run_no, l.link, r.sealed_revision, r.seal_no, null::text as tenant, null::text as run_id, \
        null::bigint as revision, null::bigint as seal, null::bigint as at \
    from asked a join holdpoint_runs r on r.run_id = a.run_id and r.tenant = $3 \
        left join holdpoint_log l on l.run_no = r.run_no and l.last_seq = a.revision and l.audit is not null \
    union all \
    select a.position, null, t.link, null, null, t.tenant, t.run_id, t.revision, t.seal, t.at \
    from asked a join holdpoint_tombstones t on t.tenant = $3 and t.run_id = a.run_id";
pub(crate) const TOMBSTONES: &str = "select t.tenant, t.run_id, t.revision, t.link, t.seal, t.at from ( \
        select distinct run_id from holdpoint_tombstones where tenant = $1 and run_id > $2 order by run_id limit $3) n \
    join holdpoint_tombstones t on t.tenant = $1 and t.run_id = n.run_id order by t.run_id, t.at, t.link";
/// From one tenant to the next, so that it takes as long as there are tenants.
pub(crate) const TENANTS: &str = "with recursive tenants (tenant) as ( \
        select min(tenant) from (select min(tenant) as tenant from holdpoint_runs \
            union all select min(tenant) from holdpoint_seals union all select min(tenant) from holdpoint_tombstones) f \
        union all \
        select (select min(tenant) from ( \
            select min(tenant) as tenant from holdpoint_runs where tenant > t.tenant \
            union all select min(tenant) from holdpoint_seals where tenant > t.tenant \
            union all select min(tenant) from holdpoint_tombstones where tenant > t.tenant) n) \
        from tenants t where t.tenant is not null) \
    select tenant from tenants where tenant is not null";

#[async_trait]
impl AuditLog for PostgresStore {
    async fn rows(&self, scope: &Scope, run: &RunId) -> Result<Vec<AuditRow>, StoreError> {
        let key = scope_key(scope);
        let read = || sqlx::query(AUDIT).bind(run.as_str()).bind(key.as_deref());
        self.pool.rows("read the audit log of the run", read).await?.iter().map(Row::audit_row).collect()
    }

    async fn rows_after(
        &self,
        scope: &AuditScope,
        after: Option<&Cursor>,
        most: usize,
    ) -> Result<Page<AuditedRun>, StoreError> {
        let [run_no, seq] = List::AuditRows.position(after, [0, 0])?;
        let most = most.clamp(1, DUE_LIMIT_MAX);
        let (sql, which) = match scope {
            AuditScope::All => (AUDIT_AFTER, None),
            AuditScope::Tenant(tenant) => (AUDIT_OF_TENANT, Some(tenant_key(tenant.as_deref()))),
            AuditScope::Run(run) => (AUDIT_OF_RUN, Some(run.as_str().to_owned())),
        };
        let read = || {
            let read = sqlx::query(sql).bind(run_no).bind(seq).bind(signed(most));
            if let Some(which) = &which { read.bind(which) } else { read }
        };
        let rows = self.pool.rows("read the audit log", read).await?;
        audit_page(&rows, most, |_, row| row.audited_run())
    }

    async fn seal(&self, tenant: Option<&str>) -> Result<Option<Seal>, StoreError> {
        seal::seal(&self.pool, &self.clock, tenant).await
    }

    async fn unsealed(&self) -> Result<Vec<Unsealed>, StoreError> {
        let rows = self.pool.rows("look for what is to be sealed", || sqlx::query(UNSEALED)).await?;
        rows.iter().map(Row::unsealed).collect()
    }

    async fn seals(&self, tenant: Option<&str>, after: u64, most: usize) -> Result<Vec<Seal>, StoreError> {
        let key = tenant_key(tenant);
        let read = || sqlx::query(SEALS).bind(&key).bind(signed(after)).bind(limit(most));
        self.pool.rows("read seals", read).await?.iter().map(Row::seal).collect()
    }

    async fn traces(&self, tenant: Option<&str>, sealed: &[SealedRun]) -> Result<Vec<Trace>, StoreError> {
        let key = tenant_key(tenant);
        let names: Vec<&str> = sealed.iter().map(|sealed| sealed.run.as_str()).collect();
        let revisions: Vec<i64> = sealed.iter().map(|sealed| signed(sealed.revision.0)).collect();
        let read = || sqlx::query(TRACES).bind(&names).bind(&revisions).bind(&key);
        let rows = self.pool.rows("look for sealed runs", read).await?;
        let mut traces = vec![Trace::default(); sealed.len()];
        rows.iter().try_for_each(|row| row.add_to_trace(&mut traces))?;
        Ok(traces)
    }

    async fn tombstones(
        &self,
        tenant: Option<&str>,
        after: Option<&RunId>,
        most: usize,
    ) -> Result<Vec<Tombstone>, StoreError> {
        let (key, after) = (tenant_key(tenant), after.map_or("", RunId::as_str));
        let read = || sqlx::query(TOMBSTONES).bind(&key).bind(after).bind(limit(most));
        self.pool.rows("read the tombstones of pruned runs", read).await?.iter().map(Row::tombstone).collect()
    }

    async fn tenants(&self) -> Result<Vec<Option<Arc<str>>>, StoreError> {
        self.pool.rows("name the tenants", || sqlx::query(TENANTS)).await?.iter().map(Row::tenant).collect()
    }
}
