//! Tools that do what the scenario says.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdpoint_codec::canonical_value;
use holdpoint_core::{Blob, Block, JsonText, ToolResult};
use holdpoint_tools::{Tool, ToolCall, ToolDefinition, ToolError, ToolMetadata};
use serde_json::json;

use crate::ledger::Ledger;
use crate::scenario::{Does, Ending, Piece, ToolSpec};

/// The name that threads of the threads executor begin with.
const TOOL_THREAD: &str = "holdpoint-tool";

/// A tool of a scenario.
pub(crate) struct ScriptedTool {
    definition: ToolDefinition,
    does: Vec<Does>,
    ledger: Ledger,
}

impl ScriptedTool {
    pub(crate) fn new(spec: &ToolSpec, ledger: &Ledger) -> Self {
        let parameters = spec.parameters.clone().unwrap_or_else(|| json!({"type": "object"}));
        let metadata = ToolMetadata {
            parallelizable: spec.parallelizable,
            repeat: spec.repeat,
            timeout: spec.timeout_ms.map(Duration::from_millis),
            ..ToolMetadata::default()
        };
        let definition = ToolDefinition::new(&*spec.name, &*spec.description, parameters).with_metadata(metadata);
        Self { definition, does: spec.does.clone(), ledger: ledger.clone() }
    }

    fn nth(&self, nth: usize) -> Option<&Does> {
        self.does.get(nth).or(self.does.last())
    }
}

#[async_trait]
impl Tool for ScriptedTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError> {
        let execution = self.ledger.enter(self.definition.name.as_str());
        let Some(does) = self.nth(execution.nth()) else { return Err(ToolError::new("the script is empty")) };
        if does.sleep_ms > 0 {
            tokio::time::sleep(Duration::from_millis(does.sleep_ms)).await;
        }
        match &does.ending {
            Ending::Return(pieces) => {
                Ok(ToolResult::from_blocks(pieces.iter().map(|piece| block(piece, &call)).collect()))
            }
            Ending::Fail(message) => Err(ToolError::new(message.as_str())),
            // Unwinds without the panic hook, which would print to the terminal of whoever runs the scenarios.
            Ending::Panic(message) => std::panic::resume_unwind(Box::new(message.clone())),
            Ending::Halt(text) => Ok(ToolResult::halt(text.as_str())),
            Ending::Hang => hang().await,
        }
    }
}

/// Never ends and listens to nobody. A thread of its own is really lost; a task of the runtime is only never ready, since
/// a lost worker would hold up the whole process and not just the run.
async fn hang() -> Result<ToolResult, ToolError> {
    let own_thread = std::thread::current().name().is_some_and(|name| name.starts_with(TOOL_THREAD));
    if own_thread {
        loop {
            std::thread::park();
        }
    }
    std::future::pending().await
}

fn block(piece: &Piece, call: &ToolCall) -> Block {
    match piece {
        Piece::Text(text) => Block::text(text.as_str()),
        Piece::Json(text) => Block::Json(JsonText::new(canonical(text))),
        Piece::Echo => Block::text(call.arguments().share()),
        Piece::Context(key) => {
            let value = call.context().attribute(key).unwrap_or(&serde_json::Value::Null);
            Block::text(canonical_value(value))
        }
        Piece::Image(bytes) => {
            let bytes: Arc<[u8]> = vec![0; *bytes].into();
            Block::Image(Blob { media_type: "image/png".into(), bytes })
        }
    }
}

fn canonical(text: &str) -> String {
    holdpoint_codec::canonical_json(text).unwrap_or_else(|_| text.to_owned())
}
