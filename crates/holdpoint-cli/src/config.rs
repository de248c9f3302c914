//! `holdpoint.toml`. One file per table. Reading opens no network and no database.

mod agent;
mod model;
mod script;
mod server;
#[cfg(test)]
mod tests;
mod tokens;

use std::path::Path;
use std::sync::Arc;

use holdpoint_config::{ConfigError, Document, KeyPath, Named, Problem};
use serde::Deserialize;

pub(crate) use agent::AgentTable;
pub(crate) use model::NotOpened;
pub(crate) use script::Script;
pub(crate) use server::ServerTable;
pub(crate) use tokens::TokenTable;

/// The name of a configuration that is found without being named.
pub(crate) const FILE: &str = "holdpoint.toml";

/// The largest configuration that is read.
const MAX_CONFIG_BYTES: u64 = 1024 * 1024;

/// A configuration, read and checked but not built.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) document: Arc<Document>,
    pub(crate) server: ServerTable,
    pub(crate) tokens: Vec<TokenTable>,
    pub(crate) agents: Vec<AgentTable>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tables {
    server: ServerTable,
    tokens: Vec<TokenTable>,
    agents: Named<agent::Keys>,
}

impl Config {
    pub(crate) fn load(path: &Path) -> Result<Self, ConfigError> {
        Self::read(Document::load_toml(path, MAX_CONFIG_BYTES)?)
    }

    pub(crate) fn read(document: Document) -> Result<Self, ConfigError> {
        let Tables { server, tokens, agents: Named(agents) } = document.read()?;
        server.check().map_err(|problem| document.error(problem.below("server")))?;
        tokens::check(&tokens).map_err(|problem| document.error(problem))?;
        if agents.is_empty() {
            let hint = "begin one with `[agents.NAME]`; `holdpoint init` writes an example";
            return Err(document.error(Problem::new("has no agent").with_hint(hint)));
        }
        let document = Arc::new(document);
        let agents = agents.into_iter().map(|(name, keys)| AgentTable::new(&document, name, keys));
        let agents = agents.collect::<Result<_, _>>()?;
        Ok(Self { server: server.in_folder(&document), tokens, agents, document })
    }

    /// A problem with the token at `index`.
    pub(crate) fn token_error(&self, index: usize, problem: Problem) -> ConfigError {
        self.document.error(problem.below(KeyPath::from("tokens").index(index)))
    }
}
