//! A scenario as its file says it.

use holdpoint_core::{ErrorDetail, Parallel, Repeat, ResultOrder, Siblings};
use holdpoint_model::ScriptedReply;
use holdpoint_policy::RuleSpec;
use holdpoint_tools::hooks::HookSpec;
use serde_json::Value;

use crate::error::ScenarioError;
use crate::reader::At;
use crate::yaml::Node;

mod read;
mod read_agent;
mod read_hooks;
mod read_rules;
mod read_steps;
mod step;

pub(crate) use read_steps::pointer;
pub use step::{
    Action, CrashPoint, EditSpec, Entry, Forget, Names, PersonSpec, ResumeKind, ResumeSpec, RunSpec, SaveSpec, Step,
};

/// One scenario file.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// A sentence.
    pub name: String,
    /// Settings of the run.
    pub agent: AgentSpec,
    /// Its tools, in the order of the file.
    pub tools: Vec<ToolSpec>,
    /// Its policy.
    pub policy: PolicySpec,
    /// Its hooks, outermost first.
    pub hooks: Vec<HookEntry>,
    /// What the model says, call by call.
    pub model: Vec<ModelEntry>,
    /// What happens.
    pub steps: Vec<Step>,
}

/// Reads a scenario.
///
/// # Errors
/// When the text is not one: the line, the key and what is wrong.
pub fn parse(text: &str, file: &str) -> Result<Scenario, ScenarioError> {
    let tree = Node::parse(text).map_err(|problem| problem.in_file(file))?;
    read::scenario(&At::root(&tree)).map_err(|problem| problem.in_file(file))
}

/// Reads the part that is about the model from a file of its own: the list that a scenario has under `model`.
///
/// # Errors
/// When the text is not one: the line, the key and what is wrong.
pub fn parse_script(text: &str, file: &str) -> Result<Vec<ScriptedReply>, ScenarioError> {
    let tree = Node::parse(text).map_err(|problem| problem.in_file(file))?;
    let entries = read::model(&At::root(&tree)).map_err(|problem| problem.in_file(file))?;
    Ok(entries.iter().map(crate::world::reply).collect())
}

/// Settings of the run; what is absent is left to the library.
#[derive(Clone, Debug, Default)]
pub struct AgentSpec {
    /// Message 0.
    pub system_prompt: Option<String>,
    /// How many turns.
    pub max_turns: Option<u32>,
    /// Which executor.
    pub executor: Option<ExecutorSpec>,
    /// Which tools run beside others.
    pub parallel: Option<Parallel>,
    /// How many at once.
    pub max_concurrency: Option<LimitSpec>,
    /// How long a call may take.
    pub tool_timeout_ms: Option<u64>,
    /// How large a result may be.
    pub max_tool_output_bytes: Option<u64>,
    /// How many calls of a turn are kept.
    pub max_tool_calls_per_turn: Option<u32>,
    /// What a question means for the other calls.
    pub siblings: Option<Siblings>,
    /// Whether policy is asked again.
    pub recheck_policy: Option<bool>,
    /// Whether an empty end is answered with a request for a final answer.
    pub fix_empty_final: Option<bool>,
    /// Its text.
    pub fix_empty_final_text: Option<String>,
    /// Whether the model has no tools then.
    pub fix_empty_final_disable_tools: Option<bool>,
    /// In which order the model gets results.
    pub result_order: Option<ResultOrder>,
    /// How much of an error the model sees.
    pub error_detail: Option<ErrorDetail>,
    /// The model's window in tokens.
    pub context_window: Option<u64>,
    /// What is kept free of it.
    pub reserved_output_tokens: Option<u64>,
    /// Which context attributes are stored.
    pub context_keys: Option<Vec<String>>,
}

/// Which executor, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecutorSpec {
    /// One for every tool.
    Named(String),
    /// Globs with an executor each.
    Route(Vec<(String, String)>),
}

/// A limit that can be lifted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitSpec {
    /// At most so many.
    AtMost(u32),
    /// No limit.
    None,
}

/// A scripted tool.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// The registered name.
    pub name: String,
    /// The line of its name.
    pub line: u64,
    /// What the model reads about it.
    pub description: String,
    /// The JSON Schema of its arguments; any object when absent.
    pub parameters: Option<Value>,
    /// Whether it is marked.
    pub parallelizable: Option<bool>,
    /// Whether it may be repeated in doubt.
    pub repeat: Repeat,
    /// How long it may take.
    pub timeout_ms: Option<u64>,
    /// What it does: the nth execution takes the nth, the last repeats. Never empty.
    pub does: Vec<Does>,
}

/// What one execution of a scripted tool does.
#[derive(Clone, Debug, Default)]
pub struct Does {
    /// It waits first.
    pub sleep_ms: u64,
    /// How it ends.
    pub ending: Ending,
}

/// How an execution of a scripted tool ends.
#[derive(Clone, Debug)]
pub enum Ending {
    /// With these pieces of content.
    Return(Vec<Piece>),
    /// With an error.
    Fail(String),
    /// With a panic.
    Panic(String),
    /// With a result that ends the run.
    Halt(String),
    /// Never, and it does not listen to cancellation.
    Hang,
}

impl Default for Ending {
    fn default() -> Self {
        Self::Return(vec![Piece::Text("ok".to_owned())])
    }
}

/// One piece of content of a scripted result.
#[derive(Clone, Debug)]
pub enum Piece {
    /// A text.
    Text(String),
    /// A JSON value, as text.
    Json(String),
    /// The arguments as canonical JSON.
    Echo,
    /// A context attribute as JSON.
    Context(String),
    /// An image of so many bytes.
    Image(usize),
}

/// The policy of a scenario.
#[derive(Clone, Debug, Default)]
pub enum PolicySpec {
    /// No policy is configured.
    #[default]
    None,
    /// A policy that fails.
    Broken,
    /// Rules, first match wins.
    Rules(Vec<RuleEntry>),
}

/// A rule as the file has it; the grammar is that of the policy crate.
#[derive(Clone, Debug)]
pub struct RuleEntry {
    /// Its line.
    pub line: u64,
    /// Its path in the file.
    pub path: String,
    /// The rule, with the keys of `policy.toml`.
    pub rule: RuleSpec,
}

/// A hook of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookEntry {
    /// Its line.
    pub line: u64,
    /// Its path in the file, its key included.
    pub path: String,
    /// Its settings with their lines.
    pub fields: Vec<(String, u64)>,
    /// What it is.
    pub spec: HookSpec,
}

/// What the model does when it is called.
#[derive(Clone, Debug)]
pub enum ModelEntry {
    /// It replies.
    Say(SaySpec),
    /// The provider fails.
    Fail(String),
    /// There is no message at all.
    Nothing,
}

/// A reply.
#[derive(Clone, Debug, Default)]
pub struct SaySpec {
    /// Its text.
    pub text: Option<String>,
    /// Its reasoning.
    pub thinking: Option<String>,
    /// Its calls.
    pub calls: Vec<CallSpec>,
    /// Tokens read and written.
    pub usage: (u64, u64),
    /// Why it stopped.
    pub stop: Option<String>,
}

/// A call that the model asks for.
#[derive(Clone, Debug)]
pub struct CallSpec {
    /// The provider's id.
    pub id: Option<String>,
    /// The requested name.
    pub tool: String,
    /// The raw text of the arguments.
    pub arguments: Option<String>,
}

#[cfg(test)]
mod tests;
