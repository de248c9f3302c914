//! The tools of a server: which it lists, which of them somebody accepted, and which are offered.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use globset::GlobSet;
use holdpoint_core::{Repeat, ToolName};
use holdpoint_tools::{Registry, ToolDefinition, ToolMetadata, raw_tool};
use rmcp::model::Tool;
use serde_json::Value;

use crate::{McpError, ServerConfig, ServerName, ToolDigest, registered_name};

/// The longest name, description and schema of a tool.
const NAME_BYTES_MAX: usize = 1024;
const DESCRIPTION_BYTES_MAX: usize = 16 * 1024;
const SCHEMA_BYTES_MAX: usize = 64 * 1024;

/// What is known of the tools of a server.
pub(crate) struct Catalog {
    server: ServerName,
    config: Arc<ServerConfig>,
    /// What of the first list is accepted.
    chosen: GlobSet,
    /// By the server's own name. Nothing before the first list, unless the configuration says it.
    accepted: Option<BTreeMap<String, ToolDigest>>,
    listed: BTreeMap<String, Listed>,
    /// Every tool that was ever given out, as it was then.
    slots: BTreeMap<(String, ToolDigest), Arc<Slot>>,
}

struct Listed {
    tool: Tool,
    digest: ToolDigest,
    usable: Result<(), &'static str>,
}

/// A tool exactly as somebody accepted it.
pub(crate) struct Slot {
    /// The server's own name for it.
    pub(crate) name: String,
    pub(crate) definition: ToolDefinition,
    offered: AtomicBool,
}

impl Slot {
    pub(crate) fn is_offered(&self) -> bool {
        self.offered.load(Ordering::Relaxed)
    }
}

/// A tool that a server lists, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedTool {
    /// The server's own name for it.
    pub name: String,
    /// The name under which it is or would be registered.
    pub registered: String,
    /// What it is accepted by.
    pub digest: ToolDigest,
    /// Whether it is offered.
    pub status: ToolStatus,
    /// What the server says it does.
    pub description: String,
    /// What the server says about its effects. Hints of the server, never policy.
    pub hints: Value,
}

/// Whether a tool is offered, and why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolStatus {
    /// It is.
    Offered,
    /// Nobody accepted it: it appeared after the start, or the configuration does not name it.
    NotAccepted,
    /// It is not what was accepted.
    Changed {
        /// What was accepted.
        accepted: ToolDigest,
    },
    /// No model could use it, or nobody could tell it from another.
    Unusable(&'static str),
}

impl Catalog {
    pub(crate) fn new(server: ServerName, config: Arc<ServerConfig>) -> Self {
        let accepted = config.accepted.clone();
        let chosen = config.offered().unwrap_or_else(|_| GlobSet::empty());
        Self { server, config, chosen, accepted, listed: BTreeMap::new(), slots: BTreeMap::new() }
    }

    /// Takes a list of the server. Of the first, everything that the globs choose is accepted; of later ones nothing.
    /// Returns how many tools are not offered as they are.
    pub(crate) fn take(&mut self, tools: Vec<Tool>) -> usize {
        let mut listed: BTreeMap<String, Listed> = BTreeMap::new();
        for tool in tools {
            let digest = ToolDigest::of(&tool);
            let usable = self.usable(&tool);
            let name = tool.name.to_string();
            match listed.get_mut(&name) {
                // Which of them would be called nobody knows.
                Some(twin) => twin.usable = Err("the server lists two tools of this name"),
                None => drop(listed.insert(name, Listed { tool, digest, usable })),
            }
        }
        self.listed = listed;
        if self.accepted.is_none() {
            let chosen = self.listed.iter().filter(|(name, _)| self.chosen.is_match(name));
            self.accepted = Some(chosen.map(|(name, listed)| (name.clone(), listed.digest)).collect());
        }
        self.review();
        self.listed.keys().filter(|name| self.status(name) != Some(ToolStatus::Offered)).count()
    }

    /// Accepts a tool as it is listed now, if that is how somebody saw it.
    pub(crate) fn accept(&mut self, name: &str, digest: ToolDigest) -> Result<(), McpError> {
        let unknown = McpError::UnknownTool { server: self.server.clone() };
        let listed = self.listed.get(name).ok_or(unknown)?;
        if listed.digest != digest {
            return Err(McpError::DigestMismatch { current: listed.digest });
        }
        listed.usable.map_err(|reason| McpError::Unusable { reason })?;
        self.accepted.get_or_insert_default().insert(name.to_owned(), digest);
        self.review();
        Ok(())
    }

