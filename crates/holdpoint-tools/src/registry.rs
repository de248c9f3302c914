//! The tools of an agent, by name.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use holdpoint_core::{Arguments, Code, RequestedName, ToolFacts, ToolName};
use serde_json::Value;
use thiserror::Error;

use crate::schema::Schema;
use crate::{SchemaProblem, Tool, ToolDefinition};

/// The longest name of a tool.
pub const TOOL_NAME_BYTES_MAX: usize = 128;

/// Tools in the order of their registration. Only what is registered can ever run. Cheap to clone.
#[derive(Clone, Default)]
pub struct Registry {
    tools: Vec<Arc<RegisteredTool>>,
    places: HashMap<Arc<str>, usize>,
}

/// A tool with its schema compiled.
pub struct RegisteredTool {
    tool: Arc<dyn Tool>,
    definition: Arc<ToolDefinition>,
    facts: ToolFacts,
    schema: Schema,
}

/// Why a tool was not registered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RegistryError {
    /// A name that no model could use.
    #[error("the tool name `{name}` is not usable: {reason}")]
    UnusableName {
        /// The name, cut and escaped.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The name is taken.
    #[error("a tool named `{name}` is registered already")]
    DuplicateName {
        /// The name.
        name: ToolName,
    },
    /// The schema is not one.
    #[error("the schema of the tool `{name}` is not usable: {reason}")]
    InvalidSchema {
        /// The tool.
        name: ToolName,
        /// What is wrong with it.
        reason: String,
    },
}

impl RegistryError {
    /// Its stable code.
    pub fn code(&self) -> Code {
        Code::InvalidConfig
    }
}

impl Registry {
    /// No tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool.
    pub fn register(&mut self, tool: impl Tool + 'static) -> Result<(), RegistryError> {
        self.register_shared(Arc::new(tool))
    }

    /// Adds a tool that others hold too.
    pub fn register_shared(&mut self, tool: Arc<dyn Tool>) -> Result<(), RegistryError> {
        let definition = Arc::new(tool.definition().clone());
        let name = definition.name.clone();
        check_name(name.as_str())?;
        if self.places.contains_key(name.as_str()) {
            return Err(RegistryError::DuplicateName { name });
        }
        let schema = Schema::compile(&definition.parameters)
            .map_err(|reason| RegistryError::InvalidSchema { name: name.clone(), reason })?;
        self.places.insert(name.as_str().into(), self.tools.len());
        let facts = definition.facts();
        self.tools.push(Arc::new(RegisteredTool { tool, definition, facts, schema }));
        Ok(())
    }

    /// The tool that a model means: the exact name, else the one with `_` where the model wrote `.`.
    pub fn resolve(&self, requested: &RequestedName) -> Option<&Arc<RegisteredTool>> {
        let exact = self.find(requested.as_str());
        if exact.is_some() || !requested.as_str().contains('.') {
            return exact;
        }
        self.find(&requested.as_str().replace('.', "_"))
    }

    /// The tool of exactly this name.
    pub fn find(&self, name: &str) -> Option<&Arc<RegisteredTool>> {
        self.places.get(name).map(|place| &self.tools[*place])
    }

    /// Every tool, in the order of registration.
    pub fn tools(&self) -> impl ExactSizeIterator<Item = &Arc<RegisteredTool>> {
        self.tools.iter()
    }

    /// Every definition, in the order of registration.
    pub fn definitions(&self) -> Vec<Arc<ToolDefinition>> {
        self.tools.iter().map(|tool| Arc::clone(&tool.definition)).collect()
    }

    /// The definitions of the tools that the model may be told of now, in the order of registration.
    pub fn offered(&self) -> Vec<Arc<ToolDefinition>> {
        let offered = self.tools.iter().filter(|tool| tool.tool.is_offered());
        offered.map(|tool| Arc::clone(&tool.definition)).collect()
    }

    /// Every definition in the form of OpenAI's chat completions.
    pub fn openai_definitions(&self) -> Vec<Value> {
        self.tools.iter().map(|tool| tool.definition.to_openai()).collect()
    }

    /// Every definition in the form of Anthropic's messages.
    pub fn anthropic_definitions(&self) -> Vec<Value> {
        self.tools.iter().map(|tool| tool.definition.to_anthropic()).collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }
}

impl RegisteredTool {
    /// The registered name.
    pub fn name(&self) -> &ToolName {
        &self.definition.name
    }

    /// What is known of it.
    pub fn definition(&self) -> &Arc<ToolDefinition> {
        &self.definition
    }

    /// What the core keeps of it.
    #[doc(hidden)]
    pub fn facts(&self) -> &ToolFacts {
        &self.facts
    }

    /// What runs.
    pub fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
    }

    /// Checks arguments against the schema.
    pub fn validate(&self, arguments: &Arguments) -> Result<(), Vec<SchemaProblem>> {
        self.schema.check(arguments)
    }
}

impl fmt::Debug for RegisteredTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RegisteredTool({})", self.definition.name)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tools.iter().map(|tool| tool.definition.name.as_str())).finish()
    }
}

fn check_name(name: &str) -> Result<(), RegistryError> {
    let reason = if name.is_empty() {
        "it is empty"
    } else if name.len() > TOOL_NAME_BYTES_MAX {
        "it is longer than 128 bytes"
    } else if !name.chars().all(|letter| letter.is_ascii_graphic() || letter.is_alphanumeric()) {
        "it has a space or a character that cannot be seen"
    } else {
        return Ok(());
    };
    let name: String = name.chars().take(TOOL_NAME_BYTES_MAX).flat_map(char::escape_debug).collect();
    Err(RegistryError::UnusableName { name, reason })
}
