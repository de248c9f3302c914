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
use holdpoint_core::{Block, Code, ErrorDetail, Outcome, Settlement, Source, ToolResult};

use crate::{Gate, Inquiry, ThreadPool, Tool, ToolCall, ToolError, ToolFault, limit_output};
use body::{Done, Ended};

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
/// A tool that asks a person fails, and is told that nobody is asked: see [`invoke_gated`].
pub async fn invoke(invocation: Invocation) -> Settlement {
    let done = body::run(&invocation, Arc::new(|| true)).await;
    invocation.settle(done)
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

/// Like [`invoke`], with a gate that is asked right before the tool's own code runs, on the thread that runs it, and once
/// more by a tool that calls [`ToolCall::may_start`].
///
/// # Errors
/// When the gate kept the tool from starting, when the tool asks a person, or when it does not know what became of what it
/// had started.
pub async fn invoke_gated(invocation: &Invocation, asking: Asking, gate: Gate) -> Result<Settlement, Unsettled> {
    let done = body::run(invocation, gate).await;
    if let Ended::Returned(Err(error)) = &done.ended {
        match (error.fault(), error.inquiry()) {
            (ToolFault::NotStarted, _) => return Err(Unsettled::NotStarted),
            (ToolFault::Unknown, _) => return Err(Unsettled::Unknown),
            (_, Some(inquiry)) if asking == Asking::Person => return Err(Unsettled::Asks(Arc::clone(inquiry))),
            (_, _) => {}
        }
    }
    Ok(invocation.settle(done))
}

impl Invocation {
    fn settle(&self, done: Done) -> Settlement {
        let definition = self.tool.definition();
        let (name, repeat) = (&definition.name, definition.metadata.repeat);
        let mut source = Some(Source::Tool);
        // Whether what the tool asks, or had asked when its time was over, is asked of nobody.
        let mut abandoned = true;
        let (outcome, code, result) = match done.ended {
            Ended::Returned(Ok(result)) => {
                abandoned = false;
                let (outcome, code) = Outcome::of_result(&result);
                (outcome, code, result)
            }
            Ended::Returned(Err(error)) => {
                let fault = error.fault();
                abandoned = error.inquiry().is_some();
                source = source.filter(|_| fault.has_started());
                tracing::debug!(tool = %name, code = %fault.code(), "a tool failed");
                let text = match self.error_detail {
                    ErrorDetail::Safe => texts::safe(name, fault),
                    ErrorDetail::Debug => error.message().to_owned(),
                };
                (Outcome::Failed, Some(fault.code()), ToolResult::error(text))
            }
            Ended::TimedOut(limit) => {
                tracing::warn!(tool = %name, limit_ms = limit.as_millis(), "a tool timed out");
                let text = texts::timed_out(name, limit, repeat);
                (Outcome::TimedOut, Some(Code::TimedOut), ToolResult::error(text))
            }
            Ended::Cancelled => {
                (Outcome::Cancelled, Some(Code::RunCancelled), ToolResult::error(texts::cancelled(name, repeat)))
            }
        };
        if abandoned {
            self.tool.abandon(self.call.key());
        }
        let result = Arc::new(limit_output(result, self.output_bytes_max));
        let latency_us = u64::try_from(done.latency.as_micros()).unwrap_or(u64::MAX);
        Settlement { outcome, code, source, result, latency_us }
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
