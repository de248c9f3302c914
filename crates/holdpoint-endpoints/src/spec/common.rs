//! Keys that every kind has.

use std::path::{Path, PathBuf};
use std::time::Duration;

use holdpoint_core::Repeat;
use holdpoint_tools::{Registry, RegistryError, ToolDefinition, ToolMetadata, raw_tool};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use serde_json::{Value, json};

use super::{SpecError, Surroundings, nearest};

/// The longest time limit: a day.
pub const TIMEOUT_MS_MAX: i64 = 24 * 60 * 60 * 1000;

/// The largest file with a schema.
const SCHEMA_BYTES_MAX: u64 = 1024 * 1024;

/// `parameters`: the path of a file with a JSON Schema, or the schema itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameters {
    /// A file, relative to the configuration.
    File(PathBuf),
    /// The schema.
    Schema(Value),
}

/// `repeat`: whether a call in doubt may run again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepeatSpec {
    /// A person is asked.
    #[default]
    Never,
    /// Doing it twice is doing it once.
    Safe,
    /// It gets the idempotency key and takes care.
    WithKey,
}

impl From<RepeatSpec> for Repeat {
    fn from(spec: RepeatSpec) -> Self {
        match spec {
            RepeatSpec::Never => Repeat::Never,
            RepeatSpec::Safe => Repeat::Safe,
            RepeatSpec::WithKey => Repeat::WithKey,
        }
    }
}

/// The common keys of one table, to make a definition from.
pub(crate) struct Common<'a> {
    pub(crate) tool: &'a str,
    pub(crate) source: &'static str,
    pub(crate) description: Option<&'a str>,
    pub(crate) parameters: Option<&'a Parameters>,
    pub(crate) parallelizable: Option<bool>,
    pub(crate) repeat: RepeatSpec,
    pub(crate) timeout_ms: Option<i64>,
    pub(crate) surroundings: &'a Surroundings,
}

impl Common<'_> {
    /// The definition; a schema or a name that no registry takes is refused here already.
    pub(crate) fn definition(&self) -> Result<ToolDefinition, SpecError> {
        let schema = self.schema()?;
        let description = self.description.unwrap_or_default();
        // A registry knows best what it takes.
        let trial = raw_tool(self.tool, "", schema.clone(), async |_| "");
        Registry::new().register(trial).map_err(|error| {
            let key = match error {
                RegistryError::InvalidSchema { .. } => "parameters",
                RegistryError::UnusableName { .. } | RegistryError::DuplicateName { .. } => "name",
            };
            self.wrong(key, format!("cannot be used: {error}"))
        })?;
        let timeout = match self.timeout_ms {
            None => None,
            Some(limit) => Some(Duration::from_millis(ms_of(self.tool, "timeout_ms", limit)?)),
        };
        let metadata = ToolMetadata {
            parallelizable: self.parallelizable,
            repeat: self.repeat.into(),
            timeout,
            source: self.source.into(),
            version: None,
            implementation: None,
        };
        Ok(ToolDefinition::new(self.tool, description, schema).with_metadata(metadata))
    }

    fn schema(&self) -> Result<Value, SpecError> {
        match self.parameters {
            None => Ok(json!({ "type": "object", "properties": {}, "additionalProperties": false })),
            Some(Parameters::Schema(schema)) => Ok(schema.clone()),
            Some(Parameters::File(path)) => self.schema_of(path),
        }
    }

    fn schema_of(&self, path: &Path) -> Result<Value, SpecError> {
        let wrong = |problem: String| self.wrong("parameters", format!("is `{}`, and {problem}", path.display()));
        let place = self.surroundings.path(path);
        let metadata = std::fs::metadata(&place).map_err(|error| wrong(format!("cannot be read: {}", error.kind())))?;
        if !metadata.is_file() || metadata.len() > SCHEMA_BYTES_MAX {
            return Err(wrong(format!("is not a file of at most {SCHEMA_BYTES_MAX} bytes")));
        }
        let text =
            std::fs::read_to_string(&place).map_err(|error| wrong(format!("cannot be read: {}", error.kind())))?;
        serde_json::from_str(&text).map_err(|error| wrong(format!("is not JSON: {error}")))
    }

    /// Refuses a placeholder that no argument can fill. A schema that lists no properties allows any.
    pub(crate) fn check_argument(
        &self,
        key: &'static str,
        argument: &str,
        definition: &ToolDefinition,
    ) -> Result<(), SpecError> {
        let Some(properties) = definition.parameters.get("properties").and_then(Value::as_object) else {
            return Ok(());
        };
        if properties.contains_key(argument) || (properties.is_empty() && self.parameters.is_some()) {
            return Ok(());
        }
        let hint = match nearest(argument, properties.keys().map(String::as_str)) {
            Some(near) => format!("; hint: did you mean `{near}`?"),
            None => String::new(),
        };
        Err(self.wrong(key, format!("names the argument `{argument}`, which `parameters` does not have{hint}")))
    }

    fn wrong(&self, key: &'static str, problem: String) -> SpecError {
        SpecError::new(self.tool, key, problem)
    }
}

/// A time in milliseconds, above 0.
fn ms_of(tool: &str, key: &'static str, value: i64) -> Result<u64, SpecError> {
    within(tool, key, value, TIMEOUT_MS_MAX)
}

/// A number from 1 to a limit. Read with its sign, so that an impossible one is refused by name.
pub(crate) fn within(tool: &str, key: &'static str, value: i64, max: i64) -> Result<u64, SpecError> {
    let number = u64::try_from(value).ok().filter(|number| *number > 0 && value <= max);
    number.ok_or_else(|| SpecError::new(tool, key, format!("is {value}, and must be between 1 and {max}")))
}

impl<'de> Deserialize<'de> for Parameters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrTable;
        impl<'de> Visitor<'de> for TextOrTable {
            type Value = Parameters;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the path of a file with a JSON Schema, or the schema")
            }

            fn visit_str<E>(self, text: &str) -> Result<Parameters, E> {
                Ok(Parameters::File(text.into()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Parameters, A::Error> {
                Value::deserialize(MapAccessDeserializer::new(map)).map(Parameters::Schema)
            }
        }
        deserializer.deserialize_any(TextOrTable)
    }
}
