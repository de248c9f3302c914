//! A conversation that goes on over several runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdpoint_core::{Actor, CallId, Message, RunId, ToolMessage, ToolResult};

use crate::opening::Opening;
use crate::result::Continuation;
use crate::stream::{RunStream, StreamSender, queue};
use crate::{Agent, Decisions, Error, Results, ResumeFrom, RunRequest, RunResult};

/// One conversation with one agent: at most one run at a time. Cheap to clone; clones are the same conversation.
#[derive(Clone, Debug)]
pub struct Session {
    agent: Agent,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    history: Vec<Arc<Message>>,
    activity: Activity,
}

#[derive(Clone, Debug)]
enum Activity {
    Idle,
    Running,
    Paused(Box<Continuation>),
}

/// What a new message does about calls that are still open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenCalls {
    Refuse,
    Close,
}

impl Session {
    pub(crate) fn new(agent: Agent, history: Vec<Arc<Message>>) -> Self {
        Self { agent, state: Arc::new(Mutex::new(State { history, activity: Activity::Idle })) }
    }

    /// A conversation that starts from a given history.
    pub fn from_history(agent: &Agent, history: impl IntoIterator<Item = Arc<Message>>) -> Self {
        Self::new(agent.clone(), history.into_iter().collect())
    }

    /// The conversation so far.
    pub fn history(&self) -> Vec<Arc<Message>> {
        self.state().history.clone()
    }

    /// The continuation of the paused run, if there is one.
    pub fn paused(&self) -> Option<Continuation> {
        match &self.state().activity {
            Activity::Paused(continuation) => Some(Continuation::clone(continuation)),
            Activity::Idle | Activity::Running => None,
        }
    }

    /// Says something.
    ///
    /// # Errors
    /// `run_paused` while a run is paused, `run_busy` while one is in progress.
    pub async fn chat(&self, input: impl Into<RunRequest>) -> Result<RunResult, Error> {
        let opening = self.begin(input.into())?;
        self.drive(opening, None).await
    }

    /// Says something and streams what happens.
    ///
    /// # Errors
    /// As [`Session::chat`].
    pub fn chat_stream(&self, input: impl Into<RunRequest>) -> Result<RunStream, Error> {
        let opening = self.begin(input.into())?;
        self.drive_stream(opening)
    }

    /// Says something after closing the calls of a paused run: the run is cancelled, and the model sees that.
    ///
    /// # Errors
    /// `run_busy` while a run is in progress.
    pub async fn chat_closing(&self, input: impl Into<RunRequest>) -> Result<RunResult, Error> {
        if let Some(continuation) = self.paused() {
            let result = self.agent.runner.cancel(continuation.run_id(), Actor::default()).await?;
            self.settle(&result);
        }
        self.chat(input).await
    }

    /// Resumes the run that waits for people.
    ///
    /// # Errors
    /// When the decisions are not accepted; then nothing changed.
    pub async fn resume(
        &self,
        from: impl Into<ResumeFrom>,
        decisions: impl Into<Decisions>,
    ) -> Result<RunResult, Error> {
        let opening = self.reopen(Opening::decide(from, decisions))?;
        self.drive(opening, None).await
    }

    /// The same as a stream of events.
    ///
    /// # Errors
    /// `run_busy` while a run is in progress.
    pub fn resume_stream(
        &self,
        from: impl Into<ResumeFrom>,
        decisions: impl Into<Decisions>,
    ) -> Result<RunStream, Error> {
        let opening = self.reopen(Opening::decide(from, decisions))?;
        self.drive_stream(opening)
    }

    /// Resumes the run that waits for results.
    ///
    /// # Errors
    /// When the results are not accepted; then nothing changed.
    pub async fn resume_with_tool_results(
        &self,
        from: impl Into<ResumeFrom>,
        results: impl Into<Results>,
    ) -> Result<RunResult, Error> {
        let opening = self.reopen(Opening::deliver(from, results))?;
        self.drive(opening, None).await
    }

    /// The same as a stream of events.
    ///
    /// # Errors
    /// `run_busy` while a run is in progress.
    pub fn resume_stream_with_tool_results(
        &self,
        from: impl Into<ResumeFrom>,
        results: impl Into<Results>,
    ) -> Result<RunStream, Error> {
        let opening = self.reopen(Opening::deliver(from, results))?;
        self.drive_stream(opening)
    }

