//! The store contract on SQLite.
//!
//! One connection writes. Whatever waits for it (commits, leases, results) becomes one transaction, and nobody is answered
//! before its commit, so the disk is asked once for many. A few other connections read and never wait for the writer. Other
//! processes may use the same file at the same time: what they write is noticed soon, while somebody waits for it.

mod approvals;
mod audit_log;
mod batch;
mod columns;
mod commit;
mod fault;
mod grants;
mod group;
mod look;
mod options;
mod prune;
mod request;
mod rows;
mod run_leases;
mod run_log;
mod schema;
mod server_state;
mod sessions;
mod task_queue;
mod wait;
mod writer;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use holdpoint_core::{CallKey, Revision, RunId, Timestamp, ToolName};
use holdpoint_store::{
    Agents, Approvals, AuditLog, AuditRow, AuditScope, AuditedRun, ClaimRequest, Clock, CommitError, Cursor,
    DUE_LIMIT_MAX, DeliveredTask, GrantFilter, GrantRow, Grants, Head, Hold, LeaseRequest, LeaseState, LeasedTask,
    OverlongLease, Page, PruneRequest, QuestionChange, QuestionChanges, QuestionFilter, QuestionRow, QuestionSeq,
    Record, Release, Reservation, Reserved, ResponseKey, RunFilter, RunLeases, RunLog, Scope, Seal, SealedRun,
    ServerState, SessionFilter, SessionRow, StoreError, StoreFault, StoreTally, Swept, SystemClock, TaskChange,
    TaskCompletion, TaskFilter, TaskHead, TaskLease, TaskQueue, Tombstone, Topic, Trace, Transition, Unsealed,
    WorkerRow, WorkerSeen, packed,
};
use sqlx::sqlite::SqlitePoolOptions;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use columns::pack_one;
use fault::corrupt;
use grants::Revoking;
pub use options::{BUSY_MS_DEFAULT, Migrate, Options, READERS_DEFAULT};
use request::{Answer, Request, Step};
use run_log::Readers;
pub use schema::SCHEMA_VERSION;
use server_state::{DeskAnswer, DeskWrite};
use wait::Waits;
use writer::{QUEUE_MAX, Writer};

/// Runs in a file. They survive whatever happens to the process, and a machine that loses its power.
///
/// It works inside the tokio runtime in which it was opened. Dropping it ends its tasks; what was acknowledged is in the
/// file.
pub struct SqliteStore {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    readers: Readers,
    waits: Arc<Waits>,
    queue: mpsc::Sender<Request>,
    ending: Arc<Notify>,
    writer: Mutex<Option<JoinHandle<()>>>,
    poller: JoinHandle<()>,
}

impl SqliteStore {
    /// Opens `sqlite:PATH`, and makes the file if it is not there. The folder must be there.
    ///
    /// # Errors
    /// With a [`StoreFault`], which has a code and a hint.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        Self::open_with(url, Options::default()).await
    }

    /// Opens `sqlite:PATH` with options.
    ///
    /// # Errors
    /// As [`SqliteStore::open`].
    pub async fn open_with(url: &str, options: Options) -> Result<Self, StoreError> {
        let path = options::path_of(url)?;
        let clock = options.clock.clone().unwrap_or_else(|| Arc::new(SystemClock::new()));
        let connection = schema::open(&path, &options, clock.now()).await?;
        let readers = SqlitePoolOptions::new()
            .max_connections(options.readers.max(1))
            .test_before_acquire(false)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_lazy_with(options.reading(&path));
        let waits = Arc::new(Waits::new());
        let (queue, requests) = mpsc::channel(QUEUE_MAX);
        let ending = Arc::new(Notify::new());
        let readers = Readers(readers);
        let poller = tokio::spawn(wait::poll(Arc::clone(&waits), queue.downgrade(), readers.clone()));
        let writer = Writer {
            connection: Some(connection),
            path: path.clone(),
            options,
            clock: Arc::clone(&clock),
            waits: Arc::clone(&waits),
            queue: requests,
            ending: Arc::clone(&ending),
        };
        let writer = Mutex::new(Some(tokio::spawn(writer.run())));
        Ok(Self { path, clock, readers, waits, queue, ending, writer, poller })
    }

    /// Asks the writer, and waits for its answer.
    async fn ask<T, E: From<StoreError>>(&self, request: impl FnOnce(Answer<T, E>) -> Request) -> Result<T, E> {
        let gone = || StoreError::fault(StoreFault::Unavailable, "write", "the runtime of the store has ended");
        let (answer, answered) = oneshot::channel();
        self.queue.send(request(answer)).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }

    async fn at_desk(&self, write: DeskWrite) -> Result<DeskAnswer, StoreError> {
        self.ask(|answer| Request::Desk(write, answer)).await
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        // The writer ends by itself, once it has done what it was asked for.
        self.poller.abort();
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SqliteStore({})", self.path.display())
    }
}

