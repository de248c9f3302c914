//! Limits how often tools are called: a call above the rate waits its turn, or is refused.
//!
//! ```
//! use std::time::Duration;
//!
//! use holdpoint_tools::hooks::{Per, RateLimit};
//!
//! // Five refunds a second, the others wait.
//! let refunds = RateLimit::per_second(5).tool("refund").build().expect("a good limit");
//! // A hundred calls a minute for each tenant, ten of them at once; more are refused.
//! let tenants = RateLimit::builder(100, Duration::from_secs(60)).burst(10).per(Per::Tenant).refuse().build();
//!
//! let error = RateLimit::per_second(0).build().unwrap_err();
//! assert_eq!(error.field, "per_second");
//! # assert!(tenants.is_ok());
//! ```

mod lanes;
#[cfg(test)]
mod tests;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use governor::Quota;
use holdpoint_codec::canonical_value;
use holdpoint_core::{Code, Settlement};
use serde_json::Value;

use super::build::above_zero;
use super::waiting::{Stopped, within};
use super::{HookConfigError, Scope};
use crate::{Around, AroundCall, HookError, Next};
use lanes::{Key, Lane, Lanes};

const HOOK: &str = "rate_limit";

/// How many keys a rate limit tells apart. Keys above it share one rate until others have been quiet long enough to be
/// forgotten.
pub const RATE_LIMIT_KEYS_MAX: usize = 10_000;

/// The longest time that a full burst may take to come back.
const REFILL_MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// So many calls per time, for each tool, each tenant, each value of a context attribute, or all together.
#[derive(Debug)]
pub struct RateLimit {
    scope: Scope,
    per: Per,
    on_limit: OnLimit,
    lanes: Lanes,
}

/// What has a rate of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Per {
    /// Each tool.
    #[default]
    Tool,
    /// Each tenant, over all tools that the limit applies to. Calls of nobody in particular are one tenant.
    Tenant,
    /// Each value of this context attribute. Calls without it have one rate.
    Key(Arc<str>),
    /// Nothing: one rate for every call that the limit applies to.
    Global,
}

/// What becomes of a call above the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnLimit {
    /// It waits its turn, and is refused when that would take longer than a call may be held.
    #[default]
    Wait,
    /// It is refused at once.
    Refuse,
}

/// What a [`RateLimit`] is made of.
#[derive(Clone, Debug)]
pub struct RateLimitBuilder {
    rate: Rate,
    burst: Option<u32>,
    tool: Option<Arc<str>>,
    per: Per,
    on_limit: OnLimit,
    keys_max: usize,
}

#[derive(Clone, Copy, Debug)]
struct Rate {
    calls: u32,
    calls_field: &'static str,
    window: Duration,
}

impl RateLimit {
    /// So many calls per second, and as many at once.
    pub fn per_second(calls: u32) -> RateLimitBuilder {
        RateLimitBuilder::new(Rate { calls, calls_field: "per_second", window: Duration::from_secs(1) })
    }

    /// So many calls in every window of this length, and as many at once.
    pub fn builder(calls: u32, window: Duration) -> RateLimitBuilder {
        RateLimitBuilder::new(Rate { calls, calls_field: "calls", window })
    }

    /// How many keys it tells apart right now; never more than [`RATE_LIMIT_KEYS_MAX`] and the one that the rest share.
    pub fn keys(&self) -> usize {
        self.lanes.len()
    }

    fn key(&self, call: &AroundCall) -> Key {
        match &self.per {
            Per::Tool => self.lanes.key(Some(call.definition().name.as_str())),
            Per::Tenant => self.lanes.key(call.context().actor().tenant.as_deref()),
            Per::Key(name) => match call.context().attribute(name) {
                None | Some(Value::Null) => self.lanes.key(None),
                Some(Value::String(text)) => self.lanes.key(Some(text)),
                Some(other) => self.lanes.key(Some(&canonical_value(other))),
            },
            Per::Global => self.lanes.key(None),
        }
    }

    /// Waits for its turn, in the order of arrival.
    async fn turn(&self, call: &AroundCall, lane: &Arc<Lane>) -> Result<(), Stopped> {
        let _first = within(call, lane.line()).await?;
        while let Err(at) = self.lanes.take(lane) {
            if at > call.deadline() {
                return Err(Stopped::TooLong);
            }
            within(call, tokio::time::sleep_until(at)).await?;
        }
        Ok(())
    }

