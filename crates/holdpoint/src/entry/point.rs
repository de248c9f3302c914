//! What an entry point was given, and the inputs that it becomes on the run as it is in the store.

use std::sync::Arc;

use holdpoint_codec::tasks::decode_delivery;
use holdpoint_codec::{Context, new_run};
use holdpoint_core::{
    Actor, Attributes, BatchId, Call, CallKey, CallState, Cancelled, Code, Delivered, Digest, Input, QuestionKind,
    Recovered, Rejection, Retried, Revision, Run, RunId, Started, Target, TaskReturned, TasksReturned, ToolResult,
};
use holdpoint_store::{DeliveredTask, Hold, LeaseState, SessionUse, StoreError, TaskGuard};
use holdpoint_tools::limit_output;

use super::answers::Answerer;
use super::found::Found;
use crate::driver::{Guards, load_run};
use crate::entry::result::Carried;
use crate::parts::Parts;
use crate::{Decisions, Error, Results, ResumeFrom, RunRequest};

/// What an entry point was given.
#[derive(Clone, Debug)]
pub(crate) enum EntryPoint {
    /// A run to start.
    Start(Box<RunRequest>),
    /// Answers of a person.
    Answer { from: ResumeFrom, decisions: Box<Decisions> },
    /// Results that the application supplies.
    Supply { from: ResumeFrom, results: Results },
    /// An input for a run that the store knows.
    Known { run: RunId, input: Input, guards: Guards },
    /// A task that was given up, and that this person wants to be executed again.
    Requeue { key: CallKey, digest: Digest, actor: Actor },
    /// The results that workers completed.
    Collect(RunId),
    /// A run that was claimed under this hold from a process that died.
    TakeOver(RunId, Hold),
}

/// What becomes of the run once its inputs are durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// This process drives it.
    Drive,
    /// A keeper goes on with it: this process may have neither its model nor its tools.
    Leave,
}

/// An entry point and what was said beside it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) point: EntryPoint,
    pub(crate) then: Then,
    /// Attributes that replace stored ones of the same name.
    pub(crate) context: Context,
    /// The caller's name for the request. The event `resumed` keeps it.
    pub(crate) request: Option<Arc<str>>,
    /// The run as the caller read it a moment ago.
    pub(crate) read: Option<Arc<Run>>,
}

/// A run and the inputs that it is to be told.
pub(crate) struct Prepared {
    pub(crate) run: Run,
    pub(crate) carried: Carried,
    pub(crate) inputs: Vec<Input>,
    /// What must be true of tasks that the inputs close.
    pub(crate) guards: Guards,
    pub(crate) session_use: SessionUse,
}

impl EntryPoint {
    pub(crate) fn known(run: &RunId, input: Input) -> Self {
        EntryPoint::Known { run: run.clone(), input, guards: Guards::none() }
    }

    /// The run that it names, as far as it can be told without checking a payload.
    pub(crate) fn run_id(&self) -> Option<RunId> {
        match self {
            EntryPoint::Start(request) => request.run_id.clone(),
            EntryPoint::Answer { from, .. } | EntryPoint::Supply { from, .. } => from.run_id(),
            EntryPoint::Known { run, .. } | EntryPoint::Collect(run) | EntryPoint::TakeOver(run, _) => {
                Some(run.clone())
            }
            EntryPoint::Requeue { key, .. } => Some(key.run.clone()),
        }
    }

    /// Whether it closes tasks only while they have no result. If one has, the results are collected and it is tried again.
    pub(crate) fn yields_to_results(&self) -> bool {
        match self {
            EntryPoint::Supply { .. } | EntryPoint::Known { input: Input::Cancelled(_), .. } => true,
            EntryPoint::Start(_)
            | EntryPoint::Answer { .. }
            | EntryPoint::Known { .. }
            | EntryPoint::Requeue { .. }
            | EntryPoint::Collect(_)
            | EntryPoint::TakeOver(..) => false,
        }
    }
}

impl From<EntryPoint> for Entry {
    fn from(point: EntryPoint) -> Self {
        Self { point, then: Then::Drive, context: Context::new(), request: None, read: None }
    }
}

impl Entry {
    /// The same, after which a keeper goes on with the run.
    pub(crate) fn left(point: EntryPoint) -> Self {
        Self { then: Then::Leave, ..Self::from(point) }
    }

