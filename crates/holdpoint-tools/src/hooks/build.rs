//! What all hooks are built with: the tools they apply to, the time they go by, and what is said when they cannot be.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use globset::{GlobBuilder, GlobMatcher};
use holdpoint_core::{Code, Timestamp};
use thiserror::Error;

use crate::ToolDefinition;

/// Why a hook cannot be built: a setting that no call could ever satisfy.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the hook `{hook}` cannot be built: `{field}` {problem}")]
#[non_exhaustive]
pub struct HookConfigError {
    /// Which hook, by the key it has in a configuration.
    pub hook: &'static str,
    /// Which of its settings.
    pub field: &'static str,
    /// What is wrong with it; continues a sentence that begins with the field.
    pub problem: Arc<str>,
}

impl HookConfigError {
    /// This setting of this hook is wrong: `problem` continues a sentence that begins with the field.
    pub fn new(hook: &'static str, field: &'static str, problem: impl Into<Arc<str>>) -> Self {
        Self { hook, field, problem: problem.into() }
    }

    /// Its stable code.
    pub fn code(&self) -> Code {
        Code::InvalidConfig
    }
}

/// Refuses a zero where one would let nothing through.
pub(super) fn above_zero(hook: &'static str, field: &'static str, value: u64) -> Result<(), HookConfigError> {
    if value == 0 {
        return Err(HookConfigError::new(hook, field, "must be above 0"));
    }
    Ok(())
}

/// What time it is, for whatever gets old: entries of a cache, the windows of a breaker. Waiting is always real.
pub type TimeSource = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The time of this machine.
pub fn system_time() -> TimeSource {
    Arc::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    })
}

/// The tools that a hook applies to. Others pass through it at once.
#[derive(Clone, Debug, Default)]
pub enum Scope {
    /// Every tool.
    #[default]
    All,
    /// The tool of this registered name.
    One(Arc<str>),
    /// The tools whose registered names match.
    Matching(GlobMatcher),
}

impl Scope {
    /// The scope of a hook that was told this tool: a registered name or a glob; `None` is every tool.
    pub fn parse(hook: &'static str, tool: Option<&str>) -> Result<Self, HookConfigError> {
        let Some(tool) = tool else { return Ok(Scope::All) };
        if tool.is_empty() {
            return Err(HookConfigError::new(hook, "tool", "must not be empty"));
        }
        if !tool.contains(['*', '?', '[', '{']) {
            return Ok(Scope::One(tool.into()));
        }
        let glob = GlobBuilder::new(tool).build();
        let glob = glob.map_err(|error| HookConfigError::new(hook, "tool", format!("is not a pattern: {error}")))?;
        Ok(Scope::Matching(glob.compile_matcher()))
    }

    /// Whether the hook applies to this tool.
    pub fn covers(&self, definition: &ToolDefinition) -> bool {
        match self {
            Scope::All => true,
            Scope::One(name) => **name == *definition.name.as_str(),
            Scope::Matching(pattern) => pattern.is_match(definition.name.as_str()),
        }
    }
}
