//! An agent's configuration as versioned JSON.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_core::{
    Code, ContextWindow, ErrorDetail, ExecutorChoice, FinalAnswer, FinalTools, Parallel, ParallelToolCalls, Recheck,
    ResultOrder, Route, Settings, Siblings,
};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Agent;

/// The version that is written, and the only one that is read so far.
const SCHEMA_VERSION: u32 = 1;

/// Everything about an agent that is data. Model, tools, policy and store are given beside it when it is loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    schema_version: u32,
    /// The agent's name.
    pub name: Option<String>,
    /// The model's name.
    pub model: Option<String>,
    /// The system prompt.
    pub system_prompt: Option<String>,
    /// The names of its tools, for those who load it.
    pub tools: Vec<String>,
    settings: SettingsJson,
}

/// Why a configuration could not be loaded.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// A version that is not known.
    #[error("the agent's configuration has version {found}; this program reads version 1")]
    UnsupportedVersion {
        /// The version.
        found: u64,
    },
    /// Not a configuration.
    #[error("the agent's configuration is not valid")]
    Invalid(#[source] serde_json::Error),
}

impl ConfigError {
    /// The stable code.
    pub fn code(&self) -> Code {
        match self {
            ConfigError::UnsupportedVersion { .. } => Code::UnsupportedSchemaVersion,
            ConfigError::Invalid(_) => Code::InvalidConfig,
        }
    }
}

impl AgentConfig {
    pub(super) fn of(agent: &Agent) -> Self {
        let parts = &agent.runner.parts;
        Self {
            schema_version: SCHEMA_VERSION,
            name: parts.agent.as_deref().map(str::to_owned),
            model: parts.model.name().map(str::to_owned),
            system_prompt: agent.system_prompt.as_deref().map(str::to_owned),
            tools: parts.registry.definitions().iter().map(|tool| tool.name.to_string()).collect(),
            settings: SettingsJson::of(&parts.settings),
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Reads JSON.
    ///
    /// # Errors
    /// When it is not a configuration of a version that is known.
    pub fn from_json(text: &str) -> Result<Self, ConfigError> {
        #[derive(Deserialize)]
        struct Versioned {
            schema_version: u64,
        }
        let versioned: Versioned = serde_json::from_str(text).map_err(ConfigError::Invalid)?;
        if versioned.schema_version != u64::from(SCHEMA_VERSION) {
            return Err(ConfigError::UnsupportedVersion { found: versioned.schema_version });
        }
        serde_json::from_str(text).map_err(ConfigError::Invalid)
    }

    /// The settings of its runs.
    pub fn settings(&self) -> Settings {
        self.settings.clone().into_settings()
    }
}

/// The settings, with the words of the configuration file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingsJson {
    max_turns: u32,
    max_tool_calls_per_turn: u32,
    parallel_tool_calls: bool,
    siblings: SiblingsJson,
    recheck_policy: bool,
    fix_empty_final: bool,
    fix_empty_final_text: Option<String>,
    fix_empty_final_disable_tools: bool,
    result_order: ResultOrderJson,
    executor: String,
    routes: Vec<(String, String)>,
    parallel: ParallelJson,
    max_concurrency: Option<u32>,
    tool_timeout_ms: u64,
    #[serde(default)]
    task_deadline_ms: Option<u64>,
    #[serde(default = "max_task_attempts")]
    max_task_attempts: u32,
    max_tool_output_bytes: u64,
    error_detail: ErrorDetailJson,
    context_window: Option<u64>,
    reserved_output_tokens: Option<u64>,
    context_keys: BTreeSet<String>,
}

fn max_task_attempts() -> u32 {
    Settings::default().max_task_attempts
}

macro_rules! words {
    ($json:ident, $core:ident { $($variant:ident),* }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum $json {
            $($variant,)*
        }

        impl From<$core> for $json {
            fn from(core: $core) -> Self {
                match core {
                    $($core::$variant => $json::$variant,)*
                }
            }
        }

        impl From<$json> for $core {
            fn from(json: $json) -> Self {
                match json {
                    $($json::$variant => $core::$variant,)*
                }
            }
        }
    };
}

words!(SiblingsJson, Siblings { Hold, Run });
words!(ResultOrderJson, ResultOrder { Request, Completion });
words!(ParallelJson, Parallel { Marked, All });
words!(ErrorDetailJson, ErrorDetail { Safe, Debug });

impl SettingsJson {
    fn of(settings: &Settings) -> Self {
        let executor = &settings.executor;
        Self {
            max_turns: settings.max_turns,
            max_tool_calls_per_turn: settings.max_tool_calls_per_turn,
            parallel_tool_calls: settings.parallel_tool_calls == ParallelToolCalls::Allowed,
            siblings: settings.siblings.into(),
            recheck_policy: settings.recheck_policy == Recheck::On,
            fix_empty_final: settings.final_answer.ask.is_some(),
            fix_empty_final_text: settings.final_answer.ask.as_deref().map(str::to_owned),
            fix_empty_final_disable_tools: settings.final_answer.tools == FinalTools::Disabled,
            result_order: settings.result_order.into(),
            executor: executor.name.to_string(),
            routes: executor.routes.iter().map(|r| (r.pattern.to_string(), r.executor.to_string())).collect(),
            parallel: executor.parallel.into(),
            max_concurrency: executor.max_concurrency,
            tool_timeout_ms: settings.tool_timeout_ms,
            task_deadline_ms: settings.task_deadline_ms,
            max_task_attempts: settings.max_task_attempts,
            max_tool_output_bytes: settings.max_tool_output_bytes,
            error_detail: settings.error_detail.into(),
            context_window: settings.context_window.map(|window| window.tokens),
            reserved_output_tokens: settings.context_window.map(|window| window.reserved_output_tokens),
            context_keys: settings.context_keys.iter().map(ToString::to_string).collect(),
        }
    }

    fn into_settings(self) -> Settings {
        let ask = self.fix_empty_final_text.map(Arc::from).or(FinalAnswer::default().ask);
        let route =
            |(pattern, executor): (String, String)| Route { pattern: pattern.into(), executor: executor.into() };
        let flag = |on: bool| if on { ParallelToolCalls::Allowed } else { ParallelToolCalls::One };
        let window =
            |tokens| ContextWindow { tokens, reserved_output_tokens: self.reserved_output_tokens.unwrap_or_default() };
        Settings {
            max_turns: self.max_turns,
            max_tool_calls_per_turn: self.max_tool_calls_per_turn,
            parallel_tool_calls: flag(self.parallel_tool_calls),
            siblings: self.siblings.into(),
            recheck_policy: if self.recheck_policy { Recheck::On } else { Recheck::Off },
            final_answer: FinalAnswer {
                ask: ask.filter(|_| self.fix_empty_final),
                tools: if self.fix_empty_final_disable_tools { FinalTools::Disabled } else { FinalTools::Enabled },
            },
            result_order: self.result_order.into(),
            executor: ExecutorChoice {
                name: self.executor.into(),
                routes: self.routes.into_iter().map(route).collect(),
                parallel: self.parallel.into(),
                max_concurrency: self.max_concurrency,
            },
            tool_timeout_ms: self.tool_timeout_ms,
            task_deadline_ms: self.task_deadline_ms,
            max_task_attempts: self.max_task_attempts,
            max_tool_output_bytes: self.max_tool_output_bytes,
            error_detail: self.error_detail.into(),
            context_window: self.context_window.map(window),
            context_keys: self.context_keys.into_iter().map(Arc::from).collect(),
        }
    }
}
