//! The faulty store fails exactly what it was told to fail, and the conformance suite finds stores that break the rules.

use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_core::{Code, Revision, RunId, Status, Timestamp};
use holdpoint_store::{
    CommitError, FaultPoint, FaultyStore, Head, HeadUpdate, MemoryStore, Record, RunFilter, RunPage, Store, StoreError,
    Transition, conformance,
};

fn step() -> Transition {
    Transition { records: vec![b"x".to_vec()], head: HeadUpdate::new(Status::Running), at: Timestamp(1) }
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

/// What a broken store does wrong.
#[derive(Clone, Copy)]
enum Mistake {
    IgnoresTheRevision,
    LosesTheLastRecord,
    ListsTheOldestFirst,
    NeverWakes,
    ForgetsDeadlines,
}

struct BrokenStore(MemoryStore, Mistake);

#[async_trait]
impl Store for BrokenStore {
    async fn commit(&self, run: &RunId, at: Revision, mut step: Transition) -> Result<Revision, CommitError> {
        let mut at = at;
        match self.1 {
            Mistake::IgnoresTheRevision => at = self.0.head(run).await?.map_or(Revision(0), |head| head.revision),
            Mistake::ForgetsDeadlines => step.head.deadline = None,
            _ => {}
        }
        self.0.commit(run, at, step).await
    }

    async fn load(&self, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        let mut records = self.0.load(run, after).await?;
        if matches!(self.1, Mistake::LosesTheLastRecord) {
            records.pop();
        }
        Ok(records)
    }

    async fn head(&self, run: &RunId) -> Result<Option<Head>, StoreError> {
        self.0.head(run).await
    }

    async fn list(&self, filter: &RunFilter) -> Result<RunPage, StoreError> {
        let mut page = self.0.list(filter).await?;
        if matches!(self.1, Mistake::ListsTheOldestFirst) {
            page.runs.reverse();
        }
        Ok(page)
    }

    async fn due(&self, at: Timestamp, limit: usize) -> Result<Vec<RunId>, StoreError> {
        self.0.due(at, limit).await
    }

    async fn changed(&self, run: &RunId, after: Revision) -> Result<Revision, StoreError> {
        if matches!(self.1, Mistake::NeverWakes) {
            return self.0.head(run).await?.map(|_| after).ok_or_else(|| StoreError::NotFound { run: run.clone() });
        }
        self.0.changed(run, after).await
    }

    fn now(&self) -> Timestamp {
        self.0.now()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_suite_finds_every_planted_mistake() {
    for (mistake, found_by) in [
        (Mistake::IgnoresTheRevision, "a_commit_on_an_unknown_run_is_stale"),
        (Mistake::LosesTheLastRecord, "of_racing_commits_exactly_one_wins"),
        (Mistake::ForgetsDeadlines, "deadlines_that_passed_are_due"),
        (Mistake::ListsTheOldestFirst, "lists_are_filtered"),
        (Mistake::NeverWakes, "everybody_who_waits_is_woken"),
    ] {
        let make = async || Arc::new(BrokenStore(MemoryStore::new(), mistake)) as Arc<dyn Store>;
        let problem = conformance::check_all(make).await.unwrap_err();
        assert!(problem.starts_with(found_by), "{problem}");
    }
}
