//! What waits together is written together, and each is decided as if it had come alone.

#[allow(dead_code, reason = "each test file uses a part of it")]
use crate::common;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use common::{lease_request, open, open_with_clock, opening, step, stranger};
use holdpoint_core::{CallIndex, Revision, RunId, Status, Turn};
use holdpoint_store::{
    CommitError, Hold, LeaseState, ManualClock, OwnerId, Scope, Store, TaskChange, TaskCompletion, TaskFilter,
    TaskGuard, Topic,
};
use sqlx::{Executor, SqliteConnection};
use tokio::time::timeout;

/// How long something that must happen may take. Only a broken store lets it pass.
const PATIENCE: Duration = Duration::from_secs(20);

/// Keeps the writer busy until the lock is given back: everything that comes meanwhile becomes one group.
async fn lock(path: &Path) -> SqliteConnection {
    let mut other = stranger(path).await;
    other.execute("BEGIN EXCLUSIVE").await.unwrap();
    other
}

fn closing(index: u32, guard: TaskGuard) -> TaskChange {
    TaskChange::Close { turn: Turn(1), index: CallIndex(index), guard }
}

/// A request of its own group, so that those after it come together.
async fn first(store: &Store) -> LeaseState {
    let hold = Hold { owner: OwnerId::unique(), lease_ms: 1_000 };
    store.leases.renew(&RunId::new("nobody"), &hold).await.unwrap()
}

#[tokio::test]
async fn commits_of_one_run_in_one_group_follow_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let store = open(&path).await;
    let run = RunId::new("run");
    let mut other = lock(&path).await;

    let mut opened = step(&[b"2", b"3"], Status::AwaitingToolResults);
    opened.tasks = vec![opening(0, b"a"), opening(1, b"b"), opening(2, b"c")];
    let mut changed = step(&[b"4"], Status::AwaitingToolResults);
    // Whose run it is was decided when it was created.
    changed.head.agent = Some("sales".into());
    changed.tasks = vec![closing(0, TaskGuard::Waiting), opening(1, b"again")];
    let mut lost = step(&[b"never"], Status::Finished);
    lost.tasks = vec![closing(2, TaskGuard::Any), closing(1, TaskGuard::Leased(holdpoint_store::Fence(1)))];
    let unlock = async {
        tokio::task::yield_now().await;
        other.execute("ROLLBACK").await.unwrap();
    };
    let (_, created, late, opened, changed, lost, ()) = tokio::join!(
        biased;
        first(&store),
        store.runs.commit(&run, Revision(0), step(&[b"1"], Status::Running)),
        store.runs.commit(&run, Revision(0), step(&[b"late"], Status::Failed)),
        store.runs.commit(&run, Revision(1), opened),
        store.runs.commit(&run, Revision(3), changed),
        store.runs.commit(&run, Revision(4), lost),
        unlock,
    );
    assert_eq!((created.unwrap(), opened.unwrap(), changed.unwrap()), (Revision(1), Revision(3), Revision(4)));
    assert!(matches!(late, Err(CommitError::Stale { current: Revision(1) })), "{late:?}");
    assert!(matches!(lost, Err(CommitError::LeaseLost)), "{lost:?}");

    let records = store.runs.load(&Scope::All, &run, Revision(0)).await.unwrap();
    let bodies: Vec<_> = records.iter().map(|record| String::from_utf8(record.body.to_vec()).unwrap()).collect();
    assert_eq!(bodies, ["1", "2", "3", "4"]);
    let head = store.runs.head(&Scope::All, &run).await.unwrap().unwrap();
    assert_eq!((head.status, head.agent.as_deref()), (Status::AwaitingToolResults, Some("support")));
    let tasks = store.tasks.list(&TaskFilter::default()).await.unwrap().items;
    let seen: Vec<_> = tasks.iter().map(|task| (task.key.index.0, &*task.agent)).collect();
    assert_eq!(seen, [(2, "support"), (1, "support")]);
}

#[tokio::test]
async fn who_leases_sees_what_the_group_opened_and_gave_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    // What is given back at a moment is there at that moment: time stands still, so that all agree on it.
    let store = open_with_clock(&path, Arc::new(ManualClock::default())).await;
    let run = RunId::new("run");
    let mut opened = step(&[b"1"], Status::AwaitingToolResults);
    opened.tasks = (0..4).map(|index| opening(index, b"body")).collect();
    store.runs.commit(&run, Revision(0), opened).await.unwrap();
    let mine = store.tasks.lease(&lease_request(3)).await.unwrap();
    let mut other = lock(&path).await;

    let mut closed = step(&[b"2"], Status::AwaitingToolResults);
    closed.tasks = vec![closing(0, TaskGuard::Leased(mine[0].lease.fence))];
    let held = [mine[0].lease.clone(), mine[1].lease.clone()];
    let (one, two) = (lease_request(1), lease_request(9));
    let unlock = async {
        tokio::task::yield_now().await;
        other.execute("ROLLBACK").await.unwrap();
    };
    let (_, heard, delivered, again, released, closed, one, two, ()) = tokio::join!(
        biased;
        first(&store),
        store.tasks.heartbeat(&held, 1_000),
        store.tasks.complete(&mine[1].lease, b"result".to_vec()),
        store.tasks.complete(&mine[1].lease, b"another".to_vec()),
        store.tasks.release(&mine[2].lease, holdpoint_store::Release::Unstarted),
        store.runs.commit(&run, Revision(1), closed),
        store.tasks.lease(&one),
        store.tasks.lease(&two),
        unlock,
    );
    assert_eq!(heard.unwrap(), [LeaseState::Held; 2]);
    assert_eq!((delivered.unwrap(), again.unwrap()), (TaskCompletion::Stored, TaskCompletion::Present));
    assert_eq!((released.unwrap(), closed.unwrap()), (LeaseState::Held, Revision(2)));
    let (one, two) = (one.unwrap(), two.unwrap());
    let mut leased: Vec<_> = one.iter().chain(&two).map(|task| task.lease.key.index.0).collect();
    leased.sort_unstable();
    assert_eq!((one.len(), leased), (1, vec![2, 3]));
    assert!(one[0].lease.fence > mine[2].lease.fence && two[0].lease.fence > one[0].lease.fence);
    let results = store.tasks.completed(&run).await.unwrap();
    assert_eq!((results.len(), &results[0].result[..]), (1, &b"result"[..]));
}

#[tokio::test]
async fn a_dropped_store_ends_its_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let store = open(&path).await;
    let mut watched = store.runs.watch(Topic::Runs);
    // Whoever gives up waiting leaves nothing behind that would keep the store.
    let made = store.runs.commit(&RunId::new("run"), Revision(0), step(&[b"1"], Status::Running)).await;
    assert_eq!(made.unwrap(), Revision(1));
    drop(store);
    let ended = async { while watched.changed().await.is_ok() {} };
    timeout(PATIENCE, ended).await.unwrap();
}
