//! JSON Schemas: derived from types, compiled once, and errors that name the place and never the value.

mod derived;
mod problem;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use holdpoint_core::Arguments;
use jsonschema::Validator;
use serde_json::Value;

pub use derived::schema_of;
pub use problem::SchemaProblem;

/// How many problems of one call are listed.
pub const SCHEMA_PROBLEMS_MAX: usize = 10;

/// A compiled schema.
pub(crate) struct Schema {
    validator: Validator,
}

impl Schema {
    /// Compiles a schema of arguments. Never reads a file or the network, whatever it refers to. The error is a reason,
    /// lower case.
    pub(crate) fn compile(schema: &Arc<Value>) -> Result<Self, String> {
        let Some(object) = schema.as_object() else {
            return Err("it is not an object".to_owned());
        };
        if !allows_objects(object.get("type")) {
            return Err("it does not describe an object, and arguments always are one".to_owned());
        }
        let validator = jsonschema::options().offline().build(schema).map_err(|error| {
            let place = error.instance_path().as_str().to_owned();
            match place.as_str() {
                "" => format!("{error}"),
                place => format!("at `{place}`: {error}"),
            }
        })?;
        Ok(Self { validator })
    }

    /// Every problem of these arguments, up to [`SCHEMA_PROBLEMS_MAX`].
    pub(crate) fn check(&self, arguments: &Arguments) -> Result<(), Vec<SchemaProblem>> {
        let Ok(value) = serde_json::from_str::<Value>(arguments.expose()) else {
            return Err(vec![SchemaProblem::unreadable()]);
        };
        self.check_value(&value)
    }

    /// The same of a value that was read.
    pub(crate) fn check_value(&self, value: &Value) -> Result<(), Vec<SchemaProblem>> {
        if self.validator.is_valid(value) {
            return Ok(());
        }
        let problems: Vec<_> = self
            .validator
            .iter_errors(value)
            .take(SCHEMA_PROBLEMS_MAX)
            .map(|error| SchemaProblem::of(&error, value))
            .collect();
        Err(problems)
    }
}

fn allows_objects(kind: Option<&Value>) -> bool {
    match kind {
        None => true,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(kind) => kind == "object",
    }
}
