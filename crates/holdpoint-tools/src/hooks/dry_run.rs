//! Executes nothing, and says what would have been.
//!
//! ```
//! use holdpoint_tools::hooks::DryRun;
//!
//! let everything = DryRun::new();
//! let only_payments = DryRun::for_tool("pay_*").expect("a pattern");
//! ```

#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_core::{Block, JsonText, Settlement, Source, ToolResult};
use serde_json::Value;

use super::{HookConfigError, Scope};
use crate::{Around, AroundCall, HookError, Next};

/// Answers in the tool's place. Whatever stands inside of it does not see the call.
#[derive(Debug, Default)]
pub struct DryRun {
    scope: Scope,
}

impl DryRun {
    /// For every tool.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Only for this tool: a registered name or a glob.
    pub fn for_tool(tool: &str) -> Result<Arc<Self>, HookConfigError> {
        Ok(Arc::new(Self { scope: Scope::parse("dry_run", Some(tool))? }))
    }
}

#[async_trait]
impl Around for DryRun {
    async fn around(&self, call: &AroundCall, next: Next<'_>) -> Result<Settlement, HookError> {
        if !self.scope.covers(call.definition()) {
            return next.run().await;
        }
        Ok(call.answered(Source::DryRun, simulated(call)))
    }
}

fn simulated(call: &AroundCall) -> ToolResult {
    // The arguments are canonical text already, and the keys stand in canonical order.
    let name = Value::from(call.definition().name.as_str());
    let arguments = call.call().arguments().expose();
    let text = format!(r#"{{"arguments":{arguments},"simulated":true,"would_call":{name}}}"#);
    ToolResult::from_blocks(vec![Block::Json(JsonText::new(text))])
}
