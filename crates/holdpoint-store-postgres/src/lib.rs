//! Runs in PostgreSQL: durable, and shared by any number of processes.
//!
//! One transition is one statement, one round trip and one commit. What waits while the connections are busy goes
//! together. Nothing that matters is kept in memory: any process may end at any moment, and another goes on.

mod clock;
mod commit;
mod desk;
mod fault;
mod grants;
mod leases;
mod lines;
mod options;
#[cfg(all(test, feature = "testing"))]
mod plans;
mod prune;
mod questions;
mod read;
mod row;
mod schema;
mod seals;
mod sessions;
mod tasks;
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

use clock::{DatabaseClock, Moments};
use commit::{Commits, Desk};
use lines::Lines;
use options::Address;
pub use options::{CONNECTIONS_DEFAULT, Migrate, OUTAGE_MS_DEFAULT, Options};
use read::distinct;
use row::limit;
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
    lines: Arc<Lines>,
    moments: Arc<Moments>,
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
        let mut first = lines::connect_first(&address).await?;
        schema::prepare(&mut first, options.migrate).await?;
        let moments = Arc::new(Moments::new(options.clock));
        if let Moments::Database(clock) = &*moments {
            let failed = |error: sqlx::Error| fault::store_error("read the clock of the database", &error);
            read_clock(&mut first, clock).await.map_err(failed)?;
        }
        // Whether the goodbye is heard does not matter.
        let _ = first.close().await;
        let committers = (options.connections / 2).clamp(1, COMMITTERS_MAX);
        let others = options.connections.saturating_sub(committers).max(1);
        let lines = Arc::new(Lines::new(address, options.outage_ms, others));
        let wakes = Arc::new(Wakes::new());
        let mut beside = wakes.start(&lines);
        beside.spawn(follow_clock(Arc::clone(&lines), Arc::clone(&moments)));
        let desk = Desk { lines: Arc::clone(&lines), moments: Arc::clone(&moments), wakes: Arc::clone(&wakes) };
        Ok(Self { lines, moments, wakes, commits: Commits::start(committers, desk), _beside: beside })
    }
}