    /// What was accepted.
    pub(crate) fn accepted(&self) -> Option<&BTreeMap<String, ToolDigest>> {
        self.accepted.as_ref()
    }

    /// What is offered now.
    pub(crate) fn offered(&self) -> Vec<Arc<Slot>> {
        self.slots.values().filter(|slot| slot.is_offered()).map(Arc::clone).collect()
    }

    pub(crate) fn listed(&self) -> Vec<ListedTool> {
        let tools = self.listed.iter().filter_map(|(name, listed)| {
            Some(ListedTool {
                name: name.clone(),
                registered: registered_name(&self.server, name),
                digest: listed.digest,
                status: self.status(name)?,
                description: listed.tool.description.as_deref().unwrap_or_default().to_owned(),
                hints: serde_json::to_value(&listed.tool.annotations).unwrap_or_default(),
            })
        });
        tools.collect()
    }

    fn status(&self, name: &str) -> Option<ToolStatus> {
        let listed = self.listed.get(name)?;
        Some(match (listed.usable, self.accepted.as_ref().and_then(|accepted| accepted.get(name))) {
            (Err(reason), _) => ToolStatus::Unusable(reason),
            (Ok(()), Some(accepted)) if *accepted == listed.digest => ToolStatus::Offered,
            (Ok(()), Some(accepted)) => ToolStatus::Changed { accepted: *accepted },
            (Ok(()), None) => ToolStatus::NotAccepted,
        })
    }

    /// Offers what is listed as it was accepted, and nothing else.
    fn review(&mut self) {
        let offered = self.listed.iter().filter(|(name, _)| self.status(name) == Some(ToolStatus::Offered));
        let keys: BTreeSet<(String, ToolDigest)> = offered.map(|(name, tool)| (name.clone(), tool.digest)).collect();
        for (key, slot) in &self.slots {
            slot.offered.store(keys.contains(key), Ordering::Relaxed);
        }
        for key in keys {
            let Some(listed) = self.listed.get(&key.0) else { continue };
            let definition = self.definition(&listed.tool, listed.digest);
            let new = || Arc::new(Slot { name: key.0.clone(), definition, offered: AtomicBool::new(true) });
            self.slots.entry(key.clone()).or_insert_with(new);
        }
    }

    fn definition(&self, tool: &Tool, digest: ToolDigest) -> ToolDefinition {
        let name = &*tool.name;
        let is_in = |names: &[String]| names.iter().any(|listed| listed == name);
        ToolDefinition {
            name: ToolName::new(registered_name(&self.server, name)),
            description: tool.description.as_deref().unwrap_or_default().into(),
            parameters: Arc::new(Value::Object(JsonObject::clone(&tool.input_schema))),
            metadata: ToolMetadata {
                // What the server hints at does not count here.
                parallelizable: is_in(&self.config.parallelizable).then_some(true),
                repeat: if is_in(&self.config.repeat_safe) { Repeat::Safe } else { Repeat::Never },
                timeout: self.config.timeout_ms.map(Duration::from_millis),
                source: self.server.source(),
                version: Some(digest.to_string().into()),
                implementation: Some(self.config.implementation()),
            },
        }
    }

    fn usable(&self, tool: &Tool) -> Result<(), &'static str> {
        if tool.name.is_empty() {
            return Err("it has no name");
        }
        if tool.name.len() > NAME_BYTES_MAX {
            return Err("its name is too long");
        }
        if tool.description.as_deref().unwrap_or_default().len() > DESCRIPTION_BYTES_MAX {
            return Err("its description is too long");
        }
        let schema = Value::Object(JsonObject::clone(&tool.input_schema));
        if schema.to_string().len() > SCHEMA_BYTES_MAX {
            return Err("its schema is too large");
        }
        let trial = raw_tool(registered_name(&self.server, &tool.name), "", schema, async |_| String::new());
        Registry::new().register(trial).map_err(|_| "its schema cannot be used")
    }
}

type JsonObject = serde_json::Map<String, Value>;
