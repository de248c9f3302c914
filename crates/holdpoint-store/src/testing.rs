//! Store wrappers and clocks for tests. A layer implements the methods that it changes; every other call goes to the store
//! that it wraps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use holdpoint_core::{CallKey, ClockReading, Revision, RunId, Timestamp, ToolName};
use tokio::sync::watch;

use crate::{
    Agents, Approvals, AuditLog, AuditRow, AuditScope, AuditedRun, ClaimRequest, CommitError, Cursor, DeliveredTask,
    GrantFilter, GrantRow, Grants, Head, Hold, LeaseClock, LeaseRequest, LeaseState, LeasedTask, OverlongLease, Page,
    PruneRequest, QuestionChanges, QuestionFilter, QuestionRow, QuestionSeq, Record, Release, Reservation, Reserved,
    ResponseKey, RunFilter, RunLeases, RunLog, Scope, Seal, SealedRun, ServerState, SessionFilter, SessionRow, Store,
    StoreError, StoreTally, Swept, TaskCompletion, TaskFilter, TaskHead, TaskLease, TaskQueue, Tombstone, Topic, Trace,
    Transition, Unsealed, WorkerRow, WorkerSeen,
};

/// Wraps a store.
pub trait Layer: Send + Sync + 'static {
    /// The store that it wraps.
    fn inner(&self) -> &Store;
}

