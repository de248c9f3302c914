//! Limits how many calls run at once: the others wait, first come first served, or until they have waited too long.
//!
//! ```
//! use holdpoint_tools::hooks::ConcurrencyLimit;
//! use holdpoint_tools::{Around, Chain};
//!
//! // One budget for every run of this process, and inside it one for this agent's database tools.
//! let global = ConcurrencyLimit::builder(10).shared("outbound").build().expect("a good limit");
//! let local = ConcurrencyLimit::builder(2).tool("db_*").build().expect("a good limit");
//! let chain = Chain::new(vec![global, local]);
//! # assert_eq!(chain.len(), 2);
//! # assert!(ConcurrencyLimit::builder(0).build().is_err());
//! ```

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use async_trait::async_trait;
use holdpoint_core::Settlement;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::build::above_zero;
use super::waiting::{Stopped, within};
use super::{HookConfigError, Scope};
use crate::{Around, AroundCall, HookError, Next};

const HOOK: &str = "concurrency";

/// The budgets of this process, by name. A budget that no hook holds any more is forgotten.
static SHARED: Mutex<Option<HashMap<Arc<str>, Weak<Budget>>>> = Mutex::new(None);

/// At most so many calls at once, over all tools it applies to. Put the same `Arc` into several agents to share it, or
/// give it a name that is known in the whole process.
#[derive(Debug)]
pub struct ConcurrencyLimit {
    scope: Scope,
    budget: Arc<Budget>,
}

#[derive(Debug)]
struct Budget {
    max: u32,
    permits: Semaphore,
}

/// What a [`ConcurrencyLimit`] is made of.
#[derive(Clone, Debug)]
#[must_use]
pub struct ConcurrencyLimitBuilder {
    max: u32,
    tool: Option<Arc<str>>,
    shared: Option<Arc<str>>,
}

impl ConcurrencyLimit {
    /// At most so many calls at once.
    pub fn builder(max: u32) -> ConcurrencyLimitBuilder {
        ConcurrencyLimitBuilder { max, tool: None, shared: None }
    }

    async fn permit(&self, call: &AroundCall) -> Result<SemaphorePermit<'_>, Stopped> {
        // Permits go to those who wait before they are free again, so that nobody is overtaken here.
        if let Ok(permit) = self.budget.permits.try_acquire() {
            return Ok(permit);
        }
        let permit = within(call, self.budget.permits.acquire()).await?;
        Ok(permit.expect("the semaphore is never closed"))
    }
}

#[async_trait]
impl Around for ConcurrencyLimit {
    async fn around(&self, call: &AroundCall, next: Next<'_>) -> Result<Settlement, HookError> {
        if !self.scope.covers(call.definition()) {
            return next.run().await;
        }
        match self.permit(call).await {
            Ok(_permit) => next.run().await,
            Err(stopped) => stopped.settled(call),
        }
    }
}

impl ConcurrencyLimitBuilder {
    /// Only for the tool of this registered name, or the tools whose names match this glob.
    pub fn tool(mut self, tool: impl Into<Arc<str>>) -> Self {
        self.tool = Some(tool.into());
        self
    }

    /// Shared with every limit of this name in the process.
    pub fn shared(mut self, name: impl Into<Arc<str>>) -> Self {
        self.shared = Some(name.into());
        self
    }

    /// The hook.
    ///
    /// # Errors
    /// When nothing could ever run, or a limit of this name exists and is another one.
    pub fn build(self) -> Result<Arc<ConcurrencyLimit>, HookConfigError> {
        above_zero(HOOK, "max", self.max.into())?;
        let scope = Scope::parse(HOOK, self.tool.as_deref())?;
        let budget = match &self.shared {
            Some(name) => shared_budget(name, self.max)?,
            None => Budget::new(self.max),
        };
        Ok(Arc::new(ConcurrencyLimit { scope, budget }))
    }
}

impl Budget {
    fn new(max: u32) -> Arc<Self> {
        let permits = usize::try_from(max).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        Arc::new(Self { max, permits: Semaphore::new(permits) })
    }
}

fn shared_budget(name: &Arc<str>, max: u32) -> Result<Arc<Budget>, HookConfigError> {
    if name.is_empty() {
        return Err(HookConfigError::new(HOOK, "shared", "must not be empty"));
    }
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let budgets = shared.get_or_insert_default();
    if let Some(budget) = budgets.get(name).and_then(Weak::upgrade) {
        if budget.max != max {
            let problem = format!("is {max}, but the limit that is shared as `{name}` has {}", budget.max);
            return Err(HookConfigError::new(HOOK, "max", problem));
        }
        return Ok(budget);
    }
    budgets.retain(|_, budget| budget.strong_count() > 0);
    let budget = Budget::new(max);
    budgets.insert(Arc::clone(name), Arc::downgrade(&budget));
    Ok(budget)
}
