//! What tests of servers share.
#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]
#![allow(dead_code, reason = "each test file uses some of it")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use holdpoint_codec::{Context, arguments_for, parse_arguments};
use holdpoint_core::{
    Attempt, CallId, CallIndex, CallKey, ErrorDetail, Given, IdempotencyKey, RequestedName, RunId, Settlement, Turn,
};
use holdpoint_mcp::{McpServers, Protocol, ServerConfig};
use holdpoint_tools::{Asking, CallFacts, Invocation, Place, Tool, ToolCall, Unsettled, invoke_gated};
use serde_json::Value;

/// Where `scripts/mcp-servers` put everything.
pub(crate) fn folder() -> PathBuf {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/mcp-servers");
    let folder = std::env::var_os("HOLDPOINT_TEST_MCP").map_or_else(usual, PathBuf::from);
    assert!(folder.join("installed").exists(), "the MCP servers are missing: run ./scripts/mcp-servers");
    folder.canonicalize().unwrap()
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

pub(crate) fn node() -> String {
    text(&folder().join("npm/node_modules/.bin/node"))
}

pub(crate) fn npm_package(file: &str) -> String {
    text(&folder().join("npm/node_modules/@modelcontextprotocol").join(file))
}

pub(crate) fn python(program: &str) -> String {
    text(&folder().join("python/bin").join(program))
}

/// A server that does what the mode says, and nothing good.
pub(crate) fn faulty(mode: &str) -> ServerConfig {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers/faulty.py");
    ServerConfig::stdio([python("python"), text(&script), mode.to_owned()])
}

/// A server over HTTP that does what the mode says, until it is dropped, and how it is reached.
pub(crate) fn over_http(mode: &str) -> (HttpServer, ServerConfig) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers/web.py");
    let mut child = Command::new(python("python")).arg(script).arg(mode).stdout(Stdio::piped()).spawn().unwrap();
    let mut port = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let config = ServerConfig::http(format!("http://127.0.0.1:{}/mcp", port.trim()));
    (HttpServer(child), ServerConfig { protocol: Protocol::Initialize, ..config })
}

pub(crate) struct HttpServer(Child);

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) async fn connect(name: &str, config: ServerConfig) -> McpServers {
    McpServers::connect([(name, ServerConfig { required: true, ..config })]).await.unwrap()
}

pub(crate) fn tool(servers: &McpServers, name: &str) -> Arc<dyn Tool> {
    let tools = servers.tools();
    let names: Vec<_> = tools.iter().map(|tool| tool.definition().name.clone()).collect();
    let found = tools.into_iter().find(|tool| tool.definition().name.as_str() == name);
    found.unwrap_or_else(|| panic!("there is no tool {name}, but {names:?}"))
}

pub(crate) fn tool_call(tool: &Arc<dyn Tool>, arguments: &Value) -> ToolCall {
    let name = &tool.definition().name;
    let arguments = parse_arguments(Some(&arguments.to_string())).unwrap();
    ToolCall::new(CallFacts {
        id: CallId::new("tc_1"),
        // Each tool in a run of its own.
        key: CallKey { run: RunId::new(name.as_str()), turn: Turn(1), index: CallIndex(0) },
        requested: RequestedName::new(name.as_str()),
        tool: name.clone(),
        arguments: arguments_for(name.as_str(), &arguments),
        context: Arc::new(Context::new()),
        attempt: Attempt(1),
        idempotency_key: IdempotencyKey::new("key"),
    })
}

/// How a call may be made.
pub(crate) struct Calling {
    pub(crate) timeout: Duration,
    pub(crate) given: Option<Given>,
}

impl Default for Calling {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(60), given: None }
    }
}

pub(crate) async fn try_call(
    tool: &Arc<dyn Tool>,
    arguments: Value,
    calling: Calling,
) -> Result<Settlement, Unsettled> {
    let call = tool_call(tool, &arguments).with_given(calling.given.map(Arc::new));
    let invocation = Invocation {
        tool: Arc::clone(tool),
        call,
        timeout: calling.timeout,
        place: Place::Task,
        output_bytes_max: 200_000,
        error_detail: ErrorDetail::Safe,
    };
    invoke_gated(&invocation, Asking::Person, Arc::new(|| true)).await
}

pub(crate) async fn call(tool: &Arc<dyn Tool>, arguments: Value) -> Settlement {
    try_call(tool, arguments, Calling::default()).await.unwrap()
}

/// Waits until something is so, and fails when it never is.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        // tidy: sleeps because what a server in another process does announces itself to nobody here.
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("never: {what}");
}
