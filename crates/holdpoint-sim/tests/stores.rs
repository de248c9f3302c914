//! The same worlds on real stores: nothing breaks there, and whatever a store answers, the model answered too.

#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_core::{Revision, RunId};
use holdpoint_sim::{Backing, STORE, Setup, Tracing, simulate, simulate_as};
use holdpoint_store::{
    CommitError, GrantsLayer, Head, Layer, QuestionChange, RunLeasesLayer, RunLogLayer, Scope, Store, StoreError,
    TaskCompletion, TaskLease, TaskQueueLayer, TaskState, Transition,
};

/// Runs worlds on a store and on the model: both must tell the same story.
fn check(backing: Backing, seeds: std::ops::Range<u64>) {
    let setup = Setup { backing, tracing: Tracing::On, ..Setup::default() };
    for seed in seeds {
        let report = simulate_as(&setup, seed);
        assert_eq!(report.violations, [], "seed {seed}");
        let model = simulate(seed, Tracing::On);
        let pairs = report.trace.iter().zip(&model.trace).enumerate();
        for (line, (stored, modelled)) in pairs {
            assert_eq!(stored, modelled, "seed {seed}: the store and the model part in line {line}");
        }
        assert_eq!(report.trace.len(), model.trace.len(), "seed {seed}");
        assert_eq!(report.events, model.events, "seed {seed}");
    }
}

#[test]
fn worlds_are_the_same_in_the_memory_store() {
    check(Backing::store("memory").unwrap(), 0..200);
}

#[test]
fn worlds_are_the_same_in_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    check(Backing::store(&format!("sqlite:{}", folder.path().join("runs.db").display())).unwrap(), 0..40);
}

#[cfg(feature = "server-tests")]
#[test]
fn worlds_are_the_same_in_postgres() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let scratch = runtime.block_on(holdpoint_store_postgres::testing::Scratch::new()).unwrap();
    check(Backing::store(scratch.url()).unwrap(), 0..20);
}

#[test]
fn a_store_without_an_address_is_no_store() {
    assert!(Backing::store("elsewhere").is_err());
}

/// The checkers that speak in some world on a broken store, until the wanted one does.
fn alarms(layer: holdpoint_sim::Layer, wanted: &str) -> bool {
    const SEEDS_MAX: u64 = 400;
    let setup = Setup { backing: Backing::layered("memory", layer).unwrap(), ..Setup::default() };
    // A broken store may lead to a world that makes no sense at all; that seed proves nothing.
    let simulated = |seed| std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| simulate_as(&setup, seed))).ok();
    let alarmed = (0..SEEDS_MAX).find(|seed| {
        simulated(*seed).is_some_and(|report| report.violations.iter().any(|found| found.check == wanted))
    });
    alarmed.is_some()
}

/// Takes a result under whatever lease is the current one.
struct IgnoresFences(Store);

impl Layer for IgnoresFences {
    fn inner(&self) -> &Store {
        &self.0
    }
}

#[async_trait]
impl TaskQueueLayer for IgnoresFences {
    async fn complete(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError> {
        let current = self.0.tasks.find(&Scope::All, &lease.key).await?.and_then(|task| match task.state {
            TaskState::Leased { fence, .. } => Some(fence),
            TaskState::Waiting { .. } | TaskState::Delivered { .. } => None,
        });
        let fence = current.unwrap_or(lease.fence);
        self.0.tasks.complete(&TaskLease { key: lease.key.clone(), fence }, result).await
    }
}

impl IgnoresFences {
    fn store(self: &Arc<Self>) -> Store {
        Store { tasks: Arc::clone(self) as _, ..self.0.clone() }
    }
}

#[test]
fn a_store_that_ignores_fences_is_noticed() {
    assert!(alarms(|store| Arc::new(IgnoresFences(store)).store(), "i7_current_attempt"));
}

/// Writes onto whatever revision is there.
struct MergesStale(Store);

impl Layer for MergesStale {
    fn inner(&self) -> &Store {
        &self.0
    }
}

#[async_trait]
impl RunLogLayer for MergesStale {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        let found = self.0.runs.head(&Scope::All, run).await?.map_or(at, |head| head.revision);
        self.0.runs.commit(run, found, transition).await
    }
}

impl MergesStale {
    fn store(self: &Arc<Self>) -> Store {
        Store { runs: Arc::clone(self) as _, ..self.0.clone() }
    }
}

#[test]
fn a_store_that_merges_stale_commits_is_noticed() {
    assert!(alarms(|store| Arc::new(MergesStale(store)).store(), "i7_current_attempt"));
}

/// Nobody can ever claim what it keeps.
struct NeverLetsGo(Store);

