//! Making seals: one at a time for each tenant.

use holdpoint_store::audit::pack_sealed;
use holdpoint_store::{DUE_LIMIT_MAX, Link, Seal, StoreError};
use sqlx::postgres::PgConnection;
use sqlx::{Connection, Row};

use super::sealed;
use crate::clock::StoreClock;
use crate::fault::{Recovery, recovery, store_error};
use crate::pool::{CONFLICT_TRIES_MAX, Pool};
use crate::row::{limit, number, tenant_key};

const DOING: &str = "seal what moved";
/// Tells this lock from other advisory locks: `holdseal` as bytes.
const LOCK_KIND: i64 = 0x686f_6c64_7365_616c;

const ANY: &str = "select 1 from holdpoint_runs where audit_tenant = $1 and audit_revision > sealed_revision limit 1";
const LOCK: &str = "select pg_advisory_xact_lock(hashtextextended($1, $2))";
pub(crate) const LAST: &str = "select number, link from holdpoint_seals where tenant = $1 order by number desc limit 1";
/// A run that somebody moves at this moment is left for the next time: nobody waits here while others wait for us.
/// In no order: with one, the server rather walks through all runs than through the few that moved.
pub(crate) const TO_SEAL: &str = "select run_id, audit_revision, audit_link, run_no from holdpoint_runs \
    where audit_tenant = $1 and audit_revision > sealed_revision limit $2 for update skip locked";
const ADD: &str = "insert into holdpoint_seals (tenant, number, at, link, runs) values ($1, $2, $3, $4, $5)";
const MARK: &str = "update holdpoint_runs set sealed_revision = audit_revision, seal_no = $2 where run_no = any($1)";

/// A seal whose answer was lost is there, and what it names is not sealed again.
pub(crate) async fn seal(pool: &Pool, clock: &StoreClock, tenant: Option<&str>) -> Result<Option<Seal>, StoreError> {
    let key = tenant_key(tenant);
    if pool.rows(DOING, || sqlx::query(ANY).bind(&key)).await?.is_empty() {
        return Ok(None);
    }
    let (mut patience, mut conflicts) = (pool.patience(), 0);
    loop {
        let error = match pool.with(async |connection| once(connection, clock, tenant).await).await {
            Ok(sealed) => return Ok(sealed),
            Err(error) => error,
        };
        let go_on = match recovery(&error) {
            Recovery::Reconnect => patience.pause().await,
            Recovery::Again => {
                conflicts += 1;
                conflicts < CONFLICT_TRIES_MAX
            }
            Recovery::GiveUp => false,
        };
        if !go_on {
            return Err(store_error(DOING, &error));
        }
    }
}

async fn once(
    connection: &mut PgConnection,
    clock: &StoreClock,
    tenant: Option<&str>,
) -> Result<Option<Seal>, sqlx::Error> {
    let key = tenant_key(tenant);
    let mut change = connection.begin().await?;
    sqlx::query(LOCK).bind(&key).bind(LOCK_KIND).execute(&mut *change).await?;
    let last = sqlx::query(LAST).bind(&key).fetch_optional(&mut *change).await?;
    let before: Option<(i64, &[u8])> = match &last {
        Some(row) => Some((row.try_get(0)?, row.try_get(1)?)),
        None => None,
    };
    let moved = sqlx::query(TO_SEAL).bind(&key).bind(limit(DUE_LIMIT_MAX)).fetch_all(&mut *change).await?;
    if moved.is_empty() {
        change.rollback().await?;
        return Ok(None);
    }
    let mut numbers = Vec::with_capacity(moved.len());
    let mut runs = Vec::with_capacity(moved.len());
    for row in &moved {
        numbers.push(row.try_get::<i64, _>(3)?);
        runs.push(sealed(row, 0).map_err(|error| sqlx::Error::Decode(Box::new(error)))?);
    }
    let before = before.map(|(number, link)| (number.unsigned_abs(), Link::stored(link)));
    let seal = Seal::after(before, tenant, clock.now(), runs);
    let add = sqlx::query(ADD).bind(&key).bind(number(seal.number)).bind(seal.at.0).bind(seal.link.0);
    add.bind(pack_sealed(&seal.runs)).execute(&mut *change).await?;
    sqlx::query(MARK).bind(&numbers).bind(number(seal.number)).execute(&mut *change).await?;
    change.commit().await?;
    Ok(Some(seal))
}
