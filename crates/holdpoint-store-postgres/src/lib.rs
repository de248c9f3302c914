//! Runs in PostgreSQL: durable, and shared by any number of processes.
//!
//! One transition is one statement, one round trip and one commit. What waits while the connections are busy goes
//! together. Nothing that matters is kept in memory: any process may end at any moment, and another goes on.

mod approvals;
mod audit_log;
mod clock;
mod columns;
mod commit;
mod database;
mod fault;
mod grants;
mod options;
mod pool;
mod prune;
mod run_leases;
mod run_log;
mod schema;
mod server_state;
mod sql;
mod task_queue;
#[cfg(feature = "testing")]
pub mod testing;
mod wait;

use std::fmt;
use std::sync::Arc;

pub use holdpoint_store::Migrate;
use holdpoint_store::StoreError;
use sqlx::Connection;
use tokio::task::JoinSet;

use clock::StoreClock;
use commit::{Commits, Shared};
pub use database::{create_database, drop_database};
use options::Address;
pub use options::{CONNECTIONS_DEFAULT, OUTAGE_MS_DEFAULT, Options};
use pool::Pool;
pub use schema::SCHEMA_VERSION;
use wait::Wakes;

/// How many connections do nothing but write transitions. More of them make smaller batches.
const COMMITTERS_MAX: u32 = 8;

/// The store on PostgreSQL.
///
/// Connections that break are opened again, and what was under way is looked up, so that nothing happens twice; only when
/// the database stays away does the caller hear of it. Cheap to use from many tasks at once; opened once per process.
pub struct PostgresStore {
    pool: Arc<Pool>,
    clock: Arc<StoreClock>,
    wakes: Arc<Wakes>,
    commits: Commits,
    /// The tasks that listen, notify and follow the clock. They end with the store.
    _background: JoinSet<()>,
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
        let clock = Arc::new(StoreClock::open(options.clock, &mut first).await?);
        // Whether the goodbye is heard does not matter.
        let _ = first.close().await;
        let committers = (options.connections / 2).clamp(1, COMMITTERS_MAX);
        let others = options.connections.saturating_sub(committers).max(1);
        let committing = Pool::new(address.clone(), options.outage_ms, committers);
        let pool = Arc::new(Pool::new(address, options.outage_ms, others));
        let wakes = Arc::new(Wakes::default());
        let mut background = wakes.start(&pool);
        background.spawn(clock::follow(Arc::clone(&pool), Arc::clone(&clock)));
        let shared = Shared { pool: committing, clock: Arc::clone(&clock), wakes: Arc::clone(&wakes) };
        Ok(Self { pool, clock, wakes, commits: Commits::start(committers, shared), _background: background })
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresStore({}, by {:?})", self.pool.address(), self.clock)
    }
}
