//! Those who wait for something to move, in this process or in another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdpoint_core::{Revision, RunId};
use holdpoint_store::{StoreError, Topic};
use tokio::sync::{Notify, mpsc, oneshot, watch};

use crate::request::Request;
use crate::run_log::Readers;

/// How often the file is looked at for what others wrote, while somebody waits.
pub(crate) const POLL: Duration = Duration::from_millis(75);

/// How many runs are looked at in one statement.
const LOOK_MAX: usize = 500;

/// Bells for runs, and one for each topic.
pub(crate) struct Waits {
    bells: Mutex<HashMap<RunId, Bell>>,
    tasks: watch::Sender<u64>,
    runs: watch::Sender<u64>,
    questions: watch::Sender<u64>,
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
        let (questions, _) = watch::channel(0);
        Self { bells: Mutex::default(), tasks, runs, questions, begun: Notify::new() }
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

    /// Wakes everybody who waits for a run.
    fn wake_bells(&self) {
        self.bells().values().for_each(|bell| bell.notify.notify_waiters());
    }

    /// Wakes everybody who waits for a topic: somebody else wrote, and nobody knows what.
    fn wake_topics(&self) {
        self.wake_topic(Topic::Tasks);
        self.wake_topic(Topic::Runs);
        self.wake_topic(Topic::Questions);
    }

    fn somebody_waits(&self) -> bool {
        let watched = [&self.tasks, &self.runs, &self.questions].into_iter().any(|topic| topic.receiver_count() > 0);
        watched || !self.bells().is_empty()
    }

    fn topic(&self, topic: Topic) -> &watch::Sender<u64> {
        match topic {
            Topic::Tasks => &self.tasks,
            Topic::Runs => &self.runs,
            Topic::Questions => &self.questions,
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

/// Where runs were when they were last looked at; nothing for one that was not there.
type Known = HashMap<RunId, Option<Revision>>;

/// Wakes those whose run moved since the last look. Others may write all the time, if only to prolong leases: everybody who
/// waits would read their run again each time.
async fn wake_moved(waits: &Waits, readers: &Readers, known: &mut Known) -> Result<(), StoreError> {
    let runs: Vec<RunId> = waits.bells().keys().cloned().collect();
    let mut there = HashMap::with_capacity(runs.len());
    for some in runs.chunks(LOOK_MAX) {
        there.extend(readers.revisions(some).await?);
    }
    let now: Known = runs.into_iter().map(|run| (run.clone(), there.get(&run).copied())).collect();
    // One that was not looked at before may have moved since its waiter looked.
    waits.wake_runs(now.iter().filter(|(run, at)| known.get(*run) != Some(*at)).map(|(run, _)| run));
    *known = now;
    Ok(())
}

/// Looks for what others wrote while somebody waits, and only then. Ends with the writer.
///
/// The connection that writes is asked, since it alone does not count its own commits.
pub(crate) async fn poll(waits: Arc<Waits>, queue: mpsc::WeakSender<Request>, readers: Readers) {
    let (mut seen, mut known) = (None, Known::new());
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
            waits.wake_topics();
            if wake_moved(&waits, &readers, &mut known).await.is_err() {
                waits.wake_bells();
            }
        }
    }
}

#[cfg(test)]
mod tests;
