//! Keys that every kind has.

use std::path::Path;
use std::time::Duration;

use holdpoint_config::{Problem, TableOr, named, read_text, suggestion, within};
use holdpoint_core::Repeat;
use holdpoint_tools::{Registry, RegistryError, ToolDefinition, ToolMetadata, raw_tool};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Surroundings;

/// A day.
const MAX_TIMEOUT_MS: u64 = 24 * 60 * 60 * 1000;

/// The largest file with a schema.
const MAX_SCHEMA_BYTES: u64 = 1024 * 1024;

/// The keys that every kind of tool has.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct CommonKeys {
    /// What the model is told.
    pub description: String,
    /// The path of a file with a JSON Schema, relative to the configuration, or the schema. No arguments when absent.
    pub parameters: Option<TableOr<Value, String>>,
    /// Whether it may run beside others.
    pub parallelizable: Option<bool>,
    /// Whether a call in doubt may run again. With `with_key`, HTTP tools send `Idempotency-Key` and commands get
    /// `HOLDPOINT_IDEMPOTENCY_KEY`.
    #[serde(deserialize_with = "named")]
    pub repeat: Repeat,
    /// How long a call may take; the run's limit when absent.
    pub timeout_ms: Option<u64>,
}

impl CommonKeys {
    /// The definition. A name or a schema that no registry takes is rejected here.
    pub(crate) fn definition(
        &self,
        tool: &str,
        source: &'static str,
        surroundings: &Surroundings,
    ) -> Result<ToolDefinition, Problem> {
        let schema = match &self.parameters {
            None => json!({ "type": "object", "properties": {}, "additionalProperties": false }),
            Some(TableOr::Table(schema)) => schema.clone(),
            Some(TableOr::Other(path)) => load_schema(path, surroundings)
                .map_err(|problem| Problem::at("parameters", format_args!("is `{path}`, which {problem}")))?,
        };
        // A registry knows best what it takes.
        let trial = raw_tool(tool, "", schema.clone(), async |_| "");
        Registry::new().register(trial).map_err(|error| {
            let problem = Problem::new(format_args!("cannot be used: {error}"));
            match error {
                RegistryError::InvalidSchema { .. } => problem.below("parameters"),
                RegistryError::UnusableName { .. } | RegistryError::DuplicateName { .. } => problem,
            }
        })?;
        within("timeout_ms", self.timeout_ms, 1..=MAX_TIMEOUT_MS)?;
        let metadata = ToolMetadata {
            parallelizable: self.parallelizable,
            repeat: self.repeat,
            timeout: self.timeout_ms.map(Duration::from_millis),
            source: source.into(),
            version: None,
            implementation: None,
        };
        Ok(ToolDefinition::new(tool, self.description.as_str(), schema).with_metadata(metadata))
    }
}

fn load_schema(path: &str, surroundings: &Surroundings) -> Result<Value, String> {
    let text = read_text(&surroundings.path(Path::new(path)), MAX_SCHEMA_BYTES)?;
    serde_json::from_str(&text).map_err(|error| format!("is not JSON: {error}"))
}

/// Rejects a placeholder that no argument can fill. A schema that lists no properties, and does not forbid others, allows
/// any.
pub(crate) fn check_argument(key: &str, argument: &str, definition: &ToolDefinition) -> Result<(), Problem> {
    let schema = &definition.parameters;
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Ok(()) };
    let is_open = properties.is_empty() && schema.get("additionalProperties") != Some(&Value::Bool(false));
    if is_open || properties.contains_key(argument) {
        return Ok(());
    }
    let problem = format_args!("names the argument `{argument}`, which `parameters` does not have");
    let problem = Problem::at(key, problem);
    let known = properties.keys().map(String::as_str);
    Err(if properties.is_empty() { problem } else { problem.with_hint(suggestion(argument, known)) })
}
