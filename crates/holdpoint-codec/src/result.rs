//! Results of calls as JSON: the versioned form, and the short ones that people write.

use holdpoint_core::{Block, JsonText, ResultKind, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::read::{Read, Versioned, read_json};
use crate::wire::{BlockWire, Fault, Members, Wire, all_core, all_of, is_default, kind_core};
use crate::{CodecError, Document, Shown, canonical_json};

/// The version of results.
const VERSION: u32 = 1;

const READ: Read = Read { document: Document::Result, version_field: "schema_version", version: VERSION };

/// The result of a call, as a document of its own.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ResultView {
    /// The content.
    pub blocks: Vec<BlockWire>,
    /// Whether it is an error.
    pub error: bool,
    /// Whether the tool halted the run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub halt: bool,
    /// What the tool said beside the content.
    #[serde(default)]
    pub metadata: Members,
    /// The version of the document.
    pub schema_version: u32,
}

impl Versioned for ResultView {
    fn version(&self) -> u32 {
        self.schema_version
    }
}

impl ResultView {
    pub(crate) fn of(result: &ToolResult) -> Self {
        Self {
            blocks: all_of(&result.blocks),
            error: result.kind == ResultKind::Error,
            halt: result.kind == ResultKind::Halt,
            metadata: Members(result.metadata.clone()),
            schema_version: VERSION,
        }
    }

    pub(crate) fn core(self) -> Result<ToolResult, Fault> {
        let kind = kind_core(self.error, self.halt)?;
        Ok(ToolResult { blocks: all_core(self.blocks, "blocks")?, kind, metadata: self.metadata.0 })
    }
}

/// The versioned JSON text of a result.
pub fn result_to_text(result: &ToolResult) -> String {
    // Writing to memory does not fail, and nothing in a result refuses to be written.
    serde_json::to_string(&ResultView::of(result)).unwrap_or_default()
}

/// Reads the versioned JSON text of a result.
///
/// # Errors
/// When it has another version, or is not a result; the error names the field.
pub fn result_from_text(text: &str) -> Result<ToolResult, CodecError> {
    let document: ResultView = read_json(text, READ)?;
    document.core().map_err(|fault| CodecError::invalid(Document::Result, fault.0))
}

/// Reads one of the short forms `{text}`, `{json}`, `{error}` and `{content}`, or the versioned one.
///
/// # Errors
/// When it is anything else, `null` included.
pub fn result_from_short(value: &Value) -> Result<ToolResult, CodecError> {
    result_from_short_text(&value.to_string())
}

/// As [`result_from_short`], from the text itself: no number loses a digit.
///
/// # Errors
/// When it is anything else, `null` included.
pub fn result_from_short_text(text: &str) -> Result<ToolResult, CodecError> {
    let invalid = |field: &str| CodecError::invalid(Document::Result, field);
    let members: Shown = serde_json::from_str(text).map_err(|_| invalid(""))?;
    if members.raw(READ.version_field).is_some() {
        return result_from_text(text);
    }
    let (name, given) = members.only().ok_or_else(|| invalid(""))?;
    let spoken = || serde_json::from_str::<String>(given).map_err(|_| invalid(name));
    match name {
        "text" => Ok(ToolResult::success(spoken()?)),
        "error" => Ok(ToolResult::error(spoken()?)),
        "json" => {
            // What is nested too deeply could be written and never be read again.
            let text = canonical_json(given).map_err(|_| invalid(name))?;
            Ok(ToolResult::from_blocks(vec![Block::Json(JsonText::new(text))]))
        }
        "content" => {
            let items: Vec<&RawValue> = serde_json::from_str(given).map_err(|_| invalid(name))?;
            let blocks = items.iter().enumerate().map(|(index, item)| {
                let block: Option<BlockWire> = serde_json::from_str(item.get()).ok();
                let block = block.and_then(|block| block.core().ok());
                block.ok_or_else(|| invalid(&format!("content[{index}]")))
            });
            Ok(ToolResult::from_blocks(blocks.collect::<Result<_, _>>()?))
        }
        _ => Err(invalid("")),
    }
}
