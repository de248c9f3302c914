//! Those who wait for a run to move. A run that nobody waits for costs nothing here.

use std::collections::HashMap;
use std::sync::Arc;

use holdpoint_core::RunId;
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

/// One bell per run that is waited for.
#[derive(Default)]
pub(super) struct Waiters {
    bells: HashMap<RunId, Arc<Notify>>,
    /// How many bells there may be before those without listeners are thrown away.
    sweep_at: usize,
}

/// The fewest bells that are worth a sweep.
const SWEEP_AT_MIN: usize = 64;

/// Somebody who waits. Made under the store's lock, so no commit can be missed between looking and waiting.
pub(super) struct Waiter {
    bell: OwnedNotified,
}

impl Waiter {
    /// Resolves at the next commit of the run.
    pub(super) async fn woken(self) {
        self.bell.await;
    }
}

impl Waiters {
    /// Starts to wait for the next commit of the run.
    pub(super) fn wait(&mut self, run: &RunId) -> Waiter {
        if self.bells.len() >= self.sweep_at.max(SWEEP_AT_MIN) {
            self.sweep();
        }
        let bell = self.bells.entry(run.clone()).or_default();
        Waiter { bell: Arc::clone(bell).notified_owned() }
    }

    /// Wakes all who wait for the run.
    pub(super) fn wake(&mut self, run: &RunId) {
        if self.bells.is_empty() {
            return;
        }
        if let Some(bell) = self.bells.remove(run) {
            bell.notify_waiters();
        }
    }

    /// Who gave up waiting left a bell behind. Sweeping at doubled sizes keeps the cost of each wait constant.
    fn sweep(&mut self) {
        self.bells.retain(|_, bell| Arc::strong_count(bell) > 1);
        self.sweep_at = self.bells.len() * 2;
    }

    #[cfg(test)]
    pub(super) fn bells(&self) -> usize {
        self.bells.len()
    }
}
