//! Who waits for which run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// What is known of a run that somebody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    At(i64),
    Gone,
}

/// The runs that somebody waits for, and no others.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiters(Arc<Mutex<HashMap<i64, watch::Sender<Seen>>>>);

/// Somebody who waits. Dropping it stops waiting.
pub(super) struct Waiter {
    run_no: i64,
    seen: Option<watch::Receiver<Seen>>,
    waiters: Waiters,
}

impl Waiters {
    pub(super) fn wait(&self, run_no: i64) -> Waiter {
        let mut runs = self.runs();
        let run = runs.entry(run_no).or_insert_with(|| watch::Sender::new(Seen::At(0)));
        Waiter { run_no, seen: Some(run.subscribe()), waiters: self.clone() }
    }

    /// The run has at least so many records.
    pub(super) fn saw(&self, run_no: i64, revision: i64) {
        self.tell(run_no, Seen::At(revision));
    }

    pub(super) fn gone(&self, run_no: i64) {
        self.tell(run_no, Seen::Gone);
    }

    /// The runs that somebody waits for.
    pub(super) fn awaited(&self) -> Vec<i64> {
        self.runs().keys().copied().collect()
    }

    fn tell(&self, run_no: i64, notification: Seen) {
        if let Some(run) = self.runs().get(&run_no) {
            run.send_if_modified(|seen| {
                let newer = match (*seen, notification) {
                    (Seen::Gone, _) => false,
                    (Seen::At(_), Seen::Gone) => true,
                    (Seen::At(before), Seen::At(after)) => after > before,
                };
                if newer {
                    *seen = notification;
                }
                newer
            });
        }
    }

    fn runs(&self) -> MutexGuard<'_, HashMap<i64, watch::Sender<Seen>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiter {
    /// Waits until the run has more than so many records, or is gone.
    pub(super) async fn until_after(&mut self, after: i64) -> Seen {
        let arrived = |seen: &Seen| match seen {
            Seen::At(revision) => *revision > after,
            Seen::Gone => true,
        };
        match &mut self.seen {
            // The sender is there as long as somebody waits.
            Some(seen) => seen.wait_for(arrived).await.map_or(Seen::Gone, |seen| *seen),
            None => Seen::Gone,
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut runs = self.waiters.runs();
        self.seen = None;
        if runs.get(&self.run_no).is_some_and(|run| run.receiver_count() == 0) {
            runs.remove(&self.run_no);
        }
    }
}
