//! An executor of one's own: each call in a child process, with hooks, timeout and intent still around it.
#![cfg(unix)]

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdpoint_codec::{Context, arguments_for, idempotency_key, parse_arguments};
use holdpoint_core::{
    Attempt, CallId, CallIndex, CallKey, Code, ErrorDetail, ExecutorChoice, Outcome, RequestedName, RunId, Settlement,
    ToolResult, Turn,
};
use holdpoint_tools::{
    AroundCall, Batch, BatchCall, CallFacts, Chain, Execute, Executors, Extensions, Invocation, Invoke, Place, Ran,
    Registry, RunOne, Tool, ToolCall, ToolError, around_fn, invoke, raw_tool,
};
use serde_json::json;

/// Runs each call in a child process, one after another.
struct InChildProcess;

#[async_trait]
impl Execute for InChildProcess {
    async fn execute(&self, batch: Batch) {
        for call in batch.calls() {
            batch.run_in(call.index, Place::Custom(Arc::new(Child))).await;
        }
    }
}

struct Child;

#[async_trait]
impl Invoke for Child {
    async fn invoke(&self, tool: Arc<dyn Tool>, call: ToolCall) -> Result<ToolResult, ToolError> {
        // The tool's description is the program; it gets the arguments on its standard input.
        let program = tool.definition().description.to_string();
        let output = tokio::task::spawn_blocking(move || run(&program, call.arguments().expose())).await??;
        match output.status.success() {
            true => Ok(ToolResult::success(String::from_utf8(output.stdout)?)),
            false => Err(ToolError::new(String::from_utf8_lossy(&output.stderr).into_owned())),
        }
    }
}

fn run(program: &str, input: &str) -> std::io::Result<std::process::Output> {
    let piped =
        |command: &mut Command| command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = piped(Command::new("sh").arg("-c").arg(program))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input is none of our business.
        let _ = stdin.write_all(input.as_bytes());
    }
    child.wait_with_output()
}

/// A driver in small: hooks around, the intent inside them, then the tool.
struct Driver {
    registry: Registry,
    calls: Vec<(&'static str, &'static str)>,
    hooks: Chain,
    log: Arc<Mutex<Vec<String>>>,
    settled: Mutex<Vec<Settlement>>,
}

impl Driver {
    fn call(&self, index: CallIndex) -> ToolCall {
        let (tool, text) = self.calls[index.as_usize()];
        let arguments = arguments_for(tool, &parse_arguments(Some(text)).expect("arguments"));
        let key = CallKey { run: RunId::new("r1"), turn: Turn(1), index };
        ToolCall::new(CallFacts {
            id: CallId::new(format!("tc_{}", index.0 + 1)),
            requested: RequestedName::new(tool),
            tool: tool.into(),
            idempotency_key: idempotency_key(&key.run, key.turn, key.index, arguments.digest()),
            key,
            arguments,
            context: Arc::new(Context::new()),
            attempt: Attempt(1),
        })
    }
}

#[async_trait]
impl RunOne for Driver {
    async fn run(&self, index: CallIndex, place: Place) -> Ran {
        let call = self.call(index);
        let tool = self.registry.find(call.tool().as_str()).expect("a registered tool");
        let around = AroundCall::new(Arc::clone(tool.definition()), call.clone());
        let inside = |extensions: Extensions| async {
            self.log.lock().expect("no panic while it is held").push(format!("intent {index}"));
            Ok(invoke(Invocation {
                tool: Arc::clone(tool.tool()),
                call: call.clone().with_extensions(extensions),
                timeout: Duration::from_secs(30),
                place: place.clone(),
                output_bytes_max: 200_000,
                error_detail: ErrorDetail::Safe,
            })
            .await)
        };
        let settlement = self.hooks.run(&around, inside).await.expect("hooks that do not fail");
        self.settled.lock().expect("no panic while it is held").push(settlement);
        Ran::Done
    }

    async fn defer(&self, _: CallIndex) {
        unreachable!("nothing is deferred here");
    }
}

#[tokio::test]
async fn each_call_runs_in_a_child_process_inside_hooks_intent_and_timeout() {
    let mut registry = Registry::new();
    let here = async |_: ToolCall| -> String { panic!("the body must not run in this process") };
    registry.register(raw_tool("echo", "cat", json!({}), here)).unwrap();
    registry.register(raw_tool("fail", "echo s3cret >&2; exit 1", json!({}), here)).unwrap();
    // It ends by itself soon after, so that the runtime can end.
    let slow = raw_tool("slow", "sleep 1", json!({}), here).timeout(Duration::from_millis(20));
    registry.register(slow).unwrap();

    let log = Arc::new(Mutex::new(Vec::new()));
    let noting = Arc::clone(&log);
    let hook = around_fn(move |call, next| {
        noting.lock().unwrap().push(format!("hook {}", call.definition().name));
        Box::pin(next.run())
    });
    let driver = Arc::new(Driver {
        calls: vec![("echo", r#"{"a":1}"#), ("fail", "{}"), ("slow", "{}")],
        hooks: Chain::new(vec![hook]),
        log: Arc::clone(&log),
        settled: Mutex::default(),
        registry,
    });
    let definitions = driver.registry.definitions();
    let calls: Vec<BatchCall> = definitions
        .iter()
        .enumerate()
        .map(|(index, definition)| BatchCall::new(CallIndex::from_usize(index), definition))
        .collect();

    let mut executors = Executors::new();
    executors.register("child_process", Arc::new(InChildProcess)).unwrap();
    let choice = ExecutorChoice { name: "child_process".into(), ..ExecutorChoice::default() };
    executors.choose(&choice).unwrap().execute(Batch::new(calls, &choice, driver.clone())).await;

    let settled = driver.settled.lock().unwrap();
    let seen: Vec<_> = settled.iter().map(|settlement| (settlement.outcome, settlement.code)).collect();
    let expected = [
        (Outcome::Succeeded, None),
        (Outcome::Failed, Some(Code::ToolError)),
        (Outcome::TimedOut, Some(Code::TimedOut)),
    ];
    assert_eq!(seen, expected);
    assert_eq!(settled[0].result.text(), r#"{"a":1}"#);
    assert!(!settled[1].result.text().contains("s3cret"));
    let log = log.lock().unwrap();
    assert_eq!(*log, ["hook echo", "intent 0", "hook fail", "intent 1", "hook slow", "intent 2"]);
}
