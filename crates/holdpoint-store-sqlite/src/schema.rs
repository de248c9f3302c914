//! Versions of the schema: forward only, one transaction each time, under the lock of the file.

use std::path::Path;
use std::time::Duration;

use holdpoint_core::Timestamp;
use holdpoint_store::{Migrate, StoreError, StoreFault, check_schema};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, SqliteConnection};
use tokio::time::Instant;

use crate::fault::{is_locked, store_error};
use crate::options::{Options, check_place};

/// One step each, in order. The first makes version 1.
const MIGRATIONS: [&str; 1] = [include_str!("../migrations/0001_first.sql")];
/// The version that this program reads and writes.
pub const SCHEMA_VERSION: u32 = MIGRATIONS.len() as u32;
/// How long to wait before asking again for a file that another process is just making.
const LOCKED_RETRY: Duration = Duration::from_millis(10);

/// Opens the connection that writes, with the schema as this program knows it.
pub(crate) async fn open(path: &Path, options: &Options, now: Timestamp) -> Result<SqliteConnection, StoreError> {
    check_place(path, options.migrate)?;
    let mut connection = options.writing(path).connect().await.map_err(|error| store_error("open", error))?;
    match prepare(&mut connection, options, now).await {
        Ok(()) => Ok(connection),
        Err(error) => {
            // What it found is what matters, not how it was left.
            _ = connection.close().await;
            Err(read_only_place(path, error))
        }
    }
}

/// SQLite says that it cannot open a file when it cannot make the files beside it.
fn read_only_place(path: &Path, error: StoreError) -> StoreError {
    match error {
        StoreError::Fault { fault: StoreFault::NotPermitted, doing, cause } if std::fs::File::open(path).is_ok() => {
            StoreError::Fault { fault: StoreFault::ReadOnly, doing, cause }
        }
        error => error,
    }
}

async fn prepare(connection: &mut SqliteConnection, options: &Options, now: Timestamp) -> Result<(), StoreError> {
    let found = version(connection).await?;
    check_schema(found, SCHEMA_VERSION, options.migrate)?;
    use_wal(connection, options).await.map_err(|error| store_error("open", error))?;
    if found != SCHEMA_VERSION {
        migrate(connection, now).await?;
    }
    Ok(())
}

/// The version of the database: 0 when the file is empty.
async fn version(connection: &mut SqliteConnection) -> Result<u32, StoreError> {
    const OURS: &str = "SELECT count(*), ifnull(sum(name = 'holdpoint_schema'), 0) FROM sqlite_schema";
    const VERSION: &str = "SELECT ifnull(max(version), 0) FROM holdpoint_schema";
    let failed = |error| store_error("open", error);
    let (tables, ours): (i64, i64) = sqlx::query_as(OURS).fetch_one(&mut *connection).await.map_err(failed)?;
    if tables == 0 {
        return Ok(0);
    }
    if ours == 0 {
        let cause = "the file is a database of another program";
        return Err(StoreError::fault(StoreFault::InvalidUrl, "open", cause));
    }
    let found: i64 = sqlx::query_scalar(VERSION).fetch_one(connection).await.map_err(failed)?;
    Ok(u32::try_from(found).unwrap_or(u32::MAX))
}

/// Readers and the writer do not wait for each other. SQLite does not wait by itself when two programs ask for this at the
/// same time, as they do when both find a new file.
async fn use_wal(connection: &mut SqliteConnection, options: &Options) -> Result<(), sqlx::Error> {
    let started = Instant::now();
    loop {
        let mode: Result<String, sqlx::Error> =
            sqlx::query_scalar("PRAGMA journal_mode = WAL").fetch_one(&mut *connection).await;
        match mode {
            Err(error) if is_locked(&error) && started.elapsed() < options.busy() => {
                tokio::time::sleep(LOCKED_RETRY).await;
            }
            Err(error) => return Err(error),
            Ok(_) => return Ok(()),
        }
    }
}

/// Looks again once it has the lock: another process may have been first.
async fn migrate(connection: &mut SqliteConnection, now: Timestamp) -> Result<(), StoreError> {
    let failed = |error| store_error("bring the schema up to date", error);
    connection.execute("BEGIN IMMEDIATE").await.map_err(failed)?;
    let done = async {
        let found = version(connection).await?;
        check_schema(found, SCHEMA_VERSION, Migrate::Auto)?;
        apply(connection, found, now).await.map_err(failed)
    };
    let done = done.await;
    if done.is_err() {
        // A connection that is dropped undoes it as well.
        _ = connection.execute("ROLLBACK").await;
    }
    done
}

async fn apply(connection: &mut SqliteConnection, found: u32, now: Timestamp) -> Result<(), sqlx::Error> {
    for (sql, version) in MIGRATIONS.into_iter().zip(1_u32..).skip(found as usize) {
        connection.execute(AssertSqlSafe(sql)).await?;
        sqlx::query("INSERT INTO holdpoint_schema (version, applied_at) VALUES ($1, $2)")
            .bind(version)
            .bind(now.0)
            .execute(&mut *connection)
            .await?;
    }
    connection.execute("COMMIT").await?;
    Ok(())
}

#[cfg(test)]
mod tests;