    fn begin(&self, request: RunRequest) -> Result<Started, Error> {
        let mut state = self.state();
        let before = self.expect_idle(&state, OpenCalls::Refuse)?;
        let id = request.run_id.clone().unwrap_or_else(crate::opening::new_run_id);
        let request = self.agent.request(request).after(closed(&state.history)).with_run_id(id.clone());
        state.activity = Activity::Running;
        Ok(Started { opening: Opening::Run(Box::new(request)), run: Some(id), before })
    }

    fn reopen(&self, opening: Opening) -> Result<Started, Error> {
        let mut state = self.state();
        let before = self.expect_idle(&state, OpenCalls::Close)?;
        let run = match &before {
            Activity::Paused(continuation) => Some(continuation.run_id().clone()),
            Activity::Idle | Activity::Running => None,
        };
        state.activity = Activity::Running;
        Ok(Started { opening, run, before })
    }

    fn expect_idle(&self, state: &State, open: OpenCalls) -> Result<Activity, Error> {
        match (&state.activity, open) {
            (Activity::Running, _) => Err(Error::SessionBusy),
            (Activity::Paused(continuation), OpenCalls::Refuse) => {
                Err(Error::SessionPaused { continuation: continuation.id().clone() })
            }
            (activity, _) => Ok(activity.clone()),
        }
    }

    async fn drive(&self, started: Started, stream: Option<StreamSender>) -> Result<RunResult, Error> {
        // A caller that drops the future leaves the session as it was, not busy for ever.
        let mut guard = Restore { session: self, before: Some(started.before) };
        match self.agent.runner.open(started.opening, stream).await {
            Ok(result) => {
                guard.before = None;
                self.settle(&result);
                Ok(result)
            }
            Err(error) => {
                self.reload(started.run.as_ref(), &mut guard).await;
                Err(error)
            }
        }
    }

    fn drive_stream(&self, started: Started) -> Result<RunStream, Error> {
        let handle = tokio::runtime::Handle::try_current();
        let Ok(handle) = handle else {
            self.state().activity = started.before;
            return Err(Error::NoRuntime);
        };
        let (sender, receiver) = queue();
        let session = self.clone();
        let driving = handle.spawn(async move { session.drive(started, Some(sender)).await });
        Ok(RunStream::new(receiver, driving))
    }

    /// After a failure the history is what was durable.
    async fn reload(&self, run: Option<&RunId>, guard: &mut Restore<'_>) {
        let Some(run) = run else { return };
        if let Ok(result) = self.agent.runner.result(run).await {
            guard.before = None;
            self.settle(&result);
        }
    }

    fn settle(&self, result: &RunResult) {
        let mut state = self.state();
        state.history = result.messages().to_vec();
        state.activity = match result.continuation() {
            Some(continuation) => Activity::Paused(Box::new(continuation)),
            None => Activity::Idle,
        };
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Started {
    opening: Opening,
    run: Option<RunId>,
    before: Activity,
}

struct Restore<'a> {
    session: &'a Session,
    before: Option<Activity>,
}

impl Drop for Restore<'_> {
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            self.session.state().activity = before;
        }
    }
}

/// A conversation in which every call has its result: what a failed run left open is closed.
fn closed(history: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let mut messages = history.to_vec();
    let last = history.iter().rposition(|message| matches!(&**message, Message::Assistant(_)));
    let Some(Message::Assistant(asked)) = last.map(|last| &*history[last]) else { return messages };
    let answered = |id: &CallId| {
        let after = last.map_or(&[][..], |last| &history[last + 1..]);
        after.iter().any(|message| matches!(&**message, Message::Tool(tool) if tool.call == *id))
    };
    for call in asked.calls.iter().filter(|call| !answered(&call.id)) {
        messages.push(Arc::new(Message::Tool(ToolMessage {
            call: call.id.clone(),
            provider_id: call.provider_id.clone(),
            result: Arc::new(ToolResult::error("The run ended before this call was executed.")),
        })));
    }
    messages
}