#[async_trait]
impl RunLog for SqliteStore {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        transition.check(run).map_err(CommitError::Invalid)?;
        let step = Box::new(step(run, at, transition));
        self.ask(|answer| Request::Commit(step, answer)).await
    }

    async fn load(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        self.readers.load(scope, run, after).await
    }

    async fn head(&self, scope: &Scope, run: &RunId) -> Result<Option<Head>, StoreError> {
        self.readers.head(scope, run).await
    }

    async fn list(&self, filter: &RunFilter) -> Result<Page<Head>, StoreError> {
        self.readers.list(filter).await
    }

    async fn due(&self, agents: &Agents, at: Timestamp, limit: usize) -> Result<Vec<RunId>, StoreError> {
        self.readers.due(agents, at, limit).await
    }

    async fn changed(&self, run: &RunId, after: Revision) -> Result<Revision, StoreError> {
        let waiting = self.waits.begin(run);
        loop {
            // Listens before it looks, so that no commit is missed in between.
            let woken = waiting.bell.notified();
            let revision = self.readers.revision(run).await?;
            if revision > after {
                return Ok(revision);
            }
            woken.await;
        }
    }

    async fn sessions(&self, filter: &SessionFilter) -> Result<Page<SessionRow>, StoreError> {
        self.readers.sessions(filter).await
    }

    async fn prune(&self, request: &PruneRequest) -> Result<Vec<RunId>, StoreError> {
        self.ask(|answer| Request::Prune(request.clone(), answer)).await
    }

    fn watch(&self, topic: Topic) -> watch::Receiver<u64> {
        self.waits.watch(topic)
    }

    async fn close(&self) {
        self.poller.abort();
        self.ending.notify_one();
        self.readers.0.close().await;
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            // A writer that panicked has closed the file as well.
            _ = writer.await;
        }
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

#[async_trait]
impl RunLeases for SqliteStore {
    async fn renew(&self, run: &RunId, hold: &Hold) -> Result<LeaseState, StoreError> {
        self.ask(|answer| Request::Renew(run.clone(), hold.clone(), answer)).await
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<RunId>, StoreError> {
        if !run_leases::any_claimable(&self.readers, request, self.clock.lease_moment()).await? {
            return Ok(Vec::new());
        }
        self.ask(|answer| Request::Claim(request.clone(), answer)).await
    }

    async fn overlong(&self, agents: &Agents, limit: usize) -> Result<Vec<OverlongLease>, StoreError> {
        run_leases::overlong(&self.readers, agents, limit.min(DUE_LIMIT_MAX), self.clock.lease_moment()).await
    }

    async fn end(&self, lease: &OverlongLease) -> Result<bool, StoreError> {
        self.ask(|answer| Request::EndLease(lease.clone(), answer)).await
    }
}

#[async_trait]
impl TaskQueue for SqliteStore {
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError> {
        if !task_queue::any_waiting(&self.readers, request, self.now()).await? {
            return Ok(Vec::new());
        }
        self.ask(|answer| Request::Lease(request.clone(), answer)).await
    }

