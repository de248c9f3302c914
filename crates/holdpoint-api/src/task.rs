//! The queue of calls that workers do.

use std::collections::HashMap;

use holdpoint_codec::tasks::StoredTask;
use holdpoint_codec::view::{DigestText, Moment, RawJson};
use holdpoint_core::{BatchId, CallKey};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::whole::{optional, optional_small};

/// Asks for tasks.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"tools": ["refund"], "max": 1, "lease_ms": 30000, "wait_ms": 1000}))]
pub struct LeaseBody {
    /// Names of tools, or patterns such as `mail_*`. Without it: every tool that only workers can do.
    #[schema(max_items = 100)]
    pub tools: Option<Vec<String>>,
    /// How many tasks at most: 1 unless said otherwise.
    #[serde(default, deserialize_with = "optional_small")]
    #[schema(minimum = 1, maximum = 256)]
    pub max: Option<u32>,
    /// How long others leave them alone: 30 seconds unless said otherwise.
    #[serde(default, deserialize_with = "optional")]
    #[schema(minimum = 100, maximum = 86_400_000)]
    pub lease_ms: Option<u64>,
    /// How long to wait for a task if none is there.
    #[serde(default, deserialize_with = "optional")]
    #[schema(maximum = 60_000)]
    pub wait_ms: Option<u64>,
    /// What people call this worker: the token's name unless said otherwise.
    #[schema(min_length = 1, max_length = 100)]
    pub worker: Option<String>,
}

/// A task with its lease.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct LeasedTaskView {
    /// Its id.
    pub id: String,
    /// The run.
    pub run_id: String,
    /// The batch of the turn.
    pub batch_id: String,
    /// The turn.
    pub turn: u32,
    /// The id of the call.
    pub tool_call_id: String,
    /// What the model wrote.
    pub name: String,
    /// The registered tool that must run.
    pub executed_name: String,
    /// `native`, `mcp:SERVER`, `skills`, `http`, `command` or `worker`.
    pub tool_source: String,
    /// What it must run with, as the model wrote its numbers.
    #[schema(value_type = HashMap<String, Value>)]
    pub arguments: RawJson,
    /// Names and sizes of the arguments: safe to log.
    pub arguments_summary: String,
    /// Covers the tool and the arguments.
    pub digest: DigestText,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// When it must be done.
    pub deadline: Option<Moment>,
    /// Equal over all attempts: the tool can recognise a repetition by it.
    pub idempotency_key: String,
    /// Proves that the call was approved, where receipts are made.
    pub receipt: Option<String>,
    /// What the run stored of its context.
    pub context: HashMap<String, Value>,
    /// What heartbeats and the result must name.
    pub lease: String,
}

impl LeasedTaskView {
    /// What its worker sees of a task. `attempt` counts from 1.
    pub fn of(key: &CallKey, stored: StoredTask, attempt: u32, lease: String) -> Self {
        let StoredTask { task, context, .. } = stored;
        Self {
            id: key.to_string(),
            run_id: key.run.as_str().to_owned(),
            batch_id: BatchId { run: key.run.clone(), turn: key.turn }.to_string(),
            turn: key.turn.0,
            tool_call_id: task.tool_call_id.as_str().to_owned(),
            name: task.name.as_str().to_owned(),
            executed_name: task.executed_name.as_str().to_owned(),
            tool_source: task.tool_source.to_string(),
            arguments: RawJson::new(task.arguments.share()),
            arguments_summary: task.arguments_summary,
            digest: DigestText(task.arguments.digest()),
            attempt,
            deadline: task.deadline.map(Moment),
            idempotency_key: task.idempotency_key.as_str().to_owned(),
            receipt: task.receipt.as_deref().map(str::to_owned),
            context: context.attributes().clone().into_iter().collect(),
            lease,
        }
    }
}

/// The tasks that a worker got. Perhaps none.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct LeaseAnswer {
    /// The tasks.
    pub tasks: Vec<LeasedTaskView>,
}

/// Prolongs a lease.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HeartbeatBody {
    /// The lease that came with the task.
    pub lease: String,
    /// For how long from now: 30 seconds unless said otherwise.
    #[serde(default, deserialize_with = "optional")]
    #[schema(minimum = 100, maximum = 86_400_000)]
    pub lease_ms: Option<u64>,
}

/// The lease is held.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct HeartbeatAnswer {
    /// For how long from now.
    pub lease_ms: u64,
}

/// Puts a dead task back into the queue.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RequeueBody {
    /// The digest of the question about it, as the list of dead tasks has it.
    pub digest: String,
}

crate::answer::result_body! {
    /// Delivers a result: exactly one of `text`, `json`, `content` and `error`.
    pub struct CompleteBody {
        /// The lease that came with the task.
        pub lease
    }
}

/// Says that a task was not done.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FailBody {
    /// The lease that came with the task.
    pub lease: String,
    /// Whether it may have taken effect: then what the tool says about repetition decides. If not, anybody may have it
    /// at once.
    pub started: bool,
}

/// Where a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStateName {
    /// Anybody may have it.
    Waiting,
    /// A worker has it.
    Leased,
    /// It has a result, which waits for its run.
    Delivered,
    /// It is out of attempts: a person must say what becomes of it.
    Dead,
}

/// A task in a list.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TaskView {
    /// Its id.
    pub id: String,
    /// The run.
    pub run_id: String,
    /// The agent.
    pub agent: Option<String>,
    /// The registered tool.
    pub tool: String,
    /// Where it is.
    pub state: TaskStateName,
    /// Who has it, or had it last.
    pub worker: Option<String>,
    /// How often it was started.
    pub attempts: u32,
    /// How often it may be started.
    pub attempts_max: u32,
    /// Until when the lease holds.
    pub leased_until: Option<Moment>,
    /// From when on it can be leased.
    pub available_at: Option<Moment>,
    /// When it must be done.
    pub deadline: Option<Moment>,
    /// When it was opened.
    pub created_at: Moment,
    /// Of a dead one: the digest of the question about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// One page of tasks.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TaskPage {
    /// The tasks, the first opened first.
    pub tasks: Vec<TaskView>,
    /// Where the next page starts, unless this was the last.
    pub next: Option<String>,
}

/// A worker that asked for tasks.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WorkerView {
    /// Its name.
    pub name: String,
    /// The tools that it asked for.
    pub tools: Vec<String>,
    /// When it was seen last.
    pub seen_at: Moment,
    /// How many tasks it has now.
    pub leases: u64,
}

/// The workers.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WorkerList {
    /// The last seen first.
    pub workers: Vec<WorkerView>,
}
