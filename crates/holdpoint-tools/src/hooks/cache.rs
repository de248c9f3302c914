//! Uses earlier results again: only those of tools that are safe to repeat, only for the same question by the same
//! tenant in the same context. Of equal calls at once, one executes.
//!
//! ```
//! use std::time::Duration;
//!
//! use holdpoint_core::Repeat;
//! use holdpoint_tools::hooks::Cache;
//! use holdpoint_tools::{Tool, tool};
//!
//! let weather = tool("weather", "The weather of a city", async || "sunny").repeat(Repeat::Safe);
//! let cache = Cache::builder().tool(weather.definition()).ttl(Duration::from_secs(60)).build().expect("a good cache");
//! cache.invalidate_tool("weather");
//!
//! // Nobody wants yesterday's answer of a tool that does something.
//! let refund = tool("refund", "Pays money back", async || "done");
//! assert_eq!(Cache::builder().tool(refund.definition()).build().unwrap_err().field, "tool");
//! ```

mod key;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use holdpoint_core::{Outcome, Repeat, Settlement, Source, Timestamp, ToolResult};
use moka::ops::compute::Op;

use super::build::above_zero;
use super::waiting::Stopped;
use super::{HookConfigError, Scope, TimeSource, system_time};
use crate::{Around, AroundCall, HookError, Next, ToolDefinition};
use key::{Epochs, Key, Keying};

const HOOK: &str = "cache";

/// How long a result is used again unless the cache says otherwise.
const CACHE_TTL_DEFAULT: Duration = Duration::from_secs(5 * 60);

/// How many results are kept unless the cache says otherwise.
const CACHE_ENTRIES_DEFAULT: u64 = 1_000;

/// Results of tools that are safe to repeat. Errors, halts, time-outs and what other hooks answered are not kept.
pub struct Cache {
    scope: Scope,
    keying: Keying,
    ttl_ms: u64,
    time: TimeSource,
    epochs: Epochs,
    entries: moka::future::Cache<Key, Entry>,
}

/// A result, and since when it is known.
#[derive(Clone)]
struct Entry {
    result: Arc<ToolResult>,
    since: Timestamp,
}

/// What a [`Cache`] is made of.
#[derive(Clone)]
#[must_use]
pub struct CacheBuilder {
    tool: Option<(Arc<str>, Repeat)>,
    tools: Option<Arc<str>>,
    keying: Keying,
    ttl: Duration,
    entries_max: u64,
    time: TimeSource,
}

impl Cache {
    /// A cache for every tool that is safe to repeat.
    pub fn builder() -> CacheBuilder {
        CacheBuilder {
            tool: None,
            tools: None,
            keying: Keying::default(),
            ttl: CACHE_TTL_DEFAULT,
            entries_max: CACHE_ENTRIES_DEFAULT,
            time: system_time(),
        }
    }

    /// Forgets every result, that of calls which run right now included.
    pub fn invalidate_all(&self) {
        self.epochs.all_ended();
        self.entries.invalidate_all();
    }

    /// Forgets every result of this tool, that of calls which run right now included.
    pub fn invalidate_tool(&self, name: &str) {
        self.epochs.ended(name);
    }

    fn is_fresh(&self, entry: &Entry) -> bool {
        (self.time)().ms_since(entry.since) < self.ttl_ms
    }

    /// Executes unless an equal call does so already, whose result is then taken. A call that fails, or that nobody
    /// waits for any more, lets the next one try.
    async fn lead_or_follow(
        &self,
        call: &AroundCall,
        key: Key,
        next: Next<'_>,
        leads: &AtomicBool,
    ) -> Result<Settlement, HookError> {
        let mut settled = None;
        let slot = &mut settled;
        let computed = self.entries.entry(key).and_try_compute_with(move |known| async move {
            if let Some(entry) = known.map(moka::Entry::into_value).filter(|entry| self.is_fresh(entry)) {
                *slot = Some(call.answered(Source::Cache, entry.result));
                return Ok(Op::Nop);
            }
            leads.store(true, Ordering::Relaxed);
            // Something may change while the tool works: its answer is as old as its beginning.
            let since = (self.time)();
            let settlement = next.run().await?;
            let result = Arc::clone(&settlement.result);
            let keeps = is_kept(&settlement);
            *slot = Some(settlement);
            Ok::<_, HookError>(if keeps { Op::Put(Entry { result, since }) } else { Op::Nop })
        });
        computed.await?;
        settled.ok_or_else(|| HookError::new("the cache came to no result"))
    }
}

