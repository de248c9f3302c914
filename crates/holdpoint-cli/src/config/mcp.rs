//! `[agents.NAME.mcp.SERVER]`: MCP servers whose tools the agent has.

use holdpoint_endpoints::fields_of;
use holdpoint_mcp::{SecretSource, ServerConfig, ServerName};

use super::source::{Located, Source};
use super::table::{Read, Table};

/// The keys of a server.
pub(crate) fn keys() -> &'static [&'static str] {
    fields_of::<ServerConfig>()
}

/// One server.
#[derive(Clone, Debug)]
pub(crate) struct McpTable {
    pub(crate) name: Located<String>,
    pub(crate) config: ServerConfig,
}

pub(super) fn read(agent: &mut Table<'_>) -> Read<Vec<McpTable>> {
    let tables = agent.named_tables("mcp")?;
    tables.into_iter().map(|(name, table)| server(name, table)).collect()
}

fn server(name: Located<String>, mut table: Table<'_>) -> Read<McpTable> {
    let source = table.source();
    table.check_keys(keys())?;
    ServerName::new(&name.value)
        .map_err(|problem| source.wrong(&name.span, format!("the name of an MCP server cannot be used: {problem}")))?;
    // The reader of the configuration would repeat what it found in place of a secret's name.
    let headers = secrets(&mut table, "headers")?;
    let env_from = secrets(&mut table, "env_from")?;
    let bearer = match table.table("bearer", &["env", "file"]) {
        Ok(bearer) => bearer.map(secret).transpose()?,
        Err(error) => return Err(error.hint("write `{ env = \"NAME\" }` or `{ file = \"PATH\" }`")),
    };
    let mut config: ServerConfig = table.read()?;
    config.headers = headers.into_iter().collect();
    config.env_from = env_from.into_iter().collect();
    config.bearer = bearer;
    config.cwd = config.cwd.map(|folder| source.path(folder));
    config.check().map_err(|problem| {
        source.wrong(table.span(), format!("the MCP server `{}` cannot be configured like this: {problem}", name.value))
    })?;
    Ok(McpTable { name, config })
}

fn secrets(table: &mut Table<'_>, key: &str) -> Read<Vec<(String, SecretSource)>> {
    let named =
        table.named_tables(key).map_err(|error| error.hint("write `{ env = \"NAME\" }` or `{ file = \"PATH\" }`"))?;
    named
        .into_iter()
        .map(|(name, table)| {
            table.check_keys(&["env", "file"])?;
            Ok((name.value, secret(table)?))
        })
        .collect()
}

fn secret(mut table: Table<'_>) -> Read<SecretSource> {
    use super::secret::SecretPlace;
    match SecretPlace::read(&mut table, "env", "file")? {
        Some(Located { value: SecretPlace::Env(name), .. }) => Ok(SecretSource::Env(name)),
        Some(Located { value: SecretPlace::File(path), .. }) => Ok(SecretSource::File(path)),
        None => Err(table.source().wrong(table.span(), "a secret needs `env` or `file`")),
    }
}

impl McpTable {
    /// The secrets that are not there, as reasons.
    pub(crate) fn missing_secrets(&self) -> Vec<String> {
        let all = self.config.headers.values().chain(self.config.env_from.values()).chain(&self.config.bearer);
        let place = |secret: &SecretSource| match secret {
            SecretSource::Env(name) => super::secret::SecretPlace::Env(name.clone()),
            SecretSource::File(path) => super::secret::SecretPlace::File(path.clone()),
        };
        all.filter_map(|secret| place(secret).open().err()).collect()
    }

    /// Something is wrong with the server.
    pub(crate) fn wrong(&self, source: &Source, message: impl Into<String>) -> super::ConfigError {
        source.wrong(&self.name.span, message)
    }
}
