//! Throwing away what is over.

use std::sync::Arc;

use holdpoint_core::Timestamp;

/// The most runs that one call of [`crate::RunLog::prune`] removes, so that no lock is held for long.
pub const PRUNE_LIMIT_MAX: usize = 1_000;

/// Which runs to remove. Only runs that are over are ever removed: never one that runs or waits.
#[derive(Clone, Debug)]
pub struct PruneRequest {
    /// Those that moved last before this moment.
    pub before: Timestamp,
    /// Only runs of this tenant.
    pub tenant: Option<Arc<str>>,
    /// How many at most: never more than [`PRUNE_LIMIT_MAX`].
    pub limit: usize,
}