impl Layer for NeverLetsGo {
    fn inner(&self) -> &Store {
        &self.0
    }
}

#[async_trait]
impl RunLeasesLayer for NeverLetsGo {
    async fn claim(&self, _: &holdpoint_store::ClaimRequest) -> Result<Vec<RunId>, StoreError> {
        Ok(Vec::new())
    }
}

impl NeverLetsGo {
    fn store(self: &Arc<Self>) -> Store {
        Store { leases: Arc::clone(self) as _, ..self.0.clone() }
    }
}

#[test]
fn a_store_that_gives_no_orphan_away_is_noticed() {
    assert!(alarms(|store| Arc::new(NeverLetsGo(store)).store(), "every_run_ends"));
}

/// Drops what is for the audit log.
struct DropsAudit(Store);

impl Layer for DropsAudit {
    fn inner(&self) -> &Store {
        &self.0
    }
}

#[async_trait]
impl RunLogLayer for DropsAudit {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        self.0.runs.commit(run, at, Transition { audit: None, ..transition }).await
    }
}

impl DropsAudit {
    fn store(self: &Arc<Self>) -> Store {
        Store { runs: Arc::clone(self) as _, ..self.0.clone() }
    }
}

#[test]
fn a_store_that_keeps_no_audit_rows_is_noticed() {
    assert!(alarms(|store| Arc::new(DropsAudit(store)).store(), STORE));
}

/// Forgets what people said about calls that are yet to come.
struct DropsGrants(Store);

impl Layer for DropsGrants {
    fn inner(&self) -> &Store {
        &self.0
    }
}

#[async_trait]
impl RunLogLayer for DropsGrants {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        self.0.runs.commit(run, at, Transition { grants: Vec::new(), ..transition }).await
    }
}

impl DropsGrants {
    fn store(self: &Arc<Self>) -> Store {
        Store { runs: Arc::clone(self) as _, ..self.0.clone() }
    }
}

#[test]
fn a_store_that_keeps_no_grants_is_noticed() {
    assert!(alarms(|store| Arc::new(DropsGrants(store)).store(), STORE));
}

/// Forgets what ended.
struct KeepsAsking(Store);

impl Layer for KeepsAsking {
    fn inner(&self) -> &Store {
        &self.0
    }
}

#[async_trait]
impl RunLogLayer for KeepsAsking {
    async fn commit(&self, run: &RunId, at: Revision, mut transition: Transition) -> Result<Revision, CommitError> {
        transition.questions.retain(|change| matches!(change, QuestionChange::Open(_)));
        self.0.runs.commit(run, at, transition).await
    }
}

impl KeepsAsking {
    fn store(self: &Arc<Self>) -> Store {
        Store { runs: Arc::clone(self) as _, ..self.0.clone() }
    }
}

#[test]
fn a_store_whose_questions_never_end_is_noticed() {
    assert!(alarms(|store| Arc::new(KeepsAsking(store)).store(), STORE));
}

/// Says that it took a grant back, and offers it as before.
struct KeepsRevoked(Store);

impl Layer for KeepsRevoked {
    fn inner(&self) -> &Store {
        &self.0
    }
}

#[async_trait]
impl GrantsLayer for KeepsRevoked {
    async fn revoke(&self, _: Option<&str>, _: &str, _: &str) -> Result<bool, StoreError> {
        Ok(true)
    }
}

impl KeepsRevoked {
    fn store(self: &Arc<Self>) -> Store {
        Store { grants: Arc::clone(self) as _, ..self.0.clone() }
    }
}

#[test]
fn a_store_that_takes_no_grant_back_is_noticed() {
    assert!(alarms(|store| Arc::new(KeepsRevoked(store)).store(), "i4_permission"));
}

/// Says that a run has more records than it has.
struct MiscountsRevisions(Store);

impl Layer for MiscountsRevisions {
    fn inner(&self) -> &Store {
        &self.0
    }
}

#[async_trait]
impl RunLogLayer for MiscountsRevisions {
    async fn head(&self, scope: &Scope, run: &RunId) -> Result<Option<Head>, StoreError> {
        let head = self.0.runs.head(scope, run).await?;
        Ok(head.map(|head| Head { revision: Revision(head.revision.0 + 1), ..head }))
    }
}

impl MiscountsRevisions {
    fn store(self: &Arc<Self>) -> Store {
        Store { runs: Arc::clone(self) as _, ..self.0.clone() }
    }
}

#[test]
fn a_store_whose_heads_are_wrong_is_noticed() {
    assert!(alarms(|store| Arc::new(MiscountsRevisions(store)).store(), STORE));
}
