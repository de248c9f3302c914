//! What the tests of this crate share.

use std::path::Path;
use std::sync::Arc;

use holdpoint_core::{Attempt, CallIndex, Repeat, Revision, RunId, Status, Timestamp, ToolName, Turn};
use holdpoint_store::{
    Clock, CommitError, HeadUpdate, LeaseRequest, Store, StoreError, StoreFault, TaskChange, TaskOpening, Transition,
};
use holdpoint_store_sqlite::{Options, SqliteStore};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, SqliteConnection};

/// A moment to count from.
pub(crate) const START: Timestamp = Timestamp(1_735_689_600_000_000);

pub(crate) fn url(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

pub(crate) async fn open(path: &Path) -> Store {
    Store::from(SqliteStore::open(&url(path)).await.unwrap())
}

pub(crate) async fn open_with_clock(path: &Path, clock: Arc<dyn Clock>) -> Store {
    let options = Options { clock: Some(clock), ..Options::default() };
    Store::from(SqliteStore::open_with(&url(path), options).await.unwrap())
}

/// Opens what must not open, and says why it did not.
pub(crate) async fn fault_of_opening(url: &str, options: Options) -> StoreFault {
    match SqliteStore::open_with(url, options).await {
        Err(error) => fault(&error),
        Ok(store) => panic!("{store:?} was opened"),
    }
}

pub(crate) fn fault(error: &StoreError) -> StoreFault {
    match error {
        StoreError::Fault { fault, .. } => fault.clone(),
        other => panic!("{other:?} has no known reason"),
    }
}

pub(crate) fn commit_fault(made: &Result<Revision, CommitError>) -> StoreFault {
    match made {
        Err(CommitError::Store(error)) => fault(error),
        other => panic!("{other:?} is no failure of the store"),
    }
}

/// A connection of somebody else.
pub(crate) async fn stranger(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(path).create_if_missing(true).connect().await.unwrap()
}

pub(crate) fn step(records: &[&[u8]], status: Status) -> Transition {
    let records = records.iter().map(|record| record.to_vec()).collect();
    let head = HeadUpdate { agent: Some("support".into()), ..HeadUpdate::new(status) };
    Transition::new(records, head, START)
}

pub(crate) async fn create(store: &Store, run: &str, status: Status) {
    let made = store.runs.commit(&RunId::new(run), Revision(0), step(&[b"first"], status)).await;
    assert_eq!(made.unwrap(), Revision(1));
}

pub(crate) fn opening(index: u32, body: &[u8]) -> TaskChange {
    TaskChange::Open(Box::new(TaskOpening {
        turn: Turn(1),
        index: CallIndex(index),
        tool: ToolName::new("refund"),
        attempts: Attempt(0),
        attempts_max: Attempt(3),
        repeat: Repeat::WithKey,
        deadline: None,
        body: body.to_vec(),
    }))
}

pub(crate) fn lease_request(limit: usize) -> LeaseRequest {
    let tools = vec![(Arc::from("support"), ToolName::new("refund"))];
    LeaseRequest { worker: "worker-1".into(), tools, tenant: None, limit, lease_ms: 60_000 }
}
