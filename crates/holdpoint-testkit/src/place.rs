//! Where the runs of one scenario are kept, whatever process looks at them.

use std::sync::Arc;

use holdpoint::{StoreOptions, open_store_with};
use holdpoint_store::{ManualClock, MemoryStore, Store, StoreError};
use holdpoint_store_postgres::{create_database, drop_database};
use tempfile::TempDir;

use crate::store_choice::StoreChoice;

/// A place that outlives the processes of a scenario.
pub(crate) struct Place {
    clock: Arc<ManualClock>,
    kept: Kept,
}

enum Kept {
    /// The store of a process that never dies.
    Memory(Arc<MemoryStore>),
    /// A store that is there for all scenarios.
    Shared(StoreChoice),
    /// A file of this scenario's own.
    Folder(TempDir),
    /// A database of this scenario's own.
    Database { url: String, server: Arc<str> },
}

impl Place {
    pub(crate) fn new(choice: &StoreChoice, clock: &Arc<ManualClock>) -> Self {
        let clock = Arc::clone(clock);
        let kept = match choice {
            StoreChoice::Memory => Kept::Memory(memory(&clock)),
            StoreChoice::Sqlite(_) | StoreChoice::Postgres(_) => Kept::Shared(choice.clone()),
        };
        Self { clock, kept }
    }

    /// Opens the store, as a process does that has just started.
    pub(crate) async fn open(&self) -> Result<Store, StoreError> {
        let url = match &self.kept {
            Kept::Memory(store) => return Ok(Arc::clone(store).into()),
            Kept::Shared(choice) => choice.url().to_owned(),
            Kept::Folder(folder) => format!("sqlite:{}", folder.path().join("fresh.db").display()),
            Kept::Database { url, .. } => url.clone(),
        };
        let clock: Arc<ManualClock> = Arc::clone(&self.clock);
        open_store_with(&url, StoreOptions::default().clock(clock)).await
    }

    /// From now on another place of the same kind, with nothing in it.
    pub(crate) async fn forget(&mut self) -> Result<(), StoreError> {
        let next = match &self.kept {
            Kept::Memory(_) => Kept::Memory(memory(&self.clock)),
            Kept::Shared(StoreChoice::Postgres(server)) => database(server).await?,
            Kept::Database { server, .. } => database(server).await?,
            Kept::Shared(StoreChoice::Memory | StoreChoice::Sqlite(_)) | Kept::Folder(_) => Kept::Folder(
                TempDir::with_prefix("holdpoint-scenario-")
                    .map_err(|error| StoreError::failed("make a folder", error))?,
            ),
        };
        let before = std::mem::replace(&mut self.kept, next);
        remove(before).await;
        Ok(())
    }

    /// Removes what is this scenario's own.
    pub(crate) async fn close(self) {
        remove(self.kept).await;
    }
}

fn memory(clock: &Arc<ManualClock>) -> Arc<MemoryStore> {
    Arc::new(MemoryStore::with_clock(Arc::clone(clock) as Arc<_>))
}

async fn database(server: &Arc<str>) -> Result<Kept, StoreError> {
    Ok(Kept::Database { url: create_database(server).await?, server: Arc::clone(server) })
}

/// A folder goes by itself. A database that cannot be dropped is left to its owner: the scenario has its verdict.
async fn remove(kept: Kept) {
    match kept {
        Kept::Database { url, server } => drop(drop_database(&server, &url).await),
        Kept::Memory(_) | Kept::Shared(_) | Kept::Folder(_) => {}
    }
}
