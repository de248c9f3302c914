//! What a tool asks a person in the middle of its work.

use std::fmt;
use std::sync::Arc;

use holdpoint_codec::{canonical_json, canonical_value};
use holdpoint_core::{Block, JsonText, ToolResult};
use serde_json::Value;

use crate::SchemaProblem;
use crate::schema::Schema;

/// Under this name what the tool wants back is stored with what it asks.
const STATE: &str = "state";

/// What a tool asks a person before it can go on. The run pauses, and once a person has answered the tool is called
/// again, with the answer in [`ToolCall::given`](super::ToolCall::given).
#[derive(Clone, PartialEq)]
pub struct Inquiry {
    /// For the person.
    pub message: Arc<str>,
    /// JSON Schema of the answer.
    pub schema: Value,
    /// Whatever the tool needs to go on from where it was. It is stored with the run, and given back with the answer.
    pub state: Value,
}

impl Inquiry {
    /// As it is stored: a text, the schema, and the state in the metadata.
    pub fn to_result(&self) -> ToolResult {
        let schema = Block::Json(JsonText::new(canonical_value(&self.schema)));
        ToolResult::from_blocks(vec![Block::text(Arc::clone(&self.message)), schema])
            .with_metadata(STATE, JsonText::new(canonical_value(&self.state)))
    }

    /// Reads what was stored.
    pub fn from_result(stored: &ToolResult) -> Option<Self> {
        let message = stored.blocks.iter().find_map(|block| match block {
            Block::Text(text) => Some(Arc::clone(text)),
            Block::Json(_) | Block::Image(_) | Block::File(_) => None,
        })?;
        let schema = stored.blocks.iter().find_map(read_json)?;
        let state = stored.metadata.get(STATE).and_then(|state| serde_json::from_str(state.expose()).ok())?;
        Some(Self { message, schema, state })
    }

    /// What a person gave, as JSON: its JSON block, or a text that is JSON; nothing at all is an empty object.
    ///
    /// # Errors
    /// When it is not JSON or does not have the shape that the tool wants.
    pub fn read_answer(&self, answer: Option<&ToolResult>) -> Result<Value, Vec<SchemaProblem>> {
        let value = match answer {
            None => Value::Object(serde_json::Map::new()),
            Some(answer) => read_value(answer).ok_or_else(|| vec![SchemaProblem::unreadable()])?,
        };
        // What a tool asks with a schema that is none can be answered by anything.
        if let Ok(schema) = Schema::compile(&Arc::new(self.schema.clone())) {
            schema.check_value(&value)?;
        }
        Ok(value)
    }
}

fn read_value(answer: &ToolResult) -> Option<Value> {
    answer.blocks.iter().find_map(read_json).or_else(|| {
        let text = canonical_json(&answer.text()).ok()?;
        serde_json::from_str(&text).ok()
    })
}

fn read_json(block: &Block) -> Option<Value> {
    match block {
        Block::Json(json) => serde_json::from_str(json.expose()).ok(),
        Block::Text(_) | Block::Image(_) | Block::File(_) => None,
    }
}

impl fmt::Debug for Inquiry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Inquiry({} bytes)", self.message.len())
    }
}
