//! Those who wait for something to move, in this process or in another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdpoint_core::RunId;
use holdpoint_store::Topic;
use tokio::sync::{Notify, mpsc, oneshot, watch};

use crate::request::Request;

/// How often the file is looked at for what others wrote, while somebody waits.
pub(crate) const POLL: Duration = Duration::from_millis(75);

/// Bells for runs, and one for each topic.
pub(crate) struct Waits {
    bells: Mutex<HashMap<RunId, Bell>>,
    tasks: watch::Sender<u64>,
    runs: watch::Sender<u64>,
    /// Rings when somebody begins to wait.
    begun: Notify,
}

struct Bell {
    notify: Arc<Notify>,
    waiting: usize,
}

/// Somebody who waits for a run. A run that nobody waits for has no bell.
pub(crate) struct Waiting<'a> {
    waits: &'a Waits,
    run: &'a RunId,
    pub(crate) bell: Arc<Notify>,
}

impl Waits {
    pub(crate) fn new() -> Self {
        let (tasks, _) = watch::channel(0);
        let (runs, _) = watch::channel(0);
        Self { bells: Mutex::default(), tasks, runs, begun: Notify::new() }
    }

    /// Begins to wait for a run.
    pub(crate) fn begin<'a>(&'a self, run: &'a RunId) -> Waiting<'a> {
        let mut bells = self.bells();
        let bell = bells.entry(run.clone()).or_insert_with(|| Bell { notify: Arc::default(), waiting: 0 });
        bell.waiting += 1;
        let bell = Arc::clone(&bell.notify);
        drop(bells);
        self.begun.notify_one();
        Waiting { waits: self, run, bell }
    }

    pub(crate) fn watch(&self, topic: Topic) -> watch::Receiver<u64> {
        let receiver = self.topic(topic).subscribe();
        self.begun.notify_one();
        receiver
    }

    /// Wakes those who wait for these runs.
    pub(crate) fn wake_runs<'a>(&self, runs: impl IntoIterator<Item = &'a RunId>) {
        let bells = self.bells();
        if bells.is_empty() {
            return;
        }
        for run in runs {
            if let Some(bell) = bells.get(run) {
                bell.notify.notify_waiters();
            }
        }
    }

    pub(crate) fn wake_topic(&self, topic: Topic) {
        self.topic(topic).send_modify(|times| *times = times.wrapping_add(1));
    }

    /// Wakes everybody: somebody else wrote, and nobody knows what.
    fn wake_all(&self) {
        self.bells().values().for_each(|bell| bell.notify.notify_waiters());
        self.wake_topic(Topic::Tasks);
        self.wake_topic(Topic::Runs);
    }

    fn somebody_waits(&self) -> bool {
        self.tasks.receiver_count() > 0 || self.runs.receiver_count() > 0 || !self.bells().is_empty()
    }

    fn topic(&self, topic: Topic) -> &watch::Sender<u64> {
        match topic {
            Topic::Tasks => &self.tasks,
            Topic::Runs => &self.runs,
        }
    }

    /// Nothing that can panic runs under the lock.
    fn bells(&self) -> MutexGuard<'_, HashMap<RunId, Bell>> {
        self.bells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut bells = self.waits.bells();
        let Some(bell) = bells.get_mut(self.run) else { return };
        bell.waiting -= 1;
        if bell.waiting == 0 {
            bells.remove(self.run);
        }
    }
}

/// Looks for what others wrote while somebody waits, and only then. Ends with the writer.
///
/// The connection that writes is asked, since it alone does not count its own commits.
pub(crate) async fn poll(waits: Arc<Waits>, queue: mpsc::WeakSender<Request>) {
    let mut seen = None;
    loop {
        while !waits.somebody_waits() {
            waits.begun.notified().await;
        }
        tokio::time::sleep(POLL).await;
        let (answer, version) = oneshot::channel();
        let Some(queue) = queue.upgrade() else { return };
        if queue.send(Request::ForeignVersion(answer)).await.is_err() {
            return;
        }
        drop(queue);
        // A file that cannot be asked now is asked again.
        if let Ok(Ok(version)) = version.await
            && seen.replace(version) != Some(version)
        {
            waits.wake_all();
        }
    }
}

#[cfg(test)]
mod tests;
