//! Tools without a model: run one by name, and get a report that never fails.

#[cfg(test)]
mod tests;

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use holdpoint_codec::{Context, arguments_for, canonical_value, idempotency_key, parse_arguments};
use holdpoint_core::{
    Arguments, Attempt, CallId, CallIndex, CallKey, ErrorDetail, RequestedName, RunId, Settings, Turn,
};
use serde_json::{Value, json};

use crate::{
    CallFacts, Invocation, Place, RegisteredTool, Registry, RegistryError, Tool, ToolCall, ToolDefinition, invoke,
};

/// The limit of an executor that has no other.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// The JSON form of a result cuts its output here.
pub const OUTPUT_CHARS_MAX: usize = 2_000;

/// Runs registered tools, and nothing else, with a limit, and never fails or panics. For callers that are not a model:
/// there is no policy, no pause and no log.
#[derive(Debug)]
#[must_use]
pub struct ToolExecutor {
    registry: Registry,
    timeout: Duration,
    /// Stands for the run where the context names none, so that no two executions share an idempotency key.
    own_id: RunId,
    executions: AtomicU32,
}

/// What an execution gave. `Debug` hides the output and the error, which may hold anything.
#[derive(Clone, PartialEq)]
pub struct ToolExecutionResult {
    /// The name that was asked for.
    pub tool_name: String,
    /// Whether it succeeded.
    pub success: bool,
    /// What the tool gave; empty if it failed.
    pub output: String,
    /// How long it took, in milliseconds.
    pub latency_ms: f64,
    /// The tool's own words if it failed, or ours if it did not run.
    pub error: Option<String>,
}

impl Default for ToolExecutor {
    fn default() -> Self {
        Self::with_registry(Registry::new())
    }
}

impl ToolExecutor {
    /// No tools, and the default limit.
    pub fn new() -> Self {
        Self::default()
    }

    /// These tools.
    pub fn with_registry(registry: Registry) -> Self {
        let random = || RandomState::new().build_hasher().finish();
        let own_id = RunId::new(format!("standalone-{:016x}{:016x}", random(), random()));
        Self { registry, timeout: DEFAULT_TIMEOUT, own_id, executions: AtomicU32::new(0) }
    }

    /// The limit of every tool that has none of its own.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Adds a tool.
    pub fn register(&mut self, tool: impl Tool + 'static) -> Result<(), RegistryError> {
        self.registry.register(tool)
    }

    /// Every definition, in the order of registration.
    pub fn definitions(&self) -> Vec<Arc<ToolDefinition>> {
        self.registry.definitions()
    }

    /// The tools.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Runs a tool by name.
    pub async fn execute(&self, name: &str, arguments: Value, context: &Context) -> ToolExecutionResult {
        let Some(tool) = self.registry.resolve(&RequestedName::new(name)) else {
            let shown = shown(name);
            tracing::warn!(tool = shown, "security: a tool that is not registered was asked for and blocked");
            return ToolExecutionResult::failed(name, format!("tool not registered: `{shown}`"));
        };
        match read_arguments(tool, arguments) {
            Ok(arguments) => self.run(tool, self.call(tool, name, arguments, context)).await,
            Err(error) => ToolExecutionResult::failed(name, error),
        }
    }

    /// Runs a tool call of an OpenAI reply: `{"function": {"name": …, "arguments": "{…}"}}`.
    pub async fn execute_tool_call(&self, tool_call: &Value) -> ToolExecutionResult {
        let function = tool_call.get("function").unwrap_or(tool_call);
        let Some(name) = function.get("name").and_then(Value::as_str) else {
            return ToolExecutionResult::failed("", "the tool call has no function name");
        };
        let arguments = function.get("arguments").cloned().unwrap_or_default();
        self.execute(name, arguments, &Context::new()).await
    }

    fn call(&self, tool: &RegisteredTool, requested: &str, arguments: Arguments, context: &Context) -> ToolCall {
        let index = CallIndex(self.executions.fetch_add(1, Ordering::Relaxed));
        let run = context.run_id().unwrap_or(&self.own_id).clone();
        ToolCall::new(CallFacts {
            id: CallId::new(format!("tc_{}", u64::from(index.0) + 1)),
            requested: RequestedName::new(requested),
            tool: tool.name().clone(),
            // Two executors may work for one run, so the key is made from an id that no other has.
            idempotency_key: idempotency_key(&self.own_id, Turn(0), index, arguments.digest()),
            key: CallKey { run, turn: Turn(0), index },
            arguments,
            context: Arc::new(context.clone()),
            attempt: Attempt(1),
        })
    }

    async fn run(&self, tool: &RegisteredTool, call: ToolCall) -> ToolExecutionResult {
        let tool_name = call.requested().as_str().to_owned();
        let settlement = invoke(Invocation {
            tool: Arc::clone(tool.tool()),
            call,
            timeout: self.timeout,
            place: Place::Task,
            output_bytes_max: Settings::default().max_tool_output_bytes,
            error_detail: ErrorDetail::Debug,
        })
        .await;
        let text = settlement.result.text();
        let (output, error) = if settlement.result.is_error() { (String::new(), Some(text)) } else { (text, None) };
        let latency_ms = settlement.latency_us as f64 / 1000.0;
        ToolExecutionResult { tool_name, success: error.is_none(), output, latency_ms, error }
    }
}

impl ToolExecutionResult {
    fn failed(name: &str, error: impl Into<String>) -> Self {
        let tool_name = name.to_owned();
        Self { tool_name, success: false, output: String::new(), latency_ms: 0.0, error: Some(error.into()) }
    }

    /// The JSON form, with the output cut at [`OUTPUT_CHARS_MAX`] characters.
    pub fn to_json(&self) -> Value {
        let end = self.output.char_indices().nth(OUTPUT_CHARS_MAX).map_or(self.output.len(), |(at, _)| at);
        json!({
            "tool_name": self.tool_name,
            "success": self.success,
            "output": &self.output[..end],
            "latency_ms": self.latency_ms,
            "error": self.error,
        })
    }
}

impl fmt::Debug for ToolExecutionResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolExecutionResult")
            .field("tool_name", &self.tool_name)
            .field("success", &self.success)
            .field("output_bytes", &self.output.len())
            .field("latency_ms", &self.latency_ms)
            .finish_non_exhaustive()
    }
}

fn read_arguments(tool: &RegisteredTool, arguments: Value) -> Result<Arguments, String> {
    let raw = match arguments {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(canonical_value(&other)),
    };
    let text = parse_arguments(raw.as_deref()).map_err(|problem| problem.to_string())?;
    let arguments = arguments_for(tool.name().as_str(), &text);
    tool.validate(&arguments).map_err(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        format!("invalid arguments: {}", problems.join("; "))
    })?;
    Ok(arguments)
}

/// A name as a log may show it: short, and nothing that cannot be seen.
fn shown(name: &str) -> String {
    name.chars().take(crate::TOOL_NAME_BYTES_MAX).flat_map(char::escape_debug).collect()
}