/// Keeps the answer that took the shortest time.
async fn read_clock(line: &mut PgConnection, clock: &DatabaseClock) -> Result<(), sqlx::Error> {
    let mut best: Option<(i64, i64, i64)> = None;
    for _ in 0..CLOCK_READINGS {
        let asked = clock.elapsed_us();
        let seen: i64 = sqlx::query(CLOCK).fetch_one(&mut *line).await?.try_get(0)?;
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
async fn follow_clock(lines: Arc<Lines>, moments: Arc<Moments>) {
    let Moments::Database(clock) = &*moments else { return };
    loop {
        sleep(CLOCK_EVERY).await;
        let asked = clock.elapsed_us();
        // When it fails the clock goes on as it did.
        let Ok(rows) = lines.once(sqlx::query(CLOCK)).await else { continue };
        let answered = clock.elapsed_us();
        if let Some(Ok(seen)) = rows.first().map(|row| row.try_get(0)) {
            clock.adjust(asked, answered, seen);
        }
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresStore({}, by {:?})", self.lines.address(), self.moments)
    }
}

#[async_trait]
impl RunLog for PostgresStore {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        self.commits.commit(run, at, transition).await
    }

    async fn load(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        read::load(&self.lines, scope, run, after).await
    }

    async fn head(&self, scope: &Scope, run: &RunId) -> Result<Option<Head>, StoreError> {
        read::read_head(&self.lines, scope, run).await
    }

    async fn list(&self, filter: &RunFilter) -> Result<Page<Head>, StoreError> {
        read::list(&self.lines, filter).await
    }

    async fn due(&self, agents: &Agents, at: Timestamp, most: usize) -> Result<Vec<RunId>, StoreError> {
        read::due(&self.lines, &distinct(agents), at, limit(most.min(DUE_LIMIT_MAX))).await
    }

    async fn changed(&self, run: &RunId, after: Revision) -> Result<Revision, StoreError> {
        self.wakes.changed(&self.lines, run, after).await
    }

    async fn sessions(&self, filter: &SessionFilter) -> Result<Page<SessionRow>, StoreError> {
        sessions::list(&self.lines, filter).await
    }

    async fn prune(&self, request: &PruneRequest) -> Result<Vec<RunId>, StoreError> {
        prune::prune(&self.lines, &self.moments, &self.wakes, request).await
    }

    fn watch(&self, topic: Topic) -> watch::Receiver<u64> {
        self.wakes.watch(topic)
    }

    fn now(&self) -> Timestamp {
        self.moments.now()
    }
}

#[async_trait]
impl RunLeases for PostgresStore {
    async fn renew(&self, run: &RunId, hold: &Hold) -> Result<LeaseState, StoreError> {
        leases::renew(&self.lines, &self.moments, run, hold).await
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<RunId>, StoreError> {
        leases::claim(&self.lines, &self.moments, request).await
    }

    async fn overlong(&self, agents: &Agents, most: usize) -> Result<Vec<OverlongLease>, StoreError> {
        leases::overlong(&self.lines, &self.moments, &distinct(agents), limit(most.min(DUE_LIMIT_MAX))).await
    }

    async fn end(&self, lease: &OverlongLease) -> Result<bool, StoreError> {
        leases::end(&self.lines, &self.moments, lease).await
    }
}

#[async_trait]
impl TaskQueue for PostgresStore {
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError> {
        tasks::lease(&self.lines, &self.moments, request).await
    }

    async fn heartbeat(&self, leases: &[TaskLease], lease_ms: u64) -> Result<Vec<LeaseState>, StoreError> {
        tasks::heartbeat(&self.lines, &self.moments, leases, lease_ms).await
    }

    async fn complete(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError> {
        let completion = tasks::deliver(&self.lines, lease, &result).await?;
        if completion == TaskCompletion::Stored {
            self.wakes.topic(Topic::Runs);
        }
        Ok(completion)
    }

    async fn completed(&self, run: &RunId) -> Result<Vec<DeliveredTask>, StoreError> {
        tasks::delivered(&self.lines, run).await
    }

    async fn collectable(&self, agents: &Agents, most: usize) -> Result<Vec<RunId>, StoreError> {
        tasks::arrivals(&self.lines, &distinct(agents), limit(most.min(DUE_LIMIT_MAX))).await
    }

    async fn release(&self, lease: &TaskLease, how: Release) -> Result<LeaseState, StoreError> {
        let state = tasks::release(&self.lines, &self.moments, lease, how).await?;
        if state == LeaseState::Held {
            self.wakes.topic(Topic::Tasks);
        }
        Ok(state)
    }

    async fn lapsed(&self, agents: &Agents, most: usize) -> Result<Vec<TaskHead>, StoreError> {
        tasks::lapsed(&self.lines, &self.moments, &distinct(agents), limit(most.min(DUE_LIMIT_MAX))).await
    }

    async fn find(&self, scope: &Scope, key: &CallKey) -> Result<Option<TaskHead>, StoreError> {
        tasks::find(&self.lines, scope, key).await
    }

    async fn list(&self, filter: &TaskFilter) -> Result<Page<TaskHead>, StoreError> {
        tasks::tasks(&self.lines, filter).await
    }
}

#[async_trait]
impl Approvals for PostgresStore {
    async fn find(&self, scope: &Scope, key: &CallKey) -> Result<Option<QuestionRow>, StoreError> {
        questions::find(&self.lines, scope, key).await
    }

    async fn list(&self, filter: &QuestionFilter) -> Result<Page<QuestionRow>, StoreError> {
        questions::list(&self.lines, filter).await
    }

    async fn changes(
        &self,
        scope: &Scope,
        after: Option<QuestionSeq>,
        most: usize,
    ) -> Result<QuestionChanges, StoreError> {
        questions::after(&self.lines, scope, after, most).await
    }
}

#[async_trait]
impl Grants for PostgresStore {
    async fn matching(&self, tenant: Option<&str>, tool: &ToolName) -> Result<Vec<GrantRow>, StoreError> {
        grants::matching(&self.lines, &self.moments, tenant, tool).await
    }

    async fn list(&self, filter: &GrantFilter) -> Result<Page<GrantRow>, StoreError> {
        grants::list(&self.lines, filter).await
    }

    async fn find(&self, scope: &Scope, id: &str) -> Result<Option<GrantRow>, StoreError> {
        grants::find(&self.lines, scope, id).await
    }

    async fn revoke(&self, tenant: Option<&str>, id: &str, by: &str) -> Result<bool, StoreError> {
        let revoking = grants::Revoking { tenant, id, by };
        grants::revoke(&self.lines, &self.moments, &revoking).await
    }
}

#[async_trait]
impl AuditLog for PostgresStore {
    async fn rows(&self, scope: &Scope, run: &RunId) -> Result<Vec<AuditRow>, StoreError> {
        read::audit(&self.lines, scope, run).await
    }

    async fn rows_after(
        &self,
        scope: &AuditScope,
        after: Option<&Cursor>,
        most: usize,
    ) -> Result<Page<AuditedRun>, StoreError> {
        seals::audit_after(&self.lines, scope, after, most).await
    }

    async fn heads(
        &self,
        tenant: Option<&str>,
        after: Option<&RunId>,
        most: usize,
    ) -> Result<Vec<SealedRun>, StoreError> {
        seals::audit_heads(&self.lines, tenant, after, limit(most.min(DUE_LIMIT_MAX))).await
    }

    async fn seal(&self, tenant: Option<&str>) -> Result<Option<Seal>, StoreError> {
        seals::seal(&self.lines, &self.moments, tenant).await
    }

    async fn unsealed(&self) -> Result<Vec<Unsealed>, StoreError> {
        seals::unsealed(&self.lines).await
    }

    async fn seals(&self, tenant: Option<&str>, after: u64, most: usize) -> Result<Vec<Seal>, StoreError> {
        seals::seals(&self.lines, tenant, after, limit(most.min(DUE_LIMIT_MAX))).await
    }

    async fn traces(&self, tenant: Option<&str>, sealed: &[SealedRun]) -> Result<Vec<Trace>, StoreError> {
        seals::traces(&self.lines, tenant, sealed).await
    }

    async fn tombstones(
        &self,
        tenant: Option<&str>,
        after: Option<&RunId>,
        most: usize,
    ) -> Result<Vec<Tombstone>, StoreError> {
        seals::tombstones(&self.lines, tenant, after, limit(most.min(DUE_LIMIT_MAX))).await
    }

    async fn tenants(&self) -> Result<Vec<Option<Arc<str>>>, StoreError> {
        seals::tenants(&self.lines).await
    }
}

#[async_trait]
impl ServerState for PostgresStore {
    async fn setting(&self, name: &str) -> Result<Option<Arc<str>>, StoreError> {
        desk::setting(&self.lines, name).await
    }

    async fn first_setting(&self, name: &str, value: &str) -> Result<Arc<str>, StoreError> {
        desk::first_setting(&self.lines, name, value).await
    }

    async fn change_setting(&self, name: &str, from: &str, to: &str) -> Result<bool, StoreError> {
        desk::change_setting(&self.lines, name, (from, to)).await
    }

    async fn reserve(&self, reservation: &Reservation) -> Result<Reserved, StoreError> {
        desk::reserve(&self.lines, &self.moments, reservation).await
    }

    async fn keep(&self, key: &ResponseKey, response: Vec<u8>) -> Result<(), StoreError> {
        desk::keep(&self.lines, key, response).await
    }

    async fn kept(&self, key: &ResponseKey) -> Result<Option<Arc<[u8]>>, StoreError> {
        desk::kept(&self.lines, &self.moments, key).await
    }

    async fn forget(&self, key: &ResponseKey) -> Result<(), StoreError> {
        desk::drop_response(&self.lines, key).await
    }

    async fn note_worker(&self, seen: &WorkerSeen) -> Result<(), StoreError> {
        desk::seen(&self.lines, &self.moments, seen).await
    }

    async fn workers(&self, scope: &Scope) -> Result<Vec<WorkerRow>, StoreError> {
        desk::workers(&self.lines, &self.moments, scope).await
    }

    async fn counts(&self) -> Result<StoreTally, StoreError> {
        desk::tally(&self.lines).await
    }

    async fn sweep(&self) -> Result<Swept, StoreError> {
        desk::sweep(&self.lines, &self.moments).await
    }
}