    /// Decides what the run is to be told. A run that another process has moved since it was read is noticed by the commit.
    pub(crate) async fn prepare(&self, parts: &Parts, read: Option<Arc<Run>>) -> Result<Prepared, Error> {
        let source = RunSource { parts, read };
        match &self.point {
            EntryPoint::Start(request) => Prepared::start(parts, request),
            EntryPoint::Answer { from, decisions } => {
                let found = Found::read(source, from).await?;
                self.answer(parts, found, decisions).await
            }
            EntryPoint::Supply { from, results } => {
                let found = Found::read(source, from).await?;
                let input = Input::Delivered(Box::new(self.delivered(&found, results)?));
                // A result that a worker brought was acknowledged: no other one takes its place.
                let guards = Guards::others(TaskGuard::NoResult);
                Ok(Prepared { guards, ..found.prepared(&self.context, input) })
            }
            EntryPoint::Known { run, input, guards } => {
                let run = source.run(run).await?;
                self.known(parts, run, input, guards).await
            }
            EntryPoint::Requeue { key, digest, actor } => {
                let run = source.run(&key.run).await?;
                let decisions = requeued(&run, key, *digest)?.by(actor.clone());
                let batch = BatchId { run: key.run.clone(), turn: key.turn };
                let found = Found::known(run, Target::Batch(batch), Context::new());
                self.answer(parts, found, &decisions).await
            }
            EntryPoint::Collect(run) => {
                let run = source.run(run).await?;
                let (tasks, guards) = completed(parts, run.id()).await?;
                let input = Input::TasksReturned(Box::new(TasksReturned { tasks }));
                Ok(Prepared { guards, ..Prepared::new(run, input) })
            }
            EntryPoint::TakeOver(run, claim) => {
                let run = load_run(parts, run).await?;
                let ended = end_programs(&run).await;
                // This process may have been suspended since its claim. If another one claimed the run meanwhile, what was read
                // is that one's work, and that one is alive.
                match parts.store.leases.renew(run.id(), claim).await? {
                    LeaseState::Held => Ok(Prepared::new(run, Input::Recovered(Recovered { ended }))),
                    LeaseState::Lost => Err(Rejection::LeaseLost.into()),
                }
            }
        }
    }

    async fn answer(&self, parts: &Parts, found: Found, decisions: &Decisions) -> Result<Prepared, Error> {
        let answered = Answerer::new(parts, &found, self).answered(decisions).await?;
        Ok(found.prepared(&self.context, Input::Answered(Box::new(answered))))
    }

    async fn known(&self, parts: &Parts, run: Run, input: &Input, guards: &Guards) -> Result<Prepared, Error> {
        let mut guards = guards.clone();
        let input = match input {
            Input::Recovered(_) => Input::Recovered(Recovered { ended: end_programs(&run).await }),
            Input::Retried(_) => Input::Retried(Retried { request: self.request.clone() }),
            Input::Cancelled(cancelled) if run.tally().deferred > 0 => {
                let (completed, of_completed) = completed(parts, run.id()).await?;
                // A result that arrives meanwhile is acknowledged, so it is collected first.
                guards = Guards { others: TaskGuard::NoResult, ..of_completed };
                Input::Cancelled(Cancelled { completed, ..cancelled.clone() })
            }
            other => other.clone(),
        };
        Ok(Prepared { guards, ..Prepared::new(run, input) })
    }

    fn delivered(&self, found: &Found, results: &Results) -> Result<Delivered, Error> {
        let settings = found.seen().settings();
        let mut limited = Vec::with_capacity(results.results.len());
        for (call, result) in &results.results {
            if call.as_str().trim().is_empty() {
                return Err(Rejection::Call { call: call.clone(), code: Code::InvalidResult }.into());
            }
            let result = limit_output(ToolResult::clone(result), settings.max_tool_output_bytes);
            limited.push((call.clone(), Arc::new(result)));
        }
        Ok(Delivered {
            target: found.target.clone(),
            results: limited,
            missing: results.missing,
            context: self.context.stored(&settings.context_keys)?,
            request: self.request.clone(),
        })
    }
}

/// Gives the run that an entry point names.
pub(super) struct RunSource<'a> {
    pub(super) parts: &'a Parts,
    read: Option<Arc<Run>>,
}

