//! Settings of a run. They are part of its state, so that a resume in another process goes on by the same rules.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::JsonText;
use crate::named::named;

/// Attributes that the application gave, by name. Values are canonical JSON.
pub type Attributes = BTreeMap<Arc<str>, JsonText>;

/// Every setting and bound of a run, units in the names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The run stops before it would start another turn. At least 1.
    pub max_turns: u32,
    /// Calls above it are dropped and recorded as ignored.
    pub max_tool_calls_per_turn: u32,
    /// Whether the model may ask for several calls in one turn.
    pub parallel_tool_calls: ParallelToolCalls,
    /// What a question means for the other calls of its turn.
    pub siblings: Siblings,
    /// Whether policy is asked again when a call goes from ready to running.
    pub recheck_policy: Recheck,
    /// What to do when the model ends with nothing to say.
    pub final_answer: FinalAnswer,
    /// The order in which the model gets results.
    pub result_order: ResultOrder,
    /// How calls are executed.
    pub executor: ExecutorChoice,
    /// Per call, unless the tool has its own.
    pub tool_timeout_ms: u64,
    /// How long a call that was handed out may take until its result is there. `None`: as long as it takes.
    pub task_deadline_ms: Option<u64>,
    /// How often a worker may start a call that was handed out before a person is asked. At least 1.
    pub max_task_attempts: u32,
    /// Results above it are cut.
    pub max_tool_output_bytes: u64,
    /// How much of a tool's own error message the model sees.
    pub error_detail: ErrorDetail,
    /// The model's context window, if it is to be checked before each call.
    pub context_window: Option<ContextWindow>,
    /// The context attributes that may be stored. Empty by default.
    pub context_keys: BTreeSet<Arc<str>>,
}

/// Limits that no setting can lift.
pub struct Limits;

impl Limits {
    /// Arguments of one call.
    pub const ARGUMENTS_BYTES_MAX: usize = 200_000;
    /// One context value, as JSON text.
    pub const CONTEXT_VALUE_BYTES_MAX: usize = 200;
    /// A continuation or task payload that is handed in.
    pub const PAYLOAD_BYTES_MAX: usize = 8 * 1024 * 1024;
    /// Calls of one turn.
    pub const TOOL_CALLS_PER_TURN_MAX: u32 = 10_000;
    /// Answers to one question, short of its quorum.
    pub const QUESTION_ANSWERS_MAX: usize = 1_000;
    /// Late results that are kept for the question about one call.
    pub const EVIDENCE_MAX: usize = 8;
    /// How often a resume is decided again because another process committed first.
    pub const COMMIT_TRIES_MAX: u32 = 32;

    const MAX_TURNS: u64 = 10_000;
    const MAX_CONCURRENCY: u64 = 10_000;
    const MAX_TOOL_TIMEOUT_MS: u64 = 24 * 60 * 60 * 1000;
    const MAX_TASK_DEADLINE_MS: u64 = 366 * 24 * 60 * 60 * 1000;
    const MAX_TASK_ATTEMPTS: u64 = 1_000;
    const MAX_TOOL_OUTPUT_BYTES: u64 = 64 * 1024 * 1024;
    const MAX_CONTEXT_TOKENS: u64 = 1_000_000_000;
}

/// A setting that is out of bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettingsError {
    /// The name of the setting, as in `holdpoint.toml`.
    pub key: &'static str,
    /// Continues a sentence that begins with the key.
    pub problem: String,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.key, self.problem)
    }
}

impl std::error::Error for SettingsError {}

impl Settings {
    /// Finds the first setting that is out of bounds.
    pub fn check(&self) -> Result<(), SettingsError> {
        let window = self.context_window;
        within("max_turns", Some(self.max_turns.into()), 1..=Limits::MAX_TURNS)?;
        within("max_concurrency", self.executor.max_concurrency.map(u64::from), 1..=Limits::MAX_CONCURRENCY)?;
        let max_calls = Limits::TOOL_CALLS_PER_TURN_MAX.into();
        within("max_tool_calls_per_turn", Some(self.max_tool_calls_per_turn.into()), 0..=max_calls)?;
        within("tool_timeout_ms", Some(self.tool_timeout_ms), 1..=Limits::MAX_TOOL_TIMEOUT_MS)?;
        within("task_deadline_ms", self.task_deadline_ms, 1..=Limits::MAX_TASK_DEADLINE_MS)?;
        within("max_task_attempts", Some(self.max_task_attempts.into()), 1..=Limits::MAX_TASK_ATTEMPTS)?;
        within("max_tool_output_bytes", Some(self.max_tool_output_bytes), 1..=Limits::MAX_TOOL_OUTPUT_BYTES)?;
        within("context_window", window.map(|window| window.tokens), 1..=Limits::MAX_CONTEXT_TOKENS)?;
        match window {
            Some(window) if window.reserved_output_tokens >= window.tokens => {
                let problem = "must be less than `context_window`".to_owned();
                Err(SettingsError { key: "reserved_output_tokens", problem })
            }
            Some(_) | None => Ok(()),
        }
    }
}

