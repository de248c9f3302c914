//! Lends each call one of a bounded number of resources, such as database connections.
//!
//! ```
//! use holdpoint_tools::hooks::{Lease, ResourcePool};
//! use holdpoint_tools::{ToolCall, raw_tool};
//! # use std::convert::Infallible;
//!
//! struct Connection;
//!
//! let pool = ResourcePool::builder(4, || async { Ok::<_, Infallible>(Connection) })
//!     .tool("query")
//!     .build()
//!     .expect("possible settings");
//! // `.around(pool.clone())`, and the tool finds the connection by its type:
//! let query = raw_tool("query", "", serde_json::json!({}), async |call: ToolCall| {
//!     let connection = call.extension::<Lease<Connection>>().ok_or("no connection")?;
//!     let _: &Connection = &connection;
//!     Ok::<_, &str>("rows")
//! });
//! assert_eq!((pool.idle(), pool.in_use()), (0, 0));
//! ```

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use holdpoint_core::Settlement;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::build::above_zero;
use super::waiting::within;
use super::{HookConfigError, Scope};
use crate::{Around, AroundCall, HookError, Next};

const HOOK: &str = "resource_pool";

/// A pool that makes resources when they are needed and keeps them.
///
/// A call waits until one is free; who waits too long is `rate_limited`, as with every hook. A resource comes back when
/// the last who holds its [`Lease`] lets go: however the call ended, and not before a tool that timed out is really done.
/// One that cannot be made is a failure of the hook.
pub struct ResourcePool<T> {
    scope: Scope,
    shared: Arc<Shared<T>>,
}

/// A resource on loan. Tools get it by [`ToolCall::extension`](crate::ToolCall::extension); what must not be used by two
/// at once inside a tool goes into a mutex of its own.
pub struct Lease<T> {
    resource: Option<T>,
    discarded: AtomicBool,
    shared: Arc<Shared<T>>,
    _permit: OwnedSemaphorePermit,
}

/// Settings of a [`ResourcePool`].
#[must_use]
pub struct ResourcePoolBuilder<T> {
    max: u32,
    tool: Option<Arc<str>>,
    factory: Factory<T>,
    check: Option<Check<T>>,
}

type Factory<T> = Box<dyn Fn() -> BoxFuture<'static, Result<T, HookError>> + Send + Sync>;
type Check<T> = Box<dyn Fn(&T) -> bool + Send + Sync>;

struct Shared<T> {
    max: u32,
    free: Arc<Semaphore>,
    idle: Mutex<Vec<T>>,
    factory: Factory<T>,
    check: Option<Check<T>>,
}

impl<T: Send + Sync + 'static> ResourcePool<T> {
    /// At most so many resources, each made by this function when none is idle. What it says when it fails is for
    /// operators.
    pub fn builder<F, Fut, E>(max: u32, factory: F) -> ResourcePoolBuilder<T>
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
        E: fmt::Display,
    {
        let factory = move || {
            let made = factory();
            let named = |error: E| HookError::new(format!("the pool could not make a resource: {error}"));
            async move { made.await.map_err(named) }.boxed()
        };
        ResourcePoolBuilder { max, tool: None, factory: Box::new(factory), check: None }
    }

    /// Takes a resource, and waits until one is free: outside of calls nothing bounds the wait.
    pub async fn lease(&self) -> Result<Lease<T>, HookError> {
        let free = Arc::clone(&self.shared.free).acquire_owned().await;
        let permit = free.map_err(|_| HookError::new("the pool is closed"))?;
        let resource = match self.shared.take_idle() {
            Some(resource) => resource,
            None => (self.shared.factory)().await?,
        };
        let shared = Arc::clone(&self.shared);
        Ok(Lease { resource: Some(resource), discarded: AtomicBool::new(false), shared, _permit: permit })
    }

    /// Resources that wait to be used.
    pub fn idle(&self) -> usize {
        self.shared.idle().len()
    }

    /// Resources that are on loan, or being made.
    pub fn in_use(&self) -> usize {
        let max = usize::try_from(self.shared.max).unwrap_or(usize::MAX);
        max.saturating_sub(self.shared.free.available_permits())
    }
}

impl<T: Send + Sync + 'static> ResourcePoolBuilder<T> {
    /// Only for this tool: a registered name or a glob.
    pub fn tool(mut self, tool: impl Into<Arc<str>>) -> Self {
        self.tool = Some(tool.into());
        self
    }

    /// An idle resource is lent again only if this says yes, and dropped otherwise.
    pub fn check(mut self, check: impl Fn(&T) -> bool + Send + Sync + 'static) -> Self {
        self.check = Some(Box::new(check));
        self
    }

    /// The hook, unless it could never lend anything.
    pub fn build(self) -> Result<Arc<ResourcePool<T>>, HookConfigError> {
        above_zero(HOOK, "max", self.max.into())?;
        let scope = Scope::parse(HOOK, self.tool.as_deref())?;
        let permits = usize::try_from(self.max).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        let shared = Shared {
            max: self.max,
            free: Arc::new(Semaphore::new(permits)),
            idle: Mutex::default(),
            factory: self.factory,
            check: self.check,
        };
        Ok(Arc::new(ResourcePool { scope, shared: Arc::new(shared) }))
    }
}

#[async_trait]
impl<T: Send + Sync + 'static> Around for ResourcePool<T> {
    async fn around(&self, call: &AroundCall, next: Next<'_>) -> Result<Settlement, HookError> {
        if !self.scope.covers(call.definition()) {
            return next.run().await;
        }
        match within(call, self.lease()).await {
            Ok(lease) => next.run_with(lease?).await,
            Err(stopped) => stopped.settled(call),
        }
    }
}

impl<T> Shared<T> {
    fn take_idle(&self) -> Option<T> {
        loop {
            // The guard is gone before foreign code looks at the resource or drops it.
            let resource = self.idle().pop()?;
            if self.check.as_ref().is_none_or(|check| check(&resource)) {
                return Some(resource);
            }
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<T>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Lease<T> {
    /// The resource is broken: it is dropped instead of lent again, and another is made in its place.
    pub fn discard(&self) {
        self.discarded.store(true, Ordering::Relaxed);
    }
}

impl<T> Deref for Lease<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.resource.as_ref().expect("a lease has its resource until it is dropped")
    }
}

impl<T> Drop for Lease<T> {
    fn drop(&mut self) {
        // The permit goes after this, so whoever gets it finds the resource.
        if let Some(resource) = self.resource.take_if(|_| !*self.discarded.get_mut()) {
            self.shared.idle().push(resource);
        }
    }
}

impl<T> fmt::Debug for Lease<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").field("discarded", &self.discarded).finish_non_exhaustive()
    }
}
