//! Follows a run: first what the log has, then what happens, in order, nothing twice and nothing left out.
//!
//! Nothing is kept for a slow reader but its place: durable events are read from the store when it asks for them, and
//! transient ones that it is too late for are gone. While nobody drives the run here, a follower waits for the store.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream;
use holdpoint::{DeltaListener, RunId, StreamEvent};
use holdpoint_codec::view::{EventKind, EventView};
use holdpoint_codec::{Narrator, decode_event, new_run};
use holdpoint_core::{Revision, Status};
use holdpoint_store::{Scope, StoreError};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Interval, MissedTickBehavior};

use crate::app::App;
use crate::auth::Caller;
use crate::driving::Live;
use crate::idempotency::Streamed;
use crate::limits::KEEP_ALIVE;
use crate::sse;
use crate::streams::StreamPermit;

/// When a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// When the run pauses or ends.
    SegmentEnds,
    /// When the run is over.
    RunIsOver,
}

/// A run that a response streams, from an event on.
pub(crate) struct Streaming {
    pub(crate) run: RunId,
    pub(crate) after: Revision,
    /// Hears the driver from its first word on: nothing has to be read before.
    pub(crate) live: Option<broadcast::Receiver<Live>>,
    pub(crate) permit: StreamPermit,
}

impl Streaming {
    /// The events of a segment. The response says which, so that it can be streamed again.
    pub(crate) fn segment(self, app: &Arc<App>, caller: &Caller) -> Response {
        let streamed = Streamed { run: self.run.clone(), after: self.after };
        let mut response = self.follow(app, caller, Until::SegmentEnds);
        response.extensions_mut().insert(streamed);
        response
    }

    /// The events within what the caller may see.
    pub(crate) fn follow(self, app: &Arc<App>, caller: &Caller, until: Until) -> Response {
        let follower = Follower::new(app, caller.scope.clone(), self, until);
        let frames = stream::unfold(follower, |mut follower| async move {
            let frame = follower.next().await?;
            Some((frame, follower))
        });
        sse::response(app, caller, frames)
    }
}

/// Somebody who follows a run.
struct Follower {
    app: Arc<App>,
    scope: Scope,
    run: RunId,
    after: Revision,
    until: Until,
    /// The run as far as it was told, while it moves. A run that waits is read again when it goes on.
    narrator: Option<Narrator>,
    live: Option<broadcast::Receiver<Live>>,
    /// What the model says, while the keeper of this process may drive the run.
    deltas: Option<DeltaListener>,
    changed: Option<BoxFuture<'static, Result<Revision, StoreError>>>,
    ready: VecDeque<Bytes>,
    keep_alive: Interval,
    state: State,
    /// Whether the last event that was told was the end of the run.
    at_end: bool,
    _permit: StreamPermit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing was read from the store yet.
    Behind,
    Following,
    Over,
}

/// What wakes a follower.
enum Woken {
    Stopping,
    Live(Result<Live, RecvError>),
    Changed(Result<Revision, StoreError>),
    Said(StreamEvent),
    Idle,
}

