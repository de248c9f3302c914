//! Runs in PostgreSQL: durable, and shared by any number of processes.
//!
//! One transition is one statement, one round trip and one commit. What waits while the connections are busy goes
//! together. Nothing that matters is kept in memory: any process may end at any moment, and another goes on.

mod approvals;
mod audit_log;
mod clock;
mod commit;
mod fault;
mod grants;
mod options;
mod pool;
mod prune;
mod row;
mod run_leases;
mod run_log;
mod schema;
mod server_state;
mod sessions;
mod task_queue;
#[cfg(feature = "testing")]
pub mod testing;
mod wait;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdpoint_core::{CallKey, Revision, RunId, Timestamp, ToolName};
use holdpoint_store::{
    Agents, Approvals, AuditLog, AuditRow, AuditScope, AuditedRun, ClaimRequest, CommitError, Cursor, DUE_LIMIT_MAX,
    DeliveredTask, GrantFilter, GrantRow, Grants, Head, Hold, LeaseRequest, LeaseState, LeasedTask, OverlongLease,
    Page, PruneRequest, QuestionChanges, QuestionFilter, QuestionRow, QuestionSeq, Record, Release, Reservation,
    Reserved, ResponseKey, RunFilter, RunLeases, RunLog, Scope, Seal, SealedRun, ServerState, SessionFilter,
    SessionRow, StoreError, StoreTally, Swept, TaskCompletion, TaskFilter, TaskHead, TaskLease, TaskQueue, Tombstone,
    Topic, Trace, Transition, Unsealed, WorkerRow, WorkerSeen,
};
use sqlx::postgres::PgConnection;
use sqlx::{Connection, Row};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use clock::{DatabaseClock, StoreClock};
use commit::{Commits, Shared};
use options::Address;
pub use options::{CONNECTIONS_DEFAULT, Migrate, OUTAGE_MS_DEFAULT, Options};
use pool::Pool;
use row::limit;
use run_log::distinct;
pub use schema::SCHEMA_VERSION;
use wait::Wakes;

/// How many connections do nothing but write transitions. More of them make smaller batches.
const COMMITTERS_MAX: u32 = 8;
/// How often the clock of the database is read at the beginning: the quickest answer is the best.
const CLOCK_READINGS: usize = 3;
/// How often it is read afterwards.
const CLOCK_EVERY: Duration = Duration::from_secs(30);
const CLOCK: &str = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint";

/// The store on PostgreSQL.
///
/// Connections that break are opened again, and what was under way is looked up, so that nothing happens twice; only when
/// the database stays away does the caller hear of it. Cheap to use from many tasks at once; opened once per process.
pub struct PostgresStore {
    pool: Arc<Pool>,
    clock: Arc<StoreClock>,
    wakes: Arc<Wakes>,
    commits: Commits,
    /// What goes on beside: it ends with the store.
    _beside: JoinSet<()>,
}

impl PostgresStore {
    /// Opens `postgres://user:password@host:port/database` and makes its tables if they are not there.
    ///
    /// # Errors
    /// When the address is none, the server is not there or does not let us in, or the tables are those of another version.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        Self::open_with(url, Options::default()).await
    }

    /// Opens it with other options.
    ///
    /// # Errors
    /// As [`PostgresStore::open`].
    pub async fn open_with(url: &str, options: Options) -> Result<Self, StoreError> {
        let address = Address::parse(url)?;
        let mut first = pool::connect_first(&address).await?;
        schema::prepare(&mut first, options.migrate).await?;
        let clock = Arc::new(StoreClock::new(options.clock));
        if let StoreClock::Database(clock) = &*clock {
            let failed = |error: sqlx::Error| fault::store_error("read the clock of the database", &error);
            read_clock(&mut first, clock).await.map_err(failed)?;
        }
        // Whether the goodbye is heard does not matter.
        let _ = first.close().await;
        let committers = (options.connections / 2).clamp(1, COMMITTERS_MAX);
        let others = options.connections.saturating_sub(committers).max(1);
        let pool = Arc::new(Pool::new(address, options.outage_ms, others));
        let wakes = Arc::new(Wakes::new());
        let mut beside = wakes.start(&pool);
        beside.spawn(follow_clock(Arc::clone(&pool), Arc::clone(&clock)));
        let shared = Shared { pool: Arc::clone(&pool), clock: Arc::clone(&clock), wakes: Arc::clone(&wakes) };
        Ok(Self { pool, clock, wakes, commits: Commits::start(committers, shared), _beside: beside })
    }
}

/// Keeps the answer that took the shortest time.
async fn read_clock(connection: &mut PgConnection, clock: &DatabaseClock) -> Result<(), sqlx::Error> {
    let mut best: Option<(i64, i64, i64)> = None;
    for _ in 0..CLOCK_READINGS {
        let asked = clock.elapsed_us();
        let seen: i64 = sqlx::query(CLOCK).fetch_one(&mut *connection).await?.try_get(0)?;
        let answered = clock.elapsed_us();
        if best.is_none_or(|(from, to, _)| answered - asked < to - from) {
            best = Some((asked, answered, seen));
        }
    }
    if let Some((asked, answered, seen)) = best {
        clock.adjust(asked, answered, seen);
    }
    Ok(())
}

