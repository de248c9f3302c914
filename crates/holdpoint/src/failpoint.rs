//! Places where a driver can be made to die, so that tests reach the moments that crashes seldom hit.

use std::sync::{Mutex, PoisonError};

/// Where to die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failpoint {
    /// After the intent of an execution is durable and before its tool starts.
    AfterIntent,
    /// After a tool ran and before its result is durable.
    AfterEffect,
}

/// At most one failpoint is armed; it fires once.
#[derive(Debug, Default)]
pub(crate) struct Failpoints {
    armed: Mutex<Option<Failpoint>>,
}

impl Failpoints {
    pub(crate) fn arm(&self, failpoint: Failpoint) {
        *self.armed.lock().unwrap_or_else(PoisonError::into_inner) = Some(failpoint);
    }

    pub(crate) fn fires(&self, here: Failpoint) -> bool {
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        if *armed == Some(here) {
            *armed = None;
            return true;
        }
        false
    }
}
