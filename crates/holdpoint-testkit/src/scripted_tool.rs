//! Tools that do what the scenario says.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdpoint_codec::canonical_value;
use holdpoint_config::RawJson;
use holdpoint_core::{Blob, Block, JsonText, ToolResult};
use holdpoint_tools::{Tool, ToolCall, ToolDefinition, ToolError, ToolMetadata};
use serde_json::{Value, json};

use crate::death::Death;
use crate::ledger::Ledger;
use crate::scenario::{CrashPoint, Does, Script, ToolSpec};

/// The name that threads of the threads executor begin with.
const TOOL_THREAD: &str = "holdpoint-tool";

/// A tool of a scenario.
pub(crate) struct ScriptedTool {
    definition: ToolDefinition,
    script: Script,
    ledger: Ledger,
    death: Death,
}

impl ScriptedTool {
    pub(crate) fn new(name: &str, spec: &ToolSpec, ledger: &Ledger, death: &Death) -> Self {
        let parameters = spec.parameters.as_ref().map_or_else(|| json!({"type": "object"}), |json| json.0.clone());
        let metadata = ToolMetadata {
            parallelizable: spec.parallelizable,
            repeat: spec.repeat,
            timeout: spec.timeout_ms.map(Duration::from_millis),
            ..ToolMetadata::default()
        };
        let definition = ToolDefinition::new(name, &*spec.description, parameters).with_metadata(metadata);
        Self { definition, script: spec.does.clone().unwrap_or_default(), ledger: ledger.clone(), death: death.clone() }
    }
}

#[async_trait]
impl Tool for ScriptedTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError> {
        // Its intent is durable, and its code has not begun.
        self.death.reach(CrashPoint::Intent).await;
        let execution = self.ledger.enter(self.definition.name.as_str());
        let Script(script) = &self.script;
        let Some(does) = script.get(execution.nth()).or(script.last()) else {
            return Err(ToolError::new("the script is empty"));
        };
        if does.sleep_ms > 0 {
            tokio::time::sleep(Duration::from_millis(does.sleep_ms)).await;
        }
        if does.hang {
            hang().await;
        }
        // It took effect, and its result is not known outside.
        self.death.reach(CrashPoint::Effect).await;
        if let Some(message) = &does.panic {
            // Unwinds without the panic hook, which would print to the terminal of whoever runs the scenarios.
            std::panic::resume_unwind(Box::new(message.clone()));
        }
        match does {
            Does { fail: Some(message), .. } => Err(ToolError::new(message.as_str())),
            Does { halt: Some(text), .. } => Ok(ToolResult::halt(text.as_str())),
            does => Ok(ToolResult::from_blocks(does.blocks(&call))),
        }
    }
}

/// Never ends and listens to nobody. A thread of its own is really lost; a task of the runtime is only never ready, since
/// a lost worker would hold up the whole process and not just the run.
async fn hang() {
    let own_thread = std::thread::current().name().is_some_and(|name| name.starts_with(TOOL_THREAD));
    if own_thread {
        loop {
            std::thread::park();
        }
    }
    std::future::pending::<()>().await;
}

impl Does {
    /// The content of its result: `ok` if it says nothing else.
    fn blocks(&self, call: &ToolCall) -> Vec<Block> {
        let json = |raw: &RawJson| {
            let canonical = holdpoint_codec::canonical_json(&raw.0).unwrap_or_else(|_| raw.0.clone());
            Block::Json(JsonText::new(canonical))
        };
        let attribute = |key: &String| canonical_value(call.context().attribute(key).unwrap_or(&Value::Null));
        let image = |bytes: u32| {
            let bytes: Arc<[u8]> = vec![0; bytes as usize].into();
            Block::Image(Blob { media_type: "image/png".into(), bytes })
        };
        let content = [
            self.text.as_deref().map(Block::text),
            self.return_json.as_ref().map(json),
            self.echo.then(|| Block::text(call.arguments().share())),
            self.context.as_ref().map(|key| Block::text(attribute(key))),
            self.image_bytes.map(image),
        ];
        let blocks: Vec<Block> = content.into_iter().flatten().collect();
        if blocks.is_empty() { vec![Block::text("ok")] } else { blocks }
    }
}
