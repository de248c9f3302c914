//! What was seen after a step.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// Everything that `expect` can be compared with.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Why the segment stopped.
    pub stop_reason: Option<String>,
    /// The run's text.
    pub text: Option<String>,
    /// How many turns the run has.
    pub turns: Option<u64>,
    /// Whether the run is the one of the step before.
    pub run_id_same: bool,
    /// The error that the step gave.
    pub error: Option<SeenError>,
    /// Where the run is.
    pub status: Option<String>,
    /// How often the model was called in the whole scenario.
    pub model_calls: u64,
    /// Which tools were started, in order.
    pub executed: Vec<String>,
    /// The most executions at once.
    pub in_flight_max: u64,
    /// The same per tool.
    pub in_flight_max_of: BTreeMap<String, u64>,
    /// What is pending.
    pub pending: Vec<SeenPending>,
    /// The messages that this segment added.
    pub messages: Vec<SeenMessage>,
    /// The messages of the latest model request.
    pub model_saw: Vec<SeenMessage>,
    /// The tools of the latest model request.
    pub model_tools: Vec<String>,
    /// Tokens read and written.
    pub usage: (u64, u64),
    /// The calls of the run.
    pub records: Vec<SeenRecord>,
    /// The names of the events of this segment.
    pub events: Vec<String>,
    /// Everything that was logged or traced.
    pub log: String,
    /// The payload that was dumped.
    pub payload: Option<String>,
    /// The continuation now and how it relates to those before.
    pub continuation: SeenContinuation,
    /// How many of a race succeeded.
    pub won: Option<u64>,
    /// The error of those who lost a race that others won.
    pub lost: Option<SeenError>,
}

/// An error of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenError {
    /// Its stable code.
    pub code: String,
    /// Its sentence.
    pub message: String,
}

/// The continuation after a step.
#[derive(Clone, Debug, Default)]
pub struct SeenContinuation {
    /// Whether this step made it.
    pub new: bool,
    /// The id of its parent.
    pub parent: Option<String>,
    /// The ids of the saved ones, by name.
    pub saved: BTreeMap<String, String>,
}

/// Something pending.
#[derive(Clone, Debug, Default)]
pub struct SeenPending {
    /// The call id.
    pub id: String,
    /// The requested name.
    pub name: String,
    /// The registered name.
    pub tool: Option<String>,
    /// Why it is asked.
    pub reason: Option<String>,
    /// Its arguments as JSON text.
    pub arguments: String,
    /// Who may answer.
    pub roles: Vec<String>,
    /// Whether its outcome is unknown.
    pub uncertain: bool,
}

/// A message.
#[derive(Clone, Debug, Default)]
pub struct SeenMessage {
    /// Who speaks.
    pub role: String,
    /// Its text.
    pub text: String,
    /// The call that it answers.
    pub call: Option<String>,
    /// Whether it is an error.
    pub error: bool,
    /// The ids of the calls that it asks for.
    pub calls: Vec<String>,
    /// How large its content is.
    pub bytes: u64,
}

/// A call of the run.
#[derive(Clone, Debug, Default)]
pub struct SeenRecord {
    /// The call id.
    pub id: String,
    /// Its turn.
    pub turn: u64,
    /// The requested name.
    pub name: String,
    /// The registered name.
    pub tool: Option<String>,
    /// How it ended.
    pub outcome: String,
    /// The code of its error.
    pub error: Option<String>,
    /// Where its result came from.
    pub source: Option<String>,
}

impl SeenPending {
    pub(crate) fn view(&self) -> Value {
        let mut roles = self.roles.clone();
        roles.sort();
        json!({
            "id": self.id,
            "name": self.name,
            "tool": self.tool,
            "reason": self.reason,
            "arguments": serde_json::from_str::<Value>(&self.arguments).unwrap_or(Value::Null),
            "roles": roles,
            "uncertain": self.uncertain,
        })
    }
}

impl SeenMessage {
    pub(crate) fn view(&self) -> Value {
        json!({
            "role": self.role,
            "text": self.text,
            "call": self.call,
            "error": self.error,
            "calls": self.calls,
            "bytes": self.bytes,
        })
    }
}

impl SeenRecord {
    pub(crate) fn view(&self) -> Value {
        json!({
            "id": self.id,
            "turn": self.turn,
            "name": self.name,
            "tool": self.tool,
            "outcome": self.outcome,
            "error": self.error,
            "source": self.source,
        })
    }
}
