//! Settings of a run: only what differs from the defaults is written.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_core::{
    ContextWindow, ErrorDetail, ExecutorChoice, FinalAnswer, FinalTools, Parallel, ParallelToolCalls, Recheck,
    ResultOrder, Route, Settings, Siblings,
};
use serde::{Deserialize, Serialize};

use super::decision::{texts_core, texts_of};
use super::{Fault, Name, Text, Wire};

/// Settings of a run. What is absent is the default of this version; changing a default needs a new version.
#[derive(Serialize, Deserialize, Clone, Default, PartialEq)]
#[serde(default)]
pub(crate) struct SettingsWire {
    #[serde(skip_serializing_if = "Option::is_none")]
    context_keys: Option<Vec<Text>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_window: Option<WindowWire>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_detail: Option<Name<ErrorDetail>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    executor: Option<ExecutorWire>,
    #[serde(skip_serializing_if = "Option::is_none")]
    final_answer: Option<FinalAnswerWire>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_task_attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tool_calls_per_turn: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tool_output_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_turns: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<Name<ParallelToolCalls>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recheck_policy: Option<Name<Recheck>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_order: Option<Name<ResultOrder>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    siblings: Option<Name<Siblings>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_deadline_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_timeout_ms: Option<u64>,
}

#[derive(Serialize, Deserialize, Clone, PartialEq)]
struct WindowWire {
    reserved_output_tokens: u64,
    tokens: u64,
}

#[derive(Serialize, Deserialize, Clone, PartialEq)]
struct FinalAnswerWire {
    ask: Option<Text>,
    tools: Name<FinalTools>,
}

#[derive(Serialize, Deserialize, Clone, PartialEq)]
struct ExecutorWire {
    max_concurrency: Option<u32>,
    name: Text,
    parallel: Name<Parallel>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    routes: Vec<RouteWire>,
}

#[derive(Serialize, Deserialize, Clone, PartialEq)]
struct RouteWire {
    executor: Text,
    pattern: Text,
}

fn differing<T: PartialEq + Clone>(value: &T, default: &T) -> Option<T> {
    (value != default).then(|| value.clone())
}

impl Wire for SettingsWire {
    type Core = Settings;

    fn of(settings: &Settings) -> Self {
        let plain = Settings::default();
        let keys: Option<BTreeSet<Arc<str>>> = differing(&settings.context_keys, &plain.context_keys);
        let executor = differing(&settings.executor, &plain.executor);
        let final_answer = differing(&settings.final_answer, &plain.final_answer);
        Self {
            context_keys: keys.as_ref().map(texts_of),
            context_window: settings.context_window.map(|window| WindowWire {
                reserved_output_tokens: window.reserved_output_tokens,
                tokens: window.tokens,
            }),
            error_detail: differing(&settings.error_detail, &plain.error_detail).map(Name),
            executor: executor.map(executor_of),
            final_answer: final_answer
                .map(|FinalAnswer { ask, tools }| FinalAnswerWire { ask: ask.map(Text), tools: Name(tools) }),
            max_tool_calls_per_turn: differing(&settings.max_tool_calls_per_turn, &plain.max_tool_calls_per_turn),
            max_turns: differing(&settings.max_turns, &plain.max_turns),
            parallel_tool_calls: differing(&settings.parallel_tool_calls, &plain.parallel_tool_calls).map(Name),
            recheck_policy: differing(&settings.recheck_policy, &plain.recheck_policy).map(Name),
            result_order: differing(&settings.result_order, &plain.result_order).map(Name),
            siblings: differing(&settings.siblings, &plain.siblings).map(Name),
            max_task_attempts: differing(&settings.max_task_attempts, &plain.max_task_attempts),
            task_deadline_ms: settings.task_deadline_ms,
            max_tool_output_bytes: differing(&settings.max_tool_output_bytes, &plain.max_tool_output_bytes),
            tool_timeout_ms: differing(&settings.tool_timeout_ms, &plain.tool_timeout_ms),
        }
    }

    fn core(self) -> Result<Settings, Fault> {
        let plain = Settings::default();
        Ok(Settings {
            max_turns: self.max_turns.unwrap_or(plain.max_turns),
            max_tool_calls_per_turn: self.max_tool_calls_per_turn.unwrap_or(plain.max_tool_calls_per_turn),
            parallel_tool_calls: self.parallel_tool_calls.map_or(plain.parallel_tool_calls, |name| name.0),
            siblings: self.siblings.map_or(plain.siblings, |name| name.0),
            recheck_policy: self.recheck_policy.map_or(plain.recheck_policy, |name| name.0),
            final_answer: self.final_answer.map_or(plain.final_answer, |wire| FinalAnswer {
                ask: wire.ask.map(|text| text.0),
                tools: wire.tools.0,
            }),
            result_order: self.result_order.map_or(plain.result_order, |name| name.0),
            executor: self.executor.map_or(plain.executor, executor_core),
            tool_timeout_ms: self.tool_timeout_ms.unwrap_or(plain.tool_timeout_ms),
            task_deadline_ms: self.task_deadline_ms,
            max_task_attempts: self.max_task_attempts.unwrap_or(plain.max_task_attempts),
            max_tool_output_bytes: self.max_tool_output_bytes.unwrap_or(plain.max_tool_output_bytes),
            error_detail: self.error_detail.map_or(plain.error_detail, |name| name.0),
            context_window: self
                .context_window
                .map(|wire| ContextWindow { tokens: wire.tokens, reserved_output_tokens: wire.reserved_output_tokens }),
            context_keys: self.context_keys.map(texts_core).unwrap_or_default(),
        })
    }
}

fn executor_of(executor: ExecutorChoice) -> ExecutorWire {
    let route = |route: Route| RouteWire { executor: Text(route.executor), pattern: Text(route.pattern) };
    ExecutorWire {
        max_concurrency: executor.max_concurrency,
        name: Text(executor.name),
        parallel: Name(executor.parallel),
        routes: executor.routes.into_iter().map(route).collect(),
    }
}

fn executor_core(wire: ExecutorWire) -> ExecutorChoice {
    let route = |route: RouteWire| Route { pattern: route.pattern.0, executor: route.executor.0 };
    ExecutorChoice {
        name: wire.name.0,
        routes: wire.routes.into_iter().map(route).collect(),
        parallel: wire.parallel.0,
        max_concurrency: wire.max_concurrency,
    }
}
