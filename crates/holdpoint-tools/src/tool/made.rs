//! Tools made from functions.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use holdpoint_core::{Repeat, ToolResult};
use serde_json::Value;

use super::{Blocking, IntoToolResult, Tool, ToolCall, ToolDefinition, ToolError, ToolFunction};

type Running = BoxFuture<'static, Result<ToolResult, ToolError>>;

/// A tool made from a function; its methods say what nobody can see from the function.
#[derive(Clone)]
#[must_use]
pub struct MadeTool {
    definition: ToolDefinition,
    blocking: Blocking,
    body: Arc<dyn Fn(ToolCall) -> Running + Send + Sync>,
}

/// A tool from an async function; the schema is derived from the type of its first parameter.
///
/// ```
/// use holdpoint_tools::{ToolCall, tool};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Refund { order: String, amount: u32 }
///
/// let refund = tool("refund", "Pays money back", async |r: Refund, call: ToolCall| {
///     format!("paid {} for {} under {}", r.amount, r.order, call.idempotency_key())
/// });
/// ```
///
/// A closure that needs something of its own clones it for each call:
///
/// ```
/// # use holdpoint_tools::tool;
/// # #[derive(serde::Deserialize, schemars::JsonSchema)]
/// # struct Key { key: String }
/// let shelf = std::sync::Arc::new(std::collections::HashMap::from([("a".to_owned(), "1".to_owned())]));
/// let look_up = tool("look_up", "Reads a value", move |k: Key| {
///     let shelf = shelf.clone();
///     async move { shelf.get(&k.key).cloned().ok_or("no such key") }
/// })
/// .parallelizable(true);
/// ```
pub fn tool<F, Marker>(name: impl Into<Arc<str>>, description: impl Into<Arc<str>>, function: F) -> MadeTool
where
    F: ToolFunction<Marker, Output: Future<Output: IntoToolResult> + Send + 'static>,
{
    let body = move |call| match function.call(call) {
        Ok(work) => awaited(work),
        Err(error) => std::future::ready(Err(error)).boxed(),
    };
    MadeTool::new(ToolDefinition::new(name, description, F::schema()), Blocking::No, body)
}

/// A tool from a plain function, which gets a thread of its own while it works.
///
/// ```
/// use holdpoint_tools::blocking_tool;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Page { path: std::path::PathBuf }
///
/// let read = blocking_tool("read", "Reads a page", |page: Page| std::fs::read_to_string(page.path));
/// ```
pub fn blocking_tool<F, Marker>(name: impl Into<Arc<str>>, description: impl Into<Arc<str>>, function: F) -> MadeTool
where
    F: ToolFunction<Marker, Output: IntoToolResult>,
{
    let body = move |call| std::future::ready(function.call(call).into_tool_result()).boxed();
    MadeTool::new(ToolDefinition::new(name, description, F::schema()), Blocking::Yes, body)
}

/// A tool with a schema of your own. The function gets the call and reads the arguments from it.
///
/// ```
/// use holdpoint_tools::{ToolCall, raw_tool};
///
/// let schema = serde_json::json!({ "type": "object", "properties": { "text": { "type": "string" } } });
/// let echo = raw_tool("echo", "Says it again", schema, async |call: ToolCall| call.arguments().expose().to_owned());
/// ```
pub fn raw_tool<F, Fut>(
    name: impl Into<Arc<str>>,
    description: impl Into<Arc<str>>,
    schema: Value,
    function: F,
) -> MadeTool
where
    F: Fn(ToolCall) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoToolResult> + Send + 'static,
{
    MadeTool::new(ToolDefinition::new(name, description, schema), Blocking::No, move |call| awaited(function(call)))
}

/// A tool with a schema of your own from a plain function, which gets a thread of its own while it works.
pub fn raw_blocking_tool<F, R>(
    name: impl Into<Arc<str>>,
    description: impl Into<Arc<str>>,
    schema: Value,
    function: F,
) -> MadeTool
where
    F: Fn(ToolCall) -> R + Send + Sync + 'static,
    R: IntoToolResult,
{
    let body = move |call| std::future::ready(function(call).into_tool_result()).boxed();
    MadeTool::new(ToolDefinition::new(name, description, schema), Blocking::Yes, body)
}

fn awaited(work: impl Future<Output: IntoToolResult> + Send + 'static) -> Running {
    async move { work.await.into_tool_result() }.boxed()
}

impl MadeTool {
    fn new(
        definition: ToolDefinition,
        blocking: Blocking,
        body: impl Fn(ToolCall) -> Running + Send + Sync + 'static,
    ) -> Self {
        Self { definition, blocking, body: Arc::new(body) }
    }

    /// Whether it may run beside others.
    pub fn parallelizable(mut self, parallelizable: bool) -> Self {
        self.definition.metadata.parallelizable = Some(parallelizable);
        self
    }

    /// Whether it may be started again when nobody knows whether it took effect.
    pub fn repeat(mut self, repeat: Repeat) -> Self {
        self.definition.metadata.repeat = repeat;
        self
    }

    /// Its own time limit, before the run's.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.definition.metadata.timeout = Some(timeout);
        self
    }

    /// Where it comes from: `native`, `mcp:SERVER`, `skills`, `http`, `command` or `worker`.
    pub fn source(mut self, source: impl Into<Arc<str>>) -> Self {
        self.definition.metadata.source = source.into();
        self
    }

    /// Changes when its answers change.
    pub fn version(mut self, version: impl Into<Arc<str>>) -> Self {
        self.definition.metadata.version = Some(version.into());
        self
    }
}

#[async_trait]
impl Tool for MadeTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError> {
        (self.body)(call).await
    }

    fn blocking(&self) -> Blocking {
        self.blocking
    }
}

impl fmt::Debug for MadeTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MadeTool").field("name", &self.definition.name).finish_non_exhaustive()
    }
}
