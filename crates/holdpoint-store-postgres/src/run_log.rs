//! Reading runs: one, or many of them.

use std::sync::Arc;

use holdpoint_core::{Revision, RunId, Timestamp};
use holdpoint_store::{AuditRow, Head, List, Page, Record, RunFilter, Scope, StoreError, packed, page_size};
use sqlx::AssertSqlSafe;

use crate::pool::Pool;
use crate::row::{HEAD, column, head, limit, link, number, run_ids, status_number, tenant_key, unsigned};

/// The rows of a run with something after `$2`; without any, one row that says that the run is there.
const LOAD: &str = "select l.last_seq, l.at, l.body from holdpoint_runs r \
    left join holdpoint_log l on l.run_no = r.run_no and l.last_seq > $2 \
    where r.run_id = $1 and ($3::text is null or r.tenant = $3) order by l.last_seq";
const AUDIT: &str = "select l.last_seq, l.at, l.audit, l.link from holdpoint_runs r \
    join holdpoint_log l on l.run_no = r.run_no \
    where r.run_id = $1 and ($2::text is null or r.audit_tenant = $2) and l.audit is not null order by l.last_seq";
/// The earliest of each agent, so that the index gives them in order, and then the earliest of all.
pub(crate) const DUE: &str = "select r.run_id from unnest($1::text[]) as a(agent) cross join lateral ( \
        select run_id, deadline, run_no from holdpoint_runs \
        where agent = a.agent and deadline is not null and deadline <= $2 order by deadline, run_no limit $3) r \
    order by r.deadline, r.run_no limit $3";

pub(crate) async fn load(pool: &Pool, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
    let after = number(after.0);
    let rows =
        pool.rows("read the run", || sqlx::query(LOAD).bind(run.as_str()).bind(after).bind(scope.tenant())).await?;
    if rows.is_empty() {
        return Err(StoreError::NotFound { run: run.clone() });
    }
    let mut records = Vec::with_capacity(rows.len());
    for row in &rows {
        let Some(last) = column::<Option<i64>>(row, 0)? else { continue };
        let at = Timestamp(column(row, 1)?);
        let bodies = packed::unpack(column(row, 2)?)?;
        let count = i64::try_from(bodies.len()).unwrap_or(i64::MAX);
        let seqs = last.saturating_sub(count).saturating_add(1)..;
        for (seq, body) in seqs.zip(bodies).filter(|(seq, _)| *seq > after) {
            records.push(Record { seq: Revision(unsigned(seq)?), at, body });
        }
    }
    Ok(records)
}

pub(crate) async fn read_head(pool: &Pool, scope: &Scope, run: &RunId) -> Result<Option<Head>, StoreError> {
    let sql = || {
        AssertSqlSafe(format!(
            "select {HEAD} from holdpoint_runs r where r.run_id = $1 and ($2::text is null or r.tenant = $2)"
        ))
    };
    let rows = pool.rows("read the run", || sqlx::query(sql()).bind(run.as_str()).bind(scope.tenant())).await?;
    rows.first().map(head).transpose()
}

pub(crate) async fn audit(pool: &Pool, scope: &Scope, run: &RunId) -> Result<Vec<AuditRow>, StoreError> {
    let key = scope.tenant().map(|tenant| tenant_key(Some(tenant)));
    let audit = || sqlx::query(AUDIT).bind(run.as_str()).bind(key.as_deref());
    let rows = pool.rows("read the audit log", audit).await?;
    let row = |row| {
        let revision = Revision(unsigned(column(row, 0)?)?);
        let body = column::<&[u8]>(row, 2)?.into();
        Ok(AuditRow { revision, at: Timestamp(column(row, 1)?), body, link: link(row, 3)? })
    };
    rows.iter().map(row).collect()
}

/// What a list asks for, as text. Only what is asked for is in it, so that the index that fits is used.
pub(crate) fn list_sql(filter: &RunFilter) -> String {
    let conditions = [
        // Runs that are not over are few among those that are; they have an index of their own.
        filter
            .status
            .map(|status| if status_number(status) < 3 { "r.status = $1 and r.status < 3" } else { "r.status = $1" }),
        filter.agent.as_ref().map(|_| "r.agent = $2"),
        filter.tenant.as_ref().map(|_| "r.tenant = $3"),
        filter.session.as_ref().map(|_| "r.session = $6"),
    ];
    let conditions: String = conditions.into_iter().flatten().flat_map(|condition| [" and ", condition]).collect();
    // Values that are not asked for are named too: a statement must not have gaps in its numbers.
    format!(
        "select {HEAD}, r.run_no from holdpoint_runs r where r.run_no <= $4{conditions} \
         and ($1::smallint is null or true) and ($2::text is null or true) and ($3::text is null or true) \
         and ($6::text is null or true) order by r.run_no desc limit $5"
    )
}

pub(crate) async fn list(pool: &Pool, filter: &RunFilter) -> Result<Page<Head>, StoreError> {
    let [from] = List::Runs.position(filter.cursor.as_ref(), [i64::MAX])?;
    let (size, sql) = (page_size(filter.limit), list_sql(filter));
    let rows = pool.rows("list runs", || {
        sqlx::query(AssertSqlSafe(sql.clone()))
            .bind(filter.status.map(status_number))
            .bind(filter.agent.as_deref())
            .bind(filter.tenant.as_deref())
            .bind(from)
            .bind(limit(size + 1))
            .bind(filter.session.as_deref())
    });
    let read = |row| Ok(([column(row, HEAD_COLUMNS)?], head(row)?));
    Page::collect(List::Runs, size, rows.await?.iter().map(read))
}

const HEAD_COLUMNS: usize = 10;

pub(crate) async fn due(pool: &Pool, agents: &[&str], at: Timestamp, most: i64) -> Result<Vec<RunId>, StoreError> {
    let rows = pool.rows("find runs that are due", || sqlx::query(DUE).bind(agents).bind(at.0).bind(most)).await?;
    run_ids(&rows)
}

/// Each agent once.
pub(crate) fn distinct(agents: &[Arc<str>]) -> Vec<&str> {
    let mut agents: Vec<&str> = agents.iter().map(|agent| &**agent).collect();
    agents.sort_unstable();
    agents.dedup();
    agents
}
