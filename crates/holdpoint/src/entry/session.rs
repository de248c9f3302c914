//! A conversation that goes on over several runs.

mod history;
mod stored;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdpoint_core::{Actor, Code, Message, Rejection, RunId, Status};

use self::history::{closed, durable};
use super::point::{Entry, EntryPoint, new_run_id};
use crate::events::stream::StreamSender;
use crate::{Agent, Continuation, Decisions, Error, Results, ResumeFrom, RunRequest, RunResult, Segment};

pub use stored::SessionSoFar;

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
    /// The caller that drove it went away before it stopped, or another process drives it.
    Left(RunId),
}

/// What becomes of an open run when a new message comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenRun {
    /// It stays, and the message is rejected.
    Keep,
    /// It is cancelled.
    Close,
}

impl Session {
    pub(super) fn new(agent: Agent, history: Vec<Arc<Message>>) -> Self {
        let id = new_run_id().as_str().into();
        Self { agent, id, state: Arc::new(Mutex::new(State { history, activity: Activity::Idle })) }
    }

    /// A conversation that starts from a given history.
    pub fn from_history(agent: &Agent, history: impl IntoIterator<Item = Arc<Message>>) -> Self {
        Self::new(agent.clone(), history.into_iter().collect())
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

    /// Says something. `run_paused` while a run is paused; `run_busy` while one is in progress, or was left in progress: then
    /// [`Session::recover`] goes on with it and [`Session::chat_closing`] ends it.
    pub fn chat(&self, input: impl Into<RunRequest>) -> Segment {
        self.start(input.into(), OpenRun::Keep)
    }

    /// Says something after closing the calls of a run that is paused or was left: the run is cancelled, and the model
    /// sees that.
    pub fn chat_closing(&self, input: impl Into<RunRequest>) -> Segment {
        self.start(input.into(), OpenRun::Close)
    }

    /// Resumes the run that waits for people. If the decisions are rejected, nothing changed.
    pub fn resume(&self, from: impl Into<ResumeFrom>, decisions: impl Into<Decisions>) -> Segment {
        self.agent.resume(from, decisions).within(self.clone().into())
    }

    /// Resumes the run that waits for results. If the results are rejected, nothing changed.
    pub fn resume_with_tool_results(&self, from: impl Into<ResumeFrom>, results: impl Into<Results>) -> Segment {
        self.agent.resume_with_tool_results(from, results).within(self.clone().into())
    }

    /// Goes on with a run that was left in progress: by a caller that went away, or by a process that died.
    ///
    /// # Errors
    /// `run_busy` while a run is in progress here, `not_retryable` when none was left.
    pub async fn recover(&self) -> Result<RunResult, Error> {
        let run = match &self.state().activity {
            Activity::Left(run) => run.clone(),
            Activity::Running => return Err(Error::SessionBusy),
            Activity::Idle | Activity::Paused(_) => return Err(Rejection::NotRetryable.into()),
        };
        self.agent.runner.recover(&run).within(self.clone().into()).await
    }

    /// Cancels the run that is paused or was left, if there is one. Its calls are closed in the history.
    ///
    /// # Errors
    /// `run_busy` while a run is in progress here.
    pub async fn close(&self, actor: Actor) -> Result<(), Error> {
        let run = match &self.state().activity {
            Activity::Idle => return Ok(()),
            Activity::Running => return Err(Error::SessionBusy),
            Activity::Paused(continuation) => continuation.run_id().clone(),
            Activity::Left(run) => run.clone(),
        };
        let cancelled = self.agent.runner.cancel(&run, actor).await;
        let now = self.learn_of(cancelled, Activity::Idle)?;
        self.state().activity = now;
        Ok(())
    }

    fn start(&self, request: RunRequest, open: OpenRun) -> Segment {
        let id = request.run_id.clone().unwrap_or_else(new_run_id);
        let request = request.with_run_id(id).in_session(Arc::clone(&self.id));
        self.agent.chat(request).within(InSession { session: self.clone(), open })
    }

    /// Takes the conversation of its last run. Returns what the session does then.
    fn learn(&self, result: &RunResult) -> Activity {
        self.state().history = durable(result);
        match result.continuation() {
            Some(continuation) => Activity::Paused(Box::new(continuation)),
            None if result.status() == Status::Running => Activity::Left(result.run_id().clone()),
            None => Activity::Idle,
        }
    }

    /// The same of a run of which perhaps nothing was ever durable: then the session does what it did before.
    fn learn_of(&self, found: Result<RunResult, Error>, before: Activity) -> Result<Activity, Error> {
        match found {
            Ok(result) => Ok(self.learn(&result)),
            Err(error) if error.code() == Code::ContinuationNotFound => Ok(before),
            Err(error) => Err(error),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The session that a segment belongs to.
#[derive(Debug)]
pub(super) struct InSession {
    session: Session,
    open: OpenRun,
}

impl From<Session> for InSession {
    fn from(session: Session) -> Self {
        Self { session, open: OpenRun::Keep }
    }
}

impl InSession {
    /// Takes the session for one run.
    pub(super) fn begin(self, point: &EntryPoint) -> Result<Reservation, Error> {
        let Self { session, open } = self;
        let starts = matches!(point, EntryPoint::Start(_));
        let named = point.run_id();
        let is_other = |run: &RunId| named.as_ref().is_some_and(|named| named != run);
        let mut state = session.state();
        let run = match &state.activity {
            Activity::Running => return Err(Error::SessionBusy),
            Activity::Paused(continuation) if starts && open == OpenRun::Keep => return Err(paused_by(continuation)),
            // A run that was left is looked up before the new one starts.
            Activity::Paused(_) | Activity::Left(_) if starts => named,
            // Another run would put its conversation in the place of this one.
            Activity::Paused(continuation) if is_other(continuation.run_id()) => return Err(paused_by(continuation)),
            Activity::Left(run) if is_other(run) => return Err(Error::SessionBusy),
            Activity::Idle => named,
            Activity::Paused(continuation) => Some(continuation.run_id().clone()),
            Activity::Left(run) => Some(run.clone()),
        };
        let before = std::mem::replace(&mut state.activity, Activity::Running);
        drop(state);
        Ok(Reservation { session, open, run, otherwise: before })
    }
}

/// While it lives, a session has a run in progress. Dropped before that has ended, as by a caller that goes away, it leaves the
/// session as `otherwise` says.
pub(super) struct Reservation {
    session: Session,
    open: OpenRun,
    run: Option<RunId>,
    otherwise: Activity,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.session.state().activity = std::mem::replace(&mut self.otherwise, Activity::Idle);
    }
}

impl Reservation {
    /// Drives the run to the end of its segment.
    pub(super) async fn drive(mut self, mut entry: Entry, stream: Option<StreamSender>) -> Result<RunResult, Error> {
        if let EntryPoint::Start(request) = &mut entry.point {
            self.make_room(request.context.actor().clone()).await?;
            let history = closed(&self.session.state().history);
            **request = std::mem::take(&mut **request).after(history);
        }
        let before = self.otherwise.clone();
        if let Some(run) = &self.run {
            self.otherwise = Activity::Left(run.clone());
        }
        let session = self.session.clone();
        let entered = session.agent.runner.enter(&entry, stream).await;
        self.otherwise = match &entered {
            Ok(result) => session.learn(result),
            Err(error) => self.after_failure(error, before).await,
        };
        entered
    }

    /// Finds out what became of the run before, or ends it.
    async fn make_room(&mut self, actor: Actor) -> Result<(), Error> {
        let run = match &self.otherwise {
            Activity::Idle | Activity::Running => return Ok(()),
            Activity::Paused(continuation) => continuation.run_id().clone(),
            Activity::Left(run) => run.clone(),
        };
        let runner = &self.session.agent.runner;
        let found = match self.open {
            OpenRun::Keep => runner.result(&run).await,
            OpenRun::Close => runner.cancel(&run, actor).await,
        };
        self.otherwise = self.session.learn_of(found, Activity::Idle)?;
        match &self.otherwise {
            Activity::Idle | Activity::Running => Ok(()),
            Activity::Paused(continuation) => Err(paused_by(continuation)),
            Activity::Left(_) => Err(Error::SessionBusy),
        }
    }

    /// After a failure the history is what was durable.
    async fn after_failure(&self, error: &Error, before: Activity) -> Activity {
        let may_have_moved = matches!(error, Error::Store(_) | Error::TakenOver);
        match &self.run {
            Some(run) if may_have_moved || !matches!(before, Activity::Idle) => {
                let found = self.session.agent.runner.result(run).await;
                self.session.learn_of(found, before).unwrap_or_else(|_| Activity::Left(run.clone()))
            }
            // A run that this session has nothing to do with: its id is taken, or it was not to be resumed.
            Some(_) | None => before,
        }
    }
}

fn paused_by(continuation: &Continuation) -> Error {
    Error::SessionPaused { continuation: continuation.id().clone() }
}
