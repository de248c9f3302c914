//! Ready-made hooks: each wraps every execution it applies to, and they compose in the order they are given.
//!
//! A limit for the whole process around one for this agent around what measures the tools themselves:
//!
//! ```
//! use holdpoint_tools::Chain;
//! use holdpoint_tools::hooks::{ConcurrencyLimit, HookConfigError, Instrumentation, RateLimit};
//!
//! # fn main() -> Result<(), HookConfigError> {
//! let statistics = Instrumentation::new();
//! let chain = Chain::new(vec![
//!     ConcurrencyLimit::builder(50).shared("all agents").build()?,
//!     RateLimit::per_second(5).build()?,
//!     statistics.clone(),
//! ]);
//! # assert_eq!(chain.len(), 3);
//! # Ok(())
//! # }
//! ```
//!
//! The same in a configuration is a list of [`HookSpec`]s.

mod build;
mod cache;
mod circuit_breaker;
mod concurrency;
mod dry_run;
mod instrumentation;
mod per_tool;
mod rate_limit;
mod resource_pool;
mod retry;
mod spec;
#[cfg(test)]
mod testing;
mod tower;
mod waiting;

pub use build::{HookConfigError, Scope, TimeSource, system_time};
pub use cache::{Cache, CacheBuilder};
pub use circuit_breaker::{CircuitBreaker, CircuitBreakerBuilder, CircuitState};
pub use concurrency::{ConcurrencyLimit, ConcurrencyLimitBuilder};
pub use dry_run::DryRun;
pub use instrumentation::{Instrumentation, ToolStatistics};
pub use rate_limit::{OnLimit, Per, RateLimit, RateLimitBuilder};
pub use resource_pool::{Lease, ResourcePool, ResourcePoolBuilder};
pub use retry::{Jitter, Retry, RetryBuilder};
pub use spec::{CacheSpec, CircuitBreakerSpec, ConcurrencySpec, HookSpec, RateLimitSpec, RetrySpec, ScopeSpec};
pub use tower::{AroundRequest, Inside, TowerHook, tower_hook};
