//! Agents and their tools.

use holdpoint_codec::view::Name;
use holdpoint_core::Repeat;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// An agent that this server runs.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AgentView {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// The model, if it has a name.
    pub model: Option<String>,
    /// The names of its tools.
    pub tools: Vec<String>,
    /// The context attributes that it takes.
    pub context_keys: Vec<String>,
    /// The version of its policy, if it has one.
    pub policy: Option<String>,
}

/// The agents, by name.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AgentList {
    /// By name.
    pub agents: Vec<AgentView>,
}

/// What became of the calls of a tool since this server started.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ToolStatistics {
    /// How many ended.
    pub calls: u64,
    /// How many of them with an error.
    pub errors: u64,
    /// How long they took together, in microseconds.
    pub duration_us: u64,
}

/// Whether a tool may be started again.
pub type RepeatName = Name<Repeat>;

/// A tool of an agent.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ToolView {
    /// The registered name.
    pub name: String,
    /// Whose tool it is.
    pub agent: String,
    /// What it does.
    pub description: String,
    /// `native`, `mcp:SERVER`, `skills`, `http`, `command` or `worker`.
    pub source: String,
    /// Whether it may be started again in doubt.
    pub repeat: RepeatName,
    /// The JSON Schema of its arguments.
    #[schema(value_type = HashMap<String, Value>)]
    pub parameters: Value,
    /// What became of the calls of the caller's tenant in this process.
    pub statistics: ToolStatistics,
}

/// The tools of all agents.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ToolList {
    /// By agent and name.
    pub tools: Vec<ToolView>,
}
