//! The same entry points for programs without an async runtime: an agent brings its own.

use std::fmt;

use holdpoint_core::{Actor, RunId};
use tokio::runtime::{Builder as RuntimeBuilder, Handle, Runtime};

use crate::{Continuation, Decisions, Error, Results, ResumeFrom, RunRequest, RunResult, RunStream, StreamEvent};

/// An agent for programs without an async runtime.
#[derive(Debug)]
pub struct Agent {
    inner: crate::Agent,
    runtime: OwnRuntime,
}

/// A conversation for programs without an async runtime.
#[derive(Debug)]
pub struct Session<'a> {
    inner: crate::Session,
    runtime: &'a OwnRuntime,
}

impl Agent {
    /// Takes an agent and starts a runtime of its own.
    ///
    /// # Errors
    /// When it is used within an async runtime, or none can be started.
    pub fn new(agent: crate::Agent) -> Result<Self, Error> {
        Ok(Self { inner: agent, runtime: OwnRuntime::start()? })
    }

    /// Asks the agent.
    ///
    /// # Errors
    /// As the async one, and when it is used within an async runtime.
    pub fn chat(&self, input: impl Into<RunRequest>) -> Result<RunResult, Error> {
        self.runtime.block_on(self.inner.chat(input))
    }

    /// Asks the agent and calls `on_event` as things happen.
    ///
    /// # Errors
    /// As the async one, and when it is used within an async runtime.
    pub fn chat_stream(
        &self,
        input: impl Into<RunRequest>,
        on_event: impl FnMut(StreamEvent),
    ) -> Result<RunResult, Error> {
        self.runtime.follow(|| self.inner.chat_stream(input), on_event)
    }

    /// Resumes a run that waits for people.
    ///
    /// # Errors
    /// As the async one, and when it is used within an async runtime.
    pub fn resume(&self, from: impl Into<ResumeFrom>, decisions: impl Into<Decisions>) -> Result<RunResult, Error> {
        self.runtime.block_on(self.inner.resume(from, decisions))
    }

    /// The same, with `on_event` called as things happen.
    ///
    /// # Errors
    /// As the async one, and when it is used within an async runtime.
    pub fn resume_stream(
        &self,
        from: impl Into<ResumeFrom>,
        decisions: impl Into<Decisions>,
        on_event: impl FnMut(StreamEvent),
    ) -> Result<RunResult, Error> {
        self.runtime.follow(|| self.inner.resume_stream(from, decisions), on_event)
    }

    /// Resumes a run that waits for results.
    ///
    /// # Errors
    /// As the async one, and when it is used within an async runtime.
    pub fn resume_with_tool_results(
        &self,
        from: impl Into<ResumeFrom>,
        results: impl Into<Results>,
    ) -> Result<RunResult, Error> {
        self.runtime.block_on(self.inner.resume_with_tool_results(from, results))
    }

    /// The same, with `on_event` called as things happen.
    ///
    /// # Errors
    /// As the async one, and when it is used within an async runtime.
    pub fn resume_stream_with_tool_results(
        &self,
        from: impl Into<ResumeFrom>,
        results: impl Into<Results>,
        on_event: impl FnMut(StreamEvent),
    ) -> Result<RunResult, Error> {
        self.runtime.follow(|| self.inner.resume_stream_with_tool_results(from, results), on_event)
    }

    /// Continues a run that failed.
    ///
    /// # Errors
    /// As the async one, and when it is used within an async runtime.
    pub fn retry(&self, run: &RunId) -> Result<RunResult, Error> {
        self.runtime.block_on(self.inner.runner().retry(run))
    }

    /// Takes over a run whose process died.
    ///
    /// # Errors
    /// As the async one, and when it is used within an async runtime.
    pub fn recover(&self, run: &RunId) -> Result<RunResult, Error> {
        self.runtime.block_on(self.inner.runner().recover(run))
    }

    /// Cancels a run.
    ///
    /// # Errors
    /// As the async one, and when it is used within an async runtime.
    pub fn cancel(&self, run: &RunId, actor: Actor) -> Result<RunResult, Error> {
        self.runtime.block_on(self.inner.runner().cancel(run, actor))
    }

