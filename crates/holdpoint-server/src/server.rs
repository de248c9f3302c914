//! The server: answers, and looks after the runs of its agents beside that.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use holdpoint::{Keeper, Worker};
use holdpoint_store::Store;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::ServerBuilder;
use crate::app::App;
use crate::connection::serve_connection;
use crate::limits::CONNECTIONS_MAX;
use crate::routes;

/// How long to wait after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Whether tasks are done in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InProcessWorker {
    Runs,
    Absent,
}

/// Why a server does not answer.
#[derive(Debug, Error)]
pub enum ServeError {
    /// Without a token only this machine may be served.
    #[error(
        "`{address}` can be reached from other machines, and no token is configured; hint: configure a token, or listen on 127.0.0.1"
    )]
    NeedsToken {
        /// Where it was to listen.
        address: SocketAddr,
    },
    /// The listener is not usable.
    #[error("the listener cannot be used")]
    Listener(#[source] io::Error),
}

/// An HTTP server for the agents of one store.
pub struct Server {
    app: Arc<App>,
    worker: InProcessWorker,
}

impl Server {
    /// Begins to put a server together.
    pub fn builder(store: Store) -> ServerBuilder {
        ServerBuilder::new(store)
    }

    pub(crate) fn new(app: Arc<App>, worker: InProcessWorker) -> Self {
        Self { app, worker }
    }

    /// Answers on a listener and looks after runs, until `shutdown` is cancelled. Then nothing new is begun, streams are
    /// told, leases are given back, and what is under way is waited for, as long as the limits say.
    ///
    /// # Errors
    /// When it must not listen there.
    pub async fn serve(self, listener: TcpListener, shutdown: CancellationToken) -> Result<(), ServeError> {
        let address = listener.local_addr().map_err(ServeError::Listener)?;
        if self.app.tokens.is_empty() && !address.ip().is_loopback() {
            return Err(ServeError::NeedsToken { address });
        }
        let background = CancellationToken::new();
        let mut looking_after = self.look_after(&background);
        let mut connections = JoinSet::new();
        self.accept(&listener, &shutdown, &mut connections).await;
        drop(listener);
        self.app.stopping.cancel();
        // Workers and keepers begin nothing new from here on either.
        background.cancel();
        let grace = self.app.limits.shutdown;
        let ending = async {
            let (left, ()) = tokio::join!(self.app.driving.finish(grace), async {
                while looking_after.join_next().await.is_some() {}
            });
            if left > 0 {
                tracing::warn!(target: "holdpoint", runs = left, "runs are left to whoever takes them over");
            }
            while connections.join_next().await.is_some() {}
        };
        if tokio::time::timeout(grace, ending).await.is_err() {
            tracing::warn!(target: "holdpoint", "the server stopped before everything was done");
        }
        Ok(())
    }

    async fn accept(&self, listener: &TcpListener, shutdown: &CancellationToken, connections: &mut JoinSet<()>) {
        let router = routes::router(&self.app);
        let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        loop {
            while connections.try_join_next().is_some() {}
            let accepted = tokio::select! {
                () = shutdown.cancelled() => return,
                accepted = accept_one(listener, &slots) => accepted,
            };
            match accepted {
                Ok((stream, slot)) => {
                    let (router, stopping) = (router.clone(), self.app.stopping.clone());
                    connections.spawn(async move {
                        serve_connection(stream, router, &stopping).await;
                        drop(slot);
                    });
                }
                Err(error) => {
                    tracing::warn!(target: "holdpoint", %error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn watch(&self, note: fn(&App) -> &AtomicBool, until: &CancellationToken) -> Watched {
        Watched { app: Arc::clone(&self.app), note: Some(note), until: until.clone() }
    }

    /// The keeper of all agents, and the worker of this process.
    fn look_after(&self, until: &CancellationToken) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        let limits = &self.app.limits;
        let runners: Vec<_> = self.app.runners().cloned().collect();
        let Some((first, others)) = runners.split_first() else { return tasks };
        let keeper = others.iter().fold(Keeper::new(first), Keeper::and);
        let keeping = keeper.runs_max(limits.runs_max).grace(limits.shutdown).run(until.clone());
        let watched = self.watch(|app| &app.abandoned, until);
        tasks.spawn(async move {
            keeping.await;
            drop(watched);
        });
        if self.worker == InProcessWorker::Runs {
            let worker = others.iter().fold(Worker::new(first), Worker::and);
            // In containers every process has the same number.
            let own = uuid::Uuid::new_v4().simple().to_string();
            let name = format!("server-{}-{}", std::process::id(), &own[..8]);
            let worker = worker.name(name).concurrency(limits.worker_concurrency).grace(limits.shutdown);
            let mut watched = self.watch(|app| &app.worker_ended, until);
            let until = until.clone();
            tasks.spawn(async move {
                if let Err(error) = worker.run(until).await {
                    watched.note = None;
                    // Agents without tools of their own have nothing that could be done here.
                    tracing::debug!(target: "holdpoint", code = %error.code(), "no worker in this process");
                }
                drop(watched);
            });
        }
        tasks
    }
}

/// Notes it when somebody ends who should go on as long as the server does, however that came.
struct Watched {
    app: Arc<App>,
    /// Where. Nothing for those who have nothing to do here.
    note: Option<fn(&App) -> &AtomicBool>,
    until: CancellationToken,
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(note) = self.note.filter(|_| !self.until.is_cancelled()) {
            note(&self.app).store(true, Ordering::Release);
        }
    }
}

async fn accept_one(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> io::Result<(tokio::net::TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, slot))
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("agents", &self.app.agents).field("worker", &self.worker).finish_non_exhaustive()
    }
}
