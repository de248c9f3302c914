//! A database that any version left behind is read for ever. `UPDATE_GOLDEN=1` writes that of this version anew (with
//! `pg_dump`), never an older one.

use crate::common;

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use common::{asks_for, opening, sql, step_to};
use holdpoint_core::{
    Attempt, CallIndex, CallKey, ContinuationId, Digest, PauseNumber, Revision, RunId, Status, Timestamp, ToolName,
    Turn,
};
use holdpoint_store::audit::{VerifyRequest, verify};
use holdpoint_store::{
    AuditScope, Clock, CommitError, Fence, GrantOpening, ManualClock, PruneRequest, QuestionChange, QuestionKind,
    QuestionOpening, Reservation, Reserved, ResponseKey, Scope, SealedRun, SessionFilter, SessionUse, Store,
    TaskChange, TaskFilter, TaskGuard, TaskState, WorkerSeen, first_link, next_link,
};
use holdpoint_store_postgres::testing::Scratch;
use holdpoint_store_postgres::{Migrate, Options, PostgresStore, SCHEMA_VERSION};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Row};

fn golden(version: u32) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/v{version}.sql"))
}

async fn open(url: &str, migrate: Migrate) -> Store {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::default());
    Store::from(
        PostgresStore::open_with(url, Options { clock: Some(clock), migrate, ..Options::default() }).await.unwrap(),
    )
}

/// A finished run, a paused one with a task that waits, one that is leased and one with a result, and a run that was sealed
/// and pruned and left a grant.
async fn fill(store: &Store) {
    let mut gone = step_to("over", Status::Finished);
    gone.audit = Some(b"{\"v\":1}".to_vec());
    let grant = GrantOpening { id: "grant".into(), tool: ToolName::new("waits"), until: None, body: b"{}".to_vec() };
    gone.grants = vec![grant];
    store.runs.commit(&RunId::new("gone"), Revision(0), gone).await.unwrap();
    store.audit.seal(None).await.unwrap().unwrap();
    let all = PruneRequest { before: Timestamp(i64::MAX), tenant: None, limit: 10 };
    assert_eq!(store.runs.prune(&all).await.unwrap().len(), 1);

    let finished = RunId::new("finished");
    let mut first = step_to("{\"began\":1}", Status::Running);
    first.records.push(b"second".to_vec());
    first.audit = Some(b"{\"v\":1}".to_vec());
    store.runs.commit(&finished, Revision(0), first).await.unwrap();
    let large = "the same words again and again. ".repeat(300);
    store.runs.commit(&finished, Revision(2), step_to(&large, Status::Finished)).await.unwrap();

    let paused = RunId::new("paused");
    let mut pause = step_to("paused", Status::AwaitingToolResults);
    pause.head.tenant = Some("acme".into());
    pause.head.deadline = Some(Timestamp(1_800_000_000_000_000));
    pause.head.continuation = Some(ContinuationId { run: paused.clone(), pause: PauseNumber(1) });
    pause.tasks = vec![opening(0, "waits"), opening(1, "leased"), opening(2, "delivered")];
    pause.head.session = Some("talk".into());
    pause.session_use = SessionUse::Alone;
    pause.questions = vec![QuestionChange::Open(Box::new(QuestionOpening {
        turn: Turn(1),
        index: CallIndex(7),
        tool: ToolName::new("waits"),
        kind: QuestionKind::Doubt,
        deadline: None,
        body: b"{\"v\":1}".to_vec(),
    }))];
    store.runs.commit(&paused, Revision(0), pause).await.unwrap();
    store.tasks.lease(&asks_for("worker", "leased")).await.unwrap();
    let leased = store.tasks.lease(&asks_for("worker", "delivered")).await.unwrap().remove(0);
    store.tasks.complete(&leased.lease, b"done".to_vec()).await.unwrap();
}

fn reservation() -> Reservation {
    let key = ResponseKey { sender: "desk".into(), route: "POST /v1/runs".into(), key: "k1".into() };
    Reservation { key, digest: Digest([7; 32]), reserved_ms: 60_000 }
}

/// What servers keep.
async fn fill_desk(store: &Store) {
    store.state.reserve(&reservation()).await.unwrap();
    store.state.keep(&reservation().key, b"response".to_vec()).await.unwrap();
    let tools = vec![ToolName::new("waits")];
    store.state.note_worker(&WorkerSeen { name: "worker".into(), tenant: Some("acme".into()), tools }).await.unwrap();
}

