//! A run as a stream of events. A consumer that stops reading does not stop the run.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll};

use futures_util::Stream;
use holdpoint_codec::view::{EventView, event_view};
use holdpoint_core::{CallId, LogEntry, Revision, Run, RunId, Timestamp};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::{DeltaHub, Error, RunResult};

/// How many events may wait for a slow consumer before transient ones are dropped. Durable events always wait: the
/// run's own limits on turns and calls bound them.
pub(crate) const STREAM_EVENTS_MAX: usize = 4096;

/// Something that happened while a run was driven. `Debug` shows names and sizes only.
#[derive(Clone)]
#[non_exhaustive]
pub enum StreamEvent {
    /// An event of the log: durable, numbered.
    Durable(DurableEvent),
    /// More text of the model.
    TextDelta(String),
    /// More reasoning of the model.
    ThinkingDelta(String),
    /// The model begins to ask for a call.
    ToolCallStarted {
        /// Its place in the reply.
        position: usize,
        /// The name that the model writes.
        name: String,
    },
    /// More of a call's arguments.
    ToolCallDelta {
        /// Its place in the reply.
        position: usize,
        /// The piece.
        text: String,
    },
    /// The model asked for a call.
    ToolCallEnded {
        /// Its place in the reply.
        position: usize,
    },
    /// A tool says how far it is.
    ToolProgress {
        /// The call.
        call: CallId,
        /// What it says.
        text: String,
    },
}

/// A durable event with what is needed to show it. `Debug` shows its number and name only.
#[derive(Clone)]
pub struct DurableEvent {
    name: &'static str,
    seq: Revision,
    at: Timestamp,
    view: Arc<EventView>,
}

impl DurableEvent {
    /// `run` is the run right after the event.
    pub(crate) fn new(entry: &LogEntry, run: &Run) -> Self {
        let seq = run.revision();
        let view = Arc::new(event_view(entry, seq, run));
        Self { name: entry.event.name(), seq, at: entry.at, view }
    }
}

impl DurableEvent {
    /// Its stable name, such as `tool_ended`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its sequence number within the run, from 1.
    pub fn seq(&self) -> Revision {
        self.seq
    }

    /// When it became part of the run.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// Its stable JSON form, with every digit of a number.
    pub fn to_json_text(&self) -> String {
        serde_json::to_string(&*self.view).unwrap_or_default()
    }

    /// Its public form, for the other crates of this workspace.
    #[doc(hidden)]
    pub fn view(&self) -> &Arc<EventView> {
        &self.view
    }
}

impl StreamEvent {
    /// Its stable name.
    pub fn name(&self) -> &'static str {
        match self {
            StreamEvent::Durable(durable) => durable.name,
            StreamEvent::TextDelta(_) => "text_delta",
            StreamEvent::ThinkingDelta(_) => "thinking_delta",
            StreamEvent::ToolCallStarted { .. } => "tool_call_started",
            StreamEvent::ToolCallDelta { .. } => "tool_call_delta",
            StreamEvent::ToolCallEnded { .. } => "tool_call_ended",
            StreamEvent::ToolProgress { .. } => "tool_progress",
        }
    }

    /// Its stable JSON form. An integer of more than 64 bits is only near to what it was: see [`DurableEvent::to_json_text`].
    pub fn to_json(&self) -> Value {
        match self {
            StreamEvent::Durable(durable) => serde_json::to_value(&*durable.view).unwrap_or_default(),
            StreamEvent::TextDelta(text) | StreamEvent::ThinkingDelta(text) => {
                json!({"event": self.name(), "text": text})
            }
            StreamEvent::ToolCallStarted { position, name } => {
                json!({"event": self.name(), "position": position, "name": name})
            }
            StreamEvent::ToolCallDelta { position, text } => {
                json!({"event": self.name(), "position": position, "text": text})
            }
            StreamEvent::ToolCallEnded { position } => json!({"event": self.name(), "position": position}),
            StreamEvent::ToolProgress { call, text } => {
                json!({"event": self.name(), "call": call.as_str(), "text": text})
            }
        }
    }
}

impl fmt::Debug for StreamEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let len = match self {
            StreamEvent::Durable(durable) => return durable.fmt(f),
            StreamEvent::ToolCallStarted { .. } | StreamEvent::ToolCallEnded { .. } => 0,
            StreamEvent::TextDelta(text)
            | StreamEvent::ThinkingDelta(text)
            | StreamEvent::ToolCallDelta { text, .. }
            | StreamEvent::ToolProgress { text, .. } => text.len(),
        };
        write!(f, "{}({len} bytes)", self.name())
    }
}

impl fmt::Debug for DurableEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name, self.seq.0)
    }
}

