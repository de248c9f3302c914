//! Runs, their events and their messages.

use std::sync::Arc;

use holdpoint_codec::view::{BlockView, EventView, MessageView, Moment, Name, PendingView};
use holdpoint_codec::{Pending, Shown, pending};
use holdpoint_core::{Run, Status, Usage};
use holdpoint_store::Head;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// Starts a run.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"agent": "support", "input": "refund order 42", "context": {"user_id": "u-7"}}))]
pub struct RunBody {
    /// Which agent.
    pub agent: String,
    /// What the user says.
    #[schema(value_type = RunInput)]
    pub input: Box<RawValue>,
    /// Attributes that the agent's configuration lists in `context_keys`.
    #[schema(value_type = Option<HashMap<String, Value>>)]
    pub context: Option<Shown>,
    /// The conversation that the run goes on with, by a name of your own.
    #[schema(min_length = 1, max_length = 200)]
    pub session: Option<String>,
}

/// A text, or blocks of text, JSON, images and files.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum RunInput {
    /// A text.
    Text(String),
    /// Blocks.
    Blocks(Vec<BlockView>),
}

/// Where a run is.
pub type RunStatus = Name<Status>;

/// What the models of a run cost, in tokens.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct UsageView {
    /// Read.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Of those read, from a cache.
    pub cache_read: u64,
    /// Of those read, into a cache.
    pub cache_write: u64,
    /// Of those written, for reasoning.
    pub reasoning: u64,
}

/// A run.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "id": "0199f0c1-2b3c-7d4e-8f50-1234567890ab", "agent": "support", "status": "awaiting_tool_confirmation",
    "stop_reason": "awaiting_tool_confirmation", "text": null, "turn": 1,
    "usage": {"input": 120, "output": 20, "cache_read": 0, "cache_write": 0, "reasoning": 0},
    "model_calls": 1, "tool_executions": 0, "revision": 9,
    "continuation_id": "0199f0c1-2b3c-7d4e-8f50-1234567890ab.p1",
    "batch_id": "0199f0c1-2b3c-7d4e-8f50-1234567890ab.b1",
    "pending": [{"id": "tc_1", "name": "refund", "tool": "refund", "arguments": {"amount": 250},
        "digest": "9f2b0000000000000000000000000000000000000000000000000000000000aa", "reason": "refund above 100"}],
    "session": null, "actor": "support-desk", "created_at": "2026-11-15T10:00:00Z",
    "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"
}))]
pub struct RunView {
    /// Its id.
    pub id: String,
    /// The agent.
    pub agent: Option<String>,
    /// Where it is.
    pub status: RunStatus,
    /// Why it stopped last; nothing while somebody drives it.
    pub stop_reason: Option<String>,
    /// What the model said last, or a halting tool.
    pub text: Option<String>,
    /// How many turns it had.
    pub turn: u32,
    /// What it cost.
    pub usage: UsageView,
    /// How often the model was called.
    pub model_calls: u32,
    /// How often a tool was executed.
    pub tool_executions: u32,
    /// How many events it has: what comes later is read from there.
    pub revision: u64,
    /// What resumes it, if it is paused.
    pub continuation_id: Option<String>,
    /// The batch of its turn, if it is paused: partial answers may name it instead.
    pub batch_id: Option<String>,
    /// What it waits for.
    pub pending: Vec<PendingView>,
    /// The conversation that it belongs to.
    pub session: Option<String>,
    /// Who started it.
    pub actor: Option<String>,
    /// When it was started.
    pub created_at: Moment,
    /// The trace that it belongs to, as 32 hexadecimal digits, if it has one.
    pub trace_id: Option<String>,
}

impl RunView {
    /// What the API shows of a run.
    pub fn of(run: &Run) -> Self {
        let continuation = run.continuation();
        let Usage { input, output, cache_read, cache_write, reasoning } = run.usage();
        Self {
            id: run.id().as_str().to_owned(),
            agent: text(run.agent()),
            status: Name(run.status()),
            stop_reason: run.stop_reason().map(|reason| reason.as_str().to_owned()),
            text: run.text(),
            turn: run.turn().0,
            usage: UsageView { input, output, cache_read, cache_write, reasoning },
            model_calls: run.model_calls(),
            tool_executions: run.tool_executions(),
            revision: run.revision().0,
            batch_id: continuation.as_ref().map(|_| run.batch().to_string()),
            continuation_id: continuation.map(|id| id.to_string()),
            pending: pending(run).iter().map(Pending::view).collect(),
            session: text(run.session()),
            actor: text(run.actor().id.as_ref()),
            created_at: Moment(run.created_at()),
            trace_id: run.trace().and_then(|parent| trace_id(parent)),
        }
    }
}

/// A run in a list: without what only its events tell (`stop_reason`, `text`, `turn`, `usage`, `pending`), which
/// `GET /v1/runs/{id}` has.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunSummary {
    /// Its id.
    pub id: String,
    /// The tenant, if it has one.
    pub tenant: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// Where it is.
    pub status: RunStatus,
    /// How many events it has.
    pub revision: u64,
    /// What resumes it, if it is paused.
    pub continuation_id: Option<String>,
    /// The earliest deadline of what it waits for.
    pub deadline: Option<Moment>,
    /// The conversation that it belongs to.
    pub session: Option<String>,
    /// When it was started.
    pub created_at: Moment,
    /// When it moved last.
    pub updated_at: Moment,
}

impl RunSummary {
    /// What the API shows of a run in a list.
    pub fn of(head: &Head) -> Self {
        Self {
            id: head.run.as_str().to_owned(),
            tenant: text(head.tenant.as_ref()),
            agent: text(head.agent.as_ref()),
            status: Name(head.status),
            revision: head.revision.0,
            continuation_id: head.continuation.as_ref().map(ToString::to_string),
            deadline: head.deadline.map(Moment),
            session: text(head.session.as_ref()),
            created_at: Moment(head.created_at),
            updated_at: Moment(head.updated_at),
        }
    }
}

fn text(value: Option<&Arc<str>>) -> Option<String> {
    value.map(ToString::to_string)
}

/// One page of runs, the last created first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunPage {
    /// The runs.
    pub runs: Vec<RunSummary>,
    /// Where the next page starts, unless this was the last.
    pub next: Option<String>,
}

/// The events of a run after a number.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct EventPage {
    /// In order.
    pub events: Vec<EventView>,
    /// How many events the run has.
    pub revision: u64,
}

/// A conversation.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct MessageList {
    /// In order.
    pub messages: Vec<MessageView>,
}

/// The part of a `traceparent` by which a trace is found: 32 hexadecimal digits.
fn trace_id(parent: &str) -> Option<String> {
    let id = parent.split('-').nth(1)?;
    (id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| id.to_owned())
}
