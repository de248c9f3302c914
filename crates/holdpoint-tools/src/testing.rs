//! What the tests of this crate share.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use holdpoint_codec::{Context, arguments_for, idempotency_key, parse_arguments};
use holdpoint_core::{
    Arguments, Attempt, CallId, CallIndex, CallKey, ErrorDetail, ExecutorChoice, Parallel, RequestedName, RunId,
    ToolName, Turn,
};
use tokio::time::Instant;

use crate::{Batch, BatchCall, CallFacts, Invocation, Place, Ran, RunOne, Tool, ToolCall};

pub(crate) fn arguments(tool: &str, text: &str) -> Arguments {
    arguments_for(tool, &parse_arguments(Some(text)).expect("arguments of a test"))
}

pub(crate) fn call(tool: &str, text: &str) -> ToolCall {
    call_in(tool, text, Context::new())
}

pub(crate) fn call_in(tool: &str, text: &str, context: Context) -> ToolCall {
    let arguments = arguments(tool, text);
    let key = CallKey { run: RunId::new("r1"), turn: Turn(1), index: CallIndex(0) };
    ToolCall::new(CallFacts {
        id: CallId::new("tc_1"),
        requested: RequestedName::new(tool),
        tool: ToolName::new(tool),
        idempotency_key: idempotency_key(&key.run, key.turn, key.index, arguments.digest()),
        key,
        arguments,
        context: Arc::new(context),
        attempt: Attempt(1),
    })
}

pub(crate) fn invocation(tool: impl Tool + 'static, text: &str) -> Invocation {
    let call = call(tool.definition().name.as_str(), text);
    Invocation {
        tool: Arc::new(tool),
        call,
        timeout: Duration::from_secs(30),
        place: Place::Task,
        output_bytes_max: 200_000,
        error_detail: ErrorDetail::Safe,
    }
}

/// Notes when each call starts and ends; a call takes as many seconds as it is told.
pub(crate) struct Recorder {
    begun: Instant,
    seconds: Vec<u64>,
    stops_at: Option<u32>,
    pub(crate) log: Mutex<Vec<String>>,
}

impl Recorder {
    pub(crate) fn new(seconds: &[u64]) -> Self {
        Self { begun: Instant::now(), seconds: seconds.to_vec(), stops_at: None, log: Mutex::default() }
    }

    pub(crate) fn stopping_at(mut self, call: u32) -> Self {
        self.stops_at = Some(call);
        self
    }

    pub(crate) fn note(&self, what: &str, call: CallIndex) {
        let at = self.begun.elapsed().as_secs();
        self.log.lock().unwrap().push(format!("{at} {what} {call}"));
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

#[async_trait]
impl RunOne for Recorder {
    async fn run(&self, call: CallIndex, place: Place) -> Ran {
        self.note(if matches!(place, Place::Threads(_)) { "thread" } else { "start" }, call);
        tokio::time::sleep(Duration::from_secs(self.seconds[call.as_usize()])).await;
        self.note("end", call);
        if self.stops_at == Some(call.0) { Ran::Stop } else { Ran::Done }
    }

    async fn defer(&self, call: CallIndex) {
        self.note("defer", call);
    }
}

/// Calls of tools given as `name`, `name+` (parallelizable), `name-` (not), or with a source after `@`.
pub(crate) fn calls(tools: &[&str]) -> Vec<BatchCall> {
    tools.iter().enumerate().map(|(index, text)| batch_call(CallIndex::from_usize(index), text)).collect()
}

fn batch_call(index: CallIndex, text: &str) -> BatchCall {
    let (text, source) = text.split_once('@').unwrap_or((text, "native"));
    let (name, parallelizable) = match (text.strip_suffix('+'), text.strip_suffix('-')) {
        (Some(name), _) => (name, Some(true)),
        (_, Some(name)) => (name, Some(false)),
        _ => (text, None),
    };
    BatchCall { index, tool: ToolName::new(name), parallelizable, source: source.into() }
}

pub(crate) fn batch(tools: &[&str], choice: &ExecutorChoice, run_one: Arc<dyn RunOne>) -> Batch {
    Batch::new(calls(tools), choice, run_one)
}

pub(crate) fn choice(name: &str, parallel: Parallel, max_concurrency: Option<u32>) -> ExecutorChoice {
    ExecutorChoice { name: name.into(), routes: Vec::new(), parallel, max_concurrency }
}

/// Polls once and says whether it waits.
pub(crate) async fn waits<F: Future + Unpin>(work: &mut F) -> bool {
    std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut *work).poll(context).is_pending())).await
}

/// Waits once, and wakes itself while it does.
pub(crate) async fn wakes_itself() {
    let mut waited = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
