//! A store by its address.

use std::sync::Arc;

use holdpoint_store::{Clock, MemoryStore, Migrate, Store, StoreError, StoreFault};

/// How a store is opened.
#[derive(Clone, Default)]
pub struct StoreOptions {
    clock: Option<Arc<dyn Clock>>,
    migrate: Migrate,
}

impl StoreOptions {
    /// Puts this clock in the place of the store's own. For tests and scenarios.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// What to do about a database that an older version made. By default it is brought up to date.
    #[must_use]
    pub fn migrate(mut self, migrate: Migrate) -> Self {
        self.migrate = migrate;
        self
    }
}

/// Opens the store at an address: `sqlite:PATH` (made if it is not there), `postgres://USER@HOST/DATABASE`, or `memory`.
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), holdpoint::store::StoreError> {
/// let store = holdpoint::open_store("memory").await?;
/// # drop(store);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// With a [`StoreFault`], which has a code and a hint.
pub async fn open_store(url: &str) -> Result<Store, StoreError> {
    open_store_with(url, StoreOptions::default()).await
}

/// Opens the store at an address, with options.
///
/// # Errors
/// As [`open_store`].
pub async fn open_store_with(url: &str, options: StoreOptions) -> Result<Store, StoreError> {
    let scheme = url.split_once(':').map_or(url, |(scheme, _)| scheme);
    match scheme {
        "memory" if url == "memory" => Ok(match options.clock {
            Some(clock) => MemoryStore::with_clock(clock).into(),
            None => MemoryStore::new().into(),
        }),
        "sqlite" => sqlite(url, options).await,
        "postgres" | "postgresql" => postgres(url, options).await,
        _ => Err(invalid("no store has such an address")),
    }
}

fn invalid(cause: &'static str) -> StoreError {
    StoreError::fault(StoreFault::InvalidUrl, "open", cause)
}

#[cfg(feature = "sqlite")]
async fn sqlite(url: &str, options: StoreOptions) -> Result<Store, StoreError> {
    use holdpoint_store_sqlite::{Options, SqliteStore};
    let StoreOptions { clock, migrate } = options;
    let options = Options { clock, migrate, ..Options::default() };
    Ok(SqliteStore::open_with(url, options).await?.into())
}

#[cfg(not(feature = "sqlite"))]
async fn sqlite(_: &str, _: StoreOptions) -> Result<Store, StoreError> {
    Err(invalid("this program was built without the feature `sqlite`"))
}

#[cfg(feature = "postgres")]
async fn postgres(url: &str, options: StoreOptions) -> Result<Store, StoreError> {
    use holdpoint_store_postgres::{Options, PostgresStore};
    let StoreOptions { clock, migrate } = options;
    let options = Options { clock, migrate, ..Options::default() };
    Ok(PostgresStore::open_with(url, options).await?.into())
}

#[cfg(not(feature = "postgres"))]
async fn postgres(_: &str, _: StoreOptions) -> Result<Store, StoreError> {
    Err(invalid("this program was built without the feature `postgres`"))
}
