//! Bounds how long hooks hold a call while the tool is not running.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdpoint_core::Settlement;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Counts the time since the tool last ran, or since the hooks were entered.
pub(super) struct Patience {
    limit: Duration,
    state: Mutex<State>,
    moved: Notify,
}

struct State {
    inside: u32,
    held_since: Instant,
    last: Option<Settlement>,
}

/// While this lives the tool runs, which has a limit of its own.
pub(super) struct Inside<'a>(&'a Patience);

impl Patience {
    pub(super) fn new(limit: Duration) -> Self {
        let state = State { inside: 0, held_since: Instant::now(), last: None };
        Self { limit, state: Mutex::new(state), moved: Notify::new() }
    }

    pub(super) fn enter(&self) -> Inside<'_> {
        self.state().inside += 1;
        Inside(self)
    }

    pub(super) fn keep(&self, settlement: &Settlement) {
        self.state().last = Some(settlement.clone());
    }

    /// Returns when the hooks held the call for too long, with what the tool gave last.
    pub(super) async fn ran_out(&self) -> Option<Settlement> {
        loop {
            match self.runs_out_at() {
                Some(at) if at <= Instant::now() => return self.state().last.take(),
                Some(at) => tokio::time::sleep_until(at).await,
                None => self.moved.notified().await,
            }
        }
    }

    fn runs_out_at(&self) -> Option<Instant> {
        let state = self.state();
        (state.inside == 0).then(|| state.held_since + self.limit)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.inside -= 1;
        state.held_since = Instant::now();
        drop(state);
        self.0.moved.notify_one();
    }
}
