//! Executors: when and where the calls of a turn run.

mod batch;
mod registry;
mod schedule;
#[cfg(test)]
mod tests;

use async_trait::async_trait;

pub use batch::{Batch, BatchCall, Ran, RunOne};
pub use registry::{ChoiceError, Executors};

/// Decides when and where the calls of a turn run, and nothing else: [`Batch::run`] already contains hooks, timeout and
/// intent. Every call of the batch must be run or deferred once; when one says [`Ran::Stop`], nothing more is started.
///
/// ```
/// use holdpoint_tools::{Batch, Execute};
///
/// /// Runs the last call first.
/// struct Backwards;
///
/// #[async_trait::async_trait]
/// impl Execute for Backwards {
///     async fn execute(&self, batch: Batch) {
///         for call in batch.calls().iter().rev() {
///             batch.run(call.index).await;
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait Execute: Send + Sync {
    /// Runs or defers every call of the batch.
    async fn execute(&self, batch: Batch);
}
