//! Places where a driver or a worker can be made to die, so that tests reach the moments that crashes seldom hit.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;

use crate::Error;

/// Where to die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failpoint {
    /// After the intent of an execution is durable (for a task: after it is leased) and before its tool starts.
    AfterIntent,
    /// After a tool ran and before anybody knows its result.
    AfterEffect,
    /// When a result is about to become durable.
    BeforeResult,
}

/// What a test does at a failpoint. A real crash test never comes back from it.
pub type AtFailpoint = Arc<dyn Fn(Failpoint) -> BoxFuture<'static, ()> + Send + Sync>;

/// At most one failpoint is armed; it fires once. Beside it, a test may listen at all of them.
#[derive(Default)]
pub(crate) struct Failpoints {
    armed: Mutex<Option<Failpoint>>,
    listener: Mutex<Option<AtFailpoint>>,
}

impl Failpoints {
    pub(crate) fn arm(&self, failpoint: Failpoint) {
        *self.armed.lock().unwrap_or_else(PoisonError::into_inner) = Some(failpoint);
    }

    pub(crate) fn listen(&self, listener: AtFailpoint) {
        *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = Some(listener);
    }

    /// Comes back unless this is where to die.
    pub(crate) async fn reach(&self, here: Failpoint) -> Result<(), Error> {
        if self.fires(here) {
            return Err(Error::FailpointReached);
        }
        let listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(listener) = listener {
            listener(here).await;
        }
        Ok(())
    }

    fn fires(&self, here: Failpoint) -> bool {
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        if *armed == Some(here) {
            *armed = None;
            return true;
        }
        false
    }
}

impl fmt::Debug for Failpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failpoints").finish_non_exhaustive()
    }
}
