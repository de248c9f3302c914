//! The faulty store fails exactly what it was told to fail.

use holdpoint_core::{Code, Revision, RunId, Status, Timestamp};
use holdpoint_store::{CommitError, FaultPoint, FaultyStore, HeadUpdate, MemoryStore, Scope, Transition};

fn step() -> Transition {
    Transition::new(vec![b"x".to_vec()], HeadUpdate::new(Status::Running), Timestamp(1))
}

#[tokio::test]
async fn a_fault_before_the_effect_writes_nothing() {
    let faulty = FaultyStore::new(MemoryStore::new());
    let store = faulty.store();
    let run = RunId::new("r");
    faulty.fail_commit(2, FaultPoint::Before);
    store.runs.commit(&run, Revision(0), step()).await.unwrap();
    let failed = store.runs.commit(&run, Revision(1), step()).await.unwrap_err();
    assert_eq!(failed.code(), Code::StoreFailed);
    assert_eq!(store.runs.head(&Scope::All, &run).await.unwrap().unwrap().revision, Revision(1));
    assert_eq!(store.runs.commit(&run, Revision(1), step()).await.unwrap(), Revision(2));
    assert_eq!(faulty.commits(), 3);
}

#[tokio::test]
async fn a_fault_after_the_effect_has_written_all() {
    let faulty = FaultyStore::new(MemoryStore::new());
    let store = faulty.store();
    let run = RunId::new("r");
    faulty.fail_commit(1, FaultPoint::After);
    assert!(matches!(store.runs.commit(&run, Revision(0), step()).await, Err(CommitError::Store(_))));
    assert_eq!(store.runs.load(&Scope::All, &run, Revision(0)).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_fault_after_the_effect_of_a_stale_commit_is_stale() {
    let faulty = FaultyStore::new(MemoryStore::new());
    let store = faulty.store();
    faulty.fail_commit(1, FaultPoint::After);
    let made = store.runs.commit(&RunId::new("r"), Revision(5), step()).await;
    assert!(matches!(made, Err(CommitError::Stale { current: Revision(0) })));
}

#[tokio::test]
async fn only_the_planned_load_fails() {
    let faulty = FaultyStore::new(MemoryStore::new());
    let store = faulty.store();
    let run = RunId::new("r");
    store.runs.commit(&run, Revision(0), step()).await.unwrap();
    faulty.fail_load(2);
    assert!(store.runs.load(&Scope::All, &run, Revision(0)).await.is_ok());
    assert_eq!(store.runs.load(&Scope::All, &run, Revision(0)).await.unwrap_err().code(), Code::StoreFailed);
    assert!(store.runs.load(&Scope::All, &run, Revision(0)).await.is_ok());
}
