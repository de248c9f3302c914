//! Threads of our own for tools that block: named, bounded, and replaced when they hang.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::oneshot;

/// How many threads of one pool may hang before it takes no more work.
pub const LOST_THREADS_MAX: usize = 64;
/// How many threads one pool has at most, unless told otherwise.
pub const THREADS_MAX: usize = 256;
/// How long a thread without work stays.
const IDLE: Duration = Duration::from_secs(10);

/// A pool of threads named `holdpoint-tool-N`. They start when there is work and end when there is none for a while.
///
/// A thread whose work nobody waits for any more is *lost*: another may take its place, and when it comes back it counts
/// again. Dropping the pool waits for nobody, and paused time of tokio's tests does not wait for its threads.
pub struct ThreadPool {
    shared: Arc<Shared>,
}

/// Too many threads hang, or none could be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("too many tool threads hang")]
pub struct Saturated;

struct Shared {
    threads_max: usize,
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    /// Threads that count: all but the lost ones.
    threads: usize,
    idle: usize,
    lost: usize,
    started: u64,
    tickets: u64,
    /// Tickets of the jobs that run on threads that count.
    running: Vec<u64>,
    closed: bool,
}

struct Job {
    ticket: u64,
    work: Box<dyn FnOnce() -> Delivery + Send>,
}

/// Hands the result over. Apart from the work, so that a thread counts as free before anyone hears of its result.
type Delivery = Box<dyn FnOnce() + Send>;

/// Work that was handed in. Dropped before the work is done, it says that nobody waits for it.
pub(crate) struct Ticket {
    number: u64,
    shared: Arc<Shared>,
}

impl ThreadPool {
    /// At most so many threads, at least 1. None starts before there is work.
    pub fn new(threads_max: usize) -> Self {
        let shared = Shared { threads_max: threads_max.max(1), state: Mutex::default(), work: Condvar::new() };
        Self { shared: Arc::new(shared) }
    }

    /// The pool of the process, for blocking tools of executors that have none.
    pub fn of_process() -> &'static ThreadPool {
        static POOL: LazyLock<ThreadPool> = LazyLock::new(|| ThreadPool::new(THREADS_MAX));
        &POOL
    }

    /// How many threads there are, without the lost ones.
    pub fn threads(&self) -> usize {
        self.shared.state().threads
    }

    /// How many threads hang.
    pub fn lost(&self) -> usize {
        self.shared.state().lost
    }

    /// Hands in work. It starts at once if a thread is free or may be started, else when one becomes free. What comes
    /// through the channel is the result, or the payload of a panic.
    pub(crate) fn submit<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<(Ticket, oneshot::Receiver<thread::Result<T>>), Saturated> {
        let (sender, receiver) = oneshot::channel();
        let work = move || -> Delivery {
            let result = std::panic::catch_unwind(AssertUnwindSafe(work));
            Box::new(move || drop(sender.send(result)))
        };
        let mut state = self.shared.state();
        if state.lost >= LOST_THREADS_MAX {
            return Err(Saturated);
        }
        state.tickets += 1;
        let number = state.tickets;
        state.queue.push_back(Job { ticket: number, work: Box::new(work) });
        if !self.shared.provide(&mut state) {
            state.queue.retain(|job| job.ticket != number);
            return Err(Saturated);
        }
        Ok((Ticket { number, shared: Arc::clone(&self.shared) }, receiver))
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sees to it that a thread takes what is queued. `false` if there is none and none can be started.
    fn provide(self: &Arc<Self>, state: &mut State) -> bool {
        if state.idle >= state.queue.len() {
            self.work.notify_one();
            return true;
        }
        if state.threads >= self.threads_max {
            return true;
        }
        let name = format!("holdpoint-tool-{}", state.started + 1);
        let shared = Arc::clone(self);
        match thread::Builder::new().name(name).spawn(move || shared.serve()) {
            Ok(_) => {
                state.started += 1;
                state.threads += 1;
                true
            }
            Err(error) => {
                tracing::error!(error = %error, "a tool thread could not be started");
                state.threads > 0
            }
        }
    }

    /// The life of a thread.
    fn serve(self: Arc<Self>) {
        let mut state = self.state();
        loop {
            let Some(job) = state.queue.pop_front() else {
                if state.closed {
                    break;
                }
                state.idle += 1;
                let (back, wait) = self.work.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
                state = back;
                state.idle -= 1;
                if wait.timed_out() && state.queue.is_empty() {
                    break;
                }
                continue;
            };
            state.running.push(job.ticket);
            drop(state);
            let deliver = (job.work)();
            state = self.state();
            let counted = state.finished(job.ticket) || state.come_back(self.threads_max);
            drop(state);
            deliver();
            if !counted {
                return;
            }
            state = self.state();
        }
        state.threads -= 1;
    }
}

impl State {
    /// `false` if the thread that did it was lost meanwhile.
    fn finished(&mut self, ticket: u64) -> bool {
        match self.running.iter().position(|running| *running == ticket) {
            Some(at) => {
                self.running.swap_remove(at);
                true
            }
            None => false,
        }
    }

    /// A lost thread is there again. `false` if others took its place.
    fn come_back(&mut self, threads_max: usize) -> bool {
        self.lost -= 1;
        let needed = self.threads < threads_max;
        self.threads += usize::from(needed);
        needed
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.queue.retain(|job| job.ticket != self.number);
        if state.finished(self.number) {
            state.threads -= 1;
            state.lost += 1;
            tracing::warn!(lost = state.lost, "a tool thread hangs");
            if !state.queue.is_empty() {
                self.shared.provide(&mut state);
            }
        }
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.shared.state().closed = true;
        self.shared.work.notify_all();
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.state();
        write!(f, "ThreadPool({} threads, {} lost)", state.threads, state.lost)
    }
}