fn within(key: &'static str, value: Option<u64>, bounds: RangeInclusive<u64>) -> Result<(), SettingsError> {
    match value {
        Some(value) if !bounds.contains(&value) => {
            let (min, max) = (bounds.start(), bounds.end());
            Err(SettingsError { key, problem: format!("is {value}, and must be between {min} and {max}") })
        }
        Some(_) | None => Ok(()),
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_turns: 10,
            max_tool_calls_per_turn: Limits::TOOL_CALLS_PER_TURN_MAX,
            parallel_tool_calls: ParallelToolCalls::Allowed,
            siblings: Siblings::Hold,
            recheck_policy: Recheck::On,
            final_answer: FinalAnswer::default(),
            result_order: ResultOrder::Request,
            executor: ExecutorChoice::default(),
            tool_timeout_ms: 30_000,
            task_deadline_ms: None,
            max_task_attempts: 3,
            max_tool_output_bytes: 200_000,
            error_detail: ErrorDetail::Safe,
            context_window: None,
            context_keys: BTreeSet::new(),
        }
    }
}

named! {
    /// Whether the model may ask for several calls in one turn.
    pub enum ParallelToolCalls {
        /// Up to the limit.
        Allowed = "allowed",
        /// One; the others are dropped and recorded as ignored.
        One = "one",
    }
}

named! {
    /// What a question means for the other calls of its turn.
    pub enum Siblings {
        /// Nothing of the turn runs until every question is answered.
        Hold = "hold",
        /// What was allowed runs at once.
        Run = "run",
    }
}

named! {
    /// Whether policy is asked again when a call goes from ready to running.
    pub enum Recheck {
        /// It is; only new denials count.
        On = "on",
        /// The first decision stays.
        Off = "off",
    }
}

/// The message that asks for a final answer when the model ends with nothing to say, once per run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalAnswer {
    /// Its text; `None` switches it off.
    pub ask: Option<Arc<str>>,
    /// Whether the model still has its tools then.
    pub tools: FinalTools,
}

named! {
    /// Whether the model has its tools when it is asked for a final answer.
    pub enum FinalTools {
        /// It has none.
        Disabled = "disabled",
        /// It has them.
        Enabled = "enabled",
    }
}

impl Default for FinalAnswer {
    fn default() -> Self {
        Self { ask: Some("Please provide your final answer.".into()), tools: FinalTools::Disabled }
    }
}

named! {
    /// The order in which the model gets results.
    pub enum ResultOrder {
        /// As it asked (I9).
        Request = "request",
        /// As they came.
        Completion = "completion",
    }
}

named! {
    /// How much of a tool's own error message the model sees.
    pub enum ErrorDetail {
        /// A short safe text.
        Safe = "safe",
        /// The message.
        Debug = "debug",
    }
}

/// A model's context window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextWindow {
    /// All of it.
    pub tokens: u64,
    /// What is kept free for the answer.
    pub reserved_output_tokens: u64,
}

/// Which executor, by name, and how it may run calls beside each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutorChoice {
    /// `inline`, `concurrent`, `threads`, `defer_all`, or the name of a registered one.
    pub name: Arc<str>,
    /// Patterns of registered names with the executor for each; the first match wins, else `name`.
    pub routes: Vec<Route>,
    /// Which tools may run beside others.
    pub parallel: Parallel,
    /// How many at once. `None` is no limit.
    pub max_concurrency: Option<u32>,
}

/// A rule that chooses an executor for some tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// A glob on registered names.
    pub pattern: Arc<str>,
    /// The executor's name.
    pub executor: Arc<str>,
}

impl Default for ExecutorChoice {
    fn default() -> Self {
        Self { name: "inline".into(), routes: Vec::new(), parallel: Parallel::Marked, max_concurrency: Some(4) }
    }
}

named! {
    /// Which tools may run beside others.
    pub enum Parallel {
        /// Those marked `parallelizable`.
        Marked = "marked",
        /// All but those marked `parallelizable = false`, and MCP tools that are not marked.
        All = "all",
    }
}
