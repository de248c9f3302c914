//! Runs a failed call again, if its tool may be repeated.
//!
//! ```
//! use holdpoint_tools::hooks::{Jitter, Retry};
//!
//! // At most 3 attempts, the first included: after 200 ms, then after 400 ms, each a little later by chance.
//! let retry = Retry::builder(3, 200).jitter(Jitter::Random).tool("search").build().expect("possible settings");
//! assert!(Retry::builder(0, 200).build().is_err());
//! ```

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use backon::{BackoffBuilder, ExponentialBuilder};
use holdpoint_core::{Code, Outcome, Settlement, Source};
use tokio::time::Instant;

use super::build::above_zero;
use super::waiting::within;
use super::{HookConfigError, Scope};
use crate::{Around, AroundCall, HOOK_WAIT_MS_MAX, HookError, Next};

const HOOK: &str = "retry";
const MAX_MS_DEFAULT: u64 = 10_000;

/// More attempts than this are refused when built.
const RETRY_ATTEMPTS_MAX: u32 = 100;

/// Repeats tools that say `safe` or `with_key`, when they fail, panic or time out. Every try is a new attempt of the
/// call with the same idempotency key.
///
/// It stands outside of a circuit breaker, so that each attempt counts there, and outside of a resource pool, so that
/// each attempt gets a resource of its own.
#[derive(Debug)]
pub struct Retry {
    scope: Scope,
    backoff: ExponentialBuilder,
}

/// Whether chance lengthens a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Jitter {
    /// It does not.
    #[default]
    None,
    /// By up to its own length, so that many callers do not come back at once.
    Random,
}

/// Settings of a [`Retry`].
#[derive(Clone, Debug)]
#[must_use]
pub struct RetryBuilder {
    attempts: u32,
    base_ms: u64,
    max_ms: Option<u64>,
    jitter: Jitter,
    tool: Option<Arc<str>>,
}

impl Retry {
    /// At most so many attempts, the first included. The first wait is `base_ms`, every other twice the one before.
    pub fn builder(attempts: u32, base_ms: u64) -> RetryBuilder {
        RetryBuilder { attempts, base_ms, max_ms: None, jitter: Jitter::None, tool: None }
    }
}

impl RetryBuilder {
    /// No wait is longer than this, chance aside. 10 s, or the first wait if that is longer, unless something is said.
    pub fn max_ms(mut self, max_ms: u64) -> Self {
        self.max_ms = Some(max_ms);
        self
    }

    /// Whether chance lengthens a wait.
    pub fn jitter(mut self, jitter: Jitter) -> Self {
        self.jitter = jitter;
        self
    }

    /// Only for this tool: a registered name or a glob.
    pub fn tool(mut self, tool: impl Into<Arc<str>>) -> Self {
        self.tool = Some(tool.into());
        self
    }

    /// The hook, unless it could never repeat anything as it was told.
    pub fn build(self) -> Result<Arc<Retry>, HookConfigError> {
        let wrong = |field, problem: String| Err(HookConfigError::new(HOOK, field, problem));
        above_zero(HOOK, "attempts", self.attempts.into())?;
        if self.attempts > RETRY_ATTEMPTS_MAX {
            return wrong("attempts", format!("must be at most {RETRY_ATTEMPTS_MAX}"));
        }
        if self.base_ms >= HOOK_WAIT_MS_MAX {
            return wrong("base_ms", format!("must be below {HOOK_WAIT_MS_MAX}, the longest that a call may be held"));
        }
        let max_ms = self.max_ms.unwrap_or_else(|| MAX_MS_DEFAULT.max(self.base_ms));
        if max_ms < self.base_ms {
            return wrong("max_ms", "must not be below `base_ms`".to_owned());
        }
        let scope = Scope::parse(HOOK, self.tool.as_deref())?;
        let backoff = ExponentialBuilder::new()
            .with_min_delay(Duration::from_millis(self.base_ms))
            .with_max_delay(Duration::from_millis(max_ms))
            .with_max_times(usize::try_from(self.attempts - 1).unwrap_or(usize::MAX));
        let backoff = match self.jitter {
            Jitter::None => backoff,
            Jitter::Random => backoff.with_jitter(),
        };
        Ok(Arc::new(Retry { scope, backoff }))
    }
}

#[async_trait]
impl Around for Retry {
    async fn around(&self, call: &AroundCall, next: Next<'_>) -> Result<Settlement, HookError> {
        let definition = call.definition();
        if !definition.metadata.repeat.may_repeat() || !self.scope.covers(definition) {
            return next.run().await;
        }
        let mut settlement = next.run().await?;
        let mut waits = self.backoff.build();
        while may_pass(&settlement) {
            let Some(wait) = waits.next() else { break };
            if !has_time(call, wait) || within(call, tokio::time::sleep(wait)).await.is_err() {
                break;
            }
            settlement = next.run().await?;
        }
        Ok(settlement)
    }
}

/// Whether another attempt may end better than this one.
fn may_pass(settlement: &Settlement) -> bool {
    if settlement.source != Some(Source::Tool) {
        return false;
    }
    match settlement.outcome {
        Outcome::TimedOut => true,
        Outcome::Failed => matches!(settlement.code, Some(Code::ToolError | Code::ToolPanicked)),
        _ => false,
    }
}

/// Nobody waits for a call past its deadline, and hooks that hold one for too long lose it.
fn has_time(call: &AroundCall, wait: Duration) -> bool {
    let deadline = call.deadline().min(call.call().deadline().unwrap_or_else(|| call.deadline()));
    wait < deadline.saturating_duration_since(Instant::now())
}
