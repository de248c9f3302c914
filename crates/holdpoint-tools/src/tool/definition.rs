//! What is known of a tool without calling it.

use std::sync::Arc;
use std::time::Duration;

use holdpoint_codec::{Definition, definition_id};
use holdpoint_core::{Repeat, ToolFacts, ToolName};
use serde_json::{Value, json};

/// The source of tools that are declared here and done by workers.
pub(crate) const WORKER: &str = "worker";

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

    /// What the core keeps of it.
    pub fn facts(&self) -> ToolFacts {
        let ToolMetadata { repeat, source, version, implementation, .. } = &self.metadata;
        let definition = definition_id(&Definition {
            source,
            description: &self.description,
            parameters: &self.parameters,
            version: version.as_deref(),
            implementation: implementation.as_deref(),
        });
        ToolFacts { name: self.name.clone(), repeat: *repeat, source: Arc::clone(source), definition: Some(definition) }
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
    /// Whether the tool is only declared here, and its calls are deferred whatever the executor.
    pub fn is_of_workers(&self) -> bool {
        &*self.source == WORKER
    }

    /// Whether the tool comes from an MCP server, which must be marked to run beside others.
    pub fn is_from_mcp(&self) -> bool {
        self.source.starts_with("mcp:")
    }
}
