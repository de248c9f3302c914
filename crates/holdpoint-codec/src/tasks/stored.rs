//! What the queue keeps of a task: what a worker needs to do it, and what it delivers.

use std::sync::Arc;

use holdpoint_core::{
    Actor, Arguments, Attempt, BatchId, CallId, CallIndex, CallState, Repeat, RequestedName, Run, RunId, Settings,
    Settlement, Terms, Timestamp, ToolFacts, ToolName, Turn,
};
use serde::{Deserialize, Serialize};

use super::{Task, task, task_id};
use crate::arguments::{arguments_summary, digest_of, idempotency_key};
use crate::pending::TurnCalls;
use crate::read::{Read, Versioned, read_json};
use crate::receipt::ReceiptMaker;
use crate::wire::{ActorWire, Fault, Json, Members, Name, SettlementWire, TermsWire, Text, Wire, is_default};
use crate::{CodecError, Context, Document, SettingsSpec};

/// The version of stored tasks.
const TASK_VERSION: u32 = 1;
/// The version of stored deliveries.
const DELIVERY_VERSION: u32 = 1;

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

/// A stored task. What can be made again from the rest is not written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredWire {
    v: u32,
    run: Text,
    turn: u32,
    index: u32,
    id: Text,
    name: Text,
    /// Absent when it is the requested name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<Text>,
    source: Text,
    arguments: Json,
    attempt: u32,
    /// Microseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deadline: Option<i64>,
    #[serde(default, skip_serializing_if = "is_never")]
    repeat: Name<Repeat>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    definition: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    receipt: Option<Text>,
    /// Absent when nobody was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    approved: Option<TermsWire>,
    #[serde(default, skip_serializing_if = "is_default")]
    actor: ActorWire,
    #[serde(default, skip_serializing_if = "Members::is_empty")]
    context: Members,
    #[serde(default, skip_serializing_if = "is_default")]
    settings: SettingsSpec,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trace: Option<Text>,
}

fn is_never(repeat: &Name<Repeat>) -> bool {
    repeat.0 == Repeat::Never
}

impl Versioned for StoredWire {
    fn version(&self) -> u32 {
        self.v
    }
}

/// The stored form of the task of a call that is handed out, with its receipt if somebody makes one; nothing for any
/// other call.
pub fn encode_task(run: &Run, index: CallIndex, receipts: Option<ReceiptMaker<'_>>) -> Option<Vec<u8>> {
    let call = run.call(index).filter(|call| matches!(call.state, CallState::Deferred { .. }))?;
    let facts = call.tool.as_ref()?;
    let turn = TurnCalls { run: run.id(), turn: run.turn(), calls: run.calls() };
    let task = task(&run.batch(), turn.pending(index, call)?);
    let tool = (task.executed_name.as_str() != task.name.as_str()).then(|| Text::new(task.executed_name.as_str()));
    let stored = StoredWire {
        v: TASK_VERSION,
        run: Text::new(run.id().as_str()),
        turn: run.turn().0,
        index: index.0,
        id: Text::new(task.tool_call_id.as_str()),
        name: Text::new(task.name.as_str()),
        tool,
        source: Text::share(&task.tool_source),
        arguments: Json::new(task.arguments.share()),
        attempt: task.attempt.0,
        deadline: task.deadline.map(|at| at.0),
        repeat: Name(facts.repeat),
        definition: facts.definition.as_ref().map(Text::share),
        receipt: receipts.and_then(|maker| maker.token(run, index)).map(Text),
        approved: call.approved_terms().map(TermsWire::of),
        actor: ActorWire::of(run.actor()),
        context: Members(run.context().clone()),
        settings: SettingsSpec::of(run.settings()),
        trace: run.trace().map(Text::share),
    };
    Some(written(&stored))
}

/// Reads the stored form of a task.
///
/// # Errors
/// When it has another version, or is not a task; the error names the field.
pub fn decode_task(stored: &[u8]) -> Result<StoredTask, CodecError> {
    let wire: StoredWire = read(stored, Document::StoredTask, TASK_VERSION)?;
    wire.core().map_err(|fault| CodecError::invalid(Document::StoredTask, fault.0))
}

impl StoredWire {
    fn core(self) -> Result<StoredTask, Fault> {
        if !self.arguments.as_str().starts_with('{') {
            return Err(Fault::at("arguments"));
        }
        let (run, turn, index) = (RunId::new(self.run.0), Turn(self.turn), CallIndex(self.index));
        let batch = BatchId { run: run.clone(), turn };
        let tool = self.tool.unwrap_or_else(|| self.name.clone());
        let digest = digest_of(tool.as_str(), self.arguments.as_str());
        let arguments = Arguments::from_canonical(self.arguments.as_str(), digest);
        let actor: Actor = self.actor.core().map_err(|fault| fault.within("actor"))?;
        let facts = ToolFacts {
            name: ToolName::new(Arc::clone(&tool.0)),
            repeat: self.repeat.0,
            source: Arc::clone(&self.source.0),
            definition: self.definition.map(|text| text.0),
        };
        let task = Task {
            id: task_id(&batch, index).into(),
            index,
            tool_call_id: CallId::new(self.id.0),
            name: RequestedName::new(self.name.0),
            executed_name: ToolName::new(tool.0),
            tool_source: self.source.0,
            arguments_summary: arguments_summary(&arguments),
            arguments,
            attempt: Attempt(self.attempt),
            deadline: self.deadline.map(Timestamp),
            idempotency_key: idempotency_key(&run, turn, index, digest),
            receipt: self.receipt.map(|text| text.0),
        };
        Ok(StoredTask {
            context: Context::from_stored(&self.context.0).by(actor).with_run_id(run.clone()),
            run,
            turn,
            batch,
            task,
            tool: facts,
            approved: self.approved.map(Wire::core).transpose().map_err(|fault| fault.within("approved"))?,
            settings: Arc::new(self.settings.settings()),
            trace: self.trace.map(|text| text.0),
        })
    }
}

/// What a worker delivered.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeliveryWire {
    v: u32,
    settlement: SettlementWire,
}

impl Versioned for DeliveryWire {
    fn version(&self) -> u32 {
        self.v
    }
}

/// The stored form of what a worker delivered.
pub fn encode_delivery(settlement: &Settlement) -> Vec<u8> {
    written(&DeliveryWire { v: DELIVERY_VERSION, settlement: SettlementWire::of(settlement) })
}

/// Reads the stored form of what a worker delivered.
///
/// # Errors
/// When it has another version, or is not a delivery; the error names the field.
pub fn decode_delivery(stored: &[u8]) -> Result<Settlement, CodecError> {
    let wire: DeliveryWire = read(stored, Document::Delivery, DELIVERY_VERSION)?;
    let settlement = wire.settlement.core().map_err(|fault| fault.within("settlement"));
    settlement.map_err(|fault| CodecError::invalid(Document::Delivery, fault.0))
}

fn written(wire: &impl Serialize) -> Vec<u8> {
    // Writing to memory does not fail, and nothing of it refuses to be written.
    serde_json::to_vec(wire).unwrap_or_default()
}

fn read<T>(stored: &[u8], document: Document, version: u32) -> Result<T, CodecError>
where
    T: for<'de> Deserialize<'de> + Versioned,
{
    let text = std::str::from_utf8(stored).map_err(|_| CodecError::invalid(document, ""))?;
    read_json(text, Read { document, version_field: "v", version })
}
