//! What the queue keeps of a task: what a worker needs to do it, and what it delivers.

use std::sync::Arc;

use holdpoint_core::{
    Actor, Arguments, Attempt, Attributes, BatchId, CallId, CallIndex, CallState, JsonText, RequestedName, Run, RunId,
    Settings, Settlement, Terms, Timestamp, ToolFacts, Turn,
};
use serde_with::de::DeserializeAsWrap;
use serde_with::ser::SerializeAsWrap;

use super::{Task, task_id};
use crate::arguments::{arguments_summary, digest_of, idempotency_key};
use crate::read::{read_record, write_record};
use crate::receipt::ReceiptMaker;
use crate::wire::{Stored, Usual, stored};
use crate::{CodecError, Context, Document};

/// A task that a worker leased: everything that doing it needs, without the run.
#[derive(Clone, Debug)]
pub struct StoredTask {
    /// The run.
    pub run: RunId,
    /// The turn of the call.
    pub turn: Turn,
    /// The batch of the turn.
    pub batch: BatchId,
    /// The call. Its attempt is the first of this task: the queue counts on from there.
    pub task: Task,
    /// What the tool was when the call was handed out.
    pub tool: ToolFacts,
    /// The terms under which people let it run. Nothing when nobody was asked.
    pub approved: Option<Terms>,
    /// What the run stored of its context, and who started it.
    pub context: Context,
    /// The settings of the run: limits and whether policy is asked again.
    pub settings: Arc<Settings>,
    /// The trace of whoever started the run.
    pub trace: Option<Arc<str>>,
}

stored! {
    /// A stored task. What can be made again from the rest is not written.
    struct StoredWire {
        run: RunId,
        turn: Turn,
        index: CallIndex,
        id: CallId,
        name: RequestedName,
        tool: ToolFacts,
        arguments: JsonText,
        attempt: Attempt,
        deadline: Option<Timestamp>,
        receipt: Option<Arc<str>>,
        /// Absent when nobody was asked.
        approved: Option<Terms>,
        actor: Actor,
        context: Attributes,
        settings: Arc<Settings>,
        trace: Option<Arc<str>>,
    }
}

/// The stored form of the task of a call that is handed out, with its receipt if somebody makes one; nothing for any
/// other call.
pub fn encode_task(run: &Run, index: CallIndex, receipts: Option<ReceiptMaker<'_>>) -> Option<Vec<u8>> {
    let call = run.call(index)?;
    let CallState::Deferred { attempt, deadline } = call.state else { return None };
    Some(write_record(&StoredWire {
        run: run.id().clone(),
        turn: run.turn(),
        index,
        id: call.id.clone(),
        name: call.name.clone(),
        tool: call.tool.clone()?,
        arguments: JsonText::new(call.canonical()?.share()),
        attempt,
        deadline,
        receipt: receipts.and_then(|maker| maker.token(run, index)),
        approved: call.approved_terms().cloned(),
        actor: run.actor().clone(),
        context: run.context().clone(),
        settings: Arc::clone(run.settings()),
        trace: run.trace().cloned(),
    }))
}

/// Reads the stored form of a task.
///
/// # Errors
/// When it has another version, or is not a task; the error names the field.
pub fn decode_task(stored: &[u8]) -> Result<StoredTask, CodecError> {
    let wire: StoredWire = read_record(stored, Document::StoredTask)?;
    if !wire.arguments.expose().starts_with('{') {
        return Err(CodecError::invalid(Document::StoredTask, "body.arguments"));
    }
    let StoredWire { run, turn, index, .. } = wire;
    let batch = BatchId { run: run.clone(), turn };
    let digest = digest_of(wire.tool.name.as_str(), wire.arguments.expose());
    let arguments = Arguments::from_canonical(wire.arguments.expose(), digest);
    let task = Task {
        id: task_id(&batch, index).into(),
        index,
        tool_call_id: wire.id,
        name: wire.name,
        executed_name: wire.tool.name.clone(),
        tool_source: Arc::clone(&wire.tool.source),
        arguments_summary: arguments_summary(&arguments),
        arguments,
        attempt: wire.attempt,
        deadline: wire.deadline,
        idempotency_key: idempotency_key(&run, turn, index, digest),
        receipt: wire.receipt,
    };
    Ok(StoredTask {
        context: Context::from_stored(&wire.context).by(wire.actor).with_run_id(run.clone()),
        run,
        turn,
        batch,
        task,
        tool: wire.tool,
        approved: wire.approved,
        settings: wire.settings,
        trace: wire.trace,
    })
}

/// The stored form of what a worker delivered.
pub fn encode_delivery(settlement: &Settlement) -> Vec<u8> {
    write_record(&SerializeAsWrap::<_, Stored>::new(settlement))
}

/// Reads the stored form of what a worker delivered.
///
/// # Errors
/// When it has another version, or is not a delivery; the error names the field.
pub fn decode_delivery(stored: &[u8]) -> Result<Settlement, CodecError> {
    read_record::<DeserializeAsWrap<_, Stored>>(stored, Document::Delivery).map(DeserializeAsWrap::into_inner)
}
