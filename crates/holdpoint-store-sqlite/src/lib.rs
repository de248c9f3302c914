//! The store contract on SQLite.
//!
//! One connection writes. Everything that waits for it (commits, leases, results) becomes one transaction, and no caller is
//! answered before its commit, so the disk is asked once for many. A few other connections read and never wait for the
//! writer. Other processes may use the same file at the same time: their writes are noticed soon, while a caller waits.

mod approvals;
mod audit_log;
mod batch;
mod columns;
mod fault;
mod grants;
mod group;
mod json_rows;
mod options;
mod prune;
mod request;
mod run_leases;
mod run_log;
mod schema;
mod server_state;
mod task_queue;
mod wait;
mod writer;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use holdpoint_core::RunId;
pub use holdpoint_store::Migrate;
use holdpoint_store::{Clock, Notifier, Search, StoreError, StoreFault, SystemClock, Value};
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqlitePoolOptions};
use sqlx::{AssertSqlSafe, Sqlite, SqlitePool};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;

use batch::Batch;
use columns::{Row, row};
use fault::store_error;
use group::Group;
use json_rows::Values;
pub use options::{BUSY_MS_DEFAULT, Options, READERS_DEFAULT};
use request::{About, Answer, Order, Pending, Read, Request};
pub use schema::SCHEMA_VERSION;
use writer::{QUEUE_MAX, Writer};

/// Runs in a file. They survive whatever happens to the process, and a machine that loses its power.
///
/// It works inside the tokio runtime in which it was opened. Dropping it ends its tasks; what was acknowledged is in the
/// file.
pub struct SqliteStore {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    readers: Readers,
    notifier: Arc<Notifier<RunId>>,
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
        let notifier = Arc::new(Notifier::new());
        let (queue, requests) = mpsc::channel(QUEUE_MAX);
        let ending = Arc::new(Notify::new());
        let readers = Readers(readers);
        let poller = tokio::spawn(wait::poll(Arc::clone(&notifier), queue.downgrade(), readers.clone()));
        let writer = Writer {
            connection: Some(connection),
            path: path.clone(),
            options,
            clock: Arc::clone(&clock),
            notifier: Arc::clone(&notifier),
            queue: requests,
            ending: Arc::clone(&ending),
        };
        let writer = Mutex::new(Some(tokio::spawn(writer.run())));
        Ok(Self { path, clock, readers, notifier, queue, ending, writer, poller })
    }

    /// Hands a request to the writer, and waits for its answer.
    async fn ask<T, E: From<StoreError>>(&self, request: impl FnOnce(Answer<T, E>) -> Request) -> Result<T, E> {
        let gone = || StoreError::fault(StoreFault::Unavailable, "write", "the runtime of the store has ended");
        let (answer, answered) = oneshot::channel();
        self.queue.send(request(answer)).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }

    /// Writes something that is decided from what its group looked up.
    async fn decide<T, E>(
        &self,
        doing: &'static str,
        about: About,
        decide: impl FnOnce(&mut Group) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let apply = |group: &mut Group, _: &mut Batch| -> Read<T, E> {
            let decided = decide(group);
            Box::new(move |_| decided)
        };
        let (order, apply) = (Order::InTurn, Box::new(apply));
        let pending = |answer| Pending { about, order, doing, apply: Some(apply), read: None, answer };
        self.ask(|answer| Request::Write(Box::new(pending(answer)))).await
    }

    /// Writes something by statements of its own, which come after everything that its group decides.
    async fn execute<T: Send + 'static>(
        &self,
        bytes: usize,
        add: impl FnOnce(&mut Group, &mut Batch) -> Read<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (order, about) = (Order::AtTheEnd, About { bytes, ..About::default() });
        let pending = |answer| Pending { about, order, doing: "write", apply: Some(Box::new(add)), read: None, answer };
        self.ask(|answer| Request::Write(Box::new(pending(answer)))).await
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

/// Connections that only read. They never wait for the writer, and see what was committed before they began.
#[derive(Clone)]
struct Readers(SqlitePool);

impl Readers {
    async fn rows(
        &self,
        doing: &'static str,
        query: Query<'_, Sqlite, SqliteArguments>,
    ) -> Result<Vec<Row>, StoreError> {
        let rows = query.fetch_all(&self.0).await.map_err(|error| store_error(doing, error))?;
        Ok(rows.into_iter().map(row).collect())
    }

    /// A search that begins with rows.
    fn search(sql: &'static str, rows: Values) -> Query<'static, Sqlite, SqliteArguments> {
        sqlx::query(sql).bind(rows.json).bind(rows.bytes)
    }

    async fn list(&self, doing: &'static str, search: &Search) -> Result<Vec<Row>, StoreError> {
        let query = sqlx::query(AssertSqlSafe(search.sql.clone()));
        let query = search.values.iter().fold(query, |query, value| match value {
            Value::Int(number) => query.bind(*number),
            Value::Text(text) => query.bind(text.as_str()),
        });
        self.rows(doing, query).await
    }

    /// A statement that says yes or no, as `found`.
    async fn exists(&self, query: Query<'_, Sqlite, SqliteArguments>) -> Result<bool, StoreError> {
        let rows = self.rows("look for work", query).await?;
        Ok(rows.first().map(|row| row.int("found")).transpose()? == Some(1))
    }
}
