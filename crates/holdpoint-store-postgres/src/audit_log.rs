//! The audit log of all runs: heads of chains, seals over them, and what is left of runs that were pruned.

mod seal;

use std::sync::Arc;

use holdpoint_core::{Revision, RunId, Timestamp};
use holdpoint_store::audit::unpack_sealed;
use holdpoint_store::{
    AuditRow, AuditScope, AuditedRun, Cursor, DUE_LIMIT_MAX, Link, List, Page, Seal, SealedRun, StoreError, Tombstone,
    Trace, Unsealed,
};
use sqlx::postgres::PgRow;

use crate::pool::Pool;
use crate::row::{column, limit, link, number, tenant, tenant_key, unsigned};

pub(crate) use seal::seal;
#[cfg(all(test, feature = "testing"))]
pub(crate) use seal::{LAST, TO_SEAL};

pub(crate) const SEALS: &str = "select tenant, number, at, link, runs from holdpoint_seals \
    where tenant = $1 and number > $2 order by number limit $3";
pub(crate) const HEADS: &str = "select run_id, audit_revision, audit_link from holdpoint_runs \
    where audit_tenant = $1 and run_id > $2 and audit_rows > 0 order by run_id limit $3";
/// Goes on after row `$2` of run `$1`. A run without rows gives one row of nothing.
macro_rules! audit_after {
    ($which:literal) => {
        concat!(
            "select r.run_no, l.last_seq, l.audit_no, l.at, l.link, l.audit, r.run_id, r.audit_tenant, \
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
pub(crate) const AUDIT_OF_TENANT: &str = audit_after!(" and r.audit_tenant = $4");
pub(crate) const AUDIT_OF_RUN: &str = audit_after!(" and r.run_id = $4");
/// From one tenant to the next, so that it takes as long as there are such tenants.
pub(crate) const UNSEALED: &str = "with recursive moved (tenant) as ( \
        select min(audit_tenant) from holdpoint_runs where audit_revision > sealed_revision \
        union all \
        select (select min(r.audit_tenant) from holdpoint_runs r \
            where r.audit_revision > r.sealed_revision and r.audit_tenant > m.tenant) \
        from moved m where m.tenant is not null) \
    select m.tenant, (select s.at from holdpoint_seals s where s.tenant = m.tenant order by s.number desc limit 1) \
    from moved m where m.tenant is not null";
/// Both in one statement, so that no run goes in between.
pub(crate) const TRACES: &str = "with asked as materialized ( \
        select * from unnest($1::text[], $2::bigint[]) with ordinality as a(run_id, revision, place)) \
    select a.place, r.run_no, l.link, r.sealed_revision, r.seal_no, \
        null::text, null::text, null::bigint, null::bytea, null::bigint, null::bigint \
    from asked a join holdpoint_runs r on r.run_id = a.run_id and r.audit_tenant = $3 \
        left join holdpoint_log l on l.run_no = r.run_no and l.last_seq = a.revision and l.audit is not null \
    union all \
    select a.place, null, null, null, null, t.tenant, t.run_id, t.revision, t.link, t.seal, t.at \
    from asked a join holdpoint_tombstones t on t.tenant = $3 and t.run_id = a.run_id";
pub(crate) const TOMBSTONES: &str = "select t.tenant, t.run_id, t.revision, t.link, t.seal, t.at from ( \
        select distinct run_id from holdpoint_tombstones where tenant = $1 and run_id > $2 order by run_id limit $3) n \
    join holdpoint_tombstones t on t.tenant = $1 and t.run_id = n.run_id order by t.run_id, t.at, t.link";
/// From one tenant to the next, so that it takes as long as there are tenants.
pub(crate) const TENANTS: &str = "with recursive tenants (tenant) as ( \
        select min(tenant) from (select min(audit_tenant) as tenant from holdpoint_runs \
            union all select min(tenant) from holdpoint_seals union all select min(tenant) from holdpoint_tombstones) f \
        union all \
        select (select min(tenant) from ( \
            select min(audit_tenant) as tenant from holdpoint_runs where audit_tenant > t.tenant \
            union all select min(tenant) from holdpoint_seals where tenant > t.tenant \
            union all select min(tenant) from holdpoint_tombstones where tenant > t.tenant) n) \
        from tenants t where t.tenant is not null) \
    select tenant from tenants where tenant is not null";

pub(crate) async fn audit_after(
    pool: &Pool,
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
        let read = sqlx::query(sql).bind(run_no).bind(seq).bind(limit(most));
        match &which {
            Some(which) => read.bind(which),
            None => read,
        }
    };
    let rows = pool.rows("read the audit log", read).await?;
    let (mut page, mut last, mut next) = (Page::default(), 0, [0, 0]);
    for row in &rows {
        (last, next) = read_audited(row, last, &mut page.items)?;
    }
    page.next = (rows.len() == most).then(|| List::AuditRows.cursor(next));
    Ok(page)
}

pub(crate) async fn audit_heads(
    pool: &Pool,
    tenant: Option<&str>,
    after: Option<&RunId>,
    most: i64,
) -> Result<Vec<SealedRun>, StoreError> {
    let (key, after) = (tenant_key(tenant), after.map_or("", RunId::as_str));
    let read = || sqlx::query(HEADS).bind(&key).bind(after).bind(most);
    pool.rows("read the heads of audit logs", read).await?.iter().map(|row| sealed(row, 0)).collect()
}

pub(crate) async fn seals(pool: &Pool, of: Option<&str>, after: u64, most: i64) -> Result<Vec<Seal>, StoreError> {
    let key = tenant_key(of);
    let rows = pool.rows("read seals", || sqlx::query(SEALS).bind(&key).bind(number(after)).bind(most)).await?;
    let seal = |row| {
        // Runs that cannot be read are none, and then the link is not right.
        let runs = unpack_sealed(column(row, 4)?).unwrap_or_default();
        let (number, at) = (unsigned(column(row, 1)?)?, Timestamp(column(row, 2)?));
        Ok(Seal { tenant: tenant(row, 0)?, number, at, runs, link: link(row, 3)? })
    };
    rows.iter().map(seal).collect()
}

pub(crate) async fn unsealed(pool: &Pool) -> Result<Vec<Unsealed>, StoreError> {
    let rows = pool.rows("look for what is to be sealed", || sqlx::query(UNSEALED)).await?;
    let read = |row| {
        let sealed_at: Option<i64> = column(row, 1)?;
        Ok(Unsealed { tenant: tenant(row, 0)?, sealed_at: sealed_at.map(Timestamp) })
    };
    rows.iter().map(read).collect()
}

pub(crate) async fn traces(pool: &Pool, tenant: Option<&str>, sealed: &[SealedRun]) -> Result<Vec<Trace>, StoreError> {
    let key = tenant_key(tenant);
    let names: Vec<&str> = sealed.iter().map(|sealed| sealed.run.as_str()).collect();
    let revisions: Vec<i64> = sealed.iter().map(|sealed| number(sealed.revision.0)).collect();
    let read = || sqlx::query(TRACES).bind(&names).bind(&revisions).bind(&key);
    let mut traces = vec![Trace::default(); sealed.len()];
    for row in &pool.rows("look for sealed runs", read).await? {
        read_trace(row, &mut traces)?;
    }
    Ok(traces)
}

pub(crate) async fn tombstones(
    pool: &Pool,
    tenant: Option<&str>,
    after: Option<&RunId>,
    most: i64,
) -> Result<Vec<Tombstone>, StoreError> {
    let (key, after) = (tenant_key(tenant), after.map_or("", RunId::as_str));
    let read = || sqlx::query(TOMBSTONES).bind(&key).bind(after).bind(most);
    pool.rows("read what is left of pruned runs", read).await?.iter().map(|row| tombstone(row, 0)).collect()
}

pub(crate) async fn tenants(pool: &Pool) -> Result<Vec<Option<Arc<str>>>, StoreError> {
    pool.rows("name the tenants", || sqlx::query(TENANTS)).await?.iter().map(|row| tenant(row, 0)).collect()
}

/// Adds the row to its run, and returns the number of the run and where to go on.
fn read_audited(row: &PgRow, last: i64, runs: &mut Vec<AuditedRun>) -> Result<(i64, [i64; 2]), StoreError> {
    let run_no: i64 = column(row, 0)?;
    let Some(revision) = column::<Option<i64>>(row, 1)? else {
        runs.push(read_run(row)?);
        return Ok((run_no, [run_no.saturating_add(1), 0]));
    };
    if run_no != last || runs.is_empty() {
        runs.push(read_run(row)?);
    }
    let place = column::<Option<i64>>(row, 2)?.unwrap_or_default().unsigned_abs();
    let (at, body) = (Timestamp(column(row, 3)?), column::<&[u8]>(row, 5)?.into());
    let row = AuditRow { revision: Revision(revision.unsigned_abs()), at, body, link: link(row, 4)? };
    if let Some(run) = runs.last_mut() {
        run.rows.push((place, row));
    }
    Ok((run_no, [run_no, revision]))
}

fn read_run(row: &PgRow) -> Result<AuditedRun, StoreError> {
    let revision = Revision(unsigned(column(row, 8)?)?);
    Ok(AuditedRun {
        head: SealedRun { run: RunId::new(column::<&str>(row, 6)?), revision, link: link(row, 10)? },
        tenant: tenant(row, 7)?,
        count: unsigned(column(row, 9)?)?,
        seal: unsigned(column(row, 11)?)?,
        sealed: Revision(unsigned(column(row, 12)?)?),
        rows: Vec::new(),
    })
}

fn read_trace(row: &PgRow, traces: &mut [Trace]) -> Result<(), StoreError> {
    // Counted from 1.
    let place = usize::try_from(column::<i64>(row, 0)? - 1).unwrap_or(usize::MAX);
    let Some(trace) = traces.get_mut(place) else { return Ok(()) };
    if column::<Option<i64>>(row, 1)?.is_some() {
        trace.is_there = true;
        trace.link = column::<Option<&[u8]>>(row, 2)?.map(Link::stored);
        (trace.sealed, trace.seal) = (Revision(unsigned(column(row, 3)?)?), unsigned(column(row, 4)?)?);
    } else {
        trace.tombstones.push(tombstone(row, 5)?);
    }
    Ok(())
}

/// Name, revision and link, from this column on.
fn sealed(row: &PgRow, from: usize) -> Result<SealedRun, StoreError> {
    let revision = Revision(unsigned(column(row, from + 1)?)?);
    Ok(SealedRun { run: RunId::new(column::<&str>(row, from)?), revision, link: link(row, from + 2)? })
}

fn tombstone(row: &PgRow, from: usize) -> Result<Tombstone, StoreError> {
    let (run, tenant) = (sealed(row, from + 1)?, tenant(row, from)?);
    let seal = unsigned(column(row, from + 4)?)?;
    Ok(Tombstone { tenant, run, seal, at: Timestamp(column(row, from + 5)?) })
}
