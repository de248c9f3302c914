//! Which workers elsewhere were noted in the store, and when. A worker asks for tasks again and again, under any name that it
//! likes: neither is written each time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use holdpoint_store::WORKER_KEPT_MS;

use crate::limits::{WORKER_NAMES_MAX, WORKER_NOTED_EVERY};

/// How long the store remembers a worker.
const KEPT: Duration = Duration::from_millis(WORKER_KEPT_MS);

/// When each worker of one token was noted last.
type Names = HashMap<Arc<str>, Instant>;

/// When each worker of each token was noted last. There are as many tokens as are configured.
#[derive(Default)]
pub(crate) struct Noted {
    by_token: Mutex<HashMap<Arc<str>, Names>>,
}

impl Noted {
    /// The name under which a worker of a token is to be noted now; nothing if it was a moment ago. A token with too many
    /// names has one more: its own, for all the others.
    pub(crate) fn due(&self, token: &Arc<str>, worker: &Arc<str>, now: Instant) -> Option<Arc<str>> {
        let mut by_token = self.by_token.lock().unwrap_or_else(PoisonError::into_inner);
        let names = by_token.entry(Arc::clone(token)).or_default();
        if names.len() >= WORKER_NAMES_MAX && !names.contains_key(worker) {
            names.retain(|_, at| now.duration_since(*at) < KEPT);
        }
        let known = names.len() < WORKER_NAMES_MAX || names.contains_key(worker);
        let name = if known { worker } else { token };
        if names.get(name).is_some_and(|at| now.duration_since(*at) < WORKER_NOTED_EVERY) {
            return None;
        }
        names.insert(Arc::clone(name), now);
        Some(Arc::clone(name))
    }
}

#[cfg(test)]
mod tests;
