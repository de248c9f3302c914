//! Tools as models, policies and approvals know them.

use std::sync::Arc;
use std::time::Duration;

use holdpoint_core::{Repeat, ToolFacts, ToolName};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{canonical_value, hex};

/// Changes when other things count.
const ID_DOMAIN: &[u8] = b"holdpoint.definition.1\0";
/// Long enough that no second definition with the same id can be found.
const ID_BYTES: usize = 16;

/// What the model is told about a tool, and the metadata that it is not told.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition {
    /// The registered name.
    pub name: ToolName,
    /// For the model.
    pub description: Arc<str>,
    /// JSON Schema of the arguments.
    pub parameters: Arc<Value>,
    /// For executors, policies and recovery.
    pub metadata: ToolMetadata,
}

/// What executors, policies and recovery know of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolMetadata {
    /// Whether it may run beside others; `None` when nobody said.
    pub parallelizable: Option<bool>,
    /// Whether it may be started again in doubt.
    pub repeat: Repeat,
    /// Its own time limit, before the run's.
    pub timeout: Option<Duration>,
    /// `native`, `mcp:SERVER`, `skills`, `http`, `command` or `worker`.
    pub source: Arc<str>,
    /// Changes when the tool's answers change, so that nothing old is used again.
    pub version: Option<Arc<str>>,
    /// What it runs or calls, as text: the command, or the URL template with its method. Approvals and grants end when it
    /// changes. Nothing for a native tool.
    pub implementation: Option<Arc<str>>,
}

impl ToolDefinition {
    /// A native tool with default metadata.
    pub fn new(name: impl Into<Arc<str>>, description: impl Into<Arc<str>>, parameters: Value) -> Self {
        Self {
            name: ToolName::new(name),
            description: description.into(),
            parameters: Arc::new(parameters),
            metadata: ToolMetadata::default(),
        }
    }

    /// With other metadata.
    #[must_use]
    pub fn with_metadata(mut self, metadata: ToolMetadata) -> Self {
        self.metadata = metadata;
        self
    }

    /// The part of it that a run keeps.
    #[doc(hidden)]
    pub fn facts(&self) -> ToolFacts {
        let ToolMetadata { repeat, source, .. } = &self.metadata;
        let definition = Some(self.id());
        ToolFacts { name: self.name.clone(), repeat: *repeat, source: Arc::clone(source), definition }
    }

    /// Stands for everything that an approval and a grant are bound to beside the name: kind, description, schema, version and
    /// implementation. Equal for equal definitions, however their schemas are spelt.
    pub fn id(&self) -> Arc<str> {
        let ToolMetadata { source, version, implementation, .. } = &self.metadata;
        let parameters = canonical_value(&self.parameters);
        let parts = [Some(&**source), Some(&*self.description), Some(&*parameters)];
        let mut hash = Sha256::new();
        hash.update(ID_DOMAIN);
        for part in parts.into_iter().chain([version.as_deref(), implementation.as_deref()]) {
            // The length first, so that no two definitions are one text.
            hash.update([u8::from(part.is_some())]);
            hash.update((part.map_or(0, str::len) as u64).to_be_bytes());
            hash.update(part.unwrap_or_default());
        }
        hex(&hash.finalize()[..ID_BYTES]).into()
    }

    /// The form that belongs to no provider: `name`, `description`, `parameters`.
    pub fn to_json(&self) -> Value {
        json!({ "name": self.name.as_str(), "description": &*self.description, "parameters": &*self.parameters })
    }

    /// The form of OpenAI's chat completions.
    pub fn to_openai(&self) -> Value {
        json!({ "type": "function", "function": self.to_json() })
    }

    /// The form of Anthropic's messages.
    pub fn to_anthropic(&self) -> Value {
        json!({ "name": self.name.as_str(), "description": &*self.description, "input_schema": &*self.parameters })
    }
}

impl Default for ToolMetadata {
    fn default() -> Self {
        Self {
            parallelizable: None,
            repeat: Repeat::Never,
            timeout: None,
            source: "native".into(),
            version: None,
            implementation: None,
        }
    }
}

impl ToolMetadata {
    /// The source of tools that are declared here and executed by workers.
    pub const WORKER: &'static str = "worker";

    /// Whether the tool is only declared here, and its calls are deferred whatever the executor.
    pub fn is_of_workers(&self) -> bool {
        &*self.source == Self::WORKER
    }

    /// Whether the tool comes from an MCP server, which must be marked to run beside others.
    pub fn is_from_mcp(&self) -> bool {
        self.source.starts_with("mcp:")
    }
}
