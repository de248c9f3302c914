//! Stores that commands look into.

use std::process::ExitCode;

use clap::Args;
use holdpoint::{MigrateStore, StoreOptions, open_store_with};
use holdpoint_codec::decode_event;
use holdpoint_store::{Record, Store, StoreError};

use crate::problem;
use crate::setup::{ConfigArgs, Setup};

/// Which store: the one that is named, or the one of the configuration.
#[derive(Args, Clone, Debug)]
pub(crate) struct StoreArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Where the runs are: `sqlite:PATH` or `postgres://USER@HOST/DATABASE`. The store of the configuration if absent.
    #[arg(long, value_name = "URL", conflicts_with = "config")]
    store: Option<String>,
}

impl StoreArgs {
    /// Where it is. What is named needs no configuration.
    pub(crate) fn url(&self) -> Result<String, ExitCode> {
        let url = match &self.store {
            Some(url) => url.clone(),
            None => Setup::find(&self.config).map_err(|error| problem::config(&error))?.store_url(None),
        };
        if url == "memory" { Err(problem::needs_a_lasting_store()) } else { Ok(url) }
    }

    /// Opens it as it is.
    pub(crate) async fn open(&self) -> Result<Store, ExitCode> {
        existing(&self.url()?).await
    }
}

/// Opens a database as it is: whoever only looks makes none, and changes none.
pub(crate) async fn existing(url: &str) -> Result<Store, ExitCode> {
    if url == "memory" {
        return Err(problem::needs_a_lasting_store());
    }
    let as_it_is = StoreOptions { migrate: MigrateStore::Refuse, ..StoreOptions::default() };
    let opened: Result<_, StoreError> = open_store_with(url, as_it_is).await;
    opened.map_err(|error| problem::cannot_open(&error))
}

/// One entry of a log.
pub(crate) fn event(record: &Record) -> Result<holdpoint_core::LogEntry, ExitCode> {
    decode_event(&record.body)
        .map_err(|error| problem::failure(&format!("event {} of the run cannot be read: {error}", record.seq), None))
}
