//! Ends leases that a clock that was set back would keep for hours.
//!
//! The end of a lease is a moment by the store's clock. After that clock was set back, the leases of dead processes end an hour
//! or a day from now. A live holder renews its lease, which then ends elsewhere; a lease that this process has seen unchanged
//! for its whole length, by a clock that nobody sets, has no holder.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_store::{LeaseClock, OverlongLease, Store, StoreError};
use tokio_util::sync::CancellationToken;

/// How many leases one look handles.
const BATCH: usize = 1_000;

pub(super) struct OverlongLeases {
    store: Store,
    clock: Arc<dyn LeaseClock>,
    agents: Vec<Arc<str>>,
    every: Duration,
    /// When each was first seen as it is, by the clock that counts suspended time.
    seen: HashMap<OverlongLease, i64>,
}

impl OverlongLeases {
    pub(super) fn new(store: &Store, clock: &Arc<dyn LeaseClock>, agents: Vec<Arc<str>>, every: Duration) -> Self {
        Self { store: store.clone(), clock: Arc::clone(clock), agents, every, seen: HashMap::new() }
    }

    pub(super) async fn watch(mut self, shutdown: &CancellationToken) {
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(self.every) => {}
            }
            if let Err(error) = self.look().await {
                tracing::debug!(target: "holdpoint", code = %error.code(), "overlong leases could not be read");
            }
        }
    }

    async fn look(&mut self) -> Result<(), StoreError> {
        let found = self.store.leases.overlong(&self.agents, BATCH).await?;
        let now_us = self.clock.read().boot_us;
        self.seen.retain(|lease, _| found.contains(lease));
        for lease in found {
            let since_us = *self.seen.entry(lease.clone()).or_insert(now_us);
            let seen_us = u64::try_from(now_us.saturating_sub(since_us)).unwrap_or(0);
            if seen_us >= lease.lease_ms.saturating_mul(1_000) && self.store.leases.end(&lease).await? {
                tracing::warn!(target: "holdpoint", of = ?lease.of, "lease ended: the store's clock was set back and its holder is gone");
                self.seen.remove(&lease);
            }
        }
        Ok(())
    }
}
