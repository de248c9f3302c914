//! Runs that requests started or resumed, driven in tasks of their own: a connection that breaks stops nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use holdpoint::{Error, RunId, RunResult, RunStream, StreamEvent};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast, oneshot};
use tokio_util::task::TaskTracker;

use crate::limits::LIVE_EVENTS_MAX;
use crate::refusal::{Answer, Refusal};

/// Something that happened right now in a run that is driven here.
pub(crate) type Live = Arc<StreamEvent>;

/// The runs that this server drives because somebody asked.
#[derive(Clone)]
pub(crate) struct Driving {
    tracker: TaskTracker,
    hub: Arc<Hub>,
    rooms: Arc<Semaphore>,
    rooms_max: usize,
}

/// Room for one more run. It is free again when its driver is done.
pub(crate) type Room = OwnedSemaphorePermit;

/// Tells those who listen what happens in runs that are driven here. A run that is not has no channel and costs nothing.
#[derive(Default)]
struct Hub {
    channels: Mutex<HashMap<RunId, Channel>>,
}

struct Channel {
    sender: broadcast::Sender<Live>,
    drivers: usize,
}

impl Hub {
    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, Channel>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(self: &Arc<Self>, run: &RunId) -> Driver {
        let mut channels = self.lock();
        let channel = channels
            .entry(run.clone())
            .or_insert_with(|| Channel { sender: broadcast::channel(LIVE_EVENTS_MAX).0, drivers: 0 });
        channel.drivers += 1;
        Driver { hub: Arc::clone(self), run: run.clone(), sender: channel.sender.clone() }
    }
}

/// While it lives, a run is driven here.
struct Driver {
    hub: Arc<Hub>,
    run: RunId,
    sender: broadcast::Sender<Live>,
}

impl Driver {
    fn tell(&self, event: StreamEvent) {
        if self.sender.receiver_count() > 0 {
            // Those who stopped listening a moment ago miss nothing.
            let _ = self.sender.send(Arc::new(event));
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let mut channels = self.hub.lock();
        if let Some(channel) = channels.get_mut(&self.run) {
            channel.drivers -= 1;
            if channel.drivers == 0 {
                channels.remove(&self.run);
            }
        }
    }
}

impl Driving {
    /// Drives so many runs at once at most.
    pub(crate) fn new(rooms_max: usize) -> Self {
        let rooms_max = rooms_max.clamp(1, Semaphore::MAX_PERMITS);
        let rooms = Arc::new(Semaphore::new(rooms_max));
        Self { tracker: TaskTracker::new(), hub: Arc::default(), rooms, rooms_max }
    }

    /// Room for one more run, if there is any. What finds none is left to the keeper, which takes it when it can.
    pub(crate) fn room(&self) -> Option<Room> {
        Arc::clone(&self.rooms).try_acquire_owned().ok()
    }

    /// What happens in a run from now on, if it is driven here.
    pub(crate) fn listen(&self, run: &RunId) -> Option<broadcast::Receiver<Live>> {
        self.hub.lock().get(run).map(|channel| channel.sender.subscribe())
    }

    /// How many runs are driven here.
    pub(crate) fn len(&self) -> usize {
        self.rooms_max - self.rooms.available_permits()
    }

    /// Drives a segment of a run to its end, whoever listens. What it tells from its first event on is heard by the
    /// receiver.
    pub(crate) fn drive(&self, run: &RunId, mut stream: RunStream, room: Room) -> Driven {
        let is_accepted = Box::pin(stream.accepted());
        let (done, is_done) = oneshot::channel();
        let driver = self.hub.enter(run);
        let live = driver.sender.subscribe();
        self.tracker.spawn(async move {
            while let Some(event) = stream.next().await {
                driver.tell(event);
            }
            drop(driver);
            drop(room);
            // Nobody may be left who wants to know.
            let _ = done.send(stream.result().await);
        });
        Driven { is_accepted, is_done, live }
    }

    /// Waits for what is driven, but not for ever. Says how many runs were left.
    pub(crate) async fn finish(&self, grace: Duration) -> usize {
        self.tracker.close();
        let _ = tokio::time::timeout(grace, self.tracker.wait()).await;
        self.tracker.len()
    }

    /// Does something to its end, whoever listens.
    pub(crate) async fn see_through<T: Send + 'static>(
        &self,
        doing: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Answer<T> {
        match self.tracker.spawn(doing).await {
            Ok(done) => Ok(done?),
            Err(_) => Err(Refusal::internal("something that was to be seen through ended")),
        }
    }
}

/// A segment that is driven.
pub(crate) struct Driven {
    is_accepted: BoxFuture<'static, Option<RunResult>>,
    is_done: oneshot::Receiver<Result<RunResult, Error>>,
    pub(crate) live: broadcast::Receiver<Live>,
}

impl Driven {
    /// The run once the first commit of the segment is durable, or as it was if the segment is over and committed nothing.
    ///
    /// # Errors
    /// When it was not accepted: nothing changed.
    pub(crate) async fn accepted(&mut self) -> Answer<RunResult> {
        if let Some(run) = (&mut self.is_accepted).await {
            return Ok(run);
        }
        let result = (&mut self.is_done).await.map_err(|_| Refusal::internal("a driver ended without a word"))?;
        Ok(result?)
    }

    /// Waits for the end of a segment that committed something, but not longer than that. Nothing when it is not over by then, or
    /// when somebody else goes on with the run.
    pub(crate) async fn done(&mut self, wait: Duration) -> Option<RunResult> {
        let result = tokio::time::timeout(wait, &mut self.is_done).await.ok()?.ok()?;
        result.ok()
    }
}
