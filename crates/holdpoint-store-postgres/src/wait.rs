//! Waking those who wait: at once in this process, by a notification in others, and by looking now and then in case a
//! notification was lost.

mod listener;
mod notification;
mod waiters;

use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use holdpoint_core::{Revision, RunId};
use holdpoint_store::{StoreError, Topic};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use crate::pool::Pool;
use crate::row::{column, number, unsigned};
use notification::{Notification, Topics};
use waiters::{Seen, Waiters};

const LOOK: &str = "select run_no, revision from holdpoint_runs where run_id = $1";

/// How often those who wait for questions are woken after the first time, once a second.
const ECHOES: u32 = 5;

/// What a commit did, for those who wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    pub(crate) run_no: i64,
    pub(crate) revision: i64,
    /// A task may be there to lease.
    pub(crate) tasks: bool,
    /// A run may be there to take care of.
    pub(crate) runs: bool,
    /// Questions changed.
    pub(crate) questions: bool,
}

/// Those who wait in this process, and what others must hear.
#[derive(Debug)]
pub(crate) struct Wakes {
    waiters: Waiters,
    tasks: watch::Sender<u64>,
    runs: watch::Sender<u64>,
    questions: watch::Sender<u64>,
    /// How often those who wait for questions are woken once more: what changed shows when older transactions ended.
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
    pub(crate) fn new() -> Self {
        Self {
            waiters: Waiters::default(),
            tasks: watch::Sender::new(0),
            runs: watch::Sender::new(0),
            questions: watch::Sender::new(0),
            echoes: AtomicU32::new(0),
            notification: Mutex::default(),
            told: Notify::new(),
            missed: Notify::new(),
            teller: AtomicI32::new(0),
        }
    }

    /// Starts what listens, tells and looks. It ends when the set is dropped.
    pub(crate) fn start(self: &Arc<Self>, pool: &Arc<Pool>) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        tasks.spawn(listener::tell(Arc::clone(self), Arc::clone(pool)));
        tasks.spawn(listener::listen(Arc::clone(self), Arc::clone(pool)));
        tasks.spawn(listener::look(Arc::clone(self), Arc::clone(pool)));
        tasks
    }

    /// Something happened here.
    pub(crate) fn moved(&self, moves: impl Iterator<Item = Moved>) {
        let mut topics = Topics::default();
        let begins = {
            let mut notification = self.notification.lock().unwrap_or_else(PoisonError::into_inner);
            let empty = notification.is_empty();
            for moved in moves {
                topics.tasks |= moved.tasks;
                topics.runs |= moved.runs;
                topics.questions |= moved.questions;
                self.waiters.saw(moved.run_no, moved.revision);
                notification.run(moved.run_no, moved.revision);
            }
            notification.topics(topics);
            empty && !notification.is_empty()
        };
        self.wake(topics);
        if begins {
            self.told.notify_one();
        }
    }

    /// A task or a run may be there, and no run moved.
    pub(crate) fn topic(&self, topic: Topic) {
        let topics =
            Topics { tasks: topic == Topic::Tasks, runs: topic == Topic::Runs, questions: topic == Topic::Questions };
        let begins = {
            let mut notification = self.notification.lock().unwrap_or_else(PoisonError::into_inner);
            let empty = notification.is_empty();
            notification.topics(topics);
            empty
        };
        self.wake(topics);
        if begins {
            self.told.notify_one();
        }
    }

    /// These runs are not there any more.
    pub(crate) fn gone(&self, runs: impl Iterator<Item = i64>) {
        runs.for_each(|run_no| self.waiters.gone(run_no));
    }

    pub(crate) fn watch(&self, topic: Topic) -> watch::Receiver<u64> {
        match topic {
            Topic::Tasks => self.tasks.subscribe(),
            Topic::Runs => self.runs.subscribe(),
            Topic::Questions => self.questions.subscribe(),
        }
    }

    /// Waits until the run has more than `after` records.
    pub(crate) async fn changed(&self, pool: &Pool, run: &RunId, after: Revision) -> Result<Revision, StoreError> {
        let not_found = || StoreError::NotFound { run: run.clone() };
        let (run_no, revision) = find(pool, run).await?.ok_or_else(not_found)?;
        if revision > number(after.0) {
            return unsigned(revision).map(Revision);
        }
        let mut waiter = self.waiters.wait(run_no);
        // It may have moved before we began to wait.
        let (again, revision) = find(pool, run).await?.ok_or_else(not_found)?;
        if again != run_no || revision > number(after.0) {
            return unsigned(revision).map(Revision);
        }
        match waiter.until_after(number(after.0)).await {
            Seen::At(revision) => unsigned(revision).map(Revision),
            Seen::Gone => Err(not_found()),
        }
    }

    fn wake(&self, topics: Topics) {
        let wanted = [(topics.tasks, &self.tasks), (topics.runs, &self.runs), (topics.questions, &self.questions)];
        for (_, topic) in wanted.into_iter().filter(|(wanted, _)| *wanted) {
            topic.send_modify(|count| *count = count.wrapping_add(1));
        }
        if topics.questions {
            self.echoes.store(ECHOES, Ordering::Relaxed);
        }
    }

    /// Wakes those who wait for questions once more, if something changed not long ago.
    fn echo(&self) {
        let left = |echoes: u32| echoes.checked_sub(1);
        if self.echoes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok() {
            self.questions.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    fn take_notification(&self) -> Notification {
        std::mem::take(&mut *self.notification.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn find(pool: &Pool, run: &RunId) -> Result<Option<(i64, i64)>, StoreError> {
    let rows = pool.rows("read the run", || sqlx::query(LOOK).bind(run.as_str())).await?;
    rows.first().map(|row| Ok((column(row, 0)?, column(row, 1)?))).transpose()
}

#[cfg(test)]
mod tests;
