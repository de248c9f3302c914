//! Where the runs and tasks of worlds are kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use holdpoint_core::Timestamp;
use holdpoint_store::{Clock, MemoryStore, Store, StoreError, StoreFault};
use holdpoint_store_postgres::PostgresStore;
use holdpoint_store_sqlite::SqliteStore;
use tokio::runtime::{Builder, Runtime};

use crate::mistake::Mistake;
use crate::model::Model;
use crate::real::Real;
use crate::storage::Storage;

/// One world does one thing at a time. One connection of PostgreSQL commits, the other does the rest.
const CONNECTIONS: u32 = 2;
const READERS: u32 = 1;

/// What keeps the runs and tasks of worlds. Any number of worlds can share it: each sees its own only.
#[derive(Clone)]
pub struct Backing(Option<Opener>);

/// Puts something between a world and its store.
pub type Layer = fn(Store) -> Store;

impl Backing {
    /// The model.
    pub fn model() -> Self {
        Self(None)
    }

    /// The store at an address: `memory`, `sqlite:PATH` or `postgres://USER@HOST/DATABASE`. It is opened once, so that a
    /// wrong address is noticed here.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn store(url: &str) -> Result<Self, StoreError> {
        Self::layered(url, |store| store)
    }

    /// The store at an address, with a layer around it.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn layered(url: &str, layer: Layer) -> Result<Self, StoreError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| StoreError::failed("begin", error))?;
        let opener = Opener { runtime: Arc::new(runtime), url: url.into(), layer };
        opener.open(&Arc::new(WorldClock::default()))?;
        Ok(Self(Some(opener)))
    }

    pub(crate) fn storage(&self, mistake: Option<Mistake>) -> Box<dyn Storage> {
        match &self.0 {
            None => Box::new(Model::new(mistake)),
            Some(opener) => Box::new(Real::new(opener.clone())),
        }
    }
}

/// Opens a store again and again.
#[derive(Clone)]
pub(crate) struct Opener {
    pub(crate) runtime: Arc<Runtime>,
    url: Arc<str>,
    layer: Layer,
}

impl Opener {
    /// What was stored before is there again, unless the store ends with its handle.
    pub(crate) fn open(&self, clock: &Arc<WorldClock>) -> Result<Store, StoreError> {
        let clock: Arc<dyn Clock> = Arc::<WorldClock>::clone(clock);
        let store: Store = match self.url.split_once(':').map_or(&*self.url, |(scheme, _)| scheme) {
            _ if self.ends_with_handle() => Store::from(MemoryStore::with_clock(clock)),
            "sqlite" => Store::from(self.runtime.block_on(sqlite(&self.url, clock))?),
            "postgres" | "postgresql" => Store::from(self.runtime.block_on(postgres(&self.url, clock))?),
            _ => return Err(StoreError::fault(StoreFault::InvalidUrl, "open", "no store has such an address")),
        };
        Ok((self.layer)(store))
    }

    /// Whether nothing is left of it once nobody has it.
    pub(crate) fn ends_with_handle(&self) -> bool {
        &*self.url == "memory"
    }
}

async fn sqlite(url: &str, clock: Arc<dyn Clock>) -> Result<SqliteStore, StoreError> {
    use holdpoint_store_sqlite::Options;
    SqliteStore::open_with(url, Options { clock: Some(clock), readers: READERS, ..Options::default() }).await
}

async fn postgres(url: &str, clock: Arc<dyn Clock>) -> Result<PostgresStore, StoreError> {
    use holdpoint_store_postgres::Options;
    PostgresStore::open_with(url, Options { clock: Some(clock), connections: CONNECTIONS, ..Options::default() }).await
}

/// The clock of a world, as its store sees it.
#[derive(Default)]
pub(crate) struct WorldClock(AtomicI64);

impl WorldClock {
    pub(crate) fn set(&self, now: Timestamp) {
        self.0.fetch_max(now.0, Ordering::Relaxed);
    }
}

impl Clock for WorldClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}
