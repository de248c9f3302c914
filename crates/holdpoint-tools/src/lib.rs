//! Tools, their registry and schemas, executors and hooks.
//!
//! A [`Tool`] is a definition and a body. A [`Registry`] finds tools by name and checks arguments against their
//! schemas. An executor ([`Execute`]) decides when and where the calls of a turn run, and [`invoke`] runs one of them so
//! that nothing a tool does can hurt its caller. Hooks ([`Around`]) wrap each execution; [`hooks`] has ready-made ones.
//! [`ToolExecutor`] is all of it without a model.
//!
//! ```
//! use holdpoint_tools::{ToolExecutor, tool};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Sum { a: i64, b: i64 }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime").block_on(async {
//! let mut executor = ToolExecutor::new();
//! executor.register(tool("add", "Adds two numbers", async |sum: Sum| sum.a + sum.b)).expect("a good tool");
//!
//! let context = holdpoint_codec::Context::new();
//! let result = executor.execute("add", serde_json::json!({"a": 5, "b": 3}), &context).await;
//! assert_eq!(result.output, "8");
//! # });
//! ```

mod around;
mod executors;
pub mod hooks;
mod invoke;
mod output;
mod registry;
mod schema;
mod standalone;
#[cfg(test)]
mod testing;
mod threads;
mod tool;

pub use around::{Around, AroundCall, Chain, HOOK_WAIT_MS_MAX, HookError, HookFuture, Next, around_fn, around_tool};
pub use executors::{Batch, BatchCall, ChoiceError, Execute, Executors, Ran, RunOne};
pub use holdpoint_codec::{ToolDefinition, ToolMetadata};
pub use invoke::{Asking, Invocation, Invoke, Place, Unsettled, invoke, invoke_gated};
pub use output::{TRUNCATED, limit_output};
pub use registry::{RegisteredTool, Registry, RegistryError, TOOL_NAME_BYTES_MAX};
pub use schema::{SCHEMA_PROBLEMS_MAX, SchemaProblem, schema_of};
pub use standalone::{DEFAULT_TIMEOUT, OUTPUT_CHARS_MAX, ToolExecutionResult, ToolExecutor};
pub use threads::{LOST_THREADS_MAX, Saturated, THREADS_MAX, ThreadPool};
pub use tool::{
    Blocking, CallFacts, Extensions, Gate, Inquiry, IntoToolResult, Json, MadeTool, Tool, ToolCall, ToolError,
    ToolFault, ToolFunction, blocking_tool, raw_blocking_tool, raw_tool, tool,
};