#[tokio::test]
async fn what_servers_kept_is_read() {
    let scratch = loaded(1).await;
    let store = open(scratch.url(), Migrate::Auto).await;
    let key = CallKey { run: RunId::new("paused"), turn: Turn(1), index: CallIndex(7) };
    let question = store.approvals.find(&Scope::Tenant("acme".into()), &key).await.unwrap().unwrap();
    assert_eq!((question.kind, &*question.body), (QuestionKind::Doubt, &b"{\"v\":1}"[..]));
    let sessions = store.runs.sessions(&SessionFilter::default()).await.unwrap().items;
    assert_eq!((sessions.len(), &*sessions[0].id), (1, "talk"));
    let mut second = step_to("second", Status::Running);
    second.head.session = Some("talk".into());
    second.head.tenant = Some("acme".into());
    second.session_use = SessionUse::Alone;
    let busy = store.runs.commit(&RunId::new("second"), Revision(0), second).await;
    assert!(matches!(busy, Err(CommitError::SessionBusy)), "{busy:?}");
    let kept = store.state.reserve(&reservation()).await.unwrap();
    assert_eq!(kept, Reserved::Kept(b"response".as_slice().into()));
    let workers = store.state.workers(&Scope::All).await.unwrap();
    assert_eq!((workers.len(), workers[0].leases), (1, 1));
}

async fn write_golden() {
    let scratch = Scratch::new().await.unwrap();
    let store = open(scratch.url(), Migrate::Auto).await;
    fill(&store).await;
    fill_desk(&store).await;
    let dump = Command::new("pg_dump").args(["--inserts", "--no-owner", "--no-privileges", scratch.url()]).output();
    let dump = String::from_utf8(dump.unwrap().stdout).unwrap();
    // Comments, and lines for `psql` alone.
    let kept = dump.lines().filter(|line| !line.is_empty() && !line.starts_with("--") && !line.starts_with('\\'));
    std::fs::write(golden(SCHEMA_VERSION), kept.flat_map(|line| [line, "\n"]).collect::<String>()).unwrap();
}

async fn loaded(version: u32) -> Scratch {
    let scratch = Scratch::new().await.unwrap();
    sql(scratch.url(), &std::fs::read_to_string(golden(version)).unwrap()).await;
    scratch
}

/// Every version that there was.
fn versions() -> impl Iterator<Item = u32> {
    1..=SCHEMA_VERSION
}

#[tokio::test]
async fn every_version_is_read() {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        write_golden().await;
    }
    for version in versions() {
        let scratch = loaded(version).await;
        read_all(&open(scratch.url(), Migrate::Auto).await).await;
    }
}

#[tokio::test]
async fn the_audit_log_of_every_version_is_chained() {
    for version in versions() {
        let scratch = loaded(version).await;
        let store = open(scratch.url(), Migrate::Auto).await;
        let finished = RunId::new("finished");
        let rows = store.audit.rows(&Scope::All, &finished).await.unwrap();
        let link = next_link(first_link(&finished, None), Revision(2), rows[0].at, b"{\"v\":1}");
        assert_eq!((rows.len(), rows[0].link), (1, link));
        let page = store.audit.rows_after(&AuditScope::Run(finished.clone()), None, 10).await.unwrap();
        assert_eq!(page.items[0].head, SealedRun { run: finished.clone(), revision: Revision(2), link });
        let mut more = step_to("more", Status::Finished);
        more.audit = Some(b"more".to_vec());
        store.runs.commit(&finished, Revision(3), more).await.unwrap();
        store.audit.seal(None).await.unwrap().unwrap();
        let verified = verify(&store, &VerifyRequest::default(), &mut |_| {}).await.unwrap();
        assert!(verified.is_whole(), "{:?}", verified.findings);
        assert_eq!((verified.runs, verified.rows), (2, 2));
    }
}