/// The two ends of a stream's queue.
pub(crate) fn queue() -> (StreamSender, StreamReceiver) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let (accepted, is_accepted) = oneshot::channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let accepted = Arc::new(Mutex::new(Some(accepted)));
    let sender = StreamSender { sender, waiting: Arc::clone(&waiting), accepted };
    (sender, StreamReceiver { receiver, waiting, is_accepted: Some(is_accepted) })
}

#[derive(Clone, Debug)]
pub(crate) struct StreamSender {
    sender: mpsc::UnboundedSender<StreamEvent>,
    waiting: Arc<AtomicUsize>,
    accepted: Arc<Mutex<Option<oneshot::Sender<RunResult>>>>,
}

impl StreamSender {
    /// The first commit of the segment succeeded.
    pub(crate) fn accepted(&self, run: impl FnOnce() -> RunResult) {
        let accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(accepted) = accepted.filter(|accepted| !accepted.is_closed()) {
            // The reader may stop listening at any time.
            let _ = accepted.send(run());
        }
    }

    pub(crate) fn send(&self, event: StreamEvent) {
        let transient = !matches!(event, StreamEvent::Durable(_));
        if transient && self.waiting.load(Ordering::Relaxed) >= STREAM_EVENTS_MAX {
            return;
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // Nobody reads any more: the run goes on without a listener.
        let _ = self.sender.send(event);
    }
}

/// Where what is not durable goes: the stream of whoever drives the run, and those who listen from elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    stream: Option<StreamSender>,
    hub: Option<(DeltaHub, RunId)>,
}

impl Live {
    /// Nothing when nobody could listen.
    pub(crate) fn new(stream: Option<StreamSender>, hub: Option<(DeltaHub, RunId)>) -> Option<Self> {
        (stream.is_some() || hub.is_some()).then_some(Self { stream, hub })
    }

    pub(crate) fn send(&self, event: StreamEvent) {
        if let Some((hub, run)) = &self.hub {
            hub.send(run, || event.clone());
        }
        if let Some(stream) = &self.stream {
            stream.send(event);
        }
    }
}

#[derive(Debug)]
pub(crate) struct StreamReceiver {
    receiver: mpsc::UnboundedReceiver<StreamEvent>,
    waiting: Arc<AtomicUsize>,
    is_accepted: Option<oneshot::Receiver<RunResult>>,
}

impl StreamReceiver {
    fn poll(&mut self, cx: &mut TaskContext<'_>) -> Poll<Option<StreamEvent>> {
        let event = self.receiver.poll_recv(cx);
        if let Poll::Ready(Some(_)) = event {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        event
    }
}

/// The events of one segment, in order, and its result. The run goes on by itself; dropping this does not stop it.
#[derive(Debug)]
pub struct RunStream {
    events: StreamReceiver,
    driving: Driving,
}

#[derive(Debug)]
enum Driving {
    Begun(JoinHandle<Result<RunResult, Error>>),
    /// It could not begin.
    Failed(Error),
}

impl RunStream {
    pub(crate) fn new(events: StreamReceiver, driving: JoinHandle<Result<RunResult, Error>>) -> Self {
        Self { events, driving: Driving::Begun(driving) }
    }

    /// A stream without an event.
    pub(crate) fn failed(error: Error) -> Self {
        Self { events: queue().1, driving: Driving::Failed(error) }
    }

    /// The next event, or `None` when the segment is over.
    pub async fn next(&mut self) -> Option<StreamEvent> {
        std::future::poll_fn(|cx| self.events.poll(cx)).await
    }

    /// The run once its first commit of this segment is durable. Nothing if the segment commits nothing; then [`RunStream::result`]
    /// says why. Given once.
    pub fn accepted(&mut self) -> impl Future<Output = Option<RunResult>> + Send + use<> {
        let accepted = self.events.is_accepted.take();
        async move { accepted?.await.ok() }
    }

    /// Stops driving, as a crash would: the run stays as its store has it until a process takes it over.
    pub async fn abort(self) {
        if let Driving::Begun(driving) = self.driving {
            driving.abort();
            // Its result is lost on purpose.
            let _ = driving.await;
        }
    }

    /// Waits for the end of the segment, whether or not the events were read.
    ///
    /// # Errors
    /// Those of the entry point.
    pub async fn result(mut self) -> Result<RunResult, Error> {
        self.events.receiver.close();
        match self.driving {
            Driving::Failed(error) => Err(error),
            Driving::Begun(driving) => match driving.await {
                Ok(result) => result,
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Err(_) => Err(Error::NoRuntime),
            },
        }
    }
}

impl Stream for RunStream {
    type Item = StreamEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<StreamEvent>> {
        self.events.poll(cx)
    }
}
