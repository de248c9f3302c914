//! The one thread on which all connections live.
//!
//! The protocol library writes what it sends and receives into `tracing`: arguments, results and answers of people. None
//! of that may reach an operational log (I8), so the thread has no subscriber. What is ours to say goes to the
//! subscriber of whoever connected.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Dispatch;
use tracing::dispatcher::{get_default, set_default, with_default};

use crate::McpError;

/// How long connections may take to end before the thread ends without them.
const CLOSE_WAIT: Duration = Duration::from_secs(5);

/// What tasks of the thread share. Holding it does not keep the thread alive.
#[derive(Clone)]
pub(crate) struct Host {
    handle: Handle,
    stop: CancellationToken,
    tasks: TaskTracker,
    groups: Groups,
    log: Dispatch,
}

/// While one of these lives, the thread does. When the last is dropped, every program that was started is killed.
pub(crate) struct HostGuard(Host);

impl HostGuard {
    /// Starts the thread.
    pub(crate) fn start() -> Result<Arc<Self>, McpError> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|_| McpError::NoThread)?;
        let host = Host {
            handle: runtime.handle().clone(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            groups: Groups::default(),
            log: get_default(Clone::clone),
        };
        let (stop, tasks) = (host.stop.clone(), host.tasks.clone());
        let body = move || {
            let _quiet = set_default(&Dispatch::none());
            runtime.block_on(async {
                stop.cancelled().await;
                tasks.close();
                // What does not end in time ends with the runtime.
                let _ = tokio::time::timeout(CLOSE_WAIT, tasks.wait()).await;
            });
            runtime.shutdown_background();
        };
        thread::Builder::new().name("holdpoint-mcp".to_owned()).spawn(body).map_err(|_| McpError::NoThread)?;
        Ok(Arc::new(Self(host)))
    }

    pub(crate) fn host(&self) -> &Host {
        &self.0
    }

    /// Ends all connections and waits for them.
    pub(crate) async fn close(&self) {
        self.0.stop.cancel();
        self.0.tasks.close();
        let _ = tokio::time::timeout(CLOSE_WAIT, self.0.tasks.wait()).await;
        self.0.groups.kill_all();
    }
}

impl Drop for HostGuard {
    fn drop(&mut self) {
        self.0.stop.cancel();
        self.0.groups.kill_all();
    }
}

impl Host {
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn_on(task, &self.handle);
    }

    pub(crate) fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    pub(crate) fn groups(&self) -> &Groups {
        &self.groups
    }

    /// Says something in the operational log of whoever connected.
    pub(crate) fn say(&self, message: impl FnOnce()) {
        with_default(&self.log, message);
    }
}

/// The process groups of the programs that were started and not yet ended.
#[derive(Clone, Default)]
pub(crate) struct Groups(Arc<Mutex<BTreeSet<u32>>>);

impl Groups {
    pub(crate) fn add(&self, leader: u32) {
        self.lock().insert(leader);
    }

    /// A program that ends by itself from here on.
    pub(crate) fn forget(&self, leader: u32) {
        self.lock().remove(&leader);
    }

    fn kill_all(&self) {
        std::mem::take(&mut *self.lock()).into_iter().for_each(kill_group);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(unix)]
fn kill_group(leader: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let group = i32::try_from(leader).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        // Gone already is as good.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Elsewhere only the program itself is killed, when its handle is dropped.
#[cfg(not(unix))]
fn kill_group(_: u32) {}
