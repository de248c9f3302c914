//! The same entry points for programs without an async runtime: each call brings its own.

use holdpoint_core::{Actor, RunId};
use tokio::runtime::{Builder as RuntimeBuilder, Handle, Runtime};

use crate::{Decisions, Error, Results, ResumeFrom, RunRequest, RunResult, StreamEvent};

/// An agent for programs without an async runtime.
#[derive(Debug)]
pub struct Agent {
    inner: crate::Agent,
    runtime: Runtime,
}

/// A conversation for programs without an async runtime.
#[derive(Debug)]
pub struct Session<'a> {
    inner: crate::Session,
    runtime: &'a Runtime,
}

impl Agent {
    /// Takes an agent and starts a runtime of its own.
    ///
    /// # Errors
    /// When it is used within an async runtime, or none can be started.
    pub fn new(agent: crate::Agent) -> Result<Self, Error> {
        expect_outside()?;
        let runtime = RuntimeBuilder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(|error| Error::config(format!("no runtime could be started: {error}")))?;
        Ok(Self { inner: agent, runtime })
    }

    /// Asks the agent.
    ///
    /// # Errors
    /// As the async one, and when it is used within an async runtime.
    pub fn chat(&self, input: impl Into<RunRequest>) -> Result<RunResult, Error> {
        block_on(&self.runtime, self.inner.chat(input))
    }

    /// Asks the agent and calls `on_event` as things happen.
    ///
    /// # Errors
    /// As the async one, and when it is used within an async runtime.
    pub fn chat_stream(
        &self,
        input: impl Into<RunRequest>,
        mut on_event: impl FnMut(StreamEvent),
    ) -> Result<RunResult, Error> {
        block_on(&self.runtime, async {
            let mut stream = self.inner.chat_stream(input)?;
            while let Some(event) = stream.next().await {
                on_event(event);
            }
            stream.result().await
        })
    }

    /// Resumes a run that waits for people.
    ///
    /// # Errors
    /// As the async one, and when it is used within an async runtime.
    pub fn resume(&self, from: impl Into<ResumeFrom>, decisions: impl Into<Decisions>) -> Result<RunResult, Error> {
        block_on(&self.runtime, self.inner.resume(from, decisions))
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
        block_on(&self.runtime, self.inner.resume_with_tool_results(from, results))
    }

    /// Continues a run that failed.
    ///
    /// # Errors
    /// As the async one, and when it is used within an async runtime.
    pub fn retry(&self, run: &RunId) -> Result<RunResult, Error> {
        block_on(&self.runtime, self.inner.runner().retry(run))
    }

    /// Cancels a run.
    ///
    /// # Errors
    /// As the async one, and when it is used within an async runtime.
    pub fn cancel(&self, run: &RunId, actor: Actor) -> Result<RunResult, Error> {
        block_on(&self.runtime, self.inner.runner().cancel(run, actor))
    }

    /// A conversation with this agent.
    pub fn session(&self) -> Session<'_> {
        Session { inner: self.inner.session(), runtime: &self.runtime }
    }
}

impl Session<'_> {
    /// Says something.
    ///
    /// # Errors
    /// As the async one, and when it is used within an async runtime.
    pub fn chat(&self, input: impl Into<RunRequest>) -> Result<RunResult, Error> {
        block_on(self.runtime, self.inner.chat(input))
    }

    /// Resumes the run that waits for people.
    ///
    /// # Errors
    /// As the async one, and when it is used within an async runtime.
    pub fn resume(&self, from: impl Into<ResumeFrom>, decisions: impl Into<Decisions>) -> Result<RunResult, Error> {
        block_on(self.runtime, self.inner.resume(from, decisions))
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
        block_on(self.runtime, self.inner.resume_with_tool_results(from, results))
    }
}

fn block_on<T>(runtime: &Runtime, future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    expect_outside()?;
    runtime.block_on(future)
}

fn expect_outside() -> Result<(), Error> {
    if Handle::try_current().is_ok() { Err(Error::WithinRuntime) } else { Ok(()) }
}
