//! The fields of a task payload, in the order of their names.

use holdpoint_core::{
    Arguments, Attempt, Attributes, BatchId, CallId, CallIndex, ContinuationId, IdempotencyKey, RequestedName, Run,
    RunId, ToolName, Turn,
};
use serde::{Deserialize, Serialize};

use super::{Loaded, SCHEMA_VERSION, Task, task_id};
use crate::arguments::{arguments_summary, digest_of, idempotency_key};
use crate::read::{Read, Versioned, bounded_text, read_json};
use crate::signing::{SignatureWire, verify};
use crate::wire::{DigestText, Fault, Json, Members, Moment, Text, nullable};
use crate::{CodecError, Context, Document, LoadOptions, Trust};

/// A task payload.
#[derive(Serialize, Deserialize)]
pub(super) struct TasksWire {
    batch_id: Text,
    context: Members,
    continuation_id: Text,
    run_id: Text,
    schema_version: u32,
    #[serde(default, skip_serializing)]
    signature: Option<SignatureWire>,
    tasks: Vec<TaskWire>,
    turn: u32,
}

/// One task.
#[derive(Serialize, Deserialize)]
pub(super) struct TaskWire {
    arguments: Json,
    arguments_summary: String,
    attempt: u32,
    #[serde(deserialize_with = "nullable")]
    deadline: Option<Moment>,
    digest: DigestText,
    executed_name: Text,
    id: Text,
    idempotency_key: Text,
    name: Text,
    #[serde(deserialize_with = "nullable")]
    receipt: Option<Text>,
    tool_call_id: Text,
    tool_source: Text,
}

impl Versioned for TasksWire {
    fn version(&self) -> u32 {
        self.schema_version
    }
}

impl TasksWire {
    pub(super) fn of(run: &Run, continuation: &ContinuationId, context: Attributes, tasks: &[Task]) -> Self {
        Self {
            batch_id: Text::new(&run.batch().to_string()),
            context: Members(context),
            continuation_id: Text::new(&continuation.to_string()),
            run_id: Text::new(run.id().as_str()),
            schema_version: SCHEMA_VERSION,
            signature: None,
            tasks: tasks.iter().map(TaskWire::of).collect(),
            turn: run.turn().0,
        }
    }

    fn core(self) -> Result<Loaded, Fault> {
        let run = RunId::new(self.run_id.0);
        if run.as_str().trim().is_empty() {
            return Err(Fault::at("run_id"));
        }
        let continuation_id = ContinuationId::parse(self.continuation_id.as_str())
            .filter(|id| id.run == run && id.pause.0 >= 1)
            .ok_or_else(|| Fault::at("continuation_id"))?;
        let batch_id = BatchId::parse(self.batch_id.as_str())
            .filter(|id| id.run == run && id.turn == Turn(self.turn))
            .ok_or_else(|| Fault::at("batch_id"))?;
        let tasks = self.tasks.into_iter().enumerate();
        let tasks = tasks.map(|(index, task)| task.core(&batch_id).map_err(|fault| fault.item("tasks", index)));
        let tasks: Vec<Task> = tasks.collect::<Result<_, Fault>>()?;
        // In call order, so that none can be there twice.
        if !tasks.is_sorted_by(|one, other| one.index < other.index) {
            return Err(Fault::at("tasks"));
        }
        Ok(Loaded {
            context: Context::from_stored(&self.context.0).with_run_id(run.clone()),
            run_id: run,
            continuation_id,
            turn: batch_id.turn,
            batch_id,
            tasks,
            trust: Trust::Unsigned,
        })
    }
}

impl TaskWire {
    pub(super) fn of(task: &Task) -> Self {
        Self {
            arguments: Json::new(task.arguments.share()),
            arguments_summary: task.arguments_summary.clone(),
            attempt: task.attempt.0,
            deadline: task.deadline.map(Moment),
            digest: DigestText(task.arguments.digest()),
            executed_name: Text::new(task.executed_name.as_str()),
            id: Text::share(&task.id),
            idempotency_key: Text::new(task.idempotency_key.as_str()),
            name: Text::new(task.name.as_str()),
            receipt: task.receipt.as_ref().map(Text::share),
            tool_call_id: Text::new(task.tool_call_id.as_str()),
            tool_source: Text::share(&task.tool_source),
        }
    }

    fn core(self, batch: &BatchId) -> Result<Task, Fault> {
        let text = self.arguments.as_str();
        if !text.starts_with('{') {
            return Err(Fault::at("arguments"));
        }
        if digest_of(self.executed_name.as_str(), text) != self.digest.0 {
            return Err(Fault::at("digest"));
        }
        let arguments = Arguments::from_canonical(text, self.digest.0);
        let index = self.id.as_str().rsplit_once(".c").and_then(|(_, index)| index.parse().ok()).map(CallIndex);
        let index = index.filter(|index| task_id(batch, *index) == self.id.as_str()).ok_or_else(|| Fault::at("id"))?;
        let key = idempotency_key(&batch.run, batch.turn, index, self.digest.0);
        let checks = [
            ("idempotency_key", key.as_str() == self.idempotency_key.as_str()),
            ("arguments_summary", arguments_summary(&arguments) == self.arguments_summary),
            ("attempt", self.attempt >= 1),
            ("tool_call_id", !self.tool_call_id.as_str().is_empty()),
        ];
        if let Some((field, _)) = checks.into_iter().find(|(_, holds)| !holds) {
            return Err(Fault::at(field));
        }
        Ok(Task {
            id: self.id.0,
            index,
            tool_call_id: CallId::new(self.tool_call_id.0),
            name: RequestedName::new(self.name.0),
            executed_name: ToolName::new(self.executed_name.0),
            tool_source: self.tool_source.0,
            arguments,
            arguments_summary: self.arguments_summary,
            attempt: Attempt(self.attempt),
            deadline: self.deadline.map(|moment| moment.0),
            idempotency_key: IdempotencyKey::new(self.idempotency_key.0),
            receipt: self.receipt.map(|text| text.0),
        })
    }
}

const READ: Read = Read { document: Document::Tasks, version_field: "schema_version", version: SCHEMA_VERSION };

pub(super) fn load(payload: &[u8], options: &LoadOptions<'_>) -> Result<Loaded, CodecError> {
    let text = bounded_text(payload, Document::Tasks, options.max_bytes)?;
    let mut wire: TasksWire = read_json(text, READ)?;
    let signature = wire.signature.take();
    let mut loaded = wire.core().map_err(|fault| CodecError::invalid(Document::Tasks, fault.0))?;
    loaded.trust = verify(text, signature.as_ref(), Document::Tasks, options)?;
    Ok(loaded)
}
