//! `[agents.NAME.tools.TOOL]`: tools that a table describes.

use std::sync::Arc;

use holdpoint_endpoints::{SpecError, Surroundings, ToolSpec};
use holdpoint_tools::Tool;

use super::source::{ConfigError, Source, split_hint};
use super::table::{Read, Table};

/// The keys of a tool of each kind, beside `kind` itself.
#[cfg(test)]
pub(crate) fn keys_of_kinds() -> [(&'static str, &'static [&'static str]); 3] {
    use holdpoint_endpoints::{CommandToolSpec, HttpToolSpec, WorkerToolSpec, fields_of};
    [
        ("http", fields_of::<HttpToolSpec>()),
        ("command", fields_of::<CommandToolSpec>()),
        ("worker", fields_of::<WorkerToolSpec>()),
    ]
}

/// One tool, with the places of its keys.
#[derive(Clone, Debug)]
pub(crate) struct ToolTable {
    pub(crate) name: String,
    pub(crate) spec: ToolSpec,
    places: Places,
}

/// Where the keys of a table are, for what is found out later.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    table: std::ops::Range<usize>,
    keys: Vec<(String, std::ops::Range<usize>)>,
}

impl Places {
    pub(crate) fn of(table: &Table<'_>) -> Self {
        let keys = table.keys().map(|key| (key.value.to_owned(), table.span_of(key.value))).collect();
        Self { table: table.span().clone(), keys }
    }

    /// Where the value of a key is, or the table if it is not there.
    pub(crate) fn of_key(&self, key: &str) -> &std::ops::Range<usize> {
        // `response.pointer` is within `response`.
        let outer = key.split('.').next().unwrap_or(key);
        self.keys.iter().find(|(known, _)| known == outer).map_or(&self.table, |(_, span)| span)
    }
}

pub(super) fn read(agent: &mut Table<'_>) -> Read<Vec<ToolTable>> {
    let tables = agent.named_tables("tools")?;
    tables.into_iter().map(|(name, table)| tool(name.value, &table)).collect()
}

fn tool(name: String, table: &Table<'_>) -> Read<ToolTable> {
    // Said here rather than by the reader of the spec, which has no line for what is missing.
    if !table.has("kind") {
        let wrong = table.source().wrong(table.span(), format!("`{}` needs `kind`", table.name()));
        return Err(wrong.hint("it is `http`, `command` or `worker`"));
    }
    table.check_word("kind", &["http", "command", "worker"])?;
    let places = Places::of(table);
    Ok(ToolTable { name, spec: table.read()?, places })
}

impl ToolTable {
    /// The tool itself.
    pub(crate) fn build(&self, source: &Source, surroundings: &Surroundings) -> Result<Arc<dyn Tool>, ConfigError> {
        self.spec.build_in(&self.name, surroundings).map_err(|error| self.wrong(source, &error))
    }

    fn wrong(&self, source: &Source, error: &SpecError) -> ConfigError {
        let (message, hint) = split_hint(&error.to_string());
        ConfigError { hint, ..source.wrong(self.places.of_key(error.key), message) }
    }

    /// Something is wrong with the tool as a whole.
    pub(crate) fn wrong_as_a_whole(&self, source: &Source, message: String) -> ConfigError {
        source.wrong(&self.places.table, message)
    }
}
