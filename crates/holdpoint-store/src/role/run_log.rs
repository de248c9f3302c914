//! The logs of runs.

use async_trait::async_trait;
use holdpoint_core::{Revision, RunId, Timestamp};
use tokio::sync::watch;

use crate::{
    Agents, CommitError, Head, Page, PruneRequest, Record, RunFilter, Scope, SessionFilter, SessionRow, StoreError,
    Topic, Transition,
};

/// The logs of runs, and what their last commits said of them.
///
/// 1. A commit is all or nothing: no reader ever sees a part of a transition.
/// 2. A commit happens only if the run is still at the revision that its author read; otherwise it is
///    [`CommitError::Stale`] and nothing changed.
/// 3. What a commit acknowledged survives whatever the store says it survives: for a durable store that is a crash at
///    any later moment.
/// 4. Of those who write onto the same revision exactly one succeeds, so a run has one history.
/// 5. A lease names one holder and lapses by itself. What the holder of an earlier lease of a task delivers is
///    [`CommitError::LeaseLost`], never merged.
/// 6. A transition that has an audit entry adds one link to the audit chain of its run, in the same commit.
///
/// The revision of a run is the number of its records. A run that nobody committed to is at revision 0. Lease times are
/// those of the store's own clock.
#[async_trait]
pub trait RunLog: Send + Sync + 'static {
    /// Writes all of `transition` or nothing, and only if the run is still at `at` and the tasks that it closes are as it
    /// says. Returns `at` plus the number of records. Committing at revision 0 creates the run.
    ///
    /// After [`CommitError::Store`] it is not known whether the transition was written: ask [`RunLog::head`].
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError>;

    /// The records after the first `after`, in order. Empty when there are no more, [`StoreError::NotFound`] when there is
    /// no such run within the scope.
    async fn load(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError>;

    /// What the last commit said about the run, or nothing when there is no such run within the scope.
    async fn head(&self, scope: &Scope, run: &RunId) -> Result<Option<Head>, StoreError>;

    /// One page of the runs that the filter lets through, the last created first.
    async fn list(&self, filter: &RunFilter) -> Result<Page<Head>, StoreError>;

    /// The runs of these agents whose deadline is not after `at`, the earliest first: at most `limit` and at most
    /// [`crate::DUE_LIMIT_MAX`].
    async fn due(&self, agents: &Agents, at: Timestamp, limit: usize) -> Result<Vec<RunId>, StoreError>;

    /// Waits until the run has more than `after` records and returns how many it has. [`StoreError::NotFound`] when there is
    /// no such run, or no more. Dropping the future stops waiting.
    async fn changed(&self, run: &RunId, after: Revision) -> Result<Revision, StoreError>;

    /// One page of sessions, that of the last created run first.
    async fn sessions(&self, filter: &SessionFilter) -> Result<Page<SessionRow>, StoreError>;

    /// Removes runs that are over, with everything that belongs to them, and says which. Of each remains a tombstone.
    async fn prune(&self, request: &PruneRequest) -> Result<Vec<RunId>, StoreError>;

    /// Changes whenever something of this topic may be there to take, in this process or, soon after, in another. Changes
    /// may be lost and may come without a cause: it wakes, and does not tell.
    fn watch(&self, topic: Topic) -> watch::Receiver<u64>;

    /// Ends the store, and waits until what was acknowledged is in its file and the file is closed. Later calls fail. Dropping
    /// the store does the same without waiting. Nothing to do for a store that has no file.
    async fn close(&self) {}

    /// The moment, by the clock of everything durable. Never goes backwards.
    fn now(&self) -> Timestamp;
}
