//! A database of each version, as it was made then. They must open for ever; `UPDATE_GOLDEN=1` makes that of this version
//! anew.

#[allow(dead_code, reason = "each test file uses a part of it")]
use crate::common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{START, lease_request, opening, step, stranger, url};
use holdpoint_core::{
    CallIndex, CallKey, ContinuationId, Digest, PauseNumber, Revision, RunId, Status, Timestamp, ToolName, Turn,
};
use holdpoint_store::audit::{VerifyRequest, verify};
use holdpoint_store::{
    AuditScope, CommitError, Fence, GrantOpening, Hold, LeaseState, ManualClock, OwnerId, PruneRequest, QuestionChange,
    QuestionFilter, QuestionKind, QuestionOpening, QuestionSeq, Reservation, Reserved, ResponseKey, RunFilter, Scope,
    SealedRun, SessionFilter, SessionUse, Store, TaskChange, TaskCompletion, TaskFilter, TaskGuard, TaskLease,
    TaskState, WorkerSeen, first_link, next_link,
};
use holdpoint_store_sqlite::{Migrate, Options, SCHEMA_VERSION, SqliteStore};
use sqlx::{Connection, Executor};

/// Long enough to be compressed.
const LONG_BYTES: usize = 10_000;

fn golden(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/v{version}.db"))
}

fn long() -> Vec<u8> {
    b"a long text ".iter().copied().cycle().take(LONG_BYTES).collect()
}

fn call(index: u32) -> CallKey {
    CallKey { run: RunId::new("paused"), turn: Turn(1), index: CallIndex(index) }
}

async fn open(path: &Path, migrate: Migrate) -> Store {
    let clock = Arc::new(ManualClock::new(START.plus_ms(1_000)));
    let options = Options { migrate, clock: Some(clock), ..Options::default() };
    Store::from(SqliteStore::open_with(&url(path), options).await.unwrap())
}

