//! While a run waits for its model or its tools, its lease is prolonged, and somebody listens whether others move it.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use holdpoint_store::LeaseState;

use super::Driver;
use crate::parts::RENEWALS_PER_LEASE;

impl Driver {
    /// Ends when the run is not this process's any more: somebody cancelled it or took it over. Costs nothing unless the
    /// wait is long enough to be polled.
    pub(super) fn lost(&self) -> impl Future<Output = ()> + Send + use<> {
        let parts = Arc::clone(&self.parts);
        let run = self.run_id().clone();
        let durable = self.conductor.durable();
        async move {
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