    fn refused(&self, call: &AroundCall) -> Settlement {
        let tool = &call.definition().name;
        let text = format!("`{tool}` is called too often right now. It was not executed; try again later.");
        call.refused(Code::RateLimited, text)
    }
}

#[async_trait]
impl Around for RateLimit {
    async fn around(&self, call: &AroundCall, next: Next<'_>) -> Result<Settlement, HookError> {
        if !self.scope.covers(call.definition()) {
            return next.run().await;
        }
        let lane = self.lanes.lane(self.key(call));
        let passed = match self.on_limit {
            OnLimit::Refuse => self.lanes.take(&lane).is_ok(),
            // Nobody is overtaken: who finds others in line stands in line.
            OnLimit::Wait => lane.is_empty() && self.lanes.take(&lane).is_ok(),
        };
        if !passed {
            match self.on_limit {
                OnLimit::Refuse => return Ok(self.refused(call)),
                OnLimit::Wait => match self.turn(call, &lane).await {
                    Ok(()) => {}
                    Err(Stopped::TooLong) => return Ok(self.refused(call)),
                    Err(stopped) => return stopped.settled(call),
                },
            }
        }
        // What is inside may take long; the lane may be forgotten meanwhile.
        drop(lane);
        next.run().await
    }
}

impl RateLimitBuilder {
    fn new(rate: Rate) -> Self {
        let keys_max = RATE_LIMIT_KEYS_MAX;
        Self { rate, burst: None, tool: None, per: Per::Tool, on_limit: OnLimit::Wait, keys_max }
    }

    /// So many calls at once, when there were none for a while.
    #[must_use]
    pub fn burst(mut self, burst: u32) -> Self {
        self.burst = Some(burst);
        self
    }

    /// Only for the tool of this registered name, or the tools whose names match this glob.
    #[must_use]
    pub fn tool(mut self, tool: impl Into<Arc<str>>) -> Self {
        self.tool = Some(tool.into());
        self
    }

    /// What has a rate of its own.
    #[must_use]
    pub fn per(mut self, per: Per) -> Self {
        self.per = per;
        self
    }

    /// Refuses calls above the rate instead of letting them wait.
    #[must_use]
    pub fn refuse(self) -> Self {
        self.on_limit(OnLimit::Refuse)
    }

    /// What becomes of a call above the rate.
    #[must_use]
    pub fn on_limit(mut self, on_limit: OnLimit) -> Self {
        self.on_limit = on_limit;
        self
    }

    /// Tells fewer keys apart than [`RATE_LIMIT_KEYS_MAX`].
    #[must_use]
    pub fn keys_max(mut self, keys: usize) -> Self {
        self.keys_max = keys.min(RATE_LIMIT_KEYS_MAX);
        self
    }

    /// The hook.
    ///
    /// # Errors
    /// When nothing could ever pass, or what is asked is beyond what can be counted.
    pub fn build(self) -> Result<Arc<RateLimit>, HookConfigError> {
        let scope = Scope::parse(HOOK, self.tool.as_deref())?;
        if matches!(&self.per, Per::Key(name) if name.is_empty()) {
            return Err(HookConfigError::new(HOOK, "per", "must name an attribute of the context"));
        }
        above_zero(HOOK, "keys_max", u64::try_from(self.keys_max).unwrap_or(u64::MAX))?;
        let lanes = Lanes::new(self.quota()?, self.keys_max);
        Ok(Arc::new(RateLimit { scope, per: self.per, on_limit: self.on_limit, lanes }))
    }

    fn quota(&self) -> Result<Quota, HookConfigError> {
        let Rate { calls, calls_field, window } = self.rate;
        above_zero(HOOK, calls_field, calls.into())?;
        if window.is_zero() {
            return Err(HookConfigError::new(HOOK, "window_ms", "must be above 0"));
        }
        let burst = NonZeroU32::new(self.burst.unwrap_or(calls));
        let burst = burst.ok_or_else(|| HookConfigError::new(HOOK, "burst", "must be above 0"))?;
        let quota = Quota::with_period(window / calls);
        let quota = quota.ok_or_else(|| HookConfigError::new(HOOK, calls_field, "is more than one per nanosecond"))?;
        let refill = quota.replenish_interval().checked_mul(burst.get());
        if refill.is_none_or(|refill| refill > REFILL_MAX) {
            return Err(HookConfigError::new(HOOK, "burst", "would take longer than a year to come back"));
        }
        Ok(quota.allow_burst(burst))
    }
}
