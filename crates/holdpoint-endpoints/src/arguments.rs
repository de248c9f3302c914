//! The arguments of a call, one by one and exactly as they are.

use std::collections::BTreeMap;

use holdpoint_tools::{ToolCall, ToolError};
use serde_json::Value;
use serde_json::value::RawValue;

/// The arguments by name, each as its own text, so that no number loses a digit.
pub(crate) struct Named {
    values: BTreeMap<String, Box<RawValue>>,
}

impl Named {
    pub(crate) fn of(call: &ToolCall) -> Result<Self, ToolError> {
        Ok(Self { values: call.arguments_as()? })
    }

    /// Takes an argument out.
    pub(crate) fn take(&mut self, name: &str) -> Option<Box<RawValue>> {
        self.values.remove(name)
    }

    pub(crate) fn find(&self, name: &str) -> Option<&RawValue> {
        self.values.get(name).map(|value| &**value)
    }

    /// What was not taken.
    pub(crate) fn rest(&self) -> &BTreeMap<String, Box<RawValue>> {
        &self.values
    }
}

/// A text, a number or a boolean as text. Nothing for `null`, lists and objects.
pub(crate) fn scalar(value: &RawValue) -> Option<String> {
    match serde_json::from_str(value.get()).ok()? {
        Value::String(text) => Some(text),
        // As it is written: parsing it could lose digits.
        Value::Number(_) | Value::Bool(_) => Some(value.get().to_owned()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A scalar as one text, a list of scalars as one text each. Nothing for anything else.
pub(crate) fn scalars(value: &RawValue) -> Option<Vec<String>> {
    if value.get().starts_with('[') {
        let items: Vec<Box<RawValue>> = serde_json::from_str(value.get()).ok()?;
        return items.iter().map(|item| scalar(item)).collect();
    }
    scalar(value).map(|text| vec![text])
}
