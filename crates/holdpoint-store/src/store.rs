//! The contract that every store keeps.

use async_trait::async_trait;
use holdpoint_core::{Revision, RunId, Timestamp};

use crate::{CommitError, Head, Record, RunFilter, RunPage, StoreError, Transition};

/// How many runs [`Store::due`] names at most, whatever was asked for.
pub const DUE_LIMIT_MAX: usize = 1_000;

/// Where runs are kept.
///
/// 1. A commit is all or nothing: no reader ever sees a part of a transition.
/// 2. A commit happens only if the run is still at the revision that its author read; otherwise it is
///    [`CommitError::Stale`] and nothing changed.
/// 3. What a commit acknowledged survives whatever the store says it survives: for a durable store that is a crash at
///    any later moment.
/// 4. Of those who write onto the same revision exactly one succeeds, so a run has one history.
///
/// The revision of a run is the number of its records. A run that nobody committed to is at revision 0.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Writes all of `transition` or nothing, and only if the run is still at `at`. Returns `at` plus the number of
    /// records. Committing at revision 0 creates the run.
    ///
    /// After [`CommitError::Store`] it is not known whether the transition was written: ask [`Store::head`].
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError>;

    /// The records after the first `after`, in order. Empty when there are no more, [`StoreError::NotFound`] when there is
    /// no such run.
    async fn load(&self, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError>;

    /// What the last commit said about the run, or nothing when there is no such run.
    async fn head(&self, run: &RunId) -> Result<Option<Head>, StoreError>;

    /// One page of the runs that the filter lets through, the last created first.
    async fn list(&self, filter: &RunFilter) -> Result<RunPage, StoreError>;

    /// The runs whose deadline is not after `at`, the earliest first: at most `limit` and at most [`DUE_LIMIT_MAX`].
    async fn due(&self, at: Timestamp, limit: usize) -> Result<Vec<RunId>, StoreError>;

    /// Waits until the run has more than `after` records and returns how many it has. Dropping the future stops waiting.
    async fn changed(&self, run: &RunId, after: Revision) -> Result<Revision, StoreError>;

    /// The moment, by the clock of everything durable. Never goes backwards.
    fn now(&self) -> Timestamp;
}