    async fn heartbeat(&self, leases: &[TaskLease], lease_ms: u64) -> Result<Vec<LeaseState>, StoreError> {
        if leases.is_empty() {
            return Ok(Vec::new());
        }
        self.ask(|answer| Request::Heartbeat(leases.to_vec(), lease_ms, answer)).await
    }

    async fn complete(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError> {
        let result = pack_one(result);
        self.ask(|answer| Request::Deliver(lease.clone(), result, answer)).await
    }

    async fn completed(&self, run: &RunId) -> Result<Vec<DeliveredTask>, StoreError> {
        self.readers.delivered(run).await
    }

    async fn collectable(&self, agents: &Agents, limit: usize) -> Result<Vec<RunId>, StoreError> {
        self.readers.arrivals(agents, limit).await
    }

    async fn release(&self, lease: &TaskLease, how: Release) -> Result<LeaseState, StoreError> {
        self.ask(|answer| Request::Release(lease.clone(), how, answer)).await
    }

    async fn lapsed(&self, agents: &Agents, limit: usize) -> Result<Vec<TaskHead>, StoreError> {
        self.readers.lapsed(agents, self.clock.lease_moment(), limit).await
    }

    async fn find(&self, scope: &Scope, key: &CallKey) -> Result<Option<TaskHead>, StoreError> {
        self.readers.task(scope, key).await
    }

    async fn list(&self, filter: &TaskFilter) -> Result<Page<TaskHead>, StoreError> {
        self.readers.tasks(filter).await
    }
}

#[async_trait]
impl Approvals for SqliteStore {
    async fn find(&self, scope: &Scope, key: &CallKey) -> Result<Option<QuestionRow>, StoreError> {
        self.readers.question(scope, key).await
    }

    async fn list(&self, filter: &QuestionFilter) -> Result<Page<QuestionRow>, StoreError> {
        self.readers.questions(filter).await
    }

    async fn changes(
        &self,
        scope: &Scope,
        after: Option<QuestionSeq>,
        limit: usize,
    ) -> Result<QuestionChanges, StoreError> {
        self.readers.questions_after(scope, after, limit).await
    }
}

#[async_trait]
impl Grants for SqliteStore {
    async fn matching(&self, tenant: Option<&str>, tool: &ToolName) -> Result<Vec<GrantRow>, StoreError> {
        self.readers.grants_for(tenant, tool, self.now()).await
    }

    async fn list(&self, filter: &GrantFilter) -> Result<Page<GrantRow>, StoreError> {
        self.readers.grants(filter).await
    }

    async fn find(&self, scope: &Scope, id: &str) -> Result<Option<GrantRow>, StoreError> {
        self.readers.grant(scope, id).await
    }

    async fn revoke(&self, tenant: Option<&str>, id: &str, by: &str) -> Result<bool, StoreError> {
        let revoking = Revoking::new(tenant, id, by);
        self.ask(|answer| Request::RevokeGrant(revoking, answer)).await
    }
}

#[async_trait]
impl AuditLog for SqliteStore {
    async fn rows(&self, scope: &Scope, run: &RunId) -> Result<Vec<AuditRow>, StoreError> {
        self.readers.audit(scope, run).await
    }

