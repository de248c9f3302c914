//! Waking callers of this process that wait for a run to move or for work to appear.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::BitOrAssign;
use std::sync::{Mutex, MutexGuard, PoisonError};

use holdpoint_core::Revision;
use tokio::sync::{Notify, watch};

/// What a caller of [`crate::RunLog::watch`] waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    /// A task may be there to lease.
    Tasks,
    /// A run may be there to claim, or may have paused or have results to collect.
    Runs,
    /// A question was asked, changed or ended.
    Questions,
}

/// A set of topics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Topics {
    /// Contains [`Topic::Tasks`].
    pub tasks: bool,
    /// Contains [`Topic::Runs`].
    pub runs: bool,
    /// Contains [`Topic::Questions`].
    pub questions: bool,
}

impl Topics {
    /// All of them: something may have changed, and nothing more is known.
    pub const ALL: Self = Self { tasks: true, runs: true, questions: true };
}

impl From<Topic> for Topics {
    fn from(topic: Topic) -> Self {
        Self { tasks: topic == Topic::Tasks, runs: topic == Topic::Runs, questions: topic == Topic::Questions }
    }
}

impl BitOrAssign for Topics {
    fn bitor_assign(&mut self, other: Self) {
        self.tasks |= other.tasks;
        self.runs |= other.runs;
        self.questions |= other.questions;
    }
}

/// Wakes the callers that wait in this process. A store tells it what it wrote, and what it learned of other processes. `K`
/// is how the store names runs.
#[derive(Debug)]
pub struct Notifier<K: Eq + Hash> {
    /// The runs that a caller waits for, and no others.
    awaited: Mutex<HashMap<K, watch::Sender<Seen>>>,
    tasks: watch::Sender<u64>,
    runs: watch::Sender<u64>,
    questions: watch::Sender<u64>,
    /// A caller began to wait.
    begun: Notify,
}

/// What is known of an awaited run.
#[derive(Clone, Copy, Debug)]
enum Seen {
    At(Revision),
    Pruned,
}

impl<K: Clone + Eq + Hash> Notifier<K> {
    /// A notifier that nobody waits for yet.
    pub fn new() -> Self {
        let [tasks, runs, questions] = std::array::from_fn(|_| watch::Sender::new(0));
        Self { awaited: Mutex::default(), tasks, runs, questions, begun: Notify::new() }
    }

    /// See [`crate::RunLog::watch`].
    pub fn watch(&self, topic: Topic) -> watch::Receiver<u64> {
        let receiver = match topic {
            Topic::Tasks => self.tasks.subscribe(),
            Topic::Runs => self.runs.subscribe(),
            Topic::Questions => self.questions.subscribe(),
        };
        self.begun.notify_one();
        receiver
    }

    /// Wakes those who watch one of these topics.
    pub fn notify(&self, topics: impl Into<Topics>) {
        let topics = topics.into();
        let senders = [(topics.tasks, &self.tasks), (topics.runs, &self.runs), (topics.questions, &self.questions)];
        for (_, sender) in senders.into_iter().filter(|(wanted, _)| *wanted) {
            sender.send_modify(|times| *times = times.wrapping_add(1));
        }
    }

    /// Begins to wait for a run. A caller that waits before it reads the run's revision misses no commit.
    pub fn wait(&self, run: K) -> Waiter<'_, K> {
        let mut awaited = self.awaited();
        let sender = awaited.entry(run.clone()).or_insert_with(|| watch::Sender::new(Seen::At(Revision(0))));
        let receiver = sender.subscribe();
        drop(awaited);
        self.begun.notify_one();
        Waiter { notifier: self, run, seen: Some(receiver) }
    }

    /// The run has at least so many records.
    pub fn moved(&self, run: &K, revision: Revision) {
        self.tell(run, Seen::At(revision));
    }

    /// The run is not there any more.
    pub fn pruned(&self, run: &K) {
        self.tell(run, Seen::Pruned);
    }

    fn tell(&self, run: &K, news: Seen) {
        let awaited = self.awaited();
        if awaited.is_empty() {
            return;
        }
        if let Some(sender) = awaited.get(run) {
            sender.send_if_modified(|seen| {
                let is_newer = match (*seen, news) {
                    (Seen::Pruned, _) => false,
                    (Seen::At(_), Seen::Pruned) => true,
                    (Seen::At(before), Seen::At(after)) => after > before,
                };
                if is_newer {
                    *seen = news;
                }
                is_newer
            });
        }
    }

    /// The runs that a caller waits for.
    pub fn awaited_runs(&self) -> Vec<K> {
        self.awaited().keys().cloned().collect()
    }

    /// Returns once a caller waits for a run or watches a topic.
    pub async fn until_awaited(&self) {
        loop {
            let begun = self.begun.notified();
            let watched = [&self.tasks, &self.runs, &self.questions].iter().any(|topic| topic.receiver_count() > 0);
            if watched || !self.awaited().is_empty() {
                return;
            }
            begun.await;
        }
    }

    /// Nothing that can panic runs under the lock.
    fn awaited(&self) -> MutexGuard<'_, HashMap<K, watch::Sender<Seen>>> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Clone + Eq + Hash> Default for Notifier<K> {
    fn default() -> Self {
        Self::new()
    }
}

/// A caller that waits for a run. Dropping it stops waiting.
pub struct Waiter<'a, K: Clone + Eq + Hash> {
    notifier: &'a Notifier<K>,
    run: K,
    seen: Option<watch::Receiver<Seen>>,
}

impl<K: Clone + Eq + Hash> Waiter<'_, K> {
    /// Waits until the run has more than `after` records and returns how many; `None` once it is pruned.
    pub async fn until_after(&mut self, after: Revision) -> Option<Revision> {
        let has_moved = |seen: &Seen| match seen {
            Seen::At(revision) => *revision > after,
            Seen::Pruned => true,
        };
        // The sender is there as long as this waiter is.
        let seen = *self.seen.as_mut()?.wait_for(has_moved).await.ok()?;
        match seen {
            Seen::At(revision) => Some(revision),
            Seen::Pruned => None,
        }
    }
}

impl<K: Clone + Eq + Hash> Drop for Waiter<'_, K> {
    fn drop(&mut self) {
        let mut awaited = self.notifier.awaited();
        self.seen = None;
        if awaited.get(&self.run).is_some_and(|sender| sender.receiver_count() == 0) {
            awaited.remove(&self.run);
        }
    }
}

#[cfg(test)]
mod tests;
