//! Stores that commands open.

use std::sync::Arc;

use clap::Args;
use holdpoint::{StoreOptions, open_store, open_store_with};
use holdpoint_store::{MemoryStore, Migrate, Store};

use crate::failure::{Failure, Outcome};
use crate::setup::{ConfigArgs, Setup};

/// The store that ends with its process.
const MEMORY: &str = "memory";

/// Which store: the one that is named, or the one of the configuration.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StoreArgs {
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Where the runs are: `sqlite:PATH` or `postgres://USER@HOST/DATABASE`. The store of the configuration if absent.
    #[arg(long, value_name = "URL")]
    pub(crate) store: Option<String>,
}

impl StoreArgs {
    /// Where the store is. One that is named needs no configuration.
    pub(crate) fn url(&self) -> Outcome<String> {
        match &self.store {
            Some(url) => lasting(url.clone()),
            None => lasting(Setup::find(&self.config)?.store_url(None)),
        }
    }

    /// Opens the store as it is: the database is neither created nor migrated.
    pub(crate) async fn open(&self) -> Outcome<Store> {
        existing(self.url()?).await
    }
}

/// Which runs of a store.
#[derive(Args, Clone, Debug)]
pub(crate) struct TenantArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// Only runs of this tenant.
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
}

impl TenantArgs {
    pub(crate) fn tenant(&self) -> Option<Arc<str>> {
        self.tenant.as_deref().map(Arc::from)
    }

    /// As [`StoreArgs::open`].
    pub(crate) async fn open(&self) -> Outcome<Store> {
        self.store.open().await
    }
}

/// Opens a database as it is: it is neither created nor migrated.
pub(crate) async fn existing(url: String) -> Outcome<Store> {
    let as_it_is = StoreOptions::default().migrate(Migrate::Refuse);
    open_store_with(&lasting(url)?, as_it_is).await.map_err(|error| Failure::from(error).before_start())
}

/// Opens a store, created and migrated as needed.
pub(crate) async fn open(url: &str) -> Outcome<Store> {
    if url == MEMORY {
        return Ok(Store::from(MemoryStore::new()));
    }
    open_store(url).await.map_err(|error| Failure::from(error).before_start())
}

/// Rejects the store of a process that has none to share.
pub(crate) fn lasting(url: String) -> Outcome<String> {
    if url == MEMORY {
        let failure = Failure::usage("the store `memory` ends with the process that has it").code("invalid_store_url");
        return Err(failure.hint("write `sqlite:PATH` or `postgres://USER@HOST/DATABASE`"));
    }
    Ok(url)
}
