//! Connections: opened when needed, kept for the next, thrown away when broken.
//!
//! The driver's own pool asks the server after each use whether the connection still works, a round trip that costs more
//! than most statements here. What is dropped in the middle of a statement never comes back here, so there is no need.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use holdpoint_store::{Search, StoreError, Value};
use sqlx::postgres::{PgArguments, PgConnection, Postgres};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};

use crate::columns::{Row, row};
use crate::fault::{Recovery, recovery, store_error, timed_out};
use crate::options::Address;

/// How long a connection may take to open.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// How long a statement may take. Then the connection counts as broken.
pub(crate) const STATEMENT_LIMIT: Duration = Duration::from_secs(60);
/// How often a statement is tried that meets others in its way.
const CONFLICT_TRIES_MAX: u32 = 8;
const PAUSE_FIRST: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// The oldest server that has all that is needed.
const SERVER_VERSION_MIN: u32 = 15_00_00;

/// Every statement is an access by key or by an index that is made for it, and its tables may grow by a million rows while
/// the plan is kept: so plans are made once, and never from what the tables look like at that moment. An acknowledged
/// commit is durable whatever the server's default is, and statements rely on reading what was committed.
pub(crate) const SESSION: &str = "set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set enable_hashjoin = off; \
    set enable_mergejoin = off; set jit = off; set default_transaction_isolation = 'read committed'; \
    select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'";

/// A statement with its values.
pub(crate) type Statement<'q> = Query<'q, Postgres, PgArguments>;

/// A bounded number of connections to one database.
pub(crate) struct Pool {
    address: Address,
    outage: Duration,
    room: Semaphore,
    idle: Mutex<Vec<PgConnection>>,
}

impl Pool {
    pub(crate) fn new(address: Address, outage_ms: u64, connections: u32) -> Self {
        let room = usize::try_from(connections.max(1)).unwrap_or(Semaphore::MAX_PERMITS);
        let room = Semaphore::new(room.min(Semaphore::MAX_PERMITS));
        Self { address, outage: Duration::from_millis(outage_ms), room, idle: Mutex::default() }
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Attempts that begin now.
    pub(crate) fn retry(&self) -> Retry {
        let until = Instant::now() + self.outage;
        Retry { until, pause: PAUSE_FIRST, conflicts: 0, is_unsure: false, is_over: false }
    }

    /// A connection outside the bound, ready for statements.
    pub(crate) async fn connect(&self) -> Result<PgConnection, sqlx::Error> {
        timeout(CONNECT_LIMIT, connect(&self.address)).await.map_err(|_| timed_out())?
    }

    /// Tries until it is done or cannot be done: something that does no more the second time than the first.
    pub(crate) async fn retrying<T, F: Future<Output = Result<T, sqlx::Error>>>(
        &self,
        doing: &'static str,
        attempt: impl Fn() -> F,
    ) -> Result<T, StoreError> {
        let mut retry = self.retry();
        loop {
            let error = match attempt().await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            if !retry.again(&error).await {
                return Err(store_error(doing, &error));
            }
        }
    }

    /// The rows of a statement that can be sent again.
    pub(crate) async fn rows<'q>(
        &self,
        doing: &'static str,
        make: impl Fn() -> Statement<'q>,
    ) -> Result<Vec<Row>, StoreError> {
        self.retrying(doing, || self.once(make())).await
    }

    /// The rows of a statement that depends on a filter.
    pub(crate) async fn list(&self, doing: &'static str, search: &Search) -> Result<Vec<Row>, StoreError> {
        let statement = || {
            let statement = sqlx::query(AssertSqlSafe(search.sql.clone()));
            search.values.iter().fold(statement, |statement, value| match value {
                Value::Int(number) => statement.bind(*number),
                Value::Text(text) => statement.bind(text.as_str()),
            })
        };
        self.rows(doing, statement).await
    }