    async fn rows_after(
        &self,
        scope: &AuditScope,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<AuditedRun>, StoreError> {
        self.readers.audit_after(scope, after, limit).await
    }

    async fn heads(
        &self,
        tenant: Option<&str>,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<SealedRun>, StoreError> {
        self.readers.audit_heads(tenant, after, limit).await
    }

    async fn seal(&self, tenant: Option<&str>) -> Result<Option<Seal>, StoreError> {
        if !self.readers.any_to_seal(tenant).await? {
            return Ok(None);
        }
        self.ask(|answer| Request::Seal(tenant.map(Into::into), answer)).await
    }

    async fn unsealed(&self) -> Result<Vec<Unsealed>, StoreError> {
        self.readers.unsealed().await
    }

    async fn seals(&self, tenant: Option<&str>, after: u64, limit: usize) -> Result<Vec<Seal>, StoreError> {
        self.readers.seals(tenant, after, limit).await
    }

    async fn traces(&self, tenant: Option<&str>, sealed: &[SealedRun]) -> Result<Vec<Trace>, StoreError> {
        self.readers.traces(tenant, sealed).await
    }

    async fn tombstones(
        &self,
        tenant: Option<&str>,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<Tombstone>, StoreError> {
        self.readers.tombstones(tenant, after, limit).await
    }

    async fn tenants(&self) -> Result<Vec<Option<Arc<str>>>, StoreError> {
        self.readers.tenants().await
    }
}

#[async_trait]
impl ServerState for SqliteStore {
    async fn setting(&self, name: &str) -> Result<Option<Arc<str>>, StoreError> {
        self.readers.setting(name).await
    }

    async fn first_setting(&self, name: &str, value: &str) -> Result<Arc<str>, StoreError> {
        let answer = self.at_desk(DeskWrite::FirstSetting { name: name.into(), value: value.into() }).await?;
        let DeskAnswer::Setting(value) = answer else { return Err(corrupt("a setting got another answer")) };
        Ok(value)
    }

    async fn change_setting(&self, name: &str, from: &str, to: &str) -> Result<bool, StoreError> {
        let write = DeskWrite::ChangeSetting { name: name.into(), from: from.into(), to: to.into() };
        Ok(matches!(self.at_desk(write).await?, DeskAnswer::Changed(true)))
    }

    async fn reserve(&self, reservation: &Reservation) -> Result<Reserved, StoreError> {
        let answer = self.at_desk(DeskWrite::Reserve(reservation.clone())).await?;
        let DeskAnswer::Reserved(reserved) = answer else { return Err(corrupt("a reservation got another answer")) };
        Ok(reserved)
    }

    async fn keep(&self, key: &ResponseKey, response: Vec<u8>) -> Result<(), StoreError> {
        self.at_desk(DeskWrite::Keep(key.clone(), pack_one(response))).await.map(drop)
    }

    async fn kept(&self, key: &ResponseKey) -> Result<Option<Arc<[u8]>>, StoreError> {
        self.readers.kept_response(key, self.now()).await
    }

    async fn forget(&self, key: &ResponseKey) -> Result<(), StoreError> {
        self.at_desk(DeskWrite::Drop(key.clone())).await.map(drop)
    }

    async fn note_worker(&self, seen: &WorkerSeen) -> Result<(), StoreError> {
        self.at_desk(DeskWrite::Seen(seen.clone())).await.map(drop)
    }

    async fn workers(&self, scope: &Scope) -> Result<Vec<WorkerRow>, StoreError> {
        self.readers.workers(scope, self.now()).await
    }

    async fn counts(&self) -> Result<StoreTally, StoreError> {
        self.readers.tally().await
    }

    async fn sweep(&self) -> Result<Swept, StoreError> {
        let answer = self.at_desk(DeskWrite::Sweep).await?;
        let DeskAnswer::Swept(swept) = answer else { return Err(corrupt("a sweep got another answer")) };
        Ok(swept)
    }
}

/// Packed by whoever commits, so that the writer does not have to.
fn step(run: &RunId, at: Revision, transition: Transition) -> Step {
    let Transition { records, head, at: moment, hold, tasks, audit, grants, questions, session_use } = transition;
    let tasks = tasks.into_iter().map(|change| match change {
        TaskChange::Open(mut opening) => {
            opening.body = pack_one(opening.body);
            TaskChange::Open(opening)
        }
        TaskChange::Close { turn, index, guard } => TaskChange::Close { turn, index, guard },
    });
    let questions = questions.into_iter().map(|change| match change {
        QuestionChange::Open(mut opening) => {
            opening.body = pack_one(opening.body);
            QuestionChange::Open(opening)
        }
        close @ QuestionChange::Close { .. } => close,
    });
    Step {
        run: run.clone(),
        at,
        records: records.len() as u64,
        body: packed::pack(&records),
        moment,
        head,
        hold,
        tasks: tasks.collect(),
        audit,
        grants,
        questions: questions.collect(),
        session_use,
    }
}
