//! Bounds how long hooks hold a call while the tool is not running.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::AroundCall;

/// Watches a call. The time that counts is the time since its tool last ended, or since the hooks were entered.
pub(super) struct Patience<'a> {
    call: &'a AroundCall,
    state: Mutex<State>,
    moved: Notify,
}

#[derive(Default)]
struct State {
    inside: u32,
    entered: bool,
}

/// When the hooks held the call for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// They never let it through.
    BeforeTheTool,
    /// Its tool was started, and has ended.
    AfterTheTool,
}

/// While this lives the tool runs, which has a limit of its own.
pub(super) struct Inside<'a>(&'a Patience<'a>);

impl<'a> Patience<'a> {
    pub(super) fn new(call: &'a AroundCall) -> Self {
        call.held_from(Instant::now());
        Self { call, state: Mutex::default(), moved: Notify::new() }
    }

    pub(super) fn enter(&self) -> Inside<'_> {
        let mut state = self.state();
        state.inside += 1;
        state.entered = true;
        Inside(self)
    }

    pub(super) fn was_entered(&self) -> bool {
        self.state().entered
    }

    /// Returns when the hooks held the call for too long.
    pub(super) async fn ran_out(&self) -> Held {
        loop {
            match self.runs_out_at() {
                Some(at) if at <= Instant::now() => return self.held(),
                Some(at) => tokio::time::sleep_until(at).await,
                None => self.moved.notified().await,
            }
        }
    }

    fn runs_out_at(&self) -> Option<Instant> {
        (self.state().inside == 0).then(|| self.call.deadline())
    }

    fn held(&self) -> Held {
        if self.was_entered() { Held::AfterTheTool } else { Held::BeforeTheTool }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let patience = self.0;
        let mut state = patience.state();
        state.inside -= 1;
        patience.call.held_from(Instant::now());
        drop(state);
        patience.moved.notify_one();
    }
}
