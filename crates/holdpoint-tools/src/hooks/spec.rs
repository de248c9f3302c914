//! Hooks in words: the entries of `hooks` in a configuration or a scenario, outermost first.
//!
//! ```
//! use holdpoint_tools::hooks::{HookSpec, system_time};
//! use holdpoint_tools::{Chain, Registry};
//! use serde_json::json;
//!
//! let hooks: Vec<HookSpec> = serde_json::from_value(json!([
//!     { "rate_limit": { "tool": "refund", "per_second": 5, "burst": 5 } },
//!     { "concurrency": { "max": 2 } },
//!     { "cache": {} },
//! ])).expect("hooks");
//! let (registry, time) = (Registry::new(), system_time());
//! let hooks = hooks.iter().map(|hook| hook.build(&registry, &time)).collect::<Result<_, _>>().expect("good settings");
//! assert_eq!(Chain::new(hooks).len(), 3);
//! ```

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use super::{
    Cache, CircuitBreaker, ConcurrencyLimit, DryRun, HookConfigError, Instrumentation, OnLimit, Per, RateLimit, Retry,
    TimeSource,
};
use crate::{Around, HookError, Registry, around_fn};

/// One hook.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookSpec {
    /// Uses results again.
    Cache(CacheSpec),
    /// Limits how often tools are called.
    RateLimit(RateLimitSpec),
    /// Stops calling a tool that fails.
    CircuitBreaker(CircuitBreakerSpec),
    /// Executes nothing.
    DryRun(ScopeSpec),
    /// Repeats what failed.
    Retry(RetrySpec),
    /// Limits how many calls run at once.
    Concurrency(ConcurrencySpec),
    /// Counts and measures.
    Instrument(ScopeSpec),
    /// Fails with this message.
    Fail(String),
}

/// `cache`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CacheSpec {
    /// A registered name or a glob.
    pub tool: Option<String>,
    /// How long a result is used again.
    pub ttl_ms: Option<u64>,
    /// How many results are kept.
    pub max_entries: Option<u64>,
    /// Whether tenants and contexts share results.
    pub shared: bool,
    /// The attributes of the context that results depend on; all of them when absent.
    pub context_keys: Option<Vec<String>>,
}

/// `rate_limit`: `per_second`, or `calls` and `window_ms`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RateLimitSpec {
    /// A registered name or a glob.
    pub tool: Option<String>,
    /// How many calls per second.
    pub per_second: Option<u32>,
    /// How many calls per window.
    pub calls: Option<u32>,
    /// How long a window is.
    pub window_ms: Option<u64>,
    /// How many calls at once; as many as the rate when absent.
    pub burst: Option<u32>,
    /// What has a rate of its own.
    pub per: Per,
    /// What becomes of a call above the rate.
    pub on_limit: OnLimit,
}

/// `circuit_breaker`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CircuitBreakerSpec {
    /// A registered name or a glob.
    pub tool: Option<String>,
    /// After how many failures in a row it opens.
    pub failures: u32,
    /// For how long.
    pub open_ms: u64,
}

/// `retry`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetrySpec {
    /// A registered name or a glob.
    pub tool: Option<String>,
    /// How many attempts, the first included.
    pub attempts: u32,
    /// The first wait.
    #[serde(default)]
    pub base_ms: u64,
}

/// `concurrency`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConcurrencySpec {
    /// A registered name or a glob.
    pub tool: Option<String>,
    /// How many calls at once.
    pub max: u32,
    /// The name of a limit that the whole process shares.
    pub shared: Option<String>,
}

/// `dry_run` and `instrument`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScopeSpec {
    /// A registered name or a glob.
    pub tool: Option<String>,
}

impl HookSpec {
    /// The hook. The registry says which tools are safe to repeat; a cache and a breaker go by `time`.
    ///
    /// # Errors
    /// When a setting is impossible, or a cache names a tool that is unknown or not safe to repeat.
    pub fn build(&self, registry: &Registry, time: &TimeSource) -> Result<Arc<dyn Around>, HookConfigError> {
        Ok(match self {
            HookSpec::Cache(spec) => spec.build(registry, time)?,
            HookSpec::RateLimit(spec) => spec.build()?,
            HookSpec::CircuitBreaker(spec) => spec.build(time)?,
            HookSpec::DryRun(ScopeSpec { tool: None }) => DryRun::new(),
            HookSpec::DryRun(ScopeSpec { tool: Some(tool) }) => DryRun::for_tool(tool)?,
            HookSpec::Retry(spec) => spec.build()?,
            HookSpec::Concurrency(spec) => spec.build()?,
            HookSpec::Instrument(ScopeSpec { tool: None }) => Instrumentation::new(),
            HookSpec::Instrument(ScopeSpec { tool: Some(tool) }) => Instrumentation::for_tool(tool)?,
            HookSpec::Fail(message) => failing(message),
        })
    }
}

