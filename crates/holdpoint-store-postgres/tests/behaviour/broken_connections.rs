//! Connections that break: nothing is lost, nothing happens twice, and work goes on.

use crate::common;
use crate::proxy;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{PATIENCE, Server, asks_for, opening, sql, step};
use holdpoint_core::{Attempt, Revision, RunId};
use holdpoint_store::{
    CommitError, LeaseState, Release, Scope, Store, StoreError, StoreFault, TaskCompletion, TaskFilter, TaskState,
};
use holdpoint_store_postgres::testing::Scratch;
use holdpoint_store_postgres::{Options, PostgresStore};
use proxy::{Cut, Proxy};
use sqlx::postgres::PgConnection;
use sqlx::{Connection, Row};
use tokio::time::timeout;

async fn bodies(store: &Store, run: &RunId) -> Vec<String> {
    let records = store.runs.load(&Scope::All, run, Revision(0)).await.unwrap();
    records.iter().map(|record| String::from_utf8(record.body.to_vec()).unwrap()).collect()
}

/// Commits to a run of its own until it is told to stop, and returns what was acknowledged.
async fn write(store: Store, run: RunId, stop: Arc<AtomicBool>) -> Vec<String> {
    let mut written = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let body = format!("{run} {}", written.len());
        let at = Revision(written.len() as u64);
        let made =
            timeout(PATIENCE, store.runs.commit(&run, at, step(&body))).await.expect("a commit comes to its end");
        assert_eq!(made.unwrap(), Revision(at.0 + 1), "{run} has no other writer");
        written.push(body);
    }
    written
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backends_that_end_in_the_middle_of_commits_lose_nothing() {
    let scratch = Scratch::new().await.unwrap();
    let store = Store::from(PostgresStore::open(scratch.url()).await.unwrap());
    let stop = Arc::new(AtomicBool::new(false));
    let runs: Vec<RunId> = (0..24).map(|number| RunId::new(format!("run-{number}"))).collect();
    let writers: Vec<_> =
        runs.iter().map(|run| tokio::spawn(write(store.clone(), run.clone(), stop.clone()))).collect();
    let mut killer = PgConnection::connect(scratch.url()).await.unwrap();
    let kill = "select count(pg_terminate_backend(pid)) filter (where state = 'active' and query like '%holdpoint_log%') \
        from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
    let mut in_the_middle = 0;
    while in_the_middle < 40 {
        in_the_middle += sqlx::query(kill).fetch_one(&mut killer).await.unwrap().get::<i64, _>(0);
        sqlx::query("select pg_sleep(0.02)").execute(&mut killer).await.unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    for (run, writer) in runs.iter().zip(writers) {
        let written = writer.await.unwrap();
        assert_eq!(bodies(&store, run).await, written);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_crashes_and_comes_back_loses_nothing() {
    let server = Server::start();
    let options = Options { outage_ms: 60_000, ..Options::default() };
    let store = Store::from(PostgresStore::open_with(&server.url, options).await.unwrap());
    let stop = Arc::new(AtomicBool::new(false));
    let runs: Vec<RunId> = (0..16).map(|number| RunId::new(format!("run-{number}"))).collect();
    let writers: Vec<_> =
        runs.iter().map(|run| tokio::spawn(write(store.clone(), run.clone(), stop.clone()))).collect();
    for _ in 0..2 {
        timeout(
            PATIENCE,
            store.runs.changed(
                &runs[0],
                store.runs.head(&Scope::All, &runs[0]).await.unwrap().map_or(Revision(0), |head| head.revision),
            ),
        )
        .await
        .unwrap()
        .ok();
        tokio::task::block_in_place(|| {
            server.halt();
            server.start_again();
        });
    }
    stop.store(true, Ordering::Relaxed);
    for (run, writer) in runs.iter().zip(writers) {
        let written = writer.await.unwrap();
        assert_eq!(bodies(&store, run).await, written);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stays_away_is_an_error_and_later_it_is_not() {
    let server = Server::start();
    let store = Store::from(
        PostgresStore::open_with(&server.url, Options { outage_ms: 200, ..Options::default() }).await.unwrap(),
    );
    let run = RunId::new("run");
    store.runs.commit(&run, Revision(0), step("one")).await.unwrap();
    tokio::task::block_in_place(|| server.halt());
    let error = store.runs.commit(&run, Revision(1), step("two")).await.unwrap_err();
    let CommitError::Store(StoreError::Fault { fault, .. }) = &error else { panic!("{error:?}") };
    assert_eq!(*fault, StoreFault::Unavailable);
    assert_eq!(store.runs.head(&Scope::All, &run).await.unwrap_err().code().as_str(), "store_unavailable");
    assert!(store.tasks.lease(&asks_for("worker", "pay")).await.unwrap_err().may_pass());
    tokio::task::block_in_place(|| server.start_again());
    assert_eq!(store.runs.commit(&run, Revision(1), step("two")).await.unwrap(), Revision(2));
    assert_eq!(bodies(&store, &run).await, ["one", "two"]);
}

/// The request or the answer is lost, each time for sure.
#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_recognised() {
    let scratch = Scratch::new().await.unwrap();
    let proxy = Proxy::start(scratch.url()).await;
    let store = Store::from(PostgresStore::open(&proxy.url).await.unwrap());
    for (cut, name) in [(Cut::Answer, "answer"), (Cut::Request, "request")] {
        let run = RunId::new(name);
        for (revision, word) in [(0, "created"), (1, "moved")] {
            let mark = format!("{name}-{word}");
            proxy.cut(cut, &mark);
            let made = store.runs.commit(&run, Revision(revision), step(&mark)).await.unwrap();
            assert_eq!(made, Revision(revision + 1));
            assert!(proxy.has_cut(), "the connection was to break at {mark}");
        }
        assert_eq!(bodies(&store, &run).await, [format!("{name}-created"), format!("{name}-moved")]);
    }
}

#[tokio::test]
async fn a_lease_whose_answer_was_lost_is_found_again() {
    let scratch = Scratch::new().await.unwrap();
    let proxy = Proxy::start(scratch.url()).await;
    let store = Store::from(PostgresStore::open(&proxy.url).await.unwrap());
    for (cut, run) in [(Cut::Answer, "answer"), (Cut::Request, "request")] {
        let mut opens = step("opens");
        opens.tasks = vec![opening(0, run)];
        store.runs.commit(&RunId::new(run), Revision(0), opens).await.unwrap();
        let worker = format!("worker-{run}");
        proxy.cut(cut, &worker);
        let leased = store.tasks.lease(&asks_for(&worker, run)).await.unwrap();
        assert!(proxy.has_cut());
        assert_eq!(leased.len(), 1);
        assert_eq!(leased[0].task.attempts, Attempt(1), "the call counts as started once");

        proxy.cut(cut, run);
        assert_eq!(store.tasks.release(&leased[0].lease, Release::Unstarted).await.unwrap(), LeaseState::Held);
        assert!(proxy.has_cut());
        assert_eq!(store.tasks.release(&leased[0].lease, Release::Unstarted).await.unwrap(), LeaseState::Lost);
        let leased = store.tasks.lease(&asks_for("again", run)).await.unwrap();
        assert_eq!(leased[0].task.attempts, Attempt(1));

        proxy.cut(cut, "the-result");
        // A try whose answer was lost stored it.
        let completion = store.tasks.complete(&leased[0].lease, b"the-result".to_vec()).await.unwrap();
        assert!(matches!(completion, TaskCompletion::Stored | TaskCompletion::Present), "{completion:?}");
        assert!(proxy.has_cut());
    }
    let tasks = store.tasks.list(&TaskFilter::default()).await.unwrap().items;
    assert_eq!(tasks.len(), 2);
    assert!(tasks.iter().all(|task| matches!(task.state, TaskState::Delivered { .. })), "{tasks:?}");
}

#[tokio::test]
async fn a_transition_that_the_database_refuses_harms_no_other() {
    let scratch = Scratch::new().await.unwrap();
    let store = Store::from(
        PostgresStore::open_with(scratch.url(), Options { connections: 2, ..Options::default() }).await.unwrap(),
    );
    let commits: Vec<_> = (0..60)
        .map(|number| {
            let store = store.clone();
            // PostgreSQL cannot store a zero in a text.
            let name = if number % 20 == 7 { format!("bad-\0-{number}") } else { format!("run-{number}") };
            tokio::spawn(async move { (number, store.runs.commit(&RunId::new(name), Revision(0), step("one")).await) })
        })
        .collect();
    for commit in commits {
        let (number, made) = commit.await.unwrap();
        assert_eq!(made.is_ok(), number % 20 != 7, "{number}: {made:?}");
    }
    sql(scratch.url(), "select 1 / (count(*) = 57)::int from holdpoint_runs").await;
}
