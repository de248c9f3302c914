//! Waiting in a hook: it ends when nobody wants the result any more, and when the call was held long enough.

use holdpoint_core::Settlement;

use crate::{AroundCall, HookError};

/// Why a call stopped waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// The run was cancelled.
    Cancelled,
    /// Its deadline came.
    TooLong,
}

/// Waits, within the bounds of the call.
pub(super) async fn within<T>(call: &AroundCall, waiting: impl Future<Output = T>) -> Result<T, Stopped> {
    tokio::select! {
        biased;
        () = call.call().cancellation().cancelled() => Err(Stopped::Cancelled),
        done = waiting => Ok(done),
        () = tokio::time::sleep_until(call.deadline()) => Err(Stopped::TooLong),
    }
}

impl Stopped {
    /// What the hook returns.
    pub(super) fn settled(self, call: &AroundCall) -> Result<Settlement, HookError> {
        match self {
            Stopped::Cancelled => Err(HookError::Interrupted),
            Stopped::TooLong => Ok(call.waited_too_long()),
        }
    }
}