#[tokio::test]
async fn seals_tombstones_and_grants_are_read() {
    let scratch = loaded(1).await;
    let store = open(scratch.url(), Migrate::Auto).await;
    let seals = store.audit.seals(None, 0, 10).await.unwrap();
    let gone = RunId::new("gone");
    assert_eq!((seals.len(), &seals[0].runs[0].run), (1, &gone));
    let stones = store.audit.tombstones(None, None, 10).await.unwrap();
    assert_eq!((stones.len(), &stones[0].run, stones[0].seal), (1, &seals[0].runs[0], 1));
    let grants = store.grants.matching(None, &ToolName::new("waits")).await.unwrap();
    assert_eq!((grants.len(), &*grants[0].id, &*grants[0].body), (1, "grant", &b"{}"[..]));
}

async fn read_all(store: &Store) {
    let finished = RunId::new("finished");
    let records = store.runs.load(&Scope::All, &finished, Revision(0)).await.unwrap();
    assert_eq!(records.iter().map(|record| record.seq.0).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(&*records[0].body, b"{\"began\":1}");
    assert_eq!(records[2].body.len(), 32 * 300);
    assert_eq!(store.runs.head(&Scope::All, &finished).await.unwrap().unwrap().status, Status::Finished);
    assert_eq!(&*store.audit.rows(&Scope::All, &finished).await.unwrap()[0].body, b"{\"v\":1}");

    let paused = RunId::new("paused");
    let head = store.runs.head(&Scope::All, &paused).await.unwrap().unwrap();
    assert_eq!(head.continuation, Some(ContinuationId { run: paused.clone(), pause: PauseNumber(1) }));
    assert_eq!(head.tenant.as_deref(), Some("acme"));
    assert_eq!(
        store.runs.due(&["agent".into()], Timestamp(i64::MAX), 10).await.unwrap(),
        std::slice::from_ref(&paused)
    );
    assert_eq!(store.tasks.collectable(&["agent".into()], 10).await.unwrap(), std::slice::from_ref(&paused));
    let tasks = store.tasks.list(&TaskFilter::default()).await.unwrap().items;
    assert!(matches!(tasks[0].state, TaskState::Waiting { .. }), "{tasks:?}");
    assert!(matches!(tasks[1].state, TaskState::Leased { fence: Fence(1), .. }), "{tasks:?}");
    assert!(matches!(tasks[2].state, TaskState::Delivered { fence: Fence(2), .. }), "{tasks:?}");
    assert_eq!(tasks[1].attempts, Attempt(1));
}

#[tokio::test]
async fn work_goes_on_where_any_version_left_it() {
    for version in versions() {
        let scratch = loaded(version).await;
        go_on(&open(scratch.url(), Migrate::Auto).await).await;
    }
}

async fn go_on(store: &Store) {
    let paused = RunId::new("paused");
    let result = store.tasks.completed(&paused).await.unwrap().remove(0);
    assert_eq!(&*result.result, b"done");
    let leased = store.tasks.lease(&asks_for("another", "waits")).await.unwrap();
    assert!(leased[0].lease.fence > Fence(2), "{leased:?}");
    let mut folds = step_to("folded", Status::AwaitingToolResults);
    folds.tasks = vec![TaskChange::Close { turn: Turn(1), index: CallIndex(2), guard: TaskGuard::Delivered(Fence(2)) }];
    assert_eq!(store.runs.commit(&paused, Revision(1), folds).await.unwrap(), Revision(2));
    assert!(store.tasks.completed(&paused).await.unwrap().is_empty());
}

/// The columns and indexes of our tables.
async fn shape(url: &str) -> Vec<String> {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let shape = "select table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' \
            || coalesce(collation_name, '') from information_schema.columns where table_name like 'holdpoint%' \
        union all select indexdef from pg_indexes where tablename like 'holdpoint%' \
        union all select relname || ' ' || coalesce(array_to_string(reloptions, ' '), '') from pg_class \
            where relname like 'holdpoint%' \
        order by 1";
    let rows = sqlx::raw_sql(AssertSqlSafe(shape)).fetch_all(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// What was released is never edited: a change is a new step.
#[tokio::test]
async fn an_old_database_becomes_the_same_as_a_new_one() {
    let new = Scratch::new().await.unwrap();
    drop(open(new.url(), Migrate::Auto).await);
    for version in versions() {
        let old = loaded(version).await;
        drop(open(old.url(), Migrate::Auto).await);
        assert_eq!(shape(old.url()).await, shape(new.url()).await);
    }
    assert!(shape(new.url()).await.len() > 40);
}
