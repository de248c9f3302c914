//! Runs one tool so that nothing it does can hurt its caller.

mod body;
#[cfg(test)]
mod tests;
mod texts;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdpoint_codec::canonical_json;
use holdpoint_core::{Block, CallKey, Code, ErrorDetail, Outcome, ResultKind, Settlement, Source, ToolResult};

use crate::{Gate, Inquiry, ThreadPool, Tool, ToolCall, ToolDefinition, ToolError, ToolFault, limit_output};
pub(crate) use body::{Done, Ended, run_body};

/// Where a tool runs.
#[derive(Clone)]
pub enum Place {
    /// A task of the async runtime; blocking tools get a thread of the process.
    Task,
    /// A thread of this pool, whether the tool blocks or not.
    Threads(Arc<ThreadPool>),
    /// Wherever this brings it.
    Custom(Arc<dyn Invoke>),
}

/// Brings a call to a place of its own, such as a child process. Hooks, timeout and intent are around it.
#[async_trait]
pub trait Invoke: Send + Sync {
    /// Gives the result of this call of this tool.
    async fn invoke(&self, tool: Arc<dyn Tool>, call: ToolCall) -> Result<ToolResult, ToolError>;
}

/// All that is needed to run one tool once.
#[derive(Clone)]
pub struct Invocation {
    /// What runs.
    pub tool: Arc<dyn Tool>,
    /// With what. Its token is the run's: the tool gets one of its own below it.
    pub call: ToolCall,
    /// The run's limit; the tool's own goes before it.
    pub timeout: Duration,
    /// Where it runs.
    pub place: Place,
    /// Results above it are cut.
    pub output_bytes_max: u64,
    /// How much of an error the model sees.
    pub error_detail: ErrorDetail,
}

impl Invocation {
    /// The tool's own limit, else the run's.
    pub fn limit(&self) -> Duration {
        self.tool.definition().metadata.timeout.unwrap_or(self.timeout)
    }
}

/// Runs the tool and says how it ended. Never panics, never waits longer than the limit, and when the returned future is
/// dropped the tool is told to stop. Needs a tokio runtime.
///
/// A tool that asks a person fails, and is told that nobody is asked: see [`invoke_or_ask`].
pub async fn invoke(invocation: Invocation) -> Settlement {
    let (call, key) = (Call::of(&invocation), invocation.call.key().clone());
    let done = run_body(invocation, open_gate()).await;
    done.nobody_is_asked(&*call.tool, &key);
    call.settled(done)
}

/// Why a call has no result.
#[derive(Clone, Debug)]
pub enum Unsettled {
    /// The gate was closed: the tool did not start.
    NotStarted,
    /// The tool was started and asks a person before it goes on.
    Asks(Arc<Inquiry>),
    /// The tool was started and does not know what became of the call.
    Unknown,
}

/// Whether the caller can ask a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// It can: what the tool asks is [`Unsettled::Asks`].
    Person,
    /// It cannot: a tool that asks fails.
    Nobody,
}

/// Like [`invoke`], for callers that can ask a person.
///
/// # Errors
/// When the tool asks a person, or does not know what became of what it had started.
pub async fn invoke_or_ask(invocation: Invocation) -> Result<Settlement, Unsettled> {
    invoke_gated(invocation, Asking::Person, open_gate()).await
}

/// Like [`invoke_or_ask`], with a gate that is asked right before the tool's own code runs, on the thread that runs it, and
/// once more by a tool that calls [`ToolCall::may_start`].
///
/// # Errors
/// When the gate kept the tool from starting, when the tool asks a person, or when it does not know what became of what it
/// had started.
pub async fn invoke_gated(invocation: Invocation, asking: Asking, gate: Gate) -> Result<Settlement, Unsettled> {
    let (call, key) = (Call::of(&invocation), invocation.call.key().clone());
    let done = run_body(invocation, gate).await;
    match &done.ended {
        Ended::NotStarted => return Err(Unsettled::NotStarted),
        Ended::Returned(Err(error)) if error.fault() == ToolFault::Unknown => return Err(Unsettled::Unknown),
        Ended::Returned(Err(error)) => match (error.inquiry(), asking) {
            (Some(inquiry), Asking::Person) => return Err(Unsettled::Asks(Arc::clone(inquiry))),
            (Some(_), Asking::Nobody) | (None, _) => {}
        },
        Ended::Returned(Ok(_)) | Ended::TimedOut(_) | Ended::Cancelled | Ended::NoRuntime => {}
    }
    done.nobody_is_asked(&*call.tool, &key);
    Ok(call.settled(done))
}

pub(crate) fn open_gate() -> Gate {
    Arc::new(|| true)
}

impl Done {
    /// Tells a tool that what it asks, or had asked when its time was over, is asked of nobody.
    pub(crate) fn nobody_is_asked(&self, tool: &dyn Tool, key: &CallKey) {
        let may_have_asked = match &self.ended {
            Ended::Returned(Err(error)) => error.inquiry().is_some(),
            Ended::TimedOut(_) | Ended::Cancelled => true,
            Ended::Returned(Ok(_)) | Ended::NoRuntime | Ended::NotStarted => false,
        };
        if may_have_asked {
            tool.abandon(key);
        }
    }
}

