//! A conversation that goes on over several runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdpoint_core::{
    Actor, CallId, Code, Input, Message, MessageCall, Rejection, RunId, Status, ToolMessage, ToolResult,
};

use crate::entry::opening::Opening;
use crate::entry::result::Continuation;
use crate::events::stream::{RunStream, StreamSender, queue};
use crate::{Agent, Decisions, Error, Results, ResumeFrom, RunRequest, RunResult};

/// One conversation with one agent: at most one run at a time. Cheap to clone; clones are the same conversation.
#[derive(Clone, Debug)]
pub struct Session {
    agent: Agent,
    id: Arc<str>,
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
    /// Whoever drove it let go of it before it stopped, or somebody else drives it.
    Left(RunId),
}

impl Session {
    pub(crate) fn new(agent: Agent, history: Vec<Arc<Message>>) -> Self {
        let id = crate::entry::opening::new_run_id().as_str().into();
        Self { agent, id, state: Arc::new(Mutex::new(State { history, activity: Activity::Idle })) }
    }

    /// A conversation that starts from a given history.
    pub fn from_history(agent: &Agent, history: impl IntoIterator<Item = Arc<Message>>) -> Self {
        Self::new(agent.clone(), history.into_iter().collect())
    }

    /// The same conversation under a name of your own, from its next run on. By default one is made.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<Arc<str>>) -> Self {
        self.id = id.into();
        self
    }

    /// Its name: what grants for a session are bound to.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The conversation so far.
    pub fn history(&self) -> Vec<Arc<Message>> {
        self.state().history.clone()
    }

    /// The continuation of the paused run, if there is one.
    pub fn paused(&self) -> Option<Continuation> {
        match &self.state().activity {
            Activity::Paused(continuation) => Some(Continuation::clone(continuation)),
            Activity::Idle | Activity::Running | Activity::Left(_) => None,
        }
    }

    /// Says something.
    ///
    /// # Errors
    /// `run_paused` while a run is paused, `run_busy` while one is in progress, or was left in progress: then
    /// [`Session::recover`] goes on with it and [`Session::chat_closing`] ends it.
    pub async fn chat(&self, input: impl Into<RunRequest>) -> Result<RunResult, Error> {
        self.look_up().await?;
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

    /// Says something after closing the calls of a run that is paused or was left: the run is cancelled, and the model
    /// sees that.
    ///
    /// # Errors
    /// `run_busy` while a run is in progress here.
    pub async fn chat_closing(&self, input: impl Into<RunRequest>) -> Result<RunResult, Error> {
        let request = input.into();
        self.close(request.context.actor().clone()).await?;
        self.chat(request).await
    }

    /// Cancels the run that is paused or was left, if there is one. Its calls are closed in the history.
    ///
    /// # Errors
    /// `run_busy` while a run is in progress here.
    pub async fn close(&self, actor: Actor) -> Result<(), Error> {
        self.look_up().await.or_else(|error| if matches!(error, Error::SessionBusy) { Ok(()) } else { Err(error) })?;
        let run = match &self.state().activity {
            Activity::Idle => return Ok(()),
            Activity::Running => return Err(Error::SessionBusy),
            Activity::Paused(continuation) => continuation.run_id().clone(),
            Activity::Left(run) => run.clone(),
        };
        let result = self.agent.runner.cancel(&run, actor).await?;
        self.settle(&result);
        Ok(())
    }

    /// Goes on with a run that was left in progress: by a caller that went away, or by a process that died.
    ///
    /// # Errors
    /// `run_busy` while a run is in progress here, `not_retryable` when none was left.
    pub async fn recover(&self) -> Result<RunResult, Error> {
        let started = {
            let mut state = self.state();
            let run = match &state.activity {
                Activity::Left(run) => run.clone(),
                Activity::Running => return Err(Error::SessionBusy),
                Activity::Idle | Activity::Paused(_) => return Err(Rejection::NotRetryable.into()),
            };
            let before = std::mem::replace(&mut state.activity, Activity::Running);
            Started {
                opening: Opening::Known(run.clone(), Input::Recovered(holdpoint_core::Recovered::default())),
                run: Some(run),
                before,
            }
        };
        self.drive(started, None).await
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
        let opening = self.reopen(from.into(), |from| Opening::decide(from, decisions))?;
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
        let opening = self.reopen(from.into(), |from| Opening::decide(from, decisions))?;
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
        let opening = self.reopen(from.into(), |from| Opening::deliver(from, results))?;
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
        let opening = self.reopen(from.into(), |from| Opening::deliver(from, results))?;
        self.drive_stream(opening)
    }

    fn begin(&self, request: RunRequest) -> Result<Started, Error> {
        let mut state = self.state();
        match &state.activity {
            Activity::Idle => {}
            Activity::Running | Activity::Left(_) => return Err(Error::SessionBusy),
            Activity::Paused(continuation) => return Err(paused_by(continuation)),
        }
        let id = request.run_id.clone().unwrap_or_else(crate::entry::opening::new_run_id);
        let request = self.agent.request(request).after(closed(&state.history)).with_run_id(id.clone());
        let request = request.in_session(Arc::clone(&self.id));
        state.activity = Activity::Running;
        Ok(Started { opening: Opening::Run(Box::new(request)), run: Some(id), before: Activity::Idle })
    }

    fn reopen(&self, from: ResumeFrom, opening: impl FnOnce(ResumeFrom) -> Opening) -> Result<Started, Error> {
        let mut state = self.state();
        let named = from.run_id();
        let run = match &state.activity {
            Activity::Running => return Err(Error::SessionBusy),
            Activity::Idle => named,
            // Another run would put its conversation in the place of this one.
            Activity::Paused(continuation) if named.as_ref().is_some_and(|run| run != continuation.run_id()) => {
                return Err(paused_by(continuation));
            }
            Activity::Left(run) if named.as_ref().is_some_and(|named| named != run) => return Err(Error::SessionBusy),
            Activity::Paused(continuation) => Some(continuation.run_id().clone()),
            Activity::Left(run) => Some(run.clone()),
        };
        let before = std::mem::replace(&mut state.activity, Activity::Running);
        Ok(Started { opening: opening(from), run, before })
    }

    /// Finds out what became of a run that was left.
    async fn look_up(&self) -> Result<(), Error> {
        let run = match &self.state().activity {
            Activity::Left(run) => run.clone(),
            Activity::Idle | Activity::Running | Activity::Paused(_) => return Ok(()),
        };
        match self.agent.runner.result(&run).await {
            Ok(result) => self.settle(&result),
            // It went away before anything of it was durable.
            Err(error) if error.code() == Code::ContinuationNotFound => self.state().activity = Activity::Idle,
            Err(error) => return Err(error),
        }
        match self.state().activity {
            Activity::Left(_) => Err(Error::SessionBusy),
            Activity::Idle | Activity::Running | Activity::Paused(_) => Ok(()),
        }
    }

    async fn drive(&self, started: Started, stream: Option<StreamSender>) -> Result<RunResult, Error> {
        // A caller that drops the future does not leave the session busy for ever.
        let mut guard = Leave { session: self, run: started.run.clone() };
        let opened = self.agent.runner.open(started.opening, stream).await;
        guard.run = None;
        match &opened {
            Ok(result) => self.settle(result),
            Err(error) => self.failed(error, started.run.as_ref(), started.before).await,
        }
        opened
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
    async fn failed(&self, error: &Error, run: Option<&RunId>, before: Activity) {
        let may_have_moved = matches!(error, Error::Store(_) | Error::TakenOver | Error::FailpointReached);
        let found = match run {
            Some(run) if may_have_moved || !matches!(before, Activity::Idle) => {
                Some((run, self.agent.runner.result(run).await))
            }
            // A run that this session has nothing to do with: its id is taken, or it was not to be resumed.
            Some(_) | None => None,
        };
        match found {
            Some((_, Ok(result))) => self.settle(&result),
            Some((run, Err(error))) if error.code() != Code::ContinuationNotFound => {
                self.state().activity = Activity::Left(run.clone());
            }
            Some((_, Err(_))) | None => self.state().activity = before,
        }
    }

    fn settle(&self, result: &RunResult) {
        let mut state = self.state();
        state.history = durable(result);
        state.activity = match result.continuation() {
            Some(continuation) => Activity::Paused(Box::new(continuation)),
            None if result.status() == Status::Running => Activity::Left(result.run_id().clone()),
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

/// While it lives, a run is driven. Dropping it before it was told otherwise leaves the run.
struct Leave<'a> {
    session: &'a Session,
    run: Option<RunId>,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        if let Some(run) = self.run.take() {
            self.session.state().activity = Activity::Left(run);
        }
    }
}

fn paused_by(continuation: &Continuation) -> Error {
    Error::SessionPaused { continuation: continuation.id().clone() }
}

/// The conversation, with the results that a run had when it stopped in the middle of a turn.
pub(crate) fn durable(result: &RunResult) -> Vec<Arc<Message>> {
    let mut messages = result.messages().to_vec();
    if !matches!(result.status(), Status::Failed | Status::Running) {
        return messages;
    }
    let open = unanswered(&messages);
    let settled = result.run().calls().iter().filter(|call| open.iter().any(|asked| asked.id == call.id));
    messages.extend(settled.filter_map(|call| {
        let settlement = call.settlement()?;
        let (call, provider_id) = (call.id.clone(), call.provider_id.clone());
        Some(Arc::new(Message::Tool(ToolMessage { call, provider_id, result: Arc::clone(&settlement.result) })))
    }));
    messages
}

/// A conversation in which every call has its result: what a failed run left open is closed.
pub(crate) fn closed(history: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let mut messages = history.to_vec();
    messages.extend(unanswered(history).into_iter().map(|call| {
        let result = ToolResult::error("The run ended before this call gave a result.");
        let (call, provider_id) = (call.id, call.provider_id);
        Arc::new(Message::Tool(ToolMessage { call, provider_id, result: Arc::new(result) }))
    }));
    messages
}

/// The calls of the last reply that have no result.
fn unanswered(history: &[Arc<Message>]) -> Vec<MessageCall> {
    let last = history.iter().rposition(|message| matches!(&**message, Message::Assistant(_)));
    let Some((last, Message::Assistant(asked))) = last.map(|last| (last, &*history[last])) else { return Vec::new() };
    let answered = |id: &CallId| {
        history[last + 1..].iter().any(|message| matches!(&**message, Message::Tool(tool) if tool.call == *id))
    };
    asked.calls.iter().filter(|call| !answered(&call.id)).cloned().collect()
}