/// A run that was sealed and pruned and left a grant.
async fn fill_and_prune(store: &Store) {
    let mut gone = step(&[b"ended"], Status::Finished);
    gone.audit = Some(br#"{"v":1,"entries":[]}"#.to_vec());
    let grant = GrantOpening { id: "grant".into(), tool: ToolName::new("refund"), until: None, body: b"{}".to_vec() };
    gone.grants = vec![grant];
    store.runs.commit(&RunId::new("gone"), Revision(0), gone).await.unwrap();
    store.audit.seal(None).await.unwrap().unwrap();
    let all = PruneRequest { before: Timestamp(i64::MAX), tenant: None, limit: 10 };
    assert_eq!(store.runs.prune(&all).await.unwrap().len(), 1);
}

/// A run that is over, one that runs, and one that waits, with a task in each state.
async fn fill(store: &Store) {
    let finished = RunId::new("finished");
    let mut first = step(&[b"started", &long()], Status::Running);
    first.audit = Some(br#"{"v":1,"entries":[]}"#.to_vec());
    first.head.tenant = Some("acme".into());
    first.hold = Some(Hold { owner: OwnerId::new("owner-1"), lease_ms: 30_000 });
    store.runs.commit(&finished, Revision(0), first).await.unwrap();
    let mut last = step(&[b"ended"], Status::Finished);
    last.head.tenant = Some("acme".into());
    store.runs.commit(&finished, Revision(2), last).await.unwrap();

    let mut held = step(&[b"started"], Status::Running);
    held.hold = Some(Hold { owner: OwnerId::new("owner-1"), lease_ms: 30_000 });
    store.runs.commit(&RunId::new("running"), Revision(0), held).await.unwrap();

    let paused = RunId::new("paused");
    let mut pause = step(&[b"started", b"paused"], Status::AwaitingToolResults);
    pause.head.continuation = Some(ContinuationId { run: paused.clone(), pause: PauseNumber(1) });
    pause.head.deadline = Some(START.plus_ms(90_000));
    pause.tasks = vec![opening(0, b"small"), opening(1, &long()), opening(2, b"left")];
    pause.head.session = Some("talk".into());
    pause.session_use = SessionUse::Alone;
    store.runs.commit(&paused, Revision(0), pause).await.unwrap();
    let leased = store.tasks.lease(&lease_request(2)).await.unwrap();
    store.tasks.complete(&leased[0].lease, long()).await.unwrap();
    // Last, so that leases have the numbers that they always had.
    let mut asks_people = step(&[b"asked"], Status::Running);
    asks_people.hold = Some(Hold { owner: OwnerId::new("owner-1"), lease_ms: 30_000 });
    asks_people.questions = vec![asks(7), asks(8)];
    store.runs.commit(&RunId::new("running"), Revision(1), asks_people).await.unwrap();
}

fn asks(index: u32) -> QuestionChange {
    QuestionChange::Open(Box::new(QuestionOpening {
        turn: Turn(1),
        index: CallIndex(index),
        tool: ToolName::new("refund"),
        kind: QuestionKind::Permission,
        deadline: Some(START.plus_ms(90_000)),
        body: long(),
    }))
}

fn reservation() -> Reservation {
    let key = ResponseKey { sender: "desk".into(), route: "POST /v1/runs".into(), key: "k1".into() };
    Reservation { key, digest: Digest([7; 32]), reserved_ms: 60_000 }
}

/// What servers keep.
async fn fill_desk(store: &Store) {
    store.state.reserve(&reservation()).await.unwrap();
    store.state.keep(&reservation().key, long()).await.unwrap();
    let tools = vec![ToolName::new("refund")];
    store.state.note_worker(&WorkerSeen { name: "worker".into(), tenant: None, tools }).await.unwrap();
}

async fn read_desk(store: &Store) {
    let questions = store.approvals.list(&QuestionFilter::default()).await.unwrap().items;
    let names: Vec<String> = questions.iter().map(|row| row.key.to_string()).collect();
    assert_eq!(names, ["running.b1.c7", "running.b1.c8"]);
    assert_eq!((questions[0].body.to_vec(), questions[0].asked_at), (long(), START));
    let changes = store.approvals.changes(&Scope::All, Some(QuestionSeq(0)), 10).await.unwrap();
    assert_eq!(changes.questions.len(), 2);
    let sessions = store.runs.sessions(&SessionFilter::default()).await.unwrap().items;
    assert_eq!((sessions.len(), &*sessions[0].id, sessions[0].last_run.as_str()), (1, "talk", "paused"));
    let mut second = step(&[b"started"], Status::Running);
    second.head.session = Some("talk".into());
    second.session_use = SessionUse::Alone;
    let busy = store.runs.commit(&RunId::new("second"), Revision(0), second).await;
    assert!(matches!(busy, Err(CommitError::SessionBusy)), "{busy:?}");
    assert_eq!(store.state.reserve(&reservation()).await.unwrap(), Reserved::Kept(long().into()));
    let workers = store.state.workers(&Scope::All).await.unwrap();
    assert_eq!((workers.len(), workers[0].tools[0].as_str()), (1, "refund"));
}

async fn make(path: &Path) {
    _ = std::fs::remove_file(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    // Small pages make a small file.
    let mut connection = stranger(path).await;
    connection.execute("PRAGMA page_size = 512; VACUUM").await.unwrap();
    connection.close().await.unwrap();
    let store = open(path, Migrate::Auto).await;
    fill_and_prune(&store).await;
    fill(&store).await;
    fill_desk(&store).await;
    store.runs.close().await;
}

/// One test, since it alone may write the golden file: that of this version, never an older one.
#[tokio::test]
async fn every_version_opens_and_goes_on() {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        make(&golden(SCHEMA_VERSION)).await;
    }
    for version in 1..=SCHEMA_VERSION {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("copy.db");
        std::fs::copy(golden(version), &path).unwrap();
        let store = open(&path, Migrate::Auto).await;
        read_runs(&store).await;
        read_tasks(&store).await;
        check_chain(&store).await;
        read_desk(&store).await;
        go_on(&store).await;
        read_sealed(&store).await;
        let verified = verify(&store, &VerifyRequest::default(), &mut |_| {}).await.unwrap();
        assert!(verified.is_whole(), "{:?}", verified.findings);
        assert_eq!((verified.runs, verified.rows), (3, 1));
        store.runs.close().await;

        // What was brought up to date is what is made today.
        let new = folder.path().join("new.db");
        open(&new, Migrate::Auto).await.runs.close().await;
        assert_eq!(schema(&path).await, schema(&new).await);
    }
}

async fn check_chain(store: &Store) {
    let finished = RunId::new("finished");
    let audit = store.audit.rows(&Scope::All, &finished).await.unwrap();
    let link = next_link(first_link(&finished, Some("acme")), Revision(2), START, &audit[0].body);
    assert_eq!(audit[0].link, link);
    let page = store.audit.rows_after(&AuditScope::Run(finished.clone()), None, 10).await.unwrap();
    assert_eq!(page.items[0].head, SealedRun { run: finished, revision: Revision(2), link });
}

async fn read_sealed(store: &Store) {
    let seals = store.audit.seals(None, 0, 10).await.unwrap();
    assert_eq!((seals.len(), seals[0].runs[0].run.as_str()), (1, "gone"));
    let stones = store.audit.tombstones(None, None, 10).await.unwrap();
    assert_eq!((stones.len(), &stones[0].run, stones[0].seal), (1, &seals[0].runs[0], 1));
    let grants = store.grants.matching(None, &ToolName::new("refund")).await.unwrap();
    assert_eq!((grants.len(), &*grants[0].id, &*grants[0].body), (1, "grant", &b"{}"[..]));
}

async fn read_runs(store: &Store) {
    let listed = store.runs.list(&RunFilter::default()).await.unwrap();
    let names: Vec<_> = listed.items.iter().map(|head| head.run.as_str()).collect();
    assert_eq!(names, ["paused", "running", "finished"]);
    let [paused, running, finished] = &listed.items[..] else { panic!("{listed:?}") };
    assert_eq!((paused.status, paused.revision), (Status::AwaitingToolResults, Revision(2)));
    assert_eq!(paused.continuation.as_ref().unwrap().to_string(), "paused.p1");
    assert_eq!(paused.deadline, Some(START.plus_ms(90_000)));
    assert_eq!((running.status, running.agent.as_deref()), (Status::Running, Some("support")));
    assert_eq!((finished.status, finished.tenant.as_deref()), (Status::Finished, Some("acme")));

    let records = store.runs.load(&Scope::All, &finished.run, Revision(0)).await.unwrap();
    let bodies: Vec<Vec<u8>> = records.iter().map(|record| record.body.to_vec()).collect();
    assert_eq!(bodies, [b"started".to_vec(), long(), b"ended".to_vec()]);
    assert!(records.iter().all(|record| record.at == START));
    let audit = store.audit.rows(&Scope::All, &finished.run).await.unwrap();
    assert_eq!(audit.len(), 1);
    assert_eq!((audit[0].revision, &audit[0].body[..]), (Revision(2), &br#"{"v":1,"entries":[]}"#[..]));
    assert_eq!(store.runs.due(&["support".into()], START.plus_ms(90_000), 9).await.unwrap(), [RunId::new("paused")]);
}

async fn read_tasks(store: &Store) {
    let tasks = store.tasks.list(&TaskFilter::default()).await.unwrap().items;
    assert_eq!(tasks.iter().map(|task| task.key.clone()).collect::<Vec<_>>(), [call(0), call(1), call(2)]);
    assert!(matches!(tasks[0].state, TaskState::Delivered { fence: Fence(1), .. }), "{:?}", tasks[0]);
    assert!(matches!(tasks[1].state, TaskState::Leased { fence: Fence(1), .. }), "{:?}", tasks[1]);
    assert!(matches!(tasks[2].state, TaskState::Waiting { .. }), "{:?}", tasks[2]);
    let delivered = store.tasks.completed(&RunId::new("paused")).await.unwrap();
    assert_eq!(delivered[0].result.to_vec(), long());
    assert_eq!(store.tasks.collectable(&["support".into()], 9).await.unwrap(), [RunId::new("paused")]);
}

async fn go_on(store: &Store) {
    let lease = TaskLease { key: call(1), fence: Fence(1) };
    assert_eq!(store.tasks.complete(&lease, b"done".to_vec()).await.unwrap(), TaskCompletion::Stored);
    let leased = store.tasks.lease(&lease_request(9)).await.unwrap();
    assert_eq!((leased.len(), &leased[0].body[..]), (1, &b"left"[..]));
    assert!(leased[0].lease.fence > Fence(1));
    let mut folded = step(&[b"resumed"], Status::Running);
    folded.tasks = (0..2)
        .map(|index| TaskChange::Close {
            turn: Turn(1),
            index: CallIndex(index),
            guard: TaskGuard::Delivered(Fence(1)),
        })
        .collect();
    assert_eq!(store.runs.commit(&RunId::new("paused"), Revision(2), folded).await.unwrap(), Revision(3));
    let owner = Hold { owner: OwnerId::new("owner-1"), lease_ms: 1_000 };
    assert_eq!(store.leases.renew(&RunId::new("running"), &owner).await.unwrap(), LeaseState::Held);
}

async fn schema(path: &Path) -> Vec<(String, Option<String>)> {
    let mut connection = stranger(path).await;
    let found = sqlx::query_as("SELECT name, sql FROM sqlite_schema ORDER BY name").fetch_all(&mut connection).await;
    connection.close().await.unwrap();
    found.unwrap()
}
