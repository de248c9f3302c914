//! One server: reached, kept reached, and watched for changes of its tools.

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore, oneshot, watch};
use tokio::time::{Instant, sleep, timeout};

use crate::board::Board;
use crate::catalog::Catalog;
use crate::exchange::{Parking, SWEEP_EVERY};
use crate::handler::Handler;
use crate::host::Host;
use crate::link::{Link, Session, hear_changes, list_tools};
use crate::{ConnectProblem, ServerConfig, ServerName};

const RECONNECT_DELAY: Duration = Duration::from_millis(100);
const RECONNECT_DELAY_MAX: Duration = Duration::from_secs(30);
/// A connection that lasted so long was a good one: the next loss is counted from the beginning.
const STEADY_AFTER: Duration = Duration::from_secs(10);
/// However often a server says that its tools changed, they are listed this often at most.
const LIST_INTERVAL: Duration = Duration::from_secs(1);

/// A server and all that its tools need of it.
pub(crate) struct Server {
    pub(crate) name: ServerName,
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) host: Host,
    pub(crate) permits: Arc<Semaphore>,
    pub(crate) board: Arc<Board>,
    pub(crate) parking: Parking,
    catalog: Mutex<Catalog>,
    state: watch::Sender<State>,
    /// The server says that its tools changed.
    changed: Arc<Notify>,
    /// Somebody calls a server that was left alone.
    wanted: Notify,
}

/// Whether a server can be called.
#[derive(Clone)]
pub(crate) enum State {
    /// Not yet, or not again yet.
    Connecting,
    Up(Arc<Session>),
    /// Not until somebody wants it.
    Down(ConnectProblem),
    Closed,
}

impl Server {
    pub(crate) fn new(name: ServerName, config: ServerConfig, host: Host) -> Self {
        let config = Arc::new(config);
        Self {
            permits: Arc::new(Semaphore::new(config.max_concurrency)),
            board: Arc::default(),
            parking: Parking::default(),
            catalog: Mutex::new(Catalog::new(name.clone(), Arc::clone(&config))),
            state: watch::Sender::new(State::Connecting),
            changed: Arc::default(),
            wanted: Notify::new(),
            name,
            config,
            host,
        }
    }

    pub(crate) fn catalog(&self) -> std::sync::MutexGuard<'_, Catalog> {
        self.catalog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// The connection, once there is one.
    pub(crate) async fn session(&self) -> Result<Arc<Session>, ConnectProblem> {
        let mut state = self.state.subscribe();
        let is_down = matches!(&*state.borrow_and_update(), State::Down(_));
        let up = async {
            if is_down {
                // It is tried at once, and whoever wants it waits for what comes of that.
                self.wanted.notify_one();
                state.changed().await?;
            }
            let settled = state.wait_for(|state| match state {
                State::Up(session) => !session.has_ended(),
                State::Down(_) | State::Closed => true,
                State::Connecting => false,
            });
            settled.await.map(|state| state.clone())
        };
        match timeout(self.config.connect_timeout(), up).await {
            Err(_) => Err(ConnectProblem::TimedOut),
            Ok(Ok(State::Up(session))) => Ok(session),
            Ok(Ok(State::Down(problem))) => Err(problem),
            Ok(Ok(State::Closed | State::Connecting) | Err(_)) => Err(ConnectProblem::Closed),
        }
    }

    /// Has a server tried again that was left alone.
    pub(crate) fn wake(&self) {
        if matches!(self.state(), State::Down(_)) {
            self.wanted.notify_one();
        }
    }

    /// Reaches the server and keeps it reached, until everything is closed. The first outcome is told.
    pub(crate) async fn run(self: Arc<Self>, first: oneshot::Sender<Result<(), ConnectProblem>>) {
        let stop = self.host.stop().clone();
        let mut losses = Losses::new(self.config.max_reconnects);
        let mut reached = stop.run_until_cancelled(self.reach(first, &mut losses)).await;
        while let Some(mut link) = reached {
            let since = Instant::now();
            tokio::select! {
                () = self.serve(&mut link) => {}
                () = self.sweep() => {}
                () = stop.cancelled() => {}
            }
            if stop.is_cancelled() {
                self.state.send_replace(State::Closed);
                let _ = link.service.close().await;
                return;
            }
            self.state.send_replace(State::Connecting);
            self.warn("an MCP server ended its connection");
            let problem = link.session.problem();
            drop(link);
            losses.lost_after(since.elapsed());
            reached = stop.run_until_cancelled(self.reconnect(&mut losses, problem)).await;
        }
        self.state.send_replace(State::Closed);
    }

