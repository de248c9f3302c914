//! A database that the first version left behind is read for ever. `UPDATE_GOLDEN=1` writes it anew (with `pg_dump`).

#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

mod common;

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use common::{asks_for, opening, sql, step_to};
use holdpoint_core::{Attempt, CallIndex, ContinuationId, PauseNumber, Revision, RunId, Status, Timestamp, Turn};
use holdpoint_store::{Clock, Fence, ManualClock, Store, TaskChange, TaskFilter, TaskGuard, TaskState};
use holdpoint_store_postgres::testing::Scratch;
use holdpoint_store_postgres::{Migrate, Options, PostgresStore};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Row};

fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1.sql")
}

async fn open(url: &str, migrate: Migrate) -> PostgresStore {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::default());
    PostgresStore::open_with(url, Options { clock: Some(clock), migrate, ..Options::default() }).await.unwrap()
}

/// A finished run, and a paused one with a task that waits, one that is leased and one with a result.
async fn fill(store: &PostgresStore) {
    let finished = RunId::new("finished");
    let mut first = step_to("{\"began\":1}", Status::Running);
    first.records.push(b"second".to_vec());
    first.audit = Some(b"{\"v\":1}".to_vec());
    store.commit(&finished, Revision(0), first).await.unwrap();
    let large = "the same words again and again. ".repeat(300);
    store.commit(&finished, Revision(2), step_to(&large, Status::Finished)).await.unwrap();

    let paused = RunId::new("paused");
    let mut pause = step_to("paused", Status::AwaitingToolResults);
    pause.head.tenant = Some("acme".into());
    pause.head.deadline = Some(Timestamp(1_800_000_000_000_000));
    pause.head.continuation = Some(ContinuationId { run: paused.clone(), pause: PauseNumber(1) });
    pause.tasks = vec![opening(0, "waits"), opening(1, "leased"), opening(2, "delivered")];
    store.commit(&paused, Revision(0), pause).await.unwrap();
    store.lease(&asks_for("worker", "leased")).await.unwrap();
    let leased = store.lease(&asks_for("worker", "delivered")).await.unwrap().remove(0);
    store.deliver(&leased.lease, b"done".to_vec()).await.unwrap();
}

async fn write_golden() {
    let scratch = Scratch::new().await.unwrap();
    fill(&open(scratch.url(), Migrate::Auto).await).await;
    let dump = Command::new("pg_dump").args(["--inserts", "--no-owner", "--no-privileges", scratch.url()]).output();
    let dump = String::from_utf8(dump.unwrap().stdout).unwrap();
    // Comments, and lines for `psql` alone.
    let kept = dump.lines().filter(|line| !line.is_empty() && !line.starts_with("--") && !line.starts_with('\\'));
    std::fs::write(golden(), kept.flat_map(|line| [line, "\n"]).collect::<String>()).unwrap();
}

async fn loaded() -> Scratch {
    let scratch = Scratch::new().await.unwrap();
    sql(scratch.url(), &std::fs::read_to_string(golden()).unwrap()).await;
    scratch
}

#[tokio::test]
async fn the_first_version_is_read() {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        write_golden().await;
    }
    let scratch = loaded().await;
    let store = open(scratch.url(), Migrate::Auto).await;

    let finished = RunId::new("finished");
    let records = store.load(&finished, Revision(0)).await.unwrap();
    assert_eq!(records.iter().map(|record| record.seq.0).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(&*records[0].body, b"{\"began\":1}");
    assert_eq!(records[2].body.len(), 32 * 300);
    assert_eq!(store.head(&finished).await.unwrap().unwrap().status, Status::Finished);
    assert_eq!(&*store.audit(&finished).await.unwrap()[0].body, b"{\"v\":1}");

    let paused = RunId::new("paused");
    let head = store.head(&paused).await.unwrap().unwrap();
    assert_eq!(head.continuation, Some(ContinuationId { run: paused.clone(), pause: PauseNumber(1) }));
    assert_eq!(head.tenant.as_deref(), Some("acme"));
    assert_eq!(store.due(&["agent".into()], Timestamp(i64::MAX), 10).await.unwrap(), std::slice::from_ref(&paused));
    assert_eq!(store.arrivals(&["agent".into()], 10).await.unwrap(), std::slice::from_ref(&paused));
    let tasks = store.tasks(&TaskFilter::default()).await.unwrap().tasks;
    assert!(matches!(tasks[0].state, TaskState::Waiting { .. }), "{tasks:?}");
    assert!(matches!(tasks[1].state, TaskState::Leased { fence: Fence(1), .. }), "{tasks:?}");
    assert!(matches!(tasks[2].state, TaskState::Delivered { fence: Fence(2), .. }), "{tasks:?}");
    assert_eq!(tasks[1].attempts, Attempt(1));
}

#[tokio::test]
async fn work_goes_on_where_the_first_version_left_it() {
    let scratch = loaded().await;
    let store = open(scratch.url(), Migrate::Auto).await;
    let paused = RunId::new("paused");
    let result = store.delivered(&paused).await.unwrap().remove(0);
    assert_eq!(&*result.result, b"done");
    let leased = store.lease(&asks_for("another", "waits")).await.unwrap();
    assert!(leased[0].lease.fence > Fence(2), "{leased:?}");
    let mut folds = step_to("folded", Status::AwaitingToolResults);
    folds.tasks = vec![TaskChange::Close { turn: Turn(1), index: CallIndex(2), guard: TaskGuard::Lease(Fence(2)) }];
    assert_eq!(store.commit(&paused, Revision(1), folds).await.unwrap(), Revision(2));
    assert!(store.delivered(&paused).await.unwrap().is_empty());
}

/// The columns and indexes of our tables.
async fn shape(url: &str) -> Vec<String> {
    let mut line = PgConnection::connect(url).await.unwrap();
    let shape = "select table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' \
            || coalesce(collation_name, '') from information_schema.columns where table_name like 'holdpoint%' \
        union all select indexdef from pg_indexes where tablename like 'holdpoint%' \
        union all select relname || ' ' || coalesce(array_to_string(reloptions, ' '), '') from pg_class \
            where relname like 'holdpoint%' \
        order by 1";
    let rows = sqlx::raw_sql(AssertSqlSafe(shape)).fetch_all(&mut line).await.unwrap();
    line.close().await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// What was released is never edited: a change is a new step.
#[tokio::test]
async fn an_old_database_becomes_the_same_as_a_new_one() {
    let (old, new) = (loaded().await, Scratch::new().await.unwrap());
    drop(open(old.url(), Migrate::Auto).await);
    drop(open(new.url(), Migrate::Auto).await);
    assert_eq!(shape(old.url()).await, shape(new.url()).await);
    assert!(shape(new.url()).await.len() > 40);
}
