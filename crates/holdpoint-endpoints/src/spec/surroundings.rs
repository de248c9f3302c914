//! What a table is read against.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holdpoint_config::{SecretError, SecretSource, SecretString};

use crate::Network;

type Environment = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Where relative paths begin, where secrets come from, and how the network is reached.
#[derive(Clone)]
pub struct Surroundings {
    folder: PathBuf,
    environment: Arc<Environment>,
    network: Network,
}

impl Default for Surroundings {
    /// The folder and the environment of this process, and the system's network.
    fn default() -> Self {
        Self {
            folder: PathBuf::from("."),
            environment: Arc::new(|name| std::env::var(name).ok()),
            network: Network::system(),
        }
    }
}

impl Surroundings {
    /// Relative paths begin here: the folder of the configuration.
    #[must_use]
    pub fn with_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = folder.into();
        self
    }

    /// Variables come from here.
    #[must_use]
    pub fn with_environment(mut self, find: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        self.environment = Arc::new(find);
        self
    }

    /// HTTP goes through this network. Tools that share one share its connections.
    #[must_use]
    pub fn with_network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    pub(crate) fn path(&self, path: &Path) -> PathBuf {
        self.folder.join(path)
    }

    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        (self.environment)(name)
    }

    /// Reads a secret that the table names.
    pub(crate) fn secret(&self, source: SecretSource) -> Result<SecretString, SecretError> {
        source.in_folder(&self.folder).read_with(|name| self.variable(name))
    }

    pub(crate) fn network(&self) -> &Network {
        &self.network
    }
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings").field("folder", &self.folder).finish_non_exhaustive()
    }
}