#[async_trait]
impl Around for Cache {
    async fn around(&self, call: &AroundCall, next: Next<'_>) -> Result<Settlement, HookError> {
        if call.definition().metadata.repeat != Repeat::Safe || !self.scope.covers(call.definition()) {
            return next.run().await;
        }
        let key = self.keying.key(call, self.epochs.of(call.definition().name.as_str()));
        if let Some(entry) = self.entries.get(&key).await.filter(|entry| self.is_fresh(entry)) {
            return Ok(call.answered(Source::Cache, entry.result));
        }
        let leads = AtomicBool::new(false);
        tokio::select! {
            biased;
            settled = self.lead_or_follow(call, key, next, &leads) => settled,
            stopped = follower_stops(call, &leads) => stopped.settled(call),
        }
    }
}

/// Returns when a call that waits for an equal one has no reason to wait any more.
async fn follower_stops(call: &AroundCall, leads: &AtomicBool) -> Stopped {
    let stopped = tokio::select! {
        () = call.call().cancellation().cancelled() => Stopped::Cancelled,
        () = tokio::time::sleep_until(call.deadline()) => Stopped::TooLong,
    };
    if leads.load(Ordering::Relaxed) {
        // It executes, which ends by itself.
        std::future::pending::<()>().await;
    }
    stopped
}

/// Only what a tool itself answered is worth keeping.
fn is_kept(settlement: &Settlement) -> bool {
    settlement.outcome == Outcome::Succeeded && settlement.source == Some(Source::Tool)
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Cache");
        shown.field("scope", &self.scope).field("ttl_ms", &self.ttl_ms).finish_non_exhaustive()
    }
}

impl CacheBuilder {
    /// Only for this tool, which must be safe to repeat.
    pub fn tool(mut self, definition: &ToolDefinition) -> Self {
        self.tool = Some((definition.name.as_str().into(), definition.metadata.repeat));
        self
    }

    /// Only for the tools whose names match this glob, as far as they are safe to repeat.
    pub fn tools(mut self, pattern: impl Into<Arc<str>>) -> Self {
        self.tools = Some(pattern.into());
        self
    }

    /// How long a result is used again.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// How many results are kept.
    pub fn max_entries(mut self, entries: u64) -> Self {
        self.entries_max = entries;
        self
    }

    /// Which attributes of the context a result depends on, beside the tenant. Without this it depends on all of them.
    pub fn context_keys<S: Into<Arc<str>>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.keying = Keying::Attributes(names.into_iter().map(Into::into).collect::<BTreeSet<_>>());
        self
    }

    /// Results depend on tool and arguments alone: tenants and contexts share them.
    pub fn shared(mut self) -> Self {
        self.keying = Keying::Shared;
        self
    }

    /// What time it is; the machine's unless this says otherwise.
    pub fn time(mut self, time: TimeSource) -> Self {
        self.time = time;
        self
    }

    /// The hook.
    ///
    /// # Errors
    /// When it names a tool that is not safe to repeat, or could keep nothing.
    pub fn build(self) -> Result<Arc<Cache>, HookConfigError> {
        let ttl_ms = u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX);
        above_zero(HOOK, "ttl_ms", ttl_ms)?;
        above_zero(HOOK, "max_entries", self.entries_max)?;
        let scope = match self.tool {
            Some((name, Repeat::Safe)) => Scope::One(name),
            Some((name, Repeat::Never | Repeat::WithKey)) => return Err(not_safe(&name)),
            None => Scope::parse(HOOK, self.tools.as_deref())?,
        };
        let entries = moka::future::Cache::new(self.entries_max);
        let (keying, time) = (self.keying, self.time);
        Ok(Arc::new(Cache { scope, keying, ttl_ms, time, epochs: Epochs::default(), entries }))
    }
}

fn not_safe(name: &str) -> HookConfigError {
    let problem = format!("is `{name}`, which is not safe to repeat, hint: only tools with `repeat` safe are cached");
    HookConfigError::new(HOOK, "tool", problem)
}
