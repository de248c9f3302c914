//! The table of a tool: the keys that every kind has, and those of its kind.

mod common;
mod surroundings;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use holdpoint_config::{Problem, from_json, next_part, read_parts};
use holdpoint_tools::Tool;
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde_json::Value;

use crate::worker::WorkerTool;
use crate::{CommandToolSpec, HttpToolSpec};

pub use common::CommonKeys;
pub(crate) use common::check_argument;
pub use surroundings::Surroundings;

/// The table of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// The keys that every kind has.
    pub common: CommonKeys,
    /// The keys of its `kind`.
    pub kind: ToolKind,
}

/// What a call does.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolKind {
    /// `kind = "http"`: it is a request.
    Http(HttpToolSpec),
    /// `kind = "command"`: it runs a program.
    Command(CommandToolSpec),
    /// `kind = "worker"`: it is deferred to a worker.
    Worker,
}

impl ToolSpec {
    /// Reads a table that a program made.
    ///
    /// # Errors
    /// When a key is unknown, or a value has the wrong type.
    pub fn from_json(table: Value) -> Result<Self, Problem> {
        from_json(table)
    }

    /// Builds the tool with the folder and the environment of this process.
    ///
    /// # Errors
    /// When a value cannot be used, or a file, a program or a secret is missing. The path begins with the name.
    pub fn build(&self, name: &str) -> Result<Arc<dyn Tool>, Problem> {
        self.build_in(name, &Surroundings::default())
    }

    /// Builds the tool in these surroundings.
    ///
    /// # Errors
    /// When a value cannot be used, or a file, a program or a secret is missing. The path begins with the name.
    pub fn build_in(&self, name: &str, surroundings: &Surroundings) -> Result<Arc<dyn Tool>, Problem> {
        self.tool(name, surroundings).map_err(|problem| problem.below(name))
    }

    fn tool(&self, name: &str, surroundings: &Surroundings) -> Result<Arc<dyn Tool>, Problem> {
        let source = match &self.kind {
            ToolKind::Http(_) => "http",
            ToolKind::Command(_) => "command",
            ToolKind::Worker => "worker",
        };
        let definition = self.common.definition(name, source, surroundings)?;
        Ok(match &self.kind {
            ToolKind::Http(spec) => spec.build(definition, surroundings)?,
            ToolKind::Command(spec) => spec.build(definition, surroundings)?,
            ToolKind::Worker => Arc::new(WorkerTool { definition }),
        })
    }
}

#[derive(Deserialize)]
struct KindKey {
    kind: Option<Kind>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Http,
    Command,
    Worker,
}

/// Only the reader of a configuration gives a `ToolSpec`: see [`ToolSpec::from_json`].
impl<'de> Deserialize<'de> for ToolSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_parts(deserializer, ByKind)
    }
}

struct ByKind;

impl<'de> Visitor<'de> for ByKind {
    type Value = ToolSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut parts: S) -> Result<ToolSpec, S::Error> {
        let missing = || S::Error::custom("needs `kind`\nhint: it is `http`, `command` or `worker`");
        let kind = next_part(&mut parts).and_then(|key: KindKey| key.kind.ok_or_else(missing));
        let common = next_part(&mut parts);
        let kind = match kind {
            Ok(Kind::Http) => next_part(&mut parts).map(ToolKind::Http),
            Ok(Kind::Command) => next_part(&mut parts).map(ToolKind::Command),
            Ok(Kind::Worker) => Ok(ToolKind::Worker),
            Err(error) => {
                // Without a kind only keys that no kind has are unknown.
                let _: Result<HttpToolSpec, S::Error> = next_part(&mut parts);
                let _: Result<CommandToolSpec, S::Error> = next_part(&mut parts);
                Err(error)
            }
        };
        Ok(ToolSpec { kind: kind?, common: common? })
    }
}
