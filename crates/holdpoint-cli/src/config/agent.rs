//! `[agents.NAME]`: one agent.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use holdpoint_codec::{ExecutorSpec, SettingsSpec};
use holdpoint_config::{ConfigError, Document, Flatten, KeyPath, Named, Problem, read_text, within};
use holdpoint_core::{Limits, Settings};
use holdpoint_endpoints::ToolSpec;
use holdpoint_mcp::{ServerConfig, ServerName};
use holdpoint_tools::hooks::HookSpec;
use serde::Deserialize;
use serde::de::Error;

use super::model::ModelKeys;

/// The executors that a configuration can name.
const EXECUTORS: &[&str] = &["inline", "sequential", "concurrent", "async", "threads", "defer_all"];
const MAX_NAME_BYTES: usize = 64;
const MAX_SYSTEM_PROMPT_BYTES: u64 = 1024 * 1024;
const MAX_LEASE_MS: u64 = 3_600_000;

/// All keys of an agent.
pub(super) type Keys = Flatten<AgentKeys, Flatten<ModelKeys, SettingsSpec>>;

/// The keys of an agent that are neither about its model nor settings of its runs.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AgentKeys {
    /// For people.
    pub(crate) description: Option<String>,
    pub(crate) system_prompt: Option<String>,
    system_prompt_file: Option<PathBuf>,
    pub(crate) policy: Option<PathBuf>,
    pub(crate) skills: Vec<PathBuf>,
    pub(crate) lease_ms: Option<u64>,
    pub(crate) tools: Named<ToolSpec>,
    pub(crate) mcp: Named<ServerConfig>,
    /// The outermost first.
    pub(crate) hooks: Vec<HookSpec>,
}

/// One agent, read and checked but not built.
#[derive(Debug)]
pub(crate) struct AgentTable {
    document: Arc<Document>,
    pub(crate) name: String,
    pub(crate) keys: AgentKeys,
    pub(crate) model: ModelKeys,
    pub(crate) settings: Settings,
}

impl AgentTable {
    pub(super) fn new(document: &Arc<Document>, name: String, keys: Keys) -> Result<Self, ConfigError> {
        let Flatten(keys, Flatten(model, settings)) = keys;
        let checked = check_name(&name)
            .and_then(|()| model.check())
            .and_then(|()| check_settings(&settings))
            .and_then(|()| keys.checked(document));
        let keys = checked.map_err(|problem| document.error(problem.below(["agents", &name])))?;
        Ok(Self { document: Arc::clone(document), name, keys, model, settings: settings.settings() })
    }

    /// A problem with this agent.
    pub(crate) fn error(&self, problem: impl Into<Problem>) -> ConfigError {
        self.document.error(problem.into().below(["agents", &self.name]))
    }

    /// The folder that relative paths begin at.
    pub(crate) fn folder(&self) -> &Path {
        self.document.folder()
    }
}

impl AgentKeys {
    /// The keys with the text of the system prompt.
    fn checked(mut self, document: &Document) -> Result<Self, Problem> {
        within("lease_ms", self.lease_ms, 1..=MAX_LEASE_MS)?;
        for (name, server) in &self.mcp.0 {
            let checked = ServerName::new(name).and_then(|_| server.check());
            checked.map_err(|problem| problem.below(["mcp", name]))?;
        }
        if let Some(index) = self.hooks.iter().position(|hook| matches!(hook, HookSpec::Fail(_))) {
            return Err(Problem::at_key(KeyPath::from("hooks").index(index).key("fail"), "is for scenarios only"));
        }
        if let Some(file) = &self.system_prompt_file {
            let problem = |why: &str| Problem::at("system_prompt_file", why);
            if self.system_prompt.is_some() {
                return Err(problem("stands beside `system_prompt`").with_hint("keep one of them"));
            }
            let text = read_text(&document.path(file), MAX_SYSTEM_PROMPT_BYTES);
            self.system_prompt = Some(text.map_err(|why| problem(&format!("is `{}`, which {why}", file.display())))?);
        }
        Ok(self)
    }
}

/// Agents are named in addresses, logs and metrics.
fn check_name(name: &str) -> Result<(), Problem> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if !name.is_empty() && name.len() <= MAX_NAME_BYTES && name.bytes().all(plain) {
        return Ok(());
    }
    let problem = Problem::at_key(KeyPath::default(), "cannot name an agent");
    Err(problem.with_hint(format!("a name has at most {MAX_NAME_BYTES} letters, digits, `-`, `_` and `.`")))
}

fn check_settings(spec: &SettingsSpec) -> Result<(), Problem> {
    match &spec.executor {
        Some(ExecutorSpec::Named(name)) => check_executor("executor".into(), name)?,
        Some(ExecutorSpec::Routed { route }) => {
            for (glob, name) in route {
                check_executor(["executor", "route", glob].into(), name)?;
            }
        }
        None => {}
    }
    for (index, route) in spec.routes.iter().flatten().enumerate() {
        check_executor(KeyPath::from("routes").index(index).key("executor"), &route.executor)?;
    }
    if spec.reserved_output_tokens.is_some() && spec.context_window.is_none() {
        return Err(Problem::at("reserved_output_tokens", "needs `context_window` beside it"));
    }
    within("max_tool_calls_per_turn", spec.max_tool_calls_per_turn, 1..=Limits::TOOL_CALLS_PER_TURN_MAX)?;
    spec.clone().settings().check().map_err(|error| Problem::at(error.key, error.problem))
}

fn check_executor(path: KeyPath, name: &str) -> Result<(), Problem> {
    if EXECUTORS.contains(&name) { Ok(()) } else { Err(Problem::unknown_variant(name, EXECUTORS).below(path)) }
}
