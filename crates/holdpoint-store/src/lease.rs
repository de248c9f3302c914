//! Who drives a run, and for how long.

use std::fmt;
use std::sync::Arc;

use holdpoint_core::{CallKey, RunId, Timestamp};
use uuid::Uuid;

use crate::LEASE_MS_MAX;

/// The most runs that one claim takes, whatever was asked for.
pub const CLAIM_LIMIT_MAX: usize = 1_000;

/// A process, or a part of one, that drives runs. Never used again by another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OwnerId(Arc<str>);

impl OwnerId {
    /// A name that nobody else has.
    pub fn unique() -> Self {
        Self(Uuid::now_v7().to_string().into())
    }

    /// Takes a name that was stored.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OwnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A run is held: nobody claims it until the lease lapses. It keeps strangers from trying; what keeps them from writing
/// is the revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// By whom.
    pub owner: OwnerId,
    /// For how long from the moment it is written, by the clock of the store.
    pub lease_ms: u64,
}

impl Hold {
    /// The length of the lease, which is at most [`LEASE_MS_MAX`].
    pub fn length_ms(&self) -> u64 {
        self.lease_ms.min(LEASE_MS_MAX)
    }
}

/// A lease that ends later than its own length from now: the store's clock was set back after the lease was written. A lease
/// that its holder renews changes; one that stays as it is for its own length has no holder any more.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OverlongLease {
    /// What is leased.
    pub of: LeaseOf,
    /// When it ends, by the store's clock.
    pub until: Timestamp,
    /// How long it was when it was written.
    pub lease_ms: u64,
}

/// What is leased.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LeaseOf {
    /// A run that goes on. A run that nobody holds has a lease of 0 ms.
    Run(RunId),
    /// A task that a worker has.
    Task(CallKey),
}

/// The agents whose runs or tasks somebody can take care of. The empty name stands for agents without one.
pub type Agents = [Arc<str>];

/// Asks for runs that are to go on and that nobody holds.
#[derive(Clone, Debug)]
pub struct ClaimRequest {
    /// Who will hold them, and for how long.
    pub hold: Hold,
    /// Whose runs.
    pub agents: Vec<Arc<str>>,
    /// How many at most: never more than [`CLAIM_LIMIT_MAX`].
    pub limit: usize,
}
