//! A store that breaks on purpose: for tests of those who must survive it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use holdpoint_core::{Revision, RunId};

use crate::{CommitError, Layer, Record, RunLogLayer, Scope, Store, StoreError, Transition};

/// Wraps a store and fails the commits that it was told to fail.
pub struct FaultyStore {
    inner: Store,
    plan: Mutex<Plan>,
}

#[derive(Default)]
struct Plan {
    commits: u64,
    loads: u64,
    failing_commits: BTreeMap<u64, FaultPoint>,
    failing_loads: BTreeSet<u64>,
}

/// When a commit fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultPoint {
    /// Before it took effect: nothing is written.
    Before,
    /// After it took effect: everything is written and the author does not learn it.
    After,
}

impl FaultyStore {
    /// A store that works until it is told to fail.
    pub fn new(inner: impl Into<Store>) -> Arc<Self> {
        Arc::new(Self { inner: inner.into(), plan: Mutex::default() })
    }

    /// The store that fails.
    pub fn store(self: &Arc<Self>) -> Store {
        Store { runs: Arc::clone(self) as _, ..self.inner.clone() }
    }

    /// Fails the `nth` commit from now, counted from 1. May be called for several.
    pub fn fail_commit(&self, nth: u64, point: FaultPoint) {
        let mut plan = self.plan();
        let number = plan.commits + nth.max(1);
        plan.failing_commits.insert(number, point);
    }

    /// Fails the `nth` load from now, counted from 1. May be called for several.
    pub fn fail_load(&self, nth: u64) {
        let mut plan = self.plan();
        let number = plan.loads + nth.max(1);
        plan.failing_loads.insert(number);
    }

    /// How many commits were tried, whatever became of them.
    pub fn commits(&self) -> u64 {
        self.plan().commits
    }

    fn plan(&self) -> std::sync::MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_commit(&self) -> Option<FaultPoint> {
        let mut plan = self.plan();
        plan.commits += 1;
        let number = plan.commits;
        plan.failing_commits.remove(&number)
    }

    fn next_load_fails(&self) -> bool {
        let mut plan = self.plan();
        plan.loads += 1;
        let number = plan.loads;
        plan.failing_loads.remove(&number)
    }
}

impl Layer for FaultyStore {
    fn inner(&self) -> &Store {
        &self.inner
    }
}

#[async_trait]
impl RunLogLayer for FaultyStore {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        match self.next_commit() {
            None => self.inner.runs.commit(run, at, transition).await,
            Some(FaultPoint::Before) => Err(StoreError::failed("commit", "fault before the effect").into()),
            Some(FaultPoint::After) => {
                self.inner.runs.commit(run, at, transition).await?;
                Err(StoreError::failed("commit", "fault after the effect").into())
            }
        }
    }

    async fn load(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        if self.next_load_fails() {
            return Err(StoreError::failed("load the run", "fault"));
        }
        self.inner.runs.load(scope, run, after).await
    }
}
