//! Results of calls as JSON: the versioned form, and the short ones that people write.

use holdpoint_core::{Block, JsonText, ResultKind, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::read::{Read, Versioned, read_json};
use crate::wire::{BlockWire, Fault, Members, Wire, all_core, all_of, is_default, kind_core, to_value};
use crate::{CodecError, Document, canonical_json};

/// The version of results.
const VERSION: u32 = 1;

const READ: Read = Read { document: Document::Result, version_field: "schema_version", version: VERSION };

/// A result as a document of its own.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResultDocument {
    blocks: Vec<BlockWire>,
    error: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    halt: bool,
    #[serde(default)]
    metadata: Members,
    schema_version: u32,
}

impl Versioned for ResultDocument {
    fn version(&self) -> u32 {
        self.schema_version
    }
}

impl ResultDocument {
    fn of(result: &ToolResult) -> Self {
        Self {
            blocks: all_of(&result.blocks),
            error: result.kind == ResultKind::Error,
            halt: result.kind == ResultKind::Halt,
            metadata: Members(result.metadata.clone()),
            schema_version: VERSION,
        }
    }

    fn core(self) -> Result<ToolResult, Fault> {
        let kind = kind_core(self.error, self.halt)?;
        Ok(ToolResult { blocks: all_core(self.blocks, "blocks")?, kind, metadata: self.metadata.0 })
    }
}

/// The versioned JSON text of a result.
pub fn result_to_text(result: &ToolResult) -> String {
    // Writing to memory does not fail, and nothing in a result refuses to be written.
    serde_json::to_string(&ResultDocument::of(result)).unwrap_or_default()
}

/// Reads the versioned JSON text of a result.
///
/// # Errors
/// When it has another version, or is not a result; the error names the field.
pub fn result_from_text(text: &str) -> Result<ToolResult, CodecError> {
    let document: ResultDocument = read_json(text, READ)?;
    document.core().map_err(|fault| CodecError::invalid(Document::Result, fault.0))
}

/// The versioned JSON of a result, as a value.
pub fn result_to_json(result: &ToolResult) -> Value {
    to_value(&ResultDocument::of(result))
}

/// Reads the versioned JSON of a result.
///
/// # Errors
/// When it has another version, or is not a result; the error names the field.
pub fn result_from_json(value: &Value) -> Result<ToolResult, CodecError> {
    result_from_text(&value.to_string())
}

/// Reads one of the short forms `{text}`, `{json}`, `{error}` and `{content}`, or the versioned one.
///
/// # Errors
/// When it is anything else, `null` included.
pub fn result_from_short(value: &Value) -> Result<ToolResult, CodecError> {
    let invalid = |field: &str| CodecError::invalid(Document::Result, field);
    let members = value.as_object().ok_or_else(|| invalid(""))?;
    if members.contains_key(READ.version_field) {
        return result_from_json(value);
    }
    let (name, given) = only(members).ok_or_else(|| invalid(""))?;
    match (name, given) {
        ("text", Value::String(text)) => Ok(ToolResult::success(text.as_str())),
        ("error", Value::String(text)) => Ok(ToolResult::error(text.as_str())),
        ("json", given) => {
            // What is nested too deeply could be written and never be read again.
            let text = canonical_json(&given.to_string()).map_err(|_| invalid(name))?;
            Ok(ToolResult::from_blocks(vec![Block::Json(JsonText::new(text))]))
        }
        ("content", Value::Array(items)) => {
            let blocks = items.iter().enumerate().map(|(index, item)| {
                let block = BlockWire::deserialize(item).ok().and_then(|block| block.core().ok());
                block.ok_or_else(|| invalid(&format!("content[{index}]")))
            });
            Ok(ToolResult::from_blocks(blocks.collect::<Result<_, _>>()?))
        }
        ("text" | "error" | "content", _) => Err(invalid(name)),
        _ => Err(invalid("")),
    }
}

/// The only member of an object.
fn only(members: &Map<String, Value>) -> Option<(&str, &Value)> {
    let mut members = members.iter();
    match (members.next(), members.next()) {
        (Some((name, value)), None) => Some((name, value)),
        _ => None,
    }
}