/// Declares a layer of one role: each method goes to the wrapped store unless a layer has its own.
macro_rules! layer {
    ($(#[$about:meta])* $layer:ident of $role:ident by $part:ident {
        $(async fn $name:ident(&self $(, $argument:ident: $type:ty)* $(,)?) -> $returned:ty;)*
        $(fn $plain:ident(&self $(, $given:ident: $kind:ty)*) -> $shown:ty;)*
    }) => {
        $(#[$about])*
        #[async_trait]
        #[allow(missing_docs, reason = "as the methods of the role")]
        pub trait $layer: Layer {
            $(async fn $name(&self $(, $argument: $type)*) -> $returned {
                self.inner().$part.$name($($argument),*).await
            })*
            $(fn $plain(&self $(, $given: $kind)*) -> $shown {
                self.inner().$part.$plain($($given),*)
            })*
        }

        #[async_trait]
        impl<L: $layer> $role for L {
            $(async fn $name(&self $(, $argument: $type)*) -> $returned {
                $layer::$name(self $(, $argument)*).await
            })*
            $(fn $plain(&self $(, $given: $kind)*) -> $shown {
                $layer::$plain(self $(, $given)*)
            })*
        }
    };
}

layer! {
    /// A layer of [`RunLog`].
    RunLogLayer of RunLog by runs {
        async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError>;
        async fn load(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError>;
        async fn head(&self, scope: &Scope, run: &RunId) -> Result<Option<Head>, StoreError>;
        async fn list(&self, filter: &RunFilter) -> Result<Page<Head>, StoreError>;
        async fn due(&self, agents: &Agents, at: Timestamp, limit: usize) -> Result<Vec<RunId>, StoreError>;
        async fn changed(&self, run: &RunId, after: Revision) -> Result<Revision, StoreError>;
        async fn sessions(&self, filter: &SessionFilter) -> Result<Page<SessionRow>, StoreError>;
        async fn prune(&self, request: &PruneRequest) -> Result<Vec<RunId>, StoreError>;
        async fn close(&self) -> ();
        fn watch(&self, topic: Topic) -> watch::Receiver<u64>;
        fn now(&self) -> Timestamp;
    }
}

layer! {
    /// A layer of [`RunLeases`].
    RunLeasesLayer of RunLeases by leases {
        async fn renew(&self, run: &RunId, hold: &Hold) -> Result<LeaseState, StoreError>;
        async fn claim(&self, request: &ClaimRequest) -> Result<Vec<RunId>, StoreError>;
        async fn overlong(&self, agents: &Agents, limit: usize) -> Result<Vec<OverlongLease>, StoreError>;
        async fn end(&self, lease: &OverlongLease) -> Result<bool, StoreError>;
    }
}

layer! {
    /// A layer of [`TaskQueue`].
    TaskQueueLayer of TaskQueue by tasks {
        async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError>;
        async fn heartbeat(&self, leases: &[TaskLease], lease_ms: u64) -> Result<Vec<LeaseState>, StoreError>;
        async fn complete(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError>;
        async fn completed(&self, run: &RunId) -> Result<Vec<DeliveredTask>, StoreError>;
        async fn collectable(&self, agents: &Agents, limit: usize) -> Result<Vec<RunId>, StoreError>;
        async fn release(&self, lease: &TaskLease, how: Release) -> Result<LeaseState, StoreError>;
        async fn lapsed(&self, agents: &Agents, limit: usize) -> Result<Vec<TaskHead>, StoreError>;
        async fn find(&self, scope: &Scope, key: &CallKey) -> Result<Option<TaskHead>, StoreError>;
        async fn list(&self, filter: &TaskFilter) -> Result<Page<TaskHead>, StoreError>;
    }
}

layer! {
    /// A layer of [`Approvals`].
    ApprovalsLayer of Approvals by approvals {
        async fn find(&self, scope: &Scope, key: &CallKey) -> Result<Option<QuestionRow>, StoreError>;
        async fn list(&self, filter: &QuestionFilter) -> Result<Page<QuestionRow>, StoreError>;
        async fn changes(&self, scope: &Scope, after: Option<QuestionSeq>, limit: usize) -> Result<QuestionChanges, StoreError>;
    }
}

layer! {
    /// A layer of [`Grants`].
    GrantsLayer of Grants by grants {
        async fn matching(&self, tenant: Option<&str>, tool: &ToolName) -> Result<Vec<GrantRow>, StoreError>;
        async fn list(&self, filter: &GrantFilter) -> Result<Page<GrantRow>, StoreError>;
        async fn find(&self, scope: &Scope, id: &str) -> Result<Option<GrantRow>, StoreError>;
        async fn revoke(&self, tenant: Option<&str>, id: &str, by: &str) -> Result<bool, StoreError>;
    }
}

layer! {
    /// A layer of [`AuditLog`].
    AuditLogLayer of AuditLog by audit {
        async fn rows(&self, scope: &Scope, run: &RunId) -> Result<Vec<AuditRow>, StoreError>;
        async fn rows_after(&self, scope: &AuditScope, after: Option<&Cursor>, limit: usize) -> Result<Page<AuditedRun>, StoreError>;
        async fn seal(&self, tenant: Option<&str>) -> Result<Option<Seal>, StoreError>;
        async fn unsealed(&self) -> Result<Vec<Unsealed>, StoreError>;
        async fn seals(&self, tenant: Option<&str>, after: u64, limit: usize) -> Result<Vec<Seal>, StoreError>;
        async fn traces(&self, tenant: Option<&str>, sealed: &[SealedRun]) -> Result<Vec<Trace>, StoreError>;
        async fn tombstones(&self, tenant: Option<&str>, after: Option<&RunId>, limit: usize) -> Result<Vec<Tombstone>, StoreError>;
        async fn tenants(&self) -> Result<Vec<Option<Arc<str>>>, StoreError>;
    }
}

layer! {
    /// A layer of [`ServerState`].
    ServerStateLayer of ServerState by state {
        async fn setting(&self, name: &str) -> Result<Option<Arc<str>>, StoreError>;
        async fn first_setting(&self, name: &str, value: &str) -> Result<Arc<str>, StoreError>;
        async fn change_setting(&self, name: &str, from: &str, to: &str) -> Result<bool, StoreError>;
        async fn reserve(&self, reservation: &Reservation) -> Result<Reserved, StoreError>;
        async fn keep(&self, key: &ResponseKey, response: Vec<u8>) -> Result<(), StoreError>;
        async fn kept(&self, key: &ResponseKey) -> Result<Option<Arc<[u8]>>, StoreError>;
        async fn forget(&self, key: &ResponseKey) -> Result<(), StoreError>;
        async fn note_worker(&self, seen: &WorkerSeen) -> Result<(), StoreError>;
        async fn workers(&self, scope: &Scope) -> Result<Vec<WorkerRow>, StoreError>;
        async fn counts(&self) -> Result<StoreTally, StoreError>;
        async fn sweep(&self) -> Result<Swept, StoreError>;
    }
}

/// A store whose commits and loads fail when a test says so.
pub struct FaultyStore {
    inner: Store,
    plan: Mutex<Plan>,
}

#[derive(Default)]
struct Plan {
    commits: u64,
    bytes: u64,
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

    /// The bytes of all transitions that were tried.
    pub fn bytes(&self) -> u64 {
        self.plan().bytes
    }

    fn plan(&self) -> std::sync::MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_commit(&self, transition: &Transition) -> Option<FaultPoint> {
        let mut plan = self.plan();
        plan.commits += 1;
        plan.bytes += transition.bytes() as u64;
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
        match self.next_commit(&transition) {
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

/// Clocks that stand still until a test moves them.
#[derive(Debug)]
pub struct ManualLeaseClock(Mutex<ClockReading>);

impl ManualLeaseClock {
    /// Clocks that show this.
    pub fn new(reading: ClockReading) -> Self {
        Self(Mutex::new(reading))
    }

    /// Moves each clock by so many milliseconds. A wall clock that is set back moves by a negative number.
    pub fn advance(&self, boot_ms: i64, wall_ms: i64) {
        let mut reading = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reading.boot_us += boot_ms * 1_000;
        reading.wall_us += wall_ms * 1_000;
    }
}

impl LeaseClock for ManualLeaseClock {
    fn read(&self) -> ClockReading {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
