//! The death of the process that a scenario runs in.

use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::scenario::CrashPoint;

/// Kills the process at a point that a step armed. The tools of the process share it: once it is dead, none of them begins
/// or ends, as if their code were gone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Death {
    armed: Arc<Mutex<Option<CrashPoint>>>,
    dead: CancellationToken,
}

impl Death {
    /// Kills the process when it gets to this point; `None` lets it live.
    pub(crate) fn arm(&self, point: Option<CrashPoint>) {
        *self.armed.lock().unwrap_or_else(PoisonError::into_inner) = point;
    }

    /// A tool got to this point. Never returns in a dead process.
    pub(crate) async fn reach(&self, point: CrashPoint) {
        let is_armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner).take_if(|armed| *armed == point);
        if is_armed.is_some() {
            self.dead.cancel();
        }
        if self.dead.is_cancelled() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until the process is dead.
    pub(crate) async fn happened(&self) {
        self.dead.cancelled().await;
    }
}