/// What is needed of an invocation once its body ended.
struct Call {
    tool: Arc<dyn Tool>,
    output_bytes_max: u64,
    detail: ErrorDetail,
}

impl Call {
    fn of(invocation: &Invocation) -> Self {
        let (output_bytes_max, detail) = (invocation.output_bytes_max, invocation.error_detail);
        Self { tool: Arc::clone(&invocation.tool), output_bytes_max, detail }
    }

    fn settled(self, done: Done) -> Settlement {
        let mut settlement = settle(self.tool.definition(), done.ended, self.detail);
        settlement.latency_us = u64::try_from(done.latency.as_micros()).unwrap_or(u64::MAX);
        if exceeds(&settlement.result, self.output_bytes_max) {
            let result = Arc::unwrap_or_clone(settlement.result);
            settlement.result = Arc::new(limit_output(result, self.output_bytes_max));
        }
        settlement
    }
}

fn exceeds(result: &ToolResult, bytes_max: u64) -> bool {
    let total: usize = result.blocks.iter().map(Block::len_bytes).sum();
    u64::try_from(total).is_ok_and(|total| total > bytes_max)
}

fn settle(definition: &ToolDefinition, ended: Ended, detail: ErrorDetail) -> Settlement {
    let name = &definition.name;
    let (outcome, code) = ended.outcome();
    let source = ended.started().then_some(Source::Tool);
    let result = match ended {
        Ended::Returned(Ok(result)) => result,
        Ended::Returned(Err(error)) => {
            tracing::debug!(tool = %name, code = %error.fault().code(), "a tool failed");
            ToolResult::error(match detail {
                ErrorDetail::Safe => texts::safe(name, error.fault()),
                ErrorDetail::Debug => error.message().to_owned(),
            })
        }
        Ended::TimedOut(limit) => {
            tracing::warn!(tool = %name, limit_ms = limit.as_millis(), "a tool timed out");
            ToolResult::error(texts::timed_out(name, limit, definition.metadata.repeat))
        }
        Ended::Cancelled => ToolResult::error(texts::cancelled(name, definition.metadata.repeat)),
        Ended::NoRuntime => ToolResult::error(texts::no_runtime(name)),
        Ended::NotStarted => ToolResult::error(texts::not_started(name)),
    };
    Settlement { outcome, code, source, result: Arc::new(result), latency_us: 0 }
}

impl Ended {
    /// Under which outcome and code it is recorded.
    pub(crate) fn outcome(&self) -> (Outcome, Option<Code>) {
        match self {
            Ended::Returned(Ok(result)) => Outcome::of_result(result),
            Ended::Returned(Err(error)) => (Outcome::Failed, Some(error.fault().code())),
            Ended::TimedOut(_) => (Outcome::TimedOut, Some(Code::TimedOut)),
            Ended::Cancelled => (Outcome::Cancelled, Some(Code::RunCancelled)),
            Ended::NoRuntime => (Outcome::Failed, Some(Code::NoRuntime)),
            Ended::NotStarted => (Outcome::Failed, Some(Code::ExecutorFailed)),
        }
    }

    /// Whether the tool was started, and so may have had an effect.
    fn started(&self) -> bool {
        match self {
            Ended::Returned(Err(error)) => error.fault() != ToolFault::Saturated,
            Ended::Returned(Ok(_)) | Ended::TimedOut(_) | Ended::Cancelled => true,
            Ended::NoRuntime | Ended::NotStarted => false,
        }
    }

    /// For a caller that is not a model: the tool's own words, or ours if it has none.
    pub(crate) fn into_report(self, definition: &ToolDefinition) -> Result<ToolResult, String> {
        match self {
            Ended::Returned(Ok(result)) if result.kind == ResultKind::Error => Err(result.text()),
            Ended::Returned(Ok(result)) => Ok(result),
            Ended::Returned(Err(error)) => Err(error.message().to_owned()),
            Ended::TimedOut(limit) => Err(texts::timed_out(&definition.name, limit, definition.metadata.repeat)),
            Ended::Cancelled => Err(texts::cancelled(&definition.name, definition.metadata.repeat)),
            Ended::NoRuntime => Err(texts::no_runtime(&definition.name)),
            Ended::NotStarted => Err(texts::not_started(&definition.name)),
        }
    }
}

/// A result whose JSON is not JSON would spoil what is stored and sent.
fn checked(result: ToolResult) -> Result<ToolResult, ToolError> {
    let blocks = result.blocks.iter().filter_map(|block| match block {
        Block::Json(json) => Some(json),
        Block::Text(_) | Block::Image(_) | Block::File(_) => None,
    });
    // The codec's own reading, so that whatever is accepted here can be read back from the store: depth included.
    let readable = blocks.chain(result.metadata.values()).all(|json| canonical_json(json.expose()).is_ok());
    if readable { Ok(result) } else { Err(ToolError::unusable("the result holds JSON that cannot be read")) }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Place::Task => "Task",
            Place::Threads(_) => "Threads",
            Place::Custom(_) => "Custom",
        })
    }
}

impl fmt::Debug for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Invocation")
            .field("call", &self.call)
            .field("limit", &self.limit())
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}
