//! Task payloads: the calls that somebody outside must run. Sensitive, since they hold raw arguments.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_core::{
    Arguments, Attempt, BatchId, CallId, CallIndex, ContinuationId, IdempotencyKey, PauseReason, RequestedName, Run,
    RunId, Timestamp, ToolName, Turn,
};
use serde_json::Value;

use crate::pending::{Pending, pending_for};
use crate::receipt::ReceiptMaker;
use crate::signing::sign;
use crate::{CodecError, Context, Document, LoadOptions, Shown, SigningKey, Trust};

mod stored;
mod wire;

pub use stored::{StoredTask, decode_delivery, decode_task, encode_delivery, encode_task};
use wire::{TaskWire, TasksWire};

/// The version of task payloads.
pub const SCHEMA_VERSION: u32 = 1;

/// What goes into a payload besides the calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct DumpOptions<'a> {
    /// The live context, which may hold more than the run stored.
    pub context: Option<&'a Context>,
    /// The attributes that may go into the payload; `None` for those of the run's settings.
    pub context_keys: Option<&'a BTreeSet<Arc<str>>>,
    /// Signs the payload.
    pub key: Option<&'a SigningKey>,
    /// Makes the receipts of the calls.
    pub receipts: Option<ReceiptMaker<'a>>,
}

/// One call that somebody outside must run.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its id, made of the batch and the place in the turn.
    pub id: Arc<str>,
    /// Its place in the turn.
    pub index: CallIndex,
    /// The id of the call that is shown; results are delivered under it.
    pub tool_call_id: CallId,
    /// What the model wrote.
    pub name: RequestedName,
    /// The registered tool that must run.
    pub executed_name: ToolName,
    /// `native`, `mcp:SERVER`, `skills`, `http`, `command` or `worker`.
    pub tool_source: Arc<str>,
    /// What it must run with.
    pub arguments: Arguments,
    /// Names and sizes of the arguments: safe to log.
    pub arguments_summary: String,
    /// Which attempt this is.
    pub attempt: Attempt,
    /// When it must be done.
    pub deadline: Option<Timestamp>,
    /// Equal over all attempts.
    pub idempotency_key: IdempotencyKey,
    /// Proves that the call was approved, where receipts are made.
    pub receipt: Option<Arc<str>>,
}

impl Task {
    /// The stable JSON form of one task. Holds the raw arguments: data, not for logs.
    pub fn shown(&self) -> Shown {
        Shown::of(&TaskWire::of(self))
    }

    /// [`Task::shown`] as a value. An integer of more than 64 bits is only near to what it was.
    pub fn to_json(&self) -> Value {
        self.shown().to_value()
    }
}

/// A payload that was read and checked.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The run.
    pub run_id: RunId,
    /// The pause that the results would resume.
    pub continuation_id: ContinuationId,
    /// The batch of the turn.
    pub batch_id: BatchId,
    /// The turn.
    pub turn: Turn,
    /// The context attributes of the payload.
    pub context: Context,
    /// The calls that must run.
    pub tasks: Vec<Task>,
    /// Whether the payload is known to be as it was written.
    pub trust: Trust,
}

/// The calls that a run still waits for, as tasks. None unless it waits for results.
pub fn tasks(run: &Run) -> Vec<Task> {
    let reason = PauseReason::AwaitingToolResults;
    if run.pause_reason() != Some(reason) {
        return Vec::new();
    }
    let batch = run.batch();
    pending_for(run, reason).into_iter().map(|pending| task(&batch, pending)).collect()
}

fn task(batch: &BatchId, pending: Pending) -> Task {
    Task {
        id: task_id(batch, pending.index).into(),
        index: pending.index,
        tool_call_id: pending.id,
        name: pending.name,
        executed_name: pending.tool,
        tool_source: pending.tool_source,
        arguments: pending.arguments,
        arguments_summary: pending.arguments_summary,
        attempt: pending.attempt,
        deadline: pending.deadline,
        idempotency_key: pending.idempotency_key,
        receipt: None,
    }
}

/// Work is keyed by run, batch and call.
fn task_id(batch: &BatchId, index: CallIndex) -> String {
    format!("{batch}.c{index}")
}

/// The tasks of a run that waits for results, as JSON text. Only what is still missing is listed.
///
/// # Errors
/// When the run waits for no results, or a context value is too large.
pub fn dump(run: &Run, options: &DumpOptions<'_>) -> Result<String, CodecError> {
    let waiting = run.continuation().filter(|_| run.pause_reason() == Some(PauseReason::AwaitingToolResults));
    let continuation = waiting.ok_or(CodecError::NotPaused)?;
    let stored = Context::from_stored(run.context());
    let context = options.context.map_or_else(|| stored.clone(), |live| stored.merged(live));
    let context = context.stored(options.context_keys.unwrap_or(&run.settings().context_keys))?;
    let mut tasks = tasks(run);
    if let Some(maker) = options.receipts {
        tasks.iter_mut().for_each(|task| task.receipt = maker.token(run, task.index));
    }
    let payload = TasksWire::of(run, &continuation, context, &tasks);
    // Writing to memory does not fail, and nothing in a payload refuses to be written.
    let body = serde_json::to_string(&payload).unwrap_or_default();
    Ok(match options.key {
        Some(key) => sign(body, Document::Tasks, key),
        None => body,
    })
}

/// Reads and checks a task payload, in the same order as a continuation: size, version, shape, signature.
///
/// # Errors
/// When it is too large, of another version, not of the right shape, or not signed as it should be.
pub fn load(payload: impl AsRef<[u8]>, options: &LoadOptions<'_>) -> Result<Loaded, CodecError> {
    wire::load(payload.as_ref(), options)
}
