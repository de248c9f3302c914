//! The store keeps the contract.

use std::sync::Arc;

use holdpoint_store::conformance::Fixture;
use holdpoint_store::{Clock, ManualClock, Store, store_conformance_tests};
use holdpoint_store_sqlite::{Options, SqliteStore};

async fn open(url: String, clock: Arc<dyn Clock>) -> Store {
    let options = Options { clock: Some(clock), ..Options::default() };
    Store::from(SqliteStore::open_with(&url, options).await.unwrap())
}

async fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("runs.db").display());
    let clock = Arc::new(ManualClock::default());
    let store = open(url.clone(), clock.clone()).await;
    let again = clock.clone();
    Fixture::new(store, clock).reopening(move || open(url.clone(), again.clone())).keeping(folder)
}

store_conformance_tests!(fixture().await);
