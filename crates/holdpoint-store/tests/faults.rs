//! The faulty store fails exactly what it was told to fail.

use std::sync::Arc;

use holdpoint_core::{Code, Revision, RunId, Status, Timestamp};
use holdpoint_store::{CommitError, FaultPoint, FaultyStore, HeadUpdate, MemoryStore, Store, Transition};

fn step() -> Transition {
    Transition::new(vec![b"x".to_vec()], HeadUpdate::new(Status::Running), Timestamp(1))
}

#[tokio::test]
async fn a_fault_before_the_effect_writes_nothing() {
    let store = FaultyStore::new(Arc::new(MemoryStore::new()));
    let run = RunId::new("r");
    store.fail_commit(2, FaultPoint::Before);
    store.commit(&run, Revision(0), step()).await.unwrap();
    let failed = store.commit(&run, Revision(1), step()).await.unwrap_err();
    assert_eq!(failed.code(), Code::StoreFailed);
    assert_eq!(store.head(&run).await.unwrap().unwrap().revision, Revision(1));
    assert_eq!(store.commit(&run, Revision(1), step()).await.unwrap(), Revision(2));
    assert_eq!(store.commits(), 3);
}

#[tokio::test]
async fn a_fault_after_the_effect_has_written_all() {
    let store = FaultyStore::new(Arc::new(MemoryStore::new()));
    let run = RunId::new("r");
    store.fail_commit(1, FaultPoint::After);
    assert!(matches!(store.commit(&run, Revision(0), step()).await, Err(CommitError::Store(_))));
    assert_eq!(store.load(&run, Revision(0)).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_fault_after_the_effect_of_a_stale_commit_is_stale() {
    let store = FaultyStore::new(Arc::new(MemoryStore::new()));
    store.fail_commit(1, FaultPoint::After);
    let made = store.commit(&RunId::new("r"), Revision(5), step()).await;
    assert!(matches!(made, Err(CommitError::Stale { current: Revision(0) })));
}

#[tokio::test]
async fn only_the_planned_load_fails() {
    let store = FaultyStore::new(Arc::new(MemoryStore::new()));
    let run = RunId::new("r");
    store.commit(&run, Revision(0), step()).await.unwrap();
    store.fail_load(2);
    assert!(store.load(&run, Revision(0)).await.is_ok());
    assert_eq!(store.load(&run, Revision(0)).await.unwrap_err().code(), Code::StoreFailed);
    assert!(store.load(&run, Revision(0)).await.is_ok());
}