/// Clocks drift apart; read it now and then.
async fn follow_clock(pool: Arc<Pool>, clock: Arc<StoreClock>) {
    let StoreClock::Database(clock) = &*clock else { return };
    loop {
        sleep(CLOCK_EVERY).await;
        let asked = clock.elapsed_us();
        // When it fails the clock goes on as it did.
        let Ok(rows) = pool.once(sqlx::query(CLOCK)).await else { continue };
        let answered = clock.elapsed_us();
        if let Some(Ok(seen)) = rows.first().map(|row| row.try_get(0)) {
            clock.adjust(asked, answered, seen);
        }
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresStore({}, by {:?})", self.pool.address(), self.clock)
    }
}

#[async_trait]
impl RunLog for PostgresStore {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        self.commits.commit(run, at, transition).await
    }

    async fn load(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        run_log::load(&self.pool, scope, run, after).await
    }

    async fn head(&self, scope: &Scope, run: &RunId) -> Result<Option<Head>, StoreError> {
        run_log::read_head(&self.pool, scope, run).await
    }

    async fn list(&self, filter: &RunFilter) -> Result<Page<Head>, StoreError> {
        run_log::list(&self.pool, filter).await
    }

    async fn due(&self, agents: &Agents, at: Timestamp, most: usize) -> Result<Vec<RunId>, StoreError> {
        run_log::due(&self.pool, &distinct(agents), at, limit(most.min(DUE_LIMIT_MAX))).await
    }

    async fn changed(&self, run: &RunId, after: Revision) -> Result<Revision, StoreError> {
        self.wakes.changed(&self.pool, run, after).await
    }

    async fn sessions(&self, filter: &SessionFilter) -> Result<Page<SessionRow>, StoreError> {
        sessions::list(&self.pool, filter).await
    }

    async fn prune(&self, request: &PruneRequest) -> Result<Vec<RunId>, StoreError> {
        prune::prune(&self.pool, &self.clock, &self.wakes, request).await
    }

    fn watch(&self, topic: Topic) -> watch::Receiver<u64> {
        self.wakes.watch(topic)
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

#[async_trait]
impl RunLeases for PostgresStore {
    async fn renew(&self, run: &RunId, hold: &Hold) -> Result<LeaseState, StoreError> {
        run_leases::renew(&self.pool, &self.clock, run, hold).await
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<RunId>, StoreError> {
        run_leases::claim(&self.pool, &self.clock, request).await
    }

    async fn overlong(&self, agents: &Agents, most: usize) -> Result<Vec<OverlongLease>, StoreError> {
        run_leases::overlong(&self.pool, &self.clock, &distinct(agents), limit(most.min(DUE_LIMIT_MAX))).await
    }

    async fn end(&self, lease: &OverlongLease) -> Result<bool, StoreError> {
        run_leases::end(&self.pool, &self.clock, lease).await
    }
}

#[async_trait]
impl TaskQueue for PostgresStore {
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError> {
        task_queue::lease(&self.pool, &self.clock, request).await
    }

    async fn heartbeat(&self, leases: &[TaskLease], lease_ms: u64) -> Result<Vec<LeaseState>, StoreError> {
        task_queue::heartbeat(&self.pool, &self.clock, leases, lease_ms).await
    }

    async fn complete(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError> {
        let completion = task_queue::deliver(&self.pool, lease, &result).await?;
        if completion == TaskCompletion::Stored {
            self.wakes.topic(Topic::Runs);
        }
        Ok(completion)
    }

    async fn completed(&self, run: &RunId) -> Result<Vec<DeliveredTask>, StoreError> {
        task_queue::delivered(&self.pool, run).await
    }

    async fn collectable(&self, agents: &Agents, most: usize) -> Result<Vec<RunId>, StoreError> {
        task_queue::arrivals(&self.pool, &distinct(agents), limit(most.min(DUE_LIMIT_MAX))).await
    }

    async fn release(&self, lease: &TaskLease, how: Release) -> Result<LeaseState, StoreError> {
        let state = task_queue::release(&self.pool, &self.clock, lease, how).await?;
        if state == LeaseState::Held {
            self.wakes.topic(Topic::Tasks);
        }
        Ok(state)
    }

    async fn lapsed(&self, agents: &Agents, most: usize) -> Result<Vec<TaskHead>, StoreError> {
        task_queue::lapsed(&self.pool, &self.clock, &distinct(agents), limit(most.min(DUE_LIMIT_MAX))).await
    }

    async fn find(&self, scope: &Scope, key: &CallKey) -> Result<Option<TaskHead>, StoreError> {
        task_queue::find(&self.pool, scope, key).await
    }

    async fn list(&self, filter: &TaskFilter) -> Result<Page<TaskHead>, StoreError> {
        task_queue::tasks(&self.pool, filter).await
    }
}

#[async_trait]
impl Approvals for PostgresStore {
    async fn find(&self, scope: &Scope, key: &CallKey) -> Result<Option<QuestionRow>, StoreError> {
        approvals::find(&self.pool, scope, key).await
    }

    async fn list(&self, filter: &QuestionFilter) -> Result<Page<QuestionRow>, StoreError> {
        approvals::list(&self.pool, filter).await
    }

    async fn changes(
        &self,
        scope: &Scope,
        after: Option<QuestionSeq>,
        most: usize,
    ) -> Result<QuestionChanges, StoreError> {
        approvals::after(&self.pool, scope, after, most).await
    }
}

#[async_trait]
impl Grants for PostgresStore {
    async fn matching(&self, tenant: Option<&str>, tool: &ToolName) -> Result<Vec<GrantRow>, StoreError> {
        grants::matching(&self.pool, &self.clock, tenant, tool).await
    }

    async fn list(&self, filter: &GrantFilter) -> Result<Page<GrantRow>, StoreError> {
        grants::list(&self.pool, filter).await
    }

    async fn find(&self, scope: &Scope, id: &str) -> Result<Option<GrantRow>, StoreError> {
        grants::find(&self.pool, scope, id).await
    }

    async fn revoke(&self, tenant: Option<&str>, id: &str, by: &str) -> Result<bool, StoreError> {
        let revoking = grants::Revoking { tenant, id, by };
        grants::revoke(&self.pool, &self.clock, &revoking).await
    }
}

#[async_trait]
impl AuditLog for PostgresStore {
    async fn rows(&self, scope: &Scope, run: &RunId) -> Result<Vec<AuditRow>, StoreError> {
        run_log::audit(&self.pool, scope, run).await
    }

    async fn rows_after(
        &self,
        scope: &AuditScope,
        after: Option<&Cursor>,
        most: usize,
    ) -> Result<Page<AuditedRun>, StoreError> {
        audit_log::audit_after(&self.pool, scope, after, most).await
    }

    async fn heads(
        &self,
        tenant: Option<&str>,
        after: Option<&RunId>,
        most: usize,
    ) -> Result<Vec<SealedRun>, StoreError> {
        audit_log::audit_heads(&self.pool, tenant, after, limit(most.min(DUE_LIMIT_MAX))).await
    }

    async fn seal(&self, tenant: Option<&str>) -> Result<Option<Seal>, StoreError> {
        audit_log::seal(&self.pool, &self.clock, tenant).await
    }

    async fn unsealed(&self) -> Result<Vec<Unsealed>, StoreError> {
        audit_log::unsealed(&self.pool).await
    }

    async fn seals(&self, tenant: Option<&str>, after: u64, most: usize) -> Result<Vec<Seal>, StoreError> {
        audit_log::seals(&self.pool, tenant, after, limit(most.min(DUE_LIMIT_MAX))).await
    }

    async fn traces(&self, tenant: Option<&str>, sealed: &[SealedRun]) -> Result<Vec<Trace>, StoreError> {
        audit_log::traces(&self.pool, tenant, sealed).await
    }

    async fn tombstones(
        &self,
        tenant: Option<&str>,
        after: Option<&RunId>,
        most: usize,
    ) -> Result<Vec<Tombstone>, StoreError> {
        audit_log::tombstones(&self.pool, tenant, after, limit(most.min(DUE_LIMIT_MAX))).await
    }

    async fn tenants(&self) -> Result<Vec<Option<Arc<str>>>, StoreError> {
        audit_log::tenants(&self.pool).await
    }
}

#[async_trait]
impl ServerState for PostgresStore {
    async fn setting(&self, name: &str) -> Result<Option<Arc<str>>, StoreError> {
        server_state::setting(&self.pool, name).await
    }

    async fn first_setting(&self, name: &str, value: &str) -> Result<Arc<str>, StoreError> {
        server_state::first_setting(&self.pool, name, value).await
    }

    async fn change_setting(&self, name: &str, from: &str, to: &str) -> Result<bool, StoreError> {
        server_state::change_setting(&self.pool, name, (from, to)).await
    }

    async fn reserve(&self, reservation: &Reservation) -> Result<Reserved, StoreError> {
        server_state::reserve(&self.pool, &self.clock, reservation).await
    }

    async fn keep(&self, key: &ResponseKey, response: Vec<u8>) -> Result<(), StoreError> {
        server_state::keep(&self.pool, key, response).await
    }

    async fn kept(&self, key: &ResponseKey) -> Result<Option<Arc<[u8]>>, StoreError> {
        server_state::kept(&self.pool, &self.clock, key).await
    }

    async fn forget(&self, key: &ResponseKey) -> Result<(), StoreError> {
        server_state::drop_response(&self.pool, key).await
    }

    async fn note_worker(&self, seen: &WorkerSeen) -> Result<(), StoreError> {
        server_state::seen(&self.pool, &self.clock, seen).await
    }

    async fn workers(&self, scope: &Scope) -> Result<Vec<WorkerRow>, StoreError> {
        server_state::workers(&self.pool, &self.clock, scope).await
    }

    async fn counts(&self) -> Result<StoreTally, StoreError> {
        server_state::tally(&self.pool).await
    }

    async fn sweep(&self) -> Result<Swept, StoreError> {
        server_state::sweep(&self.pool, &self.clock).await
    }
}
