//! Settings of a run as data: one set of names for `holdpoint.toml`, scenarios, exported agents and stored runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_core::{
    ContextWindow, ErrorDetail, ExecutorChoice, FinalAnswer, FinalTools, Parallel, ParallelToolCalls, Recheck,
    ResultOrder, Route, Settings, Siblings,
};
use serde::{Deserialize, Serialize};
use serde_with::{As, Map, serde_as, skip_serializing_none};

use crate::wire::{Stored, remote};

/// The settings of a run that differ from the defaults.
///
/// A stored run keeps only these, so changing a default needs a new version of the stored formats. The fields are in
/// alphabetical order, because signed payloads hold them.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SettingsSpec {
    /// Context attributes that are stored with the run.
    pub context_keys: Option<BTreeSet<String>>,
    /// The model's context window in tokens.
    pub context_window: Option<u64>,
    /// How much of a tool's error message the model sees.
    #[serde(with = "As::<Option<Stored>>")]
    pub error_detail: Option<ErrorDetail>,
    /// The executor's name, or `{ route = { GLOB = EXECUTOR } }`.
    pub executor: Option<ExecutorSpec>,
    /// Whether the model is asked once for a final answer when it ends with nothing to say.
    pub fix_empty_final: Option<bool>,
    /// Whether the model has no tools when it is asked for a final answer.
    pub fix_empty_final_disable_tools: Option<bool>,
    /// The message that asks for a final answer.
    pub fix_empty_final_text: Option<String>,
    /// Calls that run at once: a number or `none`.
    pub max_concurrency: Option<ConcurrencySpec>,
    /// How often workers may start a deferred call before a person is asked.
    pub max_task_attempts: Option<u32>,
    /// Calls of a turn above it are ignored.
    pub max_tool_calls_per_turn: Option<u32>,
    /// Results above it are cut.
    pub max_tool_output_bytes: Option<u64>,
    /// Turns of the whole run.
    pub max_turns: Option<u32>,
    /// Which tools run beside others.
    #[serde(with = "As::<Option<Stored>>")]
    pub parallel: Option<Parallel>,
    /// Whether the model may ask for several calls in one turn.
    pub parallel_tool_calls: Option<bool>,
    /// Whether policy is asked again before a call starts.
    pub recheck_policy: Option<bool>,
    /// Tokens of the context window that are kept free for the answer.
    pub reserved_output_tokens: Option<u64>,
    /// The order in which the model gets results.
    #[serde(with = "As::<Option<Stored>>")]
    pub result_order: Option<ResultOrder>,
    /// Executors for some tools; the first match wins.
    pub routes: Option<Vec<RouteSpec>>,
    /// What an open question means for the other calls of its turn.
    #[serde(with = "As::<Option<Stored>>")]
    pub siblings: Option<Siblings>,
    /// How long a deferred call may take; no limit when absent.
    pub task_deadline_ms: Option<u64>,
    /// How long a call may take, unless its tool says otherwise.
    pub tool_timeout_ms: Option<u64>,
}

/// An executor for the tools that a glob matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteSpec {
    /// The executor's name.
    pub executor: String,
    /// A glob on registered names.
    pub tools: String,
}

/// `executor`: a name, or routes for some tools and the default executor for the others.
#[serde_as]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields, expecting = "must be the name of an executor, or a table with `route`")]
pub enum ExecutorSpec {
    /// The executor of every tool without a route.
    Named(String),
    /// Globs with an executor each, in the order of the file. Written as `routes`, whose order no reader changes.
    Routed {
        /// The first match wins.
        #[serde_as(as = "Map<_, _>")]
        route: Vec<(String, String)>,
    },
}

/// `max_concurrency`: a number or `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "must be a whole number or `none`")]
pub enum ConcurrencySpec {
    /// At most so many calls at once.
    AtMost(u32),
    /// Any number of calls; for the executor `concurrent` only.
    Unlimited(Unlimited),
}

/// The word `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unlimited {
    /// No limit.
    None,
}

