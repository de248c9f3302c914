//! What a call through our tool costs over the same call through the protocol library's own client: both talk to a server of
//! their own, in turns, in one run. Prints one JSON line.
//!
//! `overhead PROGRAM ARGUMENTS…`: a server over its input and output that has a tool `echo`.
#![allow(clippy::print_stdout, reason = "it prints what it measured")]

use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use holdpoint_codec::{Context, arguments_for, parse_arguments};
use holdpoint_core::{Attempt, CallId, CallIndex, CallKey, ErrorDetail, IdempotencyKey, RequestedName, RunId, Turn};
use holdpoint_mcp::{McpServers, ServerConfig};
use holdpoint_tools::{CallFacts, Invocation, Place, Tool, ToolCall, invoke};
use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use serde_json::json;
use tokio::process::Command;

const ROUNDS: usize = 2_000;
const WARM_UP: usize = 200;

type Failure = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let command: Vec<String> = std::env::args().skip(1).collect();
    let (program, arguments) = command.split_first().ok_or("give the program of a server")?;

    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let pipes = (child.stdout.take().ok_or("no output")?, child.stdin.take().ok_or("no input")?);
    let bare = ().serve(pipes).await?;

    let servers = McpServers::connect([("s", ServerConfig::stdio(command.clone()))]).await?;
    let tool =
        servers.tools().into_iter().find(|tool| tool.definition().name.as_str() == "s__echo").ok_or("no echo")?;

    let message = json!({ "message": "hello" });
    let params = CallToolRequestParams::new("echo").with_arguments(message.as_object().cloned().unwrap_or_default());
    let (mut bare_times, mut our_times) = (Vec::new(), Vec::new());
    for round in 0..WARM_UP + ROUNDS {
        let begun = Instant::now();
        bare.peer().call_tool_once(params.clone()).await?;
        let bare_time = begun.elapsed();
        let begun = Instant::now();
        invoke(invocation(&tool)?).await;
        let our_time = begun.elapsed();
        if round >= WARM_UP {
            bare_times.push(bare_time);
            our_times.push(our_time);
        }
    }
    let (bare_ms, our_ms) = (median_ms(bare_times), median_ms(our_times));
    let line = json!({
        "bench": "mcp_call_over_stdio", "calls": ROUNDS, "profile": if cfg!(debug_assertions) { "debug" } else { "release" },
        "library_ms": bare_ms, "holdpoint_ms": our_ms, "added_ms": our_ms - bare_ms, "ratio": our_ms / bare_ms,
    });
    println!("{line}");
    servers.close().await;
    Ok(())
}

fn invocation(tool: &Arc<dyn Tool>) -> Result<Invocation, Failure> {
    let name = &tool.definition().name;
    let arguments = parse_arguments(Some(r#"{"message":"hello"}"#))?;
    let call = ToolCall::new(CallFacts {
        id: CallId::new("tc_1"),
        key: CallKey { run: RunId::new("bench"), turn: Turn(1), index: CallIndex(0) },
        requested: RequestedName::new(name.as_str()),
        tool: name.clone(),
        arguments: arguments_for(name.as_str(), &arguments),
        context: Arc::new(Context::new()),
        attempt: Attempt(1),
        idempotency_key: IdempotencyKey::new("bench"),
    });
    Ok(Invocation {
        tool: Arc::clone(tool),
        call,
        timeout: Duration::from_secs(30),
        place: Place::Task,
        output_bytes_max: 200_000,
        error_detail: ErrorDetail::Safe,
    })
}

fn median_ms(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}
