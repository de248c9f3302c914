//! Waking callers: at once in this process, by a notification in others, and by looking now and then in case a notification
//! was lost.

mod listener;
mod notification;

use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use holdpoint_core::{Revision, RunId};
use holdpoint_store::{Notifier, StoreError, Topic, Topics};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use crate::columns::Row;
use crate::pool::Pool;
use notification::Notification;

const FIND: &str = "select run_no, revision from holdpoint_runs where run_id = $1";

/// How often callers that wait for questions are woken after the first time, once a second.
const ECHOES: u32 = 5;

/// What a commit did, for callers that wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    pub(crate) run_no: i64,
    pub(crate) revision: Revision,
    pub(crate) topics: Topics,
}

/// The callers that wait in this process, and what other processes are to be told.
#[derive(Debug, Default)]
pub(crate) struct Wakes {
    notifier: Notifier<i64>,
    /// How often callers that wait for questions are woken once more: a change is visible when older transactions ended.
    echoes: AtomicU32,
    /// The next one.
    notification: Mutex<Notification>,
    /// There is something to tell.
    told: Notify,
    /// Something may have been missed: look at everything.
    missed: Notify,
    /// The server's process that tells others for us.
    teller: AtomicI32,
}

impl Wakes {
    /// Starts the tasks that listen, tell and look. They end when the set is dropped.
    pub(crate) fn start(self: &Arc<Self>, pool: &Arc<Pool>) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        tasks.spawn(listener::tell(Arc::clone(self), Arc::clone(pool)));
        tasks.spawn(listener::listen(Arc::clone(self), Arc::clone(pool)));
        tasks.spawn(listener::look(Arc::clone(self), Arc::clone(pool)));
        tasks
    }

    /// This process moved runs.
    pub(crate) fn moved(&self, moves: impl Iterator<Item = Moved>) {
        let mut topics = Topics::default();
        self.tell(|notification| {
            for Moved { run_no, revision, topics: new } in moves {
                topics |= new;
                self.notifier.moved(&run_no, revision);
                notification.run(run_no, revision);
            }
            notification.topics |= topics;
        });
        self.wake(topics);
    }

    /// A task or a run may be there, and no run moved.
    pub(crate) fn notify(&self, topic: Topic) {
        self.tell(|notification| notification.topics |= topic.into());
        self.wake(topic.into());
    }

    /// The run is not there any more.
    pub(crate) fn pruned(&self, run_no: i64) {
        self.notifier.pruned(&run_no);
    }

    pub(crate) fn watch(&self, topic: Topic) -> watch::Receiver<u64> {
        self.notifier.watch(topic)
    }

    /// Waits until the run has more than `after` records.
    pub(crate) async fn changed(&self, pool: &Pool, run: &RunId, after: Revision) -> Result<Revision, StoreError> {
        let not_found = || StoreError::NotFound { run: run.clone() };
        let found = find(pool, run).await?.ok_or_else(not_found)?;
        if found.revision > after {
            return Ok(found.revision);
        }
        let mut waiter = self.notifier.wait(found.run_no);
        // It may have moved before we began to wait.
        let again = find(pool, run).await?.ok_or_else(not_found)?;
        if again.run_no != found.run_no || again.revision > after {
            return Ok(again.revision);
        }
        waiter.until_after(after).await.ok_or_else(not_found)
    }

    /// Adds to the next notification, and has it sent if it was empty.
    fn tell(&self, add: impl FnOnce(&mut Notification)) {
        let mut notification = self.notification.lock().unwrap_or_else(PoisonError::into_inner);
        let was_empty = notification.is_empty();
        add(&mut notification);
        if was_empty && !notification.is_empty() {
            self.told.notify_one();
        }
    }

    fn wake(&self, topics: Topics) {
        self.notifier.notify(topics);
        if topics.questions {
            self.echoes.store(ECHOES, Ordering::Relaxed);
        }
    }

    /// Wakes callers that wait for questions once more, if something changed not long ago.
    fn echo(&self) {
        let left = |echoes: u32| echoes.checked_sub(1);
        if self.echoes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok() {
            self.notifier.notify(Topic::Questions);
        }
    }

    fn take_notification(&self) -> Notification {
        std::mem::take(&mut *self.notification.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Where a run is.
pub(crate) struct Found {
    pub(crate) run_no: i64,
    pub(crate) revision: Revision,
}

pub(crate) async fn find(pool: &Pool, run: &RunId) -> Result<Option<Found>, StoreError> {
    let rows = pool.rows("read the run", || sqlx::query(FIND).bind(run.as_str())).await?;
    let read = |row: &Row| Ok(Found { run_no: row.int("run_no")?, revision: Revision(row.number("revision")?) });
    rows.first().map(read).transpose()
}

#[cfg(test)]
mod tests;
