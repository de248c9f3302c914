//! Who drives a run.

use async_trait::async_trait;
use holdpoint_core::RunId;

use crate::{Agents, ClaimRequest, Hold, LeaseState, OverlongLease, StoreError};

/// Leases of runs: who drives a run, and until when others leave it alone.
#[async_trait]
pub trait RunLeases: Send + Sync + 'static {
    /// Renews the lease of a run that goes on and that this owner holds, also one that lapsed and that nobody claimed. A lease
    /// of 0 ms gives the run back: it can be claimed at once. In any other case, and for a run that paused, ended or was
    /// claimed, [`LeaseState::Lost`].
    async fn renew(&self, run: &RunId, hold: &Hold) -> Result<LeaseState, StoreError>;

    /// Takes runs of these agents that are to go on and whose lease lapsed or that nobody holds, those that wait longest
    /// first. Of those who claim at the same time each run goes to one. The revision does not change: whoever takes a run
    /// over says so by a commit.
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<RunId>, StoreError>;

    /// Leases of these agents' runs and tasks that end later than their own length from now: at most `limit` and at most
    /// [`crate::DUE_LIMIT_MAX`]. Empty unless the store's clock was set back.
    async fn overlong(&self, agents: &Agents, limit: usize) -> Result<Vec<OverlongLease>, StoreError>;

    /// Ends a lease now, if it is still exactly this one: it can be claimed, or counts as lapsed. Says whether it was.
    async fn end(&self, lease: &OverlongLease) -> Result<bool, StoreError>;
}
