//! What entry points return: a part of a run that is awaited, streamed, detached or blocked on.

use std::sync::{Arc, LazyLock};

use futures_util::future::BoxFuture;
use holdpoint_codec::Context;
use tokio::runtime::{Builder, Handle, Runtime};

use super::point::{Entry, EntryPoint, Then};
use super::session::{InSession, Reservation};
use crate::events::stream::{RunStream, StreamSender, queue};
use crate::{Error, RunResult, Runner, StreamEvent};

/// One segment of a run, from a start or a resume to the next pause or end. It is begun by one of four ways to wait for it:
///
/// ```
/// # use holdpoint::{Agent, Error};
/// # async fn four(agent: Agent) -> Result<(), Error> {
/// let result = agent.chat("hello").await?; // to its end
/// let stream = agent.chat("hello").stream(); // event by event
/// let begun = agent.chat("hello").detach().await?; // until it is durable; a keeper goes on with it
/// # Ok(())
/// # }
/// # fn fourth(agent: Agent) -> Result<(), Error> {
/// let result = agent.chat("hello").blocking()?; // in a program without an async runtime
/// # Ok(())
/// # }
/// ```
///
/// Dropping the future stops the run where it is, as a crash would. Dropping a stream stops
/// nothing; [`RunStream::abort`] does.
#[derive(Debug)]
#[must_use = "nothing happens until it is awaited, streamed, detached or blocked on"]
pub struct Segment {
    runner: Runner,
    entry: Entry,
    session: Option<InSession>,
}

impl Segment {
    pub(super) fn new(runner: &Runner, point: EntryPoint) -> Self {
        Self { runner: runner.clone(), entry: Entry::from(point), session: None }
    }

    pub(super) fn within(self, session: InSession) -> Self {
        Self { session: Some(session), ..self }
    }

    /// Attributes and actor. Attributes replace those of the same name that the run has; the others stay.
    pub fn with_context(mut self, context: Context) -> Self {
        match &mut self.entry.point {
            EntryPoint::Start(request) => **request = std::mem::take(&mut **request).with_context(context),
            EntryPoint::Answer { .. }
            | EntryPoint::Supply { .. }
            | EntryPoint::Known { .. }
            | EntryPoint::Requeue { .. }
            | EntryPoint::Collect(_)
            | EntryPoint::TakeOver(..) => self.entry.context = context,
        }
        self
    }

    /// Names the request that asks for it. The event `resumed` keeps the name, so that a server that gets the same request again
    /// can tell that it was accepted.
    pub fn requested_by(mut self, request: impl Into<Arc<str>>) -> Self {
        self.entry.request = Some(request.into());
        self
    }

    /// Decides on the run as it was read a moment ago, instead of reading it again. If another process has moved the run since, it
    /// is read again.
    pub fn as_read(mut self, run: &RunResult) -> Self {
        self.entry.read = Some(Arc::clone(run.run()));
        self
    }

    /// Begins it in a task of its own. Errors are in [`RunStream::result`].
    pub fn stream(self) -> RunStream {
        let Ok(handle) = Handle::try_current() else { return RunStream::failed(Error::NoRuntime) };
        let (sender, receiver) = queue();
        match self.begin() {
            Ok(begun) => RunStream::new(receiver, handle.spawn(begun.drive(Some(sender)))),
            Err(error) => RunStream::failed(error),
        }
    }

    /// Waits until it is durable and leaves the rest to a [`crate::Keeper`], here or in another process. The result is the run
    /// as it is then.
    ///
    /// # Errors
    /// When it is rejected or the store failed; then nothing changed.
    pub async fn detach(mut self) -> Result<RunResult, Error> {
        self.entry.then = Then::Leave;
        self.await
    }

    /// Waits for its end in a program without an async runtime. It is driven by a runtime that all such calls share.
    ///
    /// # Errors
    /// As for those who await it, and when it is used within an async runtime.
    pub fn blocking(self) -> Result<RunResult, Error> {
        block_on(self.into_future())
    }

    /// As [`Segment::blocking`], with `on_event` called as things happen.
    ///
    /// # Errors
    /// As [`Segment::blocking`].
    pub fn blocking_stream(self, mut on_event: impl FnMut(StreamEvent)) -> Result<RunResult, Error> {
        block_on(async {
            let mut stream = self.stream();
            while let Some(event) = stream.next().await {
                on_event(event);
            }
            stream.result().await
        })
    }

    /// Takes the session, if there is one, for itself.
    fn begin(self) -> Result<Begun, Error> {
        let Self { runner, entry, session } = self;
        let reservation = session.map(|session| session.begin(&entry.point)).transpose()?;
        Ok(Begun { runner, entry, reservation })
    }
}

/// A segment that may be driven.
struct Begun {
    runner: Runner,
    entry: Entry,
    reservation: Option<Reservation>,
}

impl Begun {
    async fn drive(self, stream: Option<StreamSender>) -> Result<RunResult, Error> {
        match self.reservation {
            Some(reservation) => reservation.drive(self.entry, stream).await,
            None => self.runner.enter(&self.entry, stream).await,
        }
    }
}

impl IntoFuture for Segment {
    type Output = Result<RunResult, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async { self.begin()?.drive(None).await })
    }
}

/// Drives the segments that programs without an async runtime wait for.
static RUNTIME: LazyLock<std::io::Result<Runtime>> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(2).enable_all().build());

fn block_on<T>(future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    if Handle::try_current().is_ok() {
        return Err(Error::WithinRuntime);
    }
    match &*RUNTIME {
        Ok(runtime) => runtime.block_on(future),
        Err(error) => Err(Error::config(format!("no runtime could be started: {error}"))),
    }
}
