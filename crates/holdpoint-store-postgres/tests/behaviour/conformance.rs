//! Every rule that all stores keep, on a real server.

use std::sync::Arc;

use holdpoint_store::conformance::Fixture;
use holdpoint_store::{Clock, ManualClock, Store};
use holdpoint_store_postgres::testing::Scratch;
use holdpoint_store_postgres::{Options, PostgresStore};

async fn open(url: &str, clock: &Arc<ManualClock>) -> Store {
    let clock: Arc<dyn Clock> = clock.clone();
    // Many rules are checked at the same time, and a server has so many connections.
    let options = Options { clock: Some(clock), connections: 8, ..Options::default() };
    Store::from(PostgresStore::open_with(url, options).await.unwrap())
}

async fn fixture() -> Fixture {
    let (scratch, clock) = (Arc::new(Scratch::new().await.unwrap()), Arc::new(ManualClock::default()));
    let store = open(scratch.url(), &clock).await;
    let (again, by) = (scratch.clone(), clock.clone());
    Fixture::new(store, clock)
        .reopening(move || {
            let (scratch, clock) = (again.clone(), by.clone());
            async move { open(scratch.url(), &clock).await }
        })
        .keeping(scratch)
}

holdpoint_store::store_conformance_tests!(fixture().await);