    /// The first connection. When it cannot be had at once, the caller is told, and it is tried again.
    async fn reach(&self, first: oneshot::Sender<Result<(), ConnectProblem>>, losses: &mut Losses) -> Link {
        let problem = match self.connect().await {
            Ok(link) => {
                let _ = first.send(Ok(()));
                return link;
            }
            Err(problem) => problem,
        };
        let name = &self.name;
        self.host.say(|| tracing::warn!(target: "holdpoint", server = %name, %problem, "an MCP server cannot be used"));
        self.state.send_replace(State::Down(problem));
        let _ = first.send(Err(problem));
        losses.failed();
        self.reconnect(losses, problem).await
    }

    /// Gives up what waited too long for a person. Never ends.
    async fn sweep(&self) {
        loop {
            sleep(SWEEP_EVERY).await;
            self.parking.sweep();
        }
    }

    /// Opens a connection and lists the tools.
    async fn connect(&self) -> Result<Link, ConnectProblem> {
        let handler = Handler { board: Arc::clone(&self.board), changed: Arc::clone(&self.changed) };
        let link = Link::open(&self.host, &self.name, &self.config, handler).await?;
        self.list(&link.session).await?;
        self.state.send_replace(State::Up(Arc::clone(&link.session)));
        Ok(link)
    }

    /// Tries again and again, more and more seldom; after some losses only when somebody wants the server, and then at
    /// once.
    async fn reconnect(&self, losses: &mut Losses, mut problem: ConnectProblem) -> Link {
        loop {
            match losses.next() {
                Some(delay) => sleep(delay).await,
                None => {
                    self.warn("an MCP server is left alone until somebody calls it");
                    self.state.send_replace(State::Down(problem));
                    self.wanted.notified().await;
                    self.state.send_replace(State::Connecting);
                }
            }
            problem = match self.connect().await {
                Ok(link) => return link,
                Err(problem) => problem,
            };
            losses.failed();
        }
    }

    /// While the connection lasts: lists the tools again when the server says that they changed.
    async fn serve(&self, link: &mut Link) {
        let session = Arc::clone(&link.session);
        if link.must_subscribe() {
            let (changed, ended) = (Arc::clone(&self.changed), session.ending.ended.clone());
            let heard = hear_changes(session.peer().clone(), move || changed.notify_one());
            self.host.spawn(async move { ended.run_until_cancelled(heard).await.unwrap_or_default() });
        }
        loop {
            tokio::select! {
                () = session.ended() => return,
                () = closed(link) => {
                    // What still waits for this connection waits for nothing.
                    session.give_up();
                    return;
                }
                () = self.changed.notified() => {}
            }
            if let Err(problem) = self.list(&session).await {
                let name = &self.name;
                self.host.say(|| tracing::warn!(target: "holdpoint", server = %name, %problem, "the tools of an MCP server could not be listed again"));
                // What did not arrive has no answer: another connection is wanted.
                if problem == ConnectProblem::Closed {
                    session.give_up();
                }
            }
            tokio::select! {
                () = session.ended() => return,
                () = sleep(LIST_INTERVAL) => {}
            }
        }
    }

    async fn list(&self, session: &Session) -> Result<(), ConnectProblem> {
        let tools = list_tools(session, &self.config).await?;
        let count = tools.len();
        let not_offered = self.catalog().take(tools);
        let name = &self.name;
        self.host.say(|| tracing::info!(target: "holdpoint", server = %name, tools = count, not_offered, "an MCP server listed its tools"));
        Ok(())
    }

    fn warn(&self, message: &'static str) {
        let name = &self.name;
        self.host.say(|| tracing::warn!(target: "holdpoint", server = %name, "{message}"));
    }
}

/// Ends when the connection was closed from inside, which nothing announces.
async fn closed(link: &Link) {
    /// How often that is looked at.
    const LOOK_EVERY: Duration = Duration::from_millis(500);
    while !link.service.is_closed() && !link.service.peer().is_transport_closed() {
        sleep(LOOK_EVERY).await;
    }
}

/// How often in a row a connection did not last.
struct Losses {
    in_a_row: u32,
    max: u32,
}

impl Losses {
    fn new(max: u32) -> Self {
        Self { in_a_row: 0, max }
    }

    /// A connection could not be opened.
    fn failed(&mut self) {
        self.in_a_row = self.in_a_row.saturating_add(1);
    }

    /// A connection ended that had lasted so long. Only one that was steady makes good for those before it.
    fn lost_after(&mut self, lasted: Duration) {
        if lasted >= STEADY_AFTER {
            self.in_a_row = 0;
        } else {
            self.failed();
        }
    }

    /// How long to wait before the next try; `None` when a caller must want the server first.
    fn next(&self) -> Option<Duration> {
        (self.in_a_row <= self.max).then(|| delay(self.in_a_row))
    }
}

/// How long to wait before the next try, after so many that failed.
fn delay(tries: u32) -> Duration {
    const DOUBLINGS_MAX: u32 = 16;
    RECONNECT_DELAY.saturating_mul(1 << tries.min(DOUBLINGS_MAX)).min(RECONNECT_DELAY_MAX)
}
