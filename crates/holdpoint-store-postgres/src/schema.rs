//! Our tables, and how older ones become newer ones.

use holdpoint_store::{Migrate, StoreError, check_schema};
use sqlx::Connection;
use sqlx::postgres::PgConnection;

use crate::fault::store_error;

/// The steps from an empty database to what this program needs, in order.
const STEPS: [&str; 1] = [include_str!("../migrations/0001_first.sql")];
/// The version of the tables that this program reads and writes.
pub const SCHEMA_VERSION: u32 = STEPS.len() as u32;
/// Only one process changes the tables at a time. The number is ours alone, by chance: `holdpoin` as bytes.
const LOCK: i64 = 0x686f_6c64_706f_696e;
/// How long to wait for the others.
const LOCK_LIMIT: &str = "set local lock_timeout = '60s'";
const DOING: &str = "bring the database up to date";

/// Makes sure that the tables are there and are those that this program knows.
pub(crate) async fn prepare(connection: &mut PgConnection, migrate: Migrate) -> Result<(), StoreError> {
    let found = version(connection).await?;
    check_schema(found, SCHEMA_VERSION, migrate)?;
    if found == SCHEMA_VERSION { Ok(()) } else { bring_up_to_date(connection).await }
}

/// The version of the tables. 0 when there are none.
async fn version(connection: &mut PgConnection) -> Result<u32, StoreError> {
    let failed = |error: sqlx::Error| store_error("read the version of the database", &error);
    let there = sqlx::query_scalar("select to_regclass('holdpoint_schema') is not null");
    let there: bool = there.fetch_one(&mut *connection).await.map_err(failed)?;
    if !there {
        return Ok(0);
    }
    let version = sqlx::query_scalar("select coalesce(max(version), 0) from holdpoint_schema");
    let version: i32 = version.fetch_one(connection).await.map_err(failed)?;
    Ok(u32::try_from(version).unwrap_or(0))
}

/// All missing steps in one transaction. Others wait for the lock, and find nothing left to do.
async fn bring_up_to_date(connection: &mut PgConnection) -> Result<(), StoreError> {
    let failed = |error: sqlx::Error| store_error(DOING, &error);
    let mut change = connection.begin().await.map_err(failed)?;
    sqlx::query(LOCK_LIMIT).execute(&mut *change).await.map_err(failed)?;
    let lock = sqlx::query("select pg_advisory_xact_lock($1)").bind(LOCK);
    lock.execute(&mut *change).await.map_err(failed)?;
    let table = "create table if not exists holdpoint_schema \
        (version integer primary key, applied_at timestamptz not null default now())";
    sqlx::query(table).execute(&mut *change).await.map_err(failed)?;
    let found = version(&mut change).await?;
    check_schema(found, SCHEMA_VERSION, Migrate::Auto)?;
    let missing = (1..).zip(STEPS).filter(|(number, _)| *number > i64::from(found));
    for (number, step) in missing {
        sqlx::raw_sql(step).execute(&mut *change).await.map_err(failed)?;
        let done = sqlx::query("insert into holdpoint_schema (version) values ($1)");
        done.bind(i32::try_from(number).unwrap_or(i32::MAX)).execute(&mut *change).await.map_err(failed)?;
    }
    change.commit().await.map_err(failed)
}

#[cfg(test)]
#[cfg(feature = "server-tests")]
mod tests;
