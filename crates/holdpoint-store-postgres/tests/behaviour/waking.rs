//! Waiting for what another process does. Each store here has connections of its own, as a process has.

use crate::common;

use common::{PATIENCE, asks_for, opening, sql, step};
use holdpoint_core::{Revision, RunId};
use holdpoint_store::{Release, Store, Topic};
use holdpoint_store_postgres::PostgresStore;
use holdpoint_store_postgres::testing::Scratch;
use tokio::time::timeout;

const END_LISTENERS: &str = "select 1 / count(pg_terminate_backend(pid)) from pg_stat_activity \
    where datname = current_database() and query like 'LISTEN%'";

async fn two_stores(scratch: &Scratch) -> (Store, Store) {
    let one = Store::from(PostgresStore::open(scratch.url()).await.unwrap());
    (one, Store::from(PostgresStore::open(scratch.url()).await.unwrap()))
}

/// Waits until the store listens, which wakes everybody once: from then on a notification does, and nothing else.
async fn listening(store: &Store) {
    let mut runs = store.runs.watch(Topic::Runs);
    timeout(PATIENCE, runs.wait_for(|wakes| *wakes > 0)).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_commit_elsewhere_ends_the_wait() {
    let scratch = Scratch::new().await.unwrap();
    let (here, elsewhere) = two_stores(&scratch).await;
    let run = RunId::new("run");
    elsewhere.runs.commit(&run, Revision(0), step("one")).await.unwrap();
    for revision in 1..20 {
        let (store, watched) = (here.clone(), run.clone());
        let waiter = tokio::spawn(async move { store.runs.changed(&watched, Revision(revision)).await });
        elsewhere.runs.commit(&run, Revision(revision), step("next")).await.unwrap();
        let seen = timeout(PATIENCE, waiter).await.unwrap().unwrap().unwrap();
        assert_eq!(seen, Revision(revision + 1));
    }
}

#[tokio::test]
async fn work_that_appears_elsewhere_wakes_those_who_look_for_it() {
    let scratch = Scratch::new().await.unwrap();
    let here = Store::from(PostgresStore::open(scratch.url()).await.unwrap());
    listening(&here).await;
    let elsewhere = Store::from(PostgresStore::open(scratch.url()).await.unwrap());
    let (mut tasks, mut runs) = (here.runs.watch(Topic::Tasks), here.runs.watch(Topic::Runs));
    let mut opens = step("opens");
    opens.tasks = vec![opening(0, "pay")];
    elsewhere.runs.commit(&RunId::new("run"), Revision(0), opens).await.unwrap();
    timeout(PATIENCE, tasks.changed()).await.unwrap().unwrap();
    timeout(PATIENCE, runs.changed()).await.unwrap().unwrap();

    let leased = elsewhere.tasks.lease(&asks_for("worker", "pay")).await.unwrap().remove(0);
    tasks.mark_unchanged();
    elsewhere.tasks.release(&leased.lease, Release::Unstarted).await.unwrap();
    timeout(PATIENCE, tasks.changed()).await.unwrap().unwrap();

    let leased = elsewhere.tasks.lease(&asks_for("worker", "pay")).await.unwrap().remove(0);
    runs.mark_unchanged();
    elsewhere.tasks.complete(&leased.lease, b"paid".to_vec()).await.unwrap();
    timeout(PATIENCE, runs.changed()).await.unwrap().unwrap();
}

#[tokio::test]
async fn waiting_ends_though_the_listening_connection_was_ended() {
    let scratch = Scratch::new().await.unwrap();
    let (here, elsewhere) = two_stores(&scratch).await;
    listening(&here).await;
    listening(&elsewhere).await;
    let run = RunId::new("run");
    elsewhere.runs.commit(&run, Revision(0), step("one")).await.unwrap();
    for revision in 1..4 {
        let (store, watched) = (here.clone(), run.clone());
        let waiter = tokio::spawn(async move { store.runs.changed(&watched, Revision(revision)).await });
        let mut runs = here.runs.watch(Topic::Runs);
        sql(scratch.url(), END_LISTENERS).await;
        elsewhere.runs.commit(&run, Revision(revision), step("next")).await.unwrap();
        assert_eq!(timeout(PATIENCE, waiter).await.unwrap().unwrap().unwrap(), Revision(revision + 1));
        // It listens again, and says that something may have been missed.
        timeout(PATIENCE, runs.changed()).await.unwrap().unwrap();
        listens_again(scratch.url(), 2).await;
    }
}

/// Both stores have a listener again.
async fn listens_again(url: &str, listeners: usize) {
    let count = format!(
        "do $$ begin for attempt in 1..600 loop \
            perform pg_stat_clear_snapshot(); \
            if (select count(*) from pg_stat_activity where datname = current_database() and query like 'LISTEN%') \
                >= {listeners} then return; end if; \
            perform pg_sleep(0.1); end loop; raise 'nobody listens'; end $$"
    );
    sql(url, &count).await;
}
