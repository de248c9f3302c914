//! While a run waits for its model or its tools, its lease is prolonged, and somebody listens whether others move it.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_store::LeaseState;

use super::Driver;
use crate::parts::RENEWALS_PER_LEASE;

/// A wait that is shorter than this is nobody's business: to look and to stop looking would cost more than the wait.
const WATCH_AFTER: Duration = Duration::from_millis(50);

impl Driver {
    /// Ends when the run is not this process's any more: somebody cancelled it or took it over.
    pub(super) fn lost(&self) -> impl Future<Output = ()> + Send + use<> {
        let parts = Arc::clone(&self.parts);
        let run = self.run_id().clone();
        let durable = self.conductor.durable();
        async move {
            tokio::time::sleep(WATCH_AFTER.min(parts.lease / RENEWALS_PER_LEASE)).await;
            let mut moved = pin!(parts.store.changed(&run, durable));
            let mut watching = true;
            loop {
                tokio::select! {
                    moved = &mut moved, if watching => match moved {
                        Ok(_) => return,
                        // The next commit will tell. Until then the lease is prolonged as far as that is possible.
                        Err(error) => {
                            tracing::debug!(target: "holdpoint", run = %run, code = %error.code(), "a run cannot be watched");
                            watching = false;
                        }
                    },
                    () = tokio::time::sleep(parts.lease / RENEWALS_PER_LEASE) => {
                        if let Ok(LeaseState::Lost) = parts.store.renew(&run, &parts.hold()).await {
                            return;
                        }
                    }
                }
            }
        }
    }
}