impl Follower {
    fn new(app: &Arc<App>, scope: Scope, streaming: Streaming, until: Until) -> Self {
        let Streaming { run, after, live, permit } = streaming;
        let mut keep_alive = tokio::time::interval(KEEP_ALIVE);
        keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        keep_alive.reset();
        Self {
            app: Arc::clone(app),
            scope,
            run,
            after,
            until,
            narrator: None,
            state: if live.is_some() { State::Following } else { State::Behind },
            live,
            deltas: None,
            changed: None,
            ready: VecDeque::from([sse::opening(None)]),
            keep_alive,
            at_end: false,
            _permit: permit,
        }
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            match self.state {
                State::Over => return None,
                State::Behind => {
                    self.state = State::Following;
                    self.live = self.app.driving.listen(&self.run);
                    self.catch_up().await;
                }
                State::Following => match self.wake().await {
                    Woken::Stopping => self.end("the server stops; connect again"),
                    Woken::Live(heard) => self.hear(heard).await,
                    Woken::Changed(Ok(_)) => {
                        // Whoever drives it now may be here.
                        self.live = self.app.driving.listen(&self.run);
                        self.catch_up().await;
                    }
                    Woken::Changed(Err(_)) => self.end("the run cannot be followed; connect again"),
                    Woken::Said(event) => self.ready.push_back(sse::event(None, &event.to_json())),
                    Woken::Idle => self.ready.push_back(sse::comment("still here")),
                },
            }
        }
    }

    async fn wake(&mut self) -> Woken {
        if self.live.is_none() && self.changed.is_none() {
            let (store, run, after) = (self.app.store.clone(), self.run.clone(), self.after);
            self.changed = Some(Box::pin(async move { store.runs.changed(&run, after).await }));
        }
        let woken = tokio::select! {
            biased;
            heard = output(self.live.as_mut().map(broadcast::Receiver::recv)) => Woken::Live(heard),
            event = output(self.deltas.as_mut().map(DeltaListener::next)) => Woken::Said(event),
            changed = output(self.changed.as_mut()) => Woken::Changed(changed),
            () = self.app.stopping.cancelled() => Woken::Stopping,
            _ = self.keep_alive.tick() => Woken::Idle,
        };
        if matches!(woken, Woken::Changed(_)) {
            self.changed = None;
        }
        woken
    }

    async fn hear(&mut self, heard: Result<Live, RecvError>) {
        match heard {
            Ok(event) => match &*event {
                StreamEvent::Durable(durable) if durable.seq() <= self.after => {}
                StreamEvent::Durable(durable) if durable.seq().0 == self.after.0 + 1 => {
                    // What is told from here on the narrator did not see.
                    self.narrator = None;
                    self.tell(durable.seq(), durable.view());
                    self.end_if_over();
                }
                // Something was committed by others: the store has it all.
                StreamEvent::Durable(_) => self.catch_up().await,
                transient => self.ready.push_back(sse::event(None, &transient.to_json())),
            },
            // This reader was too slow.
            Err(RecvError::Lagged(_)) => self.catch_up().await,
            Err(RecvError::Closed) => {
                self.live = None;
                self.catch_up().await;
            }
        }
    }

    /// Reads what the log has beyond what was told.
    async fn catch_up(&mut self) {
        let known = self.narrator.as_ref().map_or(Revision(0), |narrator| narrator.run().revision());
        let Ok(records) = self.app.store.runs.load(&self.scope, &self.run, known).await else {
            return self.end("the run cannot be read; connect again");
        };
        let mut narrator = self.narrator.take().unwrap_or_else(|| Narrator::new(new_run(self.run.clone())));
        for record in records {
            let Ok(event) = decode_event(&record.body) else {
                return self.end("the run cannot be read");
            };
            let view = narrator.view(&event);
            if record.seq > self.after {
                self.tell(record.seq, &view);
            }
        }
        self.end_if_over();
        // A run that waits may wait for days: then only its number is kept.
        let running = narrator.run().status() == Status::Running;
        self.narrator = running.then_some(narrator);
        if !running || self.live.is_some() {
            self.deltas = None;
        } else if self.deltas.is_none() {
            self.deltas = Some(self.app.deltas.listen(&self.run));
        }
    }

    fn tell(&mut self, seq: Revision, view: &EventView) {
        if self.state == State::Over {
            return;
        }
        self.after = seq;
        self.changed = None;
        self.ready.push_back(sse::event(Some(seq.0), view));
        let EventKind::Done(done) = &view.event else {
            self.at_end = false;
            return;
        };
        self.at_end = !done.is_pause();
        if self.until == Until::SegmentEnds {
            self.state = State::Over;
        }
    }

    /// A run that failed and was tried again goes on after its end: only the last event that there is tells.
    fn end_if_over(&mut self) {
        if self.at_end {
            self.state = State::Over;
        }
    }

    fn end(&mut self, why: &str) {
        self.ready.push_back(sse::comment(why));
        self.state = State::Over;
    }
}

/// The output of a future; without one, nothing ever.
async fn output<F: Future>(future: Option<F>) -> F::Output {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}