    /// A conversation with this agent.
    pub fn session(&self) -> Session<'_> {
        self.session_of(self.inner.session())
    }

    /// A conversation of this agent that was begun elsewhere, such as one with a history.
    pub fn session_of(&self, session: crate::Session) -> Session<'_> {
        Session { inner: session, runtime: &self.runtime }
    }

    /// The async agent inside.
    pub fn inner(&self) -> &crate::Agent {
        &self.inner
    }
}

impl Session<'_> {
    /// Says something.
    ///
    /// # Errors
    /// As the async one, and when it is used within an async runtime.
    pub fn chat(&self, input: impl Into<RunRequest>) -> Result<RunResult, Error> {
        self.runtime.block_on(self.inner.chat(input))
    }

    /// Says something and calls `on_event` as things happen.
    ///
    /// # Errors
    /// As the async one, and when it is used within an async runtime.
    pub fn chat_stream(
        &self,
        input: impl Into<RunRequest>,
        on_event: impl FnMut(StreamEvent),
    ) -> Result<RunResult, Error> {
        self.runtime.follow(|| self.inner.chat_stream(input), on_event)
    }

    /// Says something after closing the calls of a paused run.
    ///
    /// # Errors
    /// As the async one, and when it is used within an async runtime.
    pub fn chat_closing(&self, input: impl Into<RunRequest>) -> Result<RunResult, Error> {
        self.runtime.block_on(self.inner.chat_closing(input))
    }

    /// Resumes the run that waits for people.
    ///
    /// # Errors
    /// As the async one, and when it is used within an async runtime.
    pub fn resume(&self, from: impl Into<ResumeFrom>, decisions: impl Into<Decisions>) -> Result<RunResult, Error> {
        self.runtime.block_on(self.inner.resume(from, decisions))
    }

    /// The same, with `on_event` called as things happen.
    ///
    /// # Errors
    /// As the async one, and when it is used within an async runtime.
    pub fn resume_stream(
        &self,
        from: impl Into<ResumeFrom>,
        decisions: impl Into<Decisions>,
        on_event: impl FnMut(StreamEvent),
    ) -> Result<RunResult, Error> {
        self.runtime.follow(|| self.inner.resume_stream(from, decisions), on_event)
    }

    /// Resumes the run that waits for results.
    ///
    /// # Errors
    /// As the async one, and when it is used within an async runtime.
    pub fn resume_with_tool_results(
        &self,
        from: impl Into<ResumeFrom>,
        results: impl Into<Results>,
    ) -> Result<RunResult, Error> {
        self.runtime.block_on(self.inner.resume_with_tool_results(from, results))
    }

    /// The same, with `on_event` called as things happen.
    ///
    /// # Errors
    /// As the async one, and when it is used within an async runtime.
    pub fn resume_stream_with_tool_results(
        &self,
        from: impl Into<ResumeFrom>,
        results: impl Into<Results>,
        on_event: impl FnMut(StreamEvent),
    ) -> Result<RunResult, Error> {
        self.runtime.follow(|| self.inner.resume_stream_with_tool_results(from, results), on_event)
    }

    /// The conversation so far.
    pub fn history(&self) -> Vec<std::sync::Arc<crate::Message>> {
        self.inner.history()
    }

    /// The continuation of the paused run, if there is one.
    pub fn paused(&self) -> Option<Continuation> {
        self.inner.paused()
    }
}

/// A runtime that may be dropped anywhere, an async runtime included.
struct OwnRuntime(Option<Runtime>);

impl OwnRuntime {
    fn start() -> Result<Self, Error> {
        expect_outside()?;
        let runtime = RuntimeBuilder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(|error| Error::config(format!("no runtime could be started: {error}")))?;
        Ok(Self(Some(runtime)))
    }

    fn block_on<T>(&self, future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        expect_outside()?;
        match &self.0 {
            Some(runtime) => runtime.block_on(future),
            None => Err(Error::NoRuntime),
        }
    }

    fn follow(
        &self,
        start: impl FnOnce() -> Result<RunStream, Error>,
        mut on_event: impl FnMut(StreamEvent),
    ) -> Result<RunResult, Error> {
        self.block_on(async {
            let mut stream = start()?;
            while let Some(event) = stream.next().await {
                on_event(event);
            }
            stream.result().await
        })
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for OwnRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnRuntime")
    }
}

fn expect_outside() -> Result<(), Error> {
    if Handle::try_current().is_ok() { Err(Error::WithinRuntime) } else { Ok(()) }
}
