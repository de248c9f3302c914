//! What the tests share: calls, and servers that record what reaches them.
#![allow(
    clippy::unwrap_used,
    dead_code,
    reason = "the whole file is a test, its helpers included; not every test uses all"
)]

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use holdpoint_codec::{Context, arguments_for, idempotency_key, parse_arguments};
use holdpoint_core::{
    Attempt, CallId, CallIndex, CallKey, ErrorDetail, RequestedName, RunId, Settlement, ToolName, ToolResult, Turn,
};
use holdpoint_endpoints::{Lookup, LookupFuture, Network, Surroundings, ToolSpec};
use holdpoint_tools::{CallFacts, Invocation, Place, Tool, ToolCall, ToolError, invoke};
use serde_json::Value;
use tokio::net::TcpListener;

/// A tool from the table of a configuration.
pub(crate) fn spec(table: Value) -> ToolSpec {
    ToolSpec::from_json(table).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn tool(table: Value) -> Arc<dyn Tool> {
    tool_in(table, &Surroundings::default())
}

pub(crate) fn tool_in(table: Value, surroundings: &Surroundings) -> Arc<dyn Tool> {
    spec(table).build_in("t", surroundings).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn call(arguments: &Value) -> ToolCall {
    call_with(&arguments.to_string())
}

pub(crate) fn call_with(arguments: &str) -> ToolCall {
    let arguments = arguments_for("t", &parse_arguments(Some(arguments)).unwrap());
    let key = CallKey { run: RunId::new("r1"), turn: Turn(1), index: CallIndex(0) };
    ToolCall::new(CallFacts {
        id: CallId::new("tc_1"),
        requested: RequestedName::new("t"),
        tool: ToolName::new("t"),
        idempotency_key: idempotency_key(&key.run, key.turn, key.index, arguments.digest()),
        key,
        arguments,
        context: Arc::new(Context::new()),
        attempt: Attempt(1),
    })
}

pub(crate) async fn run(tool: &Arc<dyn Tool>, arguments: Value) -> Result<ToolResult, ToolError> {
    tool.call(call(&arguments)).await
}

/// The text of a result; of a failed one with `failed: ` before it, and of an error with its fault.
pub(crate) async fn text(tool: &Arc<dyn Tool>, arguments: Value) -> String {
    match run(tool, arguments).await {
        Ok(result) if result.is_error() => format!("failed: {}", result.text()),
        Ok(result) => result.text(),
        Err(error) => format!("{:?}: {}", error.fault(), error.message()),
    }
}

/// As the driver runs it: with its limit.
pub(crate) async fn settle(tool: &Arc<dyn Tool>, call: ToolCall) -> Settlement {
    invoke(Invocation {
        tool: Arc::clone(tool),
        call,
        timeout: std::time::Duration::from_secs(30),
        place: Place::Task,
        output_bytes_max: 200_000,
        error_detail: ErrorDetail::Safe,
    })
    .await
}

/// A server that answers every connection by a function of the connection.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) connections: Arc<AtomicUsize>,
}

impl Server {
    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Serves raw connections.
pub(crate) async fn serve_raw<F, Fut>(address: &str, handle: F) -> Server
where
    F: Fn(tokio::net::TcpStream) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind(address).await.unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(handle(stream));
        }
    });
    Server { address, connections }
}

/// A real HTTP server with these routes.
pub(crate) async fn serve(router: axum::Router) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    Server { address, connections: Arc::default() }
}

/// Names with addresses, and how often each was looked up.
#[derive(Clone, Default)]
pub(crate) struct Names {
    known: Arc<Mutex<BTreeMap<String, Vec<Vec<IpAddr>>>>>,
    asked: Arc<AtomicUsize>,
}

impl Names {
    /// A name whose lookups give these answers in turn, and the last one from then on.
    pub(crate) fn with(self, name: &str, answers: &[&[&str]]) -> Self {
        let parse = |answer: &&[&str]| answer.iter().map(|text| text.parse().unwrap()).collect();
        self.known.lock().unwrap().insert(name.to_owned(), answers.iter().map(parse).collect());
        self
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    pub(crate) fn surroundings(&self) -> Surroundings {
        Surroundings::default().with_network(Network::with_lookup(self.clone()))
    }
}

impl Lookup for Names {
    fn lookup(&self, name: &str) -> LookupFuture {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut known = self.known.lock().unwrap();
        let found = match known.get_mut(name) {
            None => Err(io::Error::from(io::ErrorKind::NotFound)),
            Some(answers) if answers.len() > 1 => Ok(answers.remove(0)),
            Some(answers) => Ok(answers[0].clone()),
        };
        Box::pin(async move { found })
    }
}