    /// The rows of a statement, sent once.
    pub(crate) async fn once(&self, statement: Statement<'_>) -> Result<Vec<Row>, sqlx::Error> {
        let rows = self.with(async |connection| statement.fetch_all(connection).await).await?;
        Ok(rows.into_iter().map(row).collect())
    }

    /// Does something with a connection, once. What takes longer than one statement may counts as broken.
    pub(crate) async fn with<T>(
        &self,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        let _room = self.room.acquire().await.map_err(|_| sqlx::Error::PoolClosed)?;
        let kept = self.idle().pop();
        let mut connection = match kept {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let done = timeout(STATEMENT_LIMIT, work(&mut connection)).await.map_err(|_| timed_out())?;
        match &done {
            // What breaks one connection broke the others too.
            Err(error) if recovery(error) == Recovery::Reconnect => self.idle().clear(),
            Ok(_) | Err(_) => self.idle().push(connection),
        }
        done
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<PgConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn connect(address: &Address) -> Result<PgConnection, sqlx::Error> {
    let mut connection = address.options().connect().await?;
    sqlx::raw_sql(SESSION).execute(&mut connection).await?;
    Ok(connection)
}

/// Opens the first connection: tells what is wrong at once, and whether the server is new enough.
pub(crate) async fn connect_first(address: &Address) -> Result<PgConnection, StoreError> {
    const DOING: &str = "open the database";
    let opened = timeout(CONNECT_LIMIT, address.options().connect()).await.unwrap_or_else(|_| Err(timed_out()));
    let mut connection = opened.map_err(|error| at_address(address, store_error(DOING, &error)))?;
    check_version(connection.server_version_num())?;
    sqlx::raw_sql(SESSION).execute(&mut connection).await.map_err(|error| store_error(DOING, &error))?;
    connection.ping().await.map_err(|error| store_error(DOING, &error))?;
    Ok(connection)
}

fn check_version(found: Option<u32>) -> Result<(), StoreError> {
    match found {
        Some(found) if found < SERVER_VERSION_MIN => {
            let (major, needed) = (found / 10_000, SERVER_VERSION_MIN / 10_000);
            let problem = format!("the server is PostgreSQL {major}, and {needed} or newer is needed");
            Err(StoreError::failed("open the database", problem))
        }
        Some(_) | None => Ok(()),
    }
}

/// Says which database it was.
fn at_address(address: &Address, error: StoreError) -> StoreError {
    match error {
        StoreError::Fault { fault, doing, cause } => StoreError::fault(fault, doing, format!("{address}: {cause}")),
        other @ (StoreError::NotFound { .. } | StoreError::InvalidCursor | StoreError::Failed { .. }) => other,
    }
}

/// Attempts at one thing, until it is done, cannot be done, or the database was away for too long.
pub(crate) struct Retry {
    until: Instant,
    pause: Duration,
    conflicts: u32,
    /// Whether an attempt may have taken effect although its answer was lost.
    pub(crate) is_unsure: bool,
    is_over: bool,
}

impl Retry {
    /// Whether to try again after this error. Waits first while the database is away, longer and longer.
    pub(crate) async fn again(&mut self, error: &sqlx::Error) -> bool {
        match recovery(error) {
            Recovery::Reconnect => {
                self.is_unsure = true;
                self.pause().await
            }
            Recovery::Again => {
                self.conflicts += 1;
                self.conflicts < CONFLICT_TRIES_MAX
            }
            Recovery::GiveUp => false,
        }
    }

    /// Begins attempts at another thing in the time that is left. Returns whether there is any.
    pub(crate) fn begin(&mut self, is_unsure: bool) -> bool {
        (self.conflicts, self.is_unsure) = (0, is_unsure);
        !self.is_over
    }

    async fn pause(&mut self) -> bool {
        self.is_over = Instant::now() >= self.until;
        if !self.is_over {
            sleep(self.pause).await;
            self.pause = (self.pause * 2).min(PAUSE_MAX);
        }
        !self.is_over
    }
}

#[cfg(test)]
mod tests;
