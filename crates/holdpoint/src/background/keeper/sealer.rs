//! Seals the audit logs of tenants whose runs moved, every so often.

use std::time::Duration;

use holdpoint_store::{Store, StoreError, Unsealed};
use tokio_util::sync::CancellationToken;

/// The most seals that one round makes of one tenant. What is left is for the next round.
const SEALS_MAX: usize = 100;

pub(super) struct Sealer {
    store: Store,
    every: Duration,
}

/// Which tenants a round seals.
#[derive(Clone, Copy)]
enum Which {
    /// Those that nobody sealed just now.
    Due,
    /// All of which something moved.
    All,
}

impl Sealer {
    pub(super) fn new(store: Store, every: Duration) -> Self {
        Self { store, every }
    }

    /// Seals until `shutdown` is cancelled. A seal that was begun is made.
    pub(super) async fn run(&self, shutdown: &CancellationToken) {
        let mut out_of_reach = false;
        loop {
            let sealed = self.round(Which::Due, shutdown).await;
            if let (Err(error), false) = (&sealed, out_of_reach) {
                tracing::warn!(target: "holdpoint", code = %error.code(), "the audit log cannot be sealed");
            }
            out_of_reach = sealed.is_err();
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(self.every) => {}
            }
        }
    }

    /// Seals whatever moved, in at most this time.
    pub(super) async fn finish(&self, grace: Duration) {
        let nobody_stops_it = CancellationToken::new();
        let sealed = tokio::time::timeout(grace, self.round(Which::All, &nobody_stops_it)).await;
        if !matches!(sealed, Ok(Ok(()))) {
            tracing::warn!(target: "holdpoint", "the end of the audit log is left for others to seal");
        }
    }

    async fn round(&self, which: Which, shutdown: &CancellationToken) -> Result<(), StoreError> {
        for moved in self.store.audit.unsealed().await? {
            let is_due = match which {
                Which::Due => self.is_due(&moved),
                Which::All => true,
            };
            if is_due {
                self.seal(&moved, shutdown).await?;
            }
        }
        Ok(())
    }

    /// Half of the time, not all of it: whoever sealed last would otherwise be a moment too early every other time.
    fn is_due(&self, moved: &Unsealed) -> bool {
        let young = |at| u128::from(self.store.runs.now().ms_since(at)) < self.every.as_millis() / 2;
        !moved.sealed_at.is_some_and(young)
    }

    async fn seal(&self, moved: &Unsealed, shutdown: &CancellationToken) -> Result<(), StoreError> {
        for _ in 0..SEALS_MAX {
            if shutdown.is_cancelled() || self.store.audit.seal(moved.tenant.as_deref()).await?.is_none() {
                break;
            }
        }
        Ok(())
    }
}
