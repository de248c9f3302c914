//! What models say while they say it, for those in this process who listen to a run that somebody else drives.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdpoint_core::RunId;
use tokio::sync::Notify;

use crate::StreamEvent;

/// How many events of one run wait for a slow listener. Who is slower misses the oldest.
const DELTAS_MAX: usize = 1_024;
/// A listener that has heard everything keeps room for as many.
const ROOM_KEPT: usize = 16;

/// Those who listen, by run. A run that nobody listens to is not here.
type Ears = HashMap<RunId, Vec<Arc<Ear>>>;

/// Carries what is not durable: pieces of text, of calls, and what tools say of their progress. A run that nobody listens
/// to costs a look into a table, and a listener that hears nothing costs no room for what it could hear. Cheap to clone;
/// clones are the same hub.
#[derive(Clone, Default)]
pub struct DeltaHub {
    runs: Arc<Mutex<Ears>>,
}

impl DeltaHub {
    /// Nobody listens yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Listens to a run from now on, whether or not it is there.
    pub fn listen(&self, run: &RunId) -> DeltaListener {
        let ear = Arc::new(Ear::default());
        self.runs().entry(run.clone()).or_default().push(Arc::clone(&ear));
        DeltaListener { hub: self.clone(), run: run.clone(), ear }
    }

    /// How many runs somebody listens to.
    pub fn runs_heard(&self) -> usize {
        self.runs().len()
    }

    pub(crate) fn send(&self, run: &RunId, event: impl FnOnce() -> StreamEvent) {
        let Some(ears) = self.runs().get(run).cloned() else { return };
        let event = event();
        ears.iter().for_each(|ear| ear.hear(event.clone()));
    }

    fn runs(&self) -> MutexGuard<'_, Ears> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
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
pub struct DeltaListener {
    hub: DeltaHub,
    run: RunId,
    ear: Arc<Ear>,
}

impl DeltaListener {
    /// The next event. What came while this listener was too slow is left out.
    pub async fn next(&mut self) -> StreamEvent {
        loop {
            if let Some(event) = self.ear.take() {
                return event;
            }
            self.ear.woken.notified().await;
        }
    }

    /// The next event, if one is there already.
    pub fn try_next(&mut self) -> Option<StreamEvent> {
        self.ear.take()
    }
}

impl Drop for DeltaListener {
    fn drop(&mut self) {
        let mut runs = self.hub.runs();
        if let Some(ears) = runs.get_mut(&self.run) {
            ears.retain(|ear| !Arc::ptr_eq(ear, &self.ear));
            if ears.is_empty() {
                runs.remove(&self.run);
            }
        }
    }
}

impl fmt::Debug for DeltaListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeltaListener({})", self.run)
    }
}

#[cfg(test)]
mod tests;