fn failing(message: &str) -> Arc<dyn Around> {
    let message: Arc<str> = message.into();
    around_fn(move |_, _| {
        let error = HookError::new(Arc::clone(&message));
        Box::pin(async move { Err(error) })
    })
}

impl CacheSpec {
    fn build(&self, registry: &Registry, time: &TimeSource) -> Result<Arc<dyn Around>, HookConfigError> {
        let mut builder = Cache::builder().time(Arc::clone(time));
        if let Some(tool) = &self.tool {
            builder = match registry.find(tool) {
                Some(registered) => builder.tool(registered.definition()),
                None if is_pattern(tool) => builder.tools(tool.as_str()),
                None => return Err(unknown_tool(tool)),
            };
        }
        if let Some(ttl_ms) = self.ttl_ms {
            builder = builder.ttl(Duration::from_millis(ttl_ms));
        }
        if let Some(entries) = self.max_entries {
            builder = builder.max_entries(entries);
        }
        if let Some(names) = &self.context_keys {
            builder = builder.context_keys(names.iter().map(String::as_str));
        }
        if self.shared {
            if self.context_keys.is_some() {
                return Err(HookConfigError::new("cache", "context_keys", "has no meaning beside `shared`"));
            }
            builder = builder.shared();
        }
        Ok(builder.build()?)
    }
}

fn is_pattern(tool: &str) -> bool {
    tool.is_empty() || tool.contains(['*', '?', '[', '{'])
}

fn unknown_tool(tool: &str) -> HookConfigError {
    HookConfigError::new("cache", "tool", format!("is `{tool}`, but there is no such tool"))
}

impl RateLimitSpec {
    fn build(&self) -> Result<Arc<dyn Around>, HookConfigError> {
        let mut builder = match (self.per_second, self.calls, self.window_ms) {
            (Some(calls), None, None) => RateLimit::per_second(calls),
            (None, Some(calls), Some(window_ms)) => RateLimit::builder(calls, Duration::from_millis(window_ms)),
            (None, Some(_), None) => return Err(HookConfigError::new("rate_limit", "window_ms", "is missing")),
            (None, None, _) => return Err(HookConfigError::new("rate_limit", "per_second", "is missing")),
            (Some(_), ..) => {
                let problem = "cannot stand beside `calls` and `window_ms`";
                return Err(HookConfigError::new("rate_limit", "per_second", problem));
            }
        };
        if let Some(burst) = self.burst {
            builder = builder.burst(burst);
        }
        if let Some(tool) = &self.tool {
            builder = builder.tool(tool.as_str());
        }
        Ok(builder.per(self.per.clone()).on_limit(self.on_limit).build()?)
    }
}

impl CircuitBreakerSpec {
    fn build(&self, time: &TimeSource) -> Result<Arc<dyn Around>, HookConfigError> {
        let builder = CircuitBreaker::builder(self.failures, self.open_ms).time(Arc::clone(time));
        Ok(match &self.tool {
            Some(tool) => builder.tool(tool.as_str()).build()?,
            None => builder.build()?,
        })
    }
}

impl RetrySpec {
    fn build(&self) -> Result<Arc<dyn Around>, HookConfigError> {
        let builder = Retry::builder(self.attempts, self.base_ms);
        Ok(match &self.tool {
            Some(tool) => builder.tool(tool.as_str()).build()?,
            None => builder.build()?,
        })
    }
}

impl ConcurrencySpec {
    fn build(&self) -> Result<Arc<dyn Around>, HookConfigError> {
        let mut builder = ConcurrencyLimit::builder(self.max);
        if let Some(tool) = &self.tool {
            builder = builder.tool(tool.as_str());
        }
        if let Some(name) = &self.shared {
            builder = builder.shared(name.as_str());
        }
        Ok(builder.build()?)
    }
}
