//! `holdpoint.toml`. One file per table; what is wrong is told with its line and column, and unknown keys with the
//! nearest known one. Reading opens no network and no database.

mod agent;
pub(crate) mod hooks;
pub(crate) mod mcp;
mod model;
mod script;
mod secret;
mod server;
mod source;
mod table;
#[cfg(test)]
mod tests;
mod tokens;
pub(crate) mod tools;

use std::path::Path;

pub(crate) use agent::AgentTable;
pub(crate) use model::Choice;
pub(crate) use script::Script;
pub(crate) use secret::SecretPlace;
pub(crate) use server::ServerTable;
pub(crate) use source::{ConfigError, Source, split_hint};
pub(crate) use tokens::TokenTable;

use table::{Read, Table};

/// The name of a configuration that is found without being named.
pub(crate) const FILE: &str = "holdpoint.toml";

const KEYS: &[&str] = &["server", "tokens", "agents"];

/// A configuration, read but not built.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) source: Source,
    pub(crate) server: ServerTable,
    pub(crate) tokens: Vec<TokenTable>,
    pub(crate) agents: Vec<AgentTable>,
}

impl Config {
    /// Reads a file.
    pub(crate) fn load(path: &Path) -> Result<Self, ConfigError> {
        Self::of(Source::read(path)?)
    }

    /// Reads a text.
    pub(crate) fn of(source: Source) -> Result<Self, ConfigError> {
        let (server, tokens, agents) = read(&source)?;
        Ok(Self { source, server, tokens, agents })
    }
}

fn read(source: &Source) -> Read<(ServerTable, Vec<TokenTable>, Vec<AgentTable>)> {
    let mut root = Table::root(source, KEYS)?;
    let server = server::read(&mut root)?;
    let tokens = tokens::read(&mut root)?;
    let agents = agent::read(&mut root)?;
    if agents.is_empty() {
        let wrong = source.wrong(&(0..0), "there is no agent");
        return Err(wrong.hint("begin one with `[agents.NAME]`; `holdpoint init` writes an example"));
    }
    Ok((server, tokens, agents))
}

/// Every key of every table, as the documentation has to have them.
#[cfg(test)]
pub(crate) fn all_keys() -> Vec<(String, Vec<&'static str>)> {
    let mut all = vec![
        ("[server]".to_owned(), server::KEYS.to_vec()),
        ("[[tokens]]".to_owned(), tokens::KEYS.to_vec()),
        ("[agents.NAME]".to_owned(), agent::keys()),
        ("[[agents.NAME.routes]]".to_owned(), agent::ROUTE_KEYS.to_vec()),
        ("[agents.NAME.mcp.SERVER]".to_owned(), mcp::keys().to_vec()),
    ];
    let kinds = tools::keys_of_kinds().map(|(kind, keys)| (format!("kind = \"{kind}\""), keys.to_vec()));
    let hooks = hooks::keys_of_kinds().map(|(kind, keys)| (format!("`{kind}`"), keys.to_vec()));
    all.extend(kinds);
    all.extend(hooks);
    all
}
