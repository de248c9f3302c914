//! Tools that only workers do.

use async_trait::async_trait;
use holdpoint_core::ToolResult;
use holdpoint_tools::{Tool, ToolCall, ToolDefinition, ToolError};

/// A tool that is declared here and done elsewhere. Its calls are deferred.
pub(crate) struct WorkerTool {
    pub(crate) definition: ToolDefinition,
}

#[async_trait]
impl Tool for WorkerTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    /// Never reached by an executor that defers it, and harmless otherwise.
    async fn call(&self, _: ToolCall) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::error("This tool is done by workers only, and nothing was done here."))
    }
}
