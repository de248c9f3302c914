//! What models say while they say it, for those in this process who listen to a run that somebody else drives.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdpoint_core::RunId;
use tokio::sync::Notify;

use crate::StreamEvent;
use crate::present::{Entered, Present};

/// How many events of one run wait for a slow listener. Who is slower misses the oldest.
const DELTAS_MAX: usize = 1_024;
/// A listener that has heard everything keeps room for as many.
const ROOM_KEPT: usize = 16;

/// Carries what is not durable: pieces of text, of calls, and what tools say of their progress. A run that nobody listens
/// to costs a look into a table, and a listener that hears nothing costs no room for what it could hear. Cheap to clone;
/// clones are the same hub.
#[derive(Clone, Default)]
pub struct DeltaHub {
    runs: Arc<Present<RunId, Ear>>,
}

impl DeltaHub {
    /// Nobody listens yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Listens to a run from now on, whether or not it is there.
    pub fn listen(&self, run: &RunId) -> DeltaListener {
        DeltaListener(self.runs.enter(run, Ear::default()))
    }

    /// How many runs somebody listens to.
    pub fn runs_heard(&self) -> usize {
        self.runs.keys()
    }

    pub(crate) fn send(&self, run: &RunId, event: impl FnOnce() -> StreamEvent) {
        let ears = self.runs.of(run);
        if ears.is_empty() {
            return;
        }
        let event = event();
        ears.iter().for_each(|ear| ear.hear(event.clone()));
    }
}

impl fmt::Debug for DeltaHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeltaHub({} runs)", self.runs_heard())
    }
}

/// What one listener has yet to take. Takes no room until there is something.
#[derive(Default)]
struct Ear {
    heard: Mutex<VecDeque<StreamEvent>>,
    woken: Notify,
}

impl Ear {
    fn hear(&self, event: StreamEvent) {
        let mut heard = self.heard();
        if heard.len() >= DELTAS_MAX {
            heard.pop_front();
        }
        heard.push_back(event);
        drop(heard);
        self.woken.notify_one();
    }

    fn take(&self) -> Option<StreamEvent> {
        let mut heard = self.heard();
        let event = heard.pop_front();
        if heard.is_empty() {
            heard.shrink_to(ROOM_KEPT);
        }
        event
    }

    fn heard(&self) -> MutexGuard<'_, VecDeque<StreamEvent>> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who listens to a run. Dropping it stops listening.
pub struct DeltaListener(Entered<RunId, Ear>);

impl DeltaListener {
    /// The next event. What came while this listener was too slow is left out.
    pub async fn next(&mut self) -> StreamEvent {
        loop {
            if let Some(event) = self.0.value.take() {
                return event;
            }
            self.0.value.woken.notified().await;
        }
    }

    /// The next event, if one is there already.
    pub fn try_next(&mut self) -> Option<StreamEvent> {
        self.0.value.take()
    }
}

impl fmt::Debug for DeltaListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeltaListener({})", self.0.key)
    }
}

#[cfg(test)]
mod tests;
