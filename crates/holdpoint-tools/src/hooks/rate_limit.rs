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
use serde::Deserialize;
use serde_json::Value;

use super::build::above_zero;
use super::waiting::{Stopped, within};
use super::{HookConfigError, Scope};
use crate::{Around, AroundCall, HookError, Next};
use lanes::{Lane, Lanes};

const HOOK: &str = "rate_limit";

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

/// What has a rate of its own: `tool`, `tenant`, `global`, or `{ key = ATTRIBUTE }`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// Each tool.
    #[default]
    Tool,
    /// Each tenant, over all tools that the limit applies to. Calls of nobody in particular are one tenant.
    Tenant,
    /// Each value of this context attribute. Calls without it have one rate.
    Key(String),
    /// Nothing: one rate for every call that the limit applies to.
    Global,
}

/// What becomes of a call above the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnLimit {
    /// It waits its turn, and is refused when that would take longer than a call may be held.
    #[default]
    Wait,
    /// It is refused at once.
    Refuse,
}

/// What a [`RateLimit`] is made of.
#[derive(Clone, Debug)]
#[must_use]
pub struct RateLimitBuilder {
    rate: Rate,
    burst: Option<u32>,
    tool: Option<Arc<str>>,
    per: Per,
    on_limit: OnLimit,
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

    fn lane(&self, call: &AroundCall) -> Arc<Lane> {
        let context = call.call().context();
        match &self.per {
            Per::Tool => self.lanes.lane(Some(call.definition().name.as_str())),
            Per::Tenant => self.lanes.lane(context.actor().tenant.as_deref()),
            Per::Key(name) => match context.attribute(name) {
                None | Some(Value::Null) => self.lanes.lane(None),
                Some(Value::String(text)) => self.lanes.lane(Some(text)),
                Some(other) => self.lanes.lane(Some(&canonical_value(other))),
            },
            Per::Global => self.lanes.lane(None),
        }
    }
}

/// Waits for its turn, in the order of arrival.
async fn turn(call: &AroundCall, lane: &Lane) -> Result<(), Stopped> {
    let _first = within(call, lane.line()).await?;
    while let Err(at) = lane.take() {
        if at > call.deadline() {
            return Err(Stopped::TooLong);
        }
        within(call, tokio::time::sleep_until(at)).await?;
    }
    Ok(())
}

#[async_trait]
impl Around for RateLimit {
    async fn around(&self, call: &AroundCall, next: Next<'_>) -> Result<Settlement, HookError> {
        if !self.scope.covers(call.definition()) {
            return next.run().await;
        }
        let lane = self.lane(call);
        let passed = match self.on_limit {
            OnLimit::Refuse => lane.take().map_err(|_| Stopped::TooLong),
            // Nobody is overtaken: who finds others in line stands in line.
            OnLimit::Wait if lane.is_empty() && lane.take().is_ok() => Ok(()),
            OnLimit::Wait => turn(call, &lane).await,
        };
        // What is inside may take long; the lane may be forgotten meanwhile.
        drop(lane);
        match passed {
            Ok(()) => next.run().await,
            Err(Stopped::Cancelled) => Err(HookError::Interrupted),
            Err(Stopped::TooLong) => {
                let tool = &call.definition().name;
                let text = format!("`{tool}` is called too often right now. It was not executed; try again later.");
                Ok(call.refused(Code::RateLimited, text))
            }
        }
    }
}

impl RateLimitBuilder {
    fn new(rate: Rate) -> Self {
        Self { rate, burst: None, tool: None, per: Per::Tool, on_limit: OnLimit::Wait }
    }

    /// So many calls at once, when there were none for a while.
    pub fn burst(mut self, burst: u32) -> Self {
        self.burst = Some(burst);
        self
    }

    /// Only for the tool of this registered name, or the tools whose names match this glob.
    pub fn tool(mut self, tool: impl Into<Arc<str>>) -> Self {
        self.tool = Some(tool.into());
        self
    }

    /// What has a rate of its own.
    pub fn per(mut self, per: Per) -> Self {
        self.per = per;
        self
    }

    /// Refuses calls above the rate instead of letting them wait.
    pub fn refuse(self) -> Self {
        self.on_limit(OnLimit::Refuse)
    }

    /// What becomes of a call above the rate.
    pub fn on_limit(mut self, on_limit: OnLimit) -> Self {
        self.on_limit = on_limit;
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
        let lanes = Lanes::new(self.quota()?);
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