remote! {
    ErrorDetail => ErrorDetailDef,
    Parallel => ParallelDef,
    ResultOrder => ResultOrderDef,
    Siblings => SiblingsDef,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ErrorDetail", rename_all = "snake_case")]
enum ErrorDetailDef {
    Safe,
    Debug,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Parallel", rename_all = "snake_case")]
enum ParallelDef {
    Marked,
    All,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ResultOrder", rename_all = "snake_case")]
enum ResultOrderDef {
    Request,
    Completion,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Siblings", rename_all = "snake_case")]
enum SiblingsDef {
    Hold,
    Run,
}

fn changed<T: PartialEq + Clone>(value: &T, default: &T) -> Option<T> {
    (value != default).then(|| value.clone())
}

impl SettingsSpec {
    /// The settings that differ from the defaults.
    pub fn of(settings: &Settings) -> Self {
        let plain = Settings::default();
        let (executor, default) = (&settings.executor, &plain.executor);
        let answer = &settings.final_answer;
        let window = settings.context_window;
        let keys = |keys: BTreeSet<Arc<str>>| keys.iter().map(ToString::to_string).collect();
        let limit = |max: Option<u32>| max.map_or(ConcurrencySpec::Unlimited(Unlimited::None), ConcurrencySpec::AtMost);
        Self {
            context_keys: changed(&settings.context_keys, &plain.context_keys).map(keys),
            context_window: window.map(|window| window.tokens),
            error_detail: changed(&settings.error_detail, &plain.error_detail),
            executor: changed(&executor.name, &default.name).map(|name| ExecutorSpec::Named(name.to_string())),
            fix_empty_final: answer.ask.is_none().then_some(false),
            fix_empty_final_disable_tools: (answer.tools == FinalTools::Enabled).then_some(false),
            fix_empty_final_text: changed(&answer.ask, &plain.final_answer.ask).flatten().map(|ask| ask.to_string()),
            max_concurrency: changed(&executor.max_concurrency, &default.max_concurrency).map(limit),
            max_task_attempts: changed(&settings.max_task_attempts, &plain.max_task_attempts),
            max_tool_calls_per_turn: changed(&settings.max_tool_calls_per_turn, &plain.max_tool_calls_per_turn),
            max_tool_output_bytes: changed(&settings.max_tool_output_bytes, &plain.max_tool_output_bytes),
            max_turns: changed(&settings.max_turns, &plain.max_turns),
            parallel: changed(&executor.parallel, &default.parallel),
            parallel_tool_calls: (settings.parallel_tool_calls == ParallelToolCalls::One).then_some(false),
            recheck_policy: (settings.recheck_policy == Recheck::Off).then_some(false),
            reserved_output_tokens: window.map(|window| window.reserved_output_tokens).filter(|tokens| *tokens > 0),
            result_order: changed(&settings.result_order, &plain.result_order),
            routes: changed(&executor.routes, &default.routes).map(|all| all.iter().map(RouteSpec::of).collect()),
            siblings: changed(&settings.siblings, &plain.siblings),
            task_deadline_ms: settings.task_deadline_ms,
            tool_timeout_ms: changed(&settings.tool_timeout_ms, &plain.tool_timeout_ms),
        }
    }

    /// The defaults with these changes. [`Settings::check`] finds values out of bounds.
    pub fn settings(self) -> Settings {
        let plain = Settings::default();
        let asks = self.fix_empty_final != Some(false);
        let ask = self.fix_empty_final_text.as_deref().map(Arc::from).or(plain.final_answer.ask.clone());
        let keeps_tools = self.fix_empty_final_disable_tools == Some(false);
        let one_call = self.parallel_tool_calls == Some(false);
        let reserved_output_tokens = self.reserved_output_tokens.unwrap_or_default();
        Settings {
            executor: self.executor_choice(),
            max_turns: self.max_turns.unwrap_or(plain.max_turns),
            max_tool_calls_per_turn: self.max_tool_calls_per_turn.unwrap_or(plain.max_tool_calls_per_turn),
            parallel_tool_calls: if one_call { ParallelToolCalls::One } else { ParallelToolCalls::Allowed },
            siblings: self.siblings.unwrap_or(plain.siblings),
            recheck_policy: if self.recheck_policy == Some(false) { Recheck::Off } else { Recheck::On },
            final_answer: FinalAnswer {
                ask: ask.filter(|_| asks),
                tools: if keeps_tools { FinalTools::Enabled } else { FinalTools::Disabled },
            },
            result_order: self.result_order.unwrap_or(plain.result_order),
            tool_timeout_ms: self.tool_timeout_ms.unwrap_or(plain.tool_timeout_ms),
            task_deadline_ms: self.task_deadline_ms,
            max_task_attempts: self.max_task_attempts.unwrap_or(plain.max_task_attempts),
            max_tool_output_bytes: self.max_tool_output_bytes.unwrap_or(plain.max_tool_output_bytes),
            error_detail: self.error_detail.unwrap_or(plain.error_detail),
            context_window: self.context_window.map(|tokens| ContextWindow { tokens, reserved_output_tokens }),
            context_keys: self.context_keys.into_iter().flatten().map(Arc::from).collect(),
        }
    }

    fn executor_choice(&self) -> ExecutorChoice {
        let plain = ExecutorChoice::default();
        let route = |pattern: &str, executor: &str| Route { pattern: pattern.into(), executor: executor.into() };
        let (name, mut routes): (_, Vec<Route>) = match &self.executor {
            None => (plain.name, Vec::new()),
            Some(ExecutorSpec::Named(name)) => (name.as_str().into(), Vec::new()),
            Some(ExecutorSpec::Routed { route: routes }) => {
                (plain.name, routes.iter().map(|(tools, executor)| route(tools, executor)).collect())
            }
        };
        routes.extend(self.routes.iter().flatten().map(|spec| route(&spec.tools, &spec.executor)));
        ExecutorChoice {
            name,
            routes,
            parallel: self.parallel.unwrap_or(plain.parallel),
            max_concurrency: match self.max_concurrency {
                None => plain.max_concurrency,
                Some(ConcurrencySpec::AtMost(max)) => Some(max),
                Some(ConcurrencySpec::Unlimited(Unlimited::None)) => None,
            },
        }
    }
}

impl RouteSpec {
    fn of(route: &Route) -> Self {
        Self { executor: route.executor.to_string(), tools: route.pattern.to_string() }
    }
}
