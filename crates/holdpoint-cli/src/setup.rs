//! What a command works with: a configuration that was named or found, or the sample.

use std::path::{Path, PathBuf};

use clap::Args;
use holdpoint::{ReceiptKey, claim_key};
use holdpoint_config::ConfigError;
use holdpoint_store::Store;

use crate::assemble::{self, Ready, Shared};
use crate::config::{Config, FILE, ServerTable};
use crate::failure::{Failure, Outcome};
use crate::{key_file, sample};

/// Where the configuration is.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ConfigArgs {
    /// The configuration; `holdpoint.toml` of this folder if there is one, and the sample otherwise.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// What a command works with.
pub(crate) enum Setup {
    /// The sample agent: no key, no network.
    Sample,
    /// A configuration.
    File(Box<Config>),
}

impl Setup {
    /// Reads the configuration that was named, or the one that is there.
    pub(crate) fn find(args: &ConfigArgs) -> Result<Self, ConfigError> {
        let path = match &args.config {
            Some(path) => path.as_path(),
            None if Path::new(FILE).exists() => Path::new(FILE),
            None => return Ok(Self::Sample),
        };
        Config::load(path).map(|config| Self::File(Box::new(config)))
    }

    /// `[server]`, or what it is without one.
    pub(crate) fn server(&self) -> ServerTable {
        match self {
            Setup::Sample => ServerTable::default(),
            Setup::File(config) => config.server.clone(),
        }
    }

    /// Where runs are, unless a command was told otherwise.
    pub(crate) fn store_url(&self, given: Option<&str>) -> String {
        given.map_or_else(|| self.server().store, str::to_owned)
    }

    /// The key of its server, if there is one: calls that are handed out without a receipt are done by no worker that
    /// verifies.
    pub(crate) fn receipt_key(&self) -> Outcome<Option<ReceiptKey>> {
        let key = key_file::load(&self.server().signing_key_file);
        let key = key.map_err(|error| Failure::usage(error.to_string()))?;
        Ok(key.map(|key| key.receipt))
    }

    /// As [`Setup::receipt_key`], for those who sign in a store: all who sign there have the same key.
    pub(crate) async fn receipt_key_of(&self, store: &Store) -> Outcome<Option<ReceiptKey>> {
        let key = self.receipt_key()?;
        if let Some(key) = &key {
            claim_key(store, key).await.map_err(|error| Failure::from(error).before_start())?;
        }
        Ok(key)
    }

    /// The names of its agents.
    pub(crate) fn names(&self) -> Vec<&str> {
        match self {
            Setup::Sample => vec![sample::NAME],
            Setup::File(config) => config.agents.iter().map(|agent| agent.name.as_str()).collect(),
        }
    }

    /// Builds all agents, or only the one of this name: then nothing of the others is started.
    pub(crate) async fn agents(&self, shared: &Shared, only: Option<&str>) -> Result<Vec<Ready>, ConfigError> {
        match self {
            Setup::Sample => sample::ready(shared).map(|ready| vec![ready]),
            Setup::File(config) => assemble::agents(config, shared, only).await,
        }
    }
}