impl RunSource<'_> {
    pub(super) async fn run(self, id: &RunId) -> Result<Run, Error> {
        match self.read.filter(|run| run.id() == id) {
            Some(run) => Ok(Arc::unwrap_or_clone(run)),
            None => load_run(self.parts, id).await,
        }
    }

    /// Nothing when the store does not know it.
    pub(super) async fn find(self, id: &RunId) -> Result<Option<Run>, Error> {
        match self.run(id).await {
            Ok(run) => Ok(Some(run)),
            Err(Error::Store(StoreError::NotFound { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Prepared {
    /// A run that the store knows, with the context that was stored.
    fn new(run: Run, input: Input) -> Self {
        let context = stored_context(&run);
        Self::with_context(run, context, vec![input])
    }

    pub(super) fn with_context(run: Run, context: Context, inputs: Vec<Input>) -> Self {
        let context = Arc::new(context.with_run_id(run.id().clone()));
        let carried = Carried { context, extra: Arc::new(Attributes::default()) };
        Self { run, carried, inputs, guards: Guards::none(), session_use: SessionUse::Shared }
    }

    fn start(parts: &Parts, request: &RunRequest) -> Result<Self, Error> {
        let id = request.run_id.clone().unwrap_or_else(new_run_id);
        if id.as_str().trim().is_empty() {
            return Err(Error::config("`run_id` must not be blank"));
        }
        let started = Started {
            settings: Arc::clone(&parts.settings),
            context: request.context.stored(&parts.settings.context_keys)?,
            agent: parts.agent.clone(),
            model: parts.model.name().map(Arc::from),
            system_prompt: request.system_prompt.clone(),
            messages: request.messages.clone(),
            actor: request.context.actor().clone(),
            session: request.session.clone(),
            trace: request.trace.clone(),
        };
        let inputs = vec![Input::Started(Box::new(started))];
        let prepared = Self::with_context(new_run(id), request.context.clone(), inputs);
        Ok(Self { session_use: request.session_use.clone(), ..prepared })
    }

    /// Whether the store does not have the run yet.
    pub(crate) fn is_new(&self) -> bool {
        self.run.revision() == Revision(0)
    }
}

/// What a person says who wants a task to be executed again: that its call did not happen.
fn requeued(run: &Run, key: &CallKey, digest: Digest) -> Result<Decisions, Error> {
    let call = run.call(key.index).filter(|_| run.turn() == key.turn);
    let is_doubted = |call: &&Call| call.question().is_some_and(|question| question.kind() == QuestionKind::Doubt);
    let call = call.filter(is_doubted).ok_or(Rejection::NotRetryable)?;
    Ok(Decisions::new().allow(call.id.clone()).shown(digest).partial())
}

/// Ends what processes that died on this machine left running, if this run has a call that a program may be executing. Returns
/// the calls whose programs it ended.
async fn end_programs(run: &Run) -> Vec<CallKey> {
    let runs = |call: &Call| matches!(call.state, CallState::Running { .. }) && call.is_program();
    if !run.calls().iter().any(runs) {
        return Vec::new();
    }
    end_orphans().await.iter().filter_map(|call| CallKey::parse(call)).collect()
}

/// Ends the programs that dead processes of this machine left running. Returns the keys of their calls.
pub(crate) async fn end_orphans() -> Vec<String> {
    tokio::task::spawn_blocking(holdpoint_programs::end_orphans).await.unwrap_or_default()
}

/// The tasks that workers completed and the run has not collected. Each is collected only if its lease is still the one under
/// which it was completed.
async fn completed(parts: &Parts, run: &RunId) -> Result<(Vec<TaskReturned>, Guards), Error> {
    let mut guards = Guards::none();
    let mut tasks = Vec::new();
    for delivered in parts.store.tasks.completed(run).await? {
        let DeliveredTask { task, result } = delivered;
        let Some(lease) = task.lease() else { continue };
        guards.of.push(((lease.turn, lease.call), TaskGuard::Delivered(lease.fence)));
        tasks.push(TaskReturned { lease, settlement: decode_delivery(&result)? });
    }
    Ok((tasks, guards))
}

/// What was stored of a run's context, and who started it.
pub(crate) fn stored_context(run: &Run) -> Context {
    Context::from_stored(run.context()).by(run.actor().clone()).with_run_id(run.id().clone())
}

/// Ordered by time, and with enough randomness that it cannot be guessed (I15).
pub(crate) fn new_run_id() -> RunId {
    RunId::new(uuid::Uuid::now_v7().to_string())
}
