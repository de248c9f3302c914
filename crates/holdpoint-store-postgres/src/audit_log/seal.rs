//! Making seals: one at a time for each tenant.

use holdpoint_store::audit::pack_sealed;
use holdpoint_store::rows::{limit, signed, tenant_key};
use holdpoint_store::{DUE_LIMIT_MAX, Seal, StoreError};
use sqlx::Connection;
use sqlx::postgres::PgConnection;

use crate::clock::StoreClock;
use crate::columns::{Row, row};
use crate::pool::Pool;

const DOING: &str = "seal what moved";
/// Tells this lock from other advisory locks: `holdseal` as bytes.
const LOCK_KIND: i64 = 0x686f_6c64_7365_616c;

const ANY: &str = "select 1 from holdpoint_runs where tenant = $1 and audit_revision > sealed_revision limit 1";
const LOCK: &str = "select pg_advisory_xact_lock(hashtextextended($1, $2))";
pub(crate) const LAST: &str = "select number, link from holdpoint_seals where tenant = $1 order by number desc limit 1";
/// A run that a commit moves at this moment is left for the next seal: it does not wait while it holds locks itself.
/// In no order: with one, the server rather walks through all runs than through the few that moved.
pub(crate) const TO_SEAL: &str = "select run_id, audit_revision, audit_link, run_no from holdpoint_runs \
    where tenant = $1 and audit_revision > sealed_revision limit $2 for update skip locked";
const ADD: &str = "insert into holdpoint_seals (tenant, number, at, link, runs) values ($1, $2, $3, $4, $5)";
const MARK: &str = "update holdpoint_runs set sealed_revision = audit_revision, seal_no = $2 where run_no = any($1)";

/// A seal whose answer was lost is there, and the runs that it names are not sealed again.
pub(crate) async fn seal(pool: &Pool, clock: &StoreClock, tenant: Option<&str>) -> Result<Option<Seal>, StoreError> {
    let key = tenant_key(tenant);
    if pool.rows(DOING, || sqlx::query(ANY).bind(&key)).await?.is_empty() {
        return Ok(None);
    }
    let attempt = || pool.with(async move |connection| once(connection, clock, tenant).await);
    pool.retrying(DOING, attempt).await
}

async fn once(
    connection: &mut PgConnection,
    clock: &StoreClock,
    tenant: Option<&str>,
) -> Result<Option<Seal>, sqlx::Error> {
    let unreadable = |error: StoreError| sqlx::Error::Decode(Box::new(error));
    let key = tenant_key(tenant);
    let mut change = connection.begin().await?;
    sqlx::query(LOCK).bind(&key).bind(LOCK_KIND).execute(&mut *change).await?;
    let last = sqlx::query(LAST).bind(&key).fetch_optional(&mut *change).await?.map(row);
    let before = last.map(|row| Ok((row.number("number")?, row.link("link")?))).transpose().map_err(unreadable)?;
    let moved = sqlx::query(TO_SEAL).bind(&key).bind(limit(DUE_LIMIT_MAX)).fetch_all(&mut *change).await?;
    if moved.is_empty() {
        change.rollback().await?;
        return Ok(None);
    }
    let moved: Vec<Row> = moved.into_iter().map(row).collect();
    let numbers = moved.iter().map(|row| row.int("run_no")).collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    let runs = moved.iter().map(Row::sealed_run).collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    let seal = Seal::after(before, tenant, clock.now(), runs);
    let add = sqlx::query(ADD).bind(&key).bind(signed(seal.number)).bind(seal.at.0).bind(seal.link.0);
    add.bind(pack_sealed(&seal.runs)).execute(&mut *change).await?;
    sqlx::query(MARK).bind(&numbers).bind(signed(seal.number)).execute(&mut *change).await?;
    change.commit().await?;
    Ok(Some(seal))
}
