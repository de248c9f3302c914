//! A tool: what the model is told about it, and what happens when it is called.

mod call;
mod error;
mod function;
mod inquiry;
mod made;
mod result;
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use holdpoint_codec::ToolDefinition;
use holdpoint_core::{CallKey, ToolResult};

pub use call::{CallFacts, Extensions, Gate, ToolCall};
pub use error::{ToolError, ToolFault};
pub use function::ToolFunction;
pub use inquiry::Inquiry;
pub use made::{MadeTool, blocking_tool, raw_blocking_tool, raw_tool, tool};
pub use result::{IntoToolResult, Json};

/// Something a model can ask for. Most are made by [`tool()`], [`blocking_tool`] or [`raw_tool`]; a type of your own can
/// be one too:
///
/// ```
/// use holdpoint_core::ToolResult;
/// use holdpoint_tools::{Tool, ToolCall, ToolDefinition, ToolError};
///
/// struct Greeter { definition: ToolDefinition, word: String }
///
/// #[async_trait::async_trait]
/// impl Tool for Greeter {
///     fn definition(&self) -> &ToolDefinition { &self.definition }
///     async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError> {
///         Ok(ToolResult::success(format!("{} from {}", self.word, call.tool())))
///     }
/// }
/// ```
#[async_trait]
pub trait Tool: Send + Sync {
    /// What the model is told, and what executors, policies and recovery need to know. Always the same.
    fn definition(&self) -> &ToolDefinition;

    /// Does it. May be called for several calls at once.
    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError>;

    /// Whether the model may be told of it now. A tool that is not offered counts as unregistered, until it is again.
    fn is_offered(&self) -> bool {
        true
    }

    /// A call that asked a person ([`ToolError::needs_input`]) is over, whatever came of it: it had its result, a person
    /// gave it up, its run ended, or nobody could be asked. What is kept for it is wanted no more. Must not block.
    fn abandon(&self, key: &CallKey) {
        let _ = key;
    }

    /// Whether [`Tool::call`] occupies its thread instead of awaiting.
    fn blocking(&self) -> Blocking {
        Blocking::No
    }
}

/// Whether a tool occupies its thread while it works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Blocking {
    /// It awaits: any task may poll it.
    #[default]
    No,
    /// It blocks: it gets a thread of its own.
    Yes,
}
