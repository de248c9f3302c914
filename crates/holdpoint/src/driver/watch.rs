//! While a run waits for its model or its tools, the driver renews its lease and watches whether another process moves it.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_store::LeaseState;

use super::Driver;
use crate::call::lease::Lease as _;
use crate::parts::RENEWALS_PER_LEASE;

/// Shorter waits are not watched: starting and ending the watch would cost more than the wait.
const WATCH_AFTER: Duration = Duration::from_millis(50);

impl Driver {
    /// Ends when the run is no longer this driver's: it was cancelled or taken over.
    pub(super) fn lost(&self) -> impl Future<Output = ()> + Send + use<> {
        let (parts, lease) = (Arc::clone(&self.parts), Arc::clone(&self.lease));
        let run = self.run_id().clone();
        let durable = self.conductor.durable();
        async move {
            tokio::time::sleep(WATCH_AFTER.min(parts.lease / RENEWALS_PER_LEASE)).await;
            let mut moved = pin!(parts.store.runs.changed(&run, durable));
            let mut watching = true;
            loop {
                tokio::select! {
                    moved = &mut moved, if watching => match moved {
                        // Whoever moved the run has it: nothing more starts under this lease.
                        Ok(_) => return lease.doubt(),
                        // The next commit will tell. Until then the lease is renewed as far as possible.
                        Err(error) => {
                            tracing::debug!(target: "holdpoint", run = %run, code = %error.code(), "run cannot be watched");
                            watching = false;
                        }
                    },
                    () = tokio::time::sleep(parts.lease / RENEWALS_PER_LEASE) => {
                        if let Ok(LeaseState::Lost) = lease.renew().await {
                            return;
                        }
                    }
                }
            }
        }
    }
}
