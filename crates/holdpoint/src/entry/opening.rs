//! What an entry point was given, and the inputs that it becomes on the run as it is in the store.

use std::sync::Arc;

use holdpoint_codec::tasks::decode_delivery;
use holdpoint_codec::{Context, LoadOptions, Trust, Unsigned, continuation, new_run};
use holdpoint_core::{
    Actor, Answer, Answered, Arguments, Attributes, Block, Call, CallId, CallIndex, CallKey, CallState, Cancelled,
    Code, Decision, Delivered, GivenAnswer, Input, Recheck, Recovered, Rejection, Retried, Run, RunId, Settings,
    Snapshot, Target, TaskReturned, TasksReturned, ToolName, ToolResult,
};
use holdpoint_policy::AuthorizeRequest;
use holdpoint_store::{DeliveredTask, Hold, LeaseState, SessionUse, TaskGuard};
use holdpoint_tools::{Inquiry, limit_output};

use crate::driver::{Guards, listed, load_run, run_facts, try_load_run, understand_edit};
use crate::entry::resume::{Given, Verdict};
use crate::entry::runner::started;
use crate::parts::{Parts, UnsignedImports};
use crate::{Decisions, Error, Results, ResumeFrom, Retry, RunRequest};

/// What an entry point was given.
#[derive(Clone, Debug)]
pub(crate) enum Opening {
    Run(Box<RunRequest>),
    Decide(Box<(ResumeFrom, Decisions)>),
    Deliver(Box<(ResumeFrom, Results)>),
    Known(RunId, Input),
    /// What somebody who looks after the queue found.
    Queue(Box<QueueFinding>),
    /// The results of tasks that were delivered.
    Fold(RunId),
    /// A run that was claimed under this hold from a process that died.
    TakeOver(RunId, Hold),
    /// Another one, after which the run is left to whoever looks after it.
    Left(Box<Opening>),
}

/// Something about a task that the run must be told.
#[derive(Clone, Debug)]
pub(crate) struct QueueFinding {
    pub(crate) run: RunId,
    pub(crate) input: Input,
    pub(crate) guards: Guards,
    pub(crate) then: Then,
}

/// What to do with the run once it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Go on.
    Drive,
    /// Leave it to whoever looks after it: a worker has tools, and perhaps no model.
    Leave,
}

/// A run and what it is to be told.
pub(crate) struct Resume {
    pub(crate) run: Run,
    pub(crate) context: Context,
    /// Unknown fields of the payload that the run came from.
    pub(crate) extra: Arc<Attributes>,
    pub(crate) inputs: Vec<Input>,
    /// What must be true of tasks that this closes.
    pub(crate) guards: Guards,
    pub(crate) then: Then,
}

impl Opening {
    pub(crate) fn decide(from: impl Into<ResumeFrom>, decisions: impl Into<Decisions>) -> Self {
        Opening::Decide(Box::new((from.into(), decisions.into())))
    }

    pub(crate) fn deliver(from: impl Into<ResumeFrom>, results: impl Into<Results>) -> Self {
        Opening::Deliver(Box::new((from.into(), results.into())))
    }

    pub(crate) fn retry(run: impl Into<Retry>) -> Self {
        let Retry { run, request } = run.into();
        Opening::Known(run, Input::Retried(Retried { request }))
    }

    /// The same, without going on with the run.
    pub(crate) fn left(self) -> Self {
        Opening::Left(Box::new(self))
    }

    /// Whether a run that it starts is to be alone in its session.
    pub(crate) fn session_use(&self) -> SessionUse {
        match self {
            Opening::Run(request) => request.session_use.clone(),
            Opening::Left(inner) => inner.session_use(),
            _ => SessionUse::Shared,
        }
    }

    /// The trace of whoever starts the run.
    pub(crate) fn trace(&self) -> Option<&Arc<str>> {
        match self {
            Opening::Run(request) => request.trace.as_ref(),
            Opening::Left(inner) => inner.trace(),
            _ => None,
        }
    }

    /// The run whose tasks it closes unless they have results. If one has, the results are collected and it is tried again.
    pub(crate) fn yields_to_results(&self) -> Option<RunId> {
        match self {
            Opening::Deliver(given) => given.0.run_id(),
            Opening::Known(run, Input::Cancelled(_)) => Some(run.clone()),
            Opening::Left(inner) => inner.yields_to_results(),
            Opening::Run(_)
            | Opening::Decide(_)
            | Opening::Known(..)
            | Opening::Queue(_)
            | Opening::Fold(_)
            | Opening::TakeOver(..) => None,
        }
    }

    /// Whether it starts a run.
    pub(crate) fn starts(&self) -> bool {
        match self {
            Opening::Run(_) => true,
            Opening::Left(inner) => inner.starts(),
            _ => false,
        }
    }

    /// Reads the run anew: what is decided on it is decided on what is durable.
    pub(crate) async fn prepare(&self, parts: &Parts) -> Result<Resume, Error> {
        match self {
            Opening::Run(request) => prepare_run(parts, request),
            Opening::Known(id, input) => {
                let run = load_run(parts, id).await?;
                Ok(match input {
                    Input::Elapsed => known(run, input.clone(), Guards::others(TaskGuard::Waiting)),
                    Input::Recovered(_) => {
                        let input = Input::Recovered(Recovered { ended: end_programs(&run).await });
                        known(run, input, Guards::none())
                    }
                    Input::Cancelled(cancelled) if run.tally().deferred > 0 => {
                        let (completed, mut guards) = completed(parts, run.id()).await?;
                        // A result that arrives meanwhile is acknowledged, so it is collected first.
                        guards.others = TaskGuard::NoResult;
                        known(run, Input::Cancelled(Cancelled { completed, ..cancelled.clone() }), guards)
                    }
                    _ => known(run, input.clone(), Guards::none()),
                })
            }
            Opening::Queue(given) => {
                let QueueFinding { run, input, guards, then } = &**given;
                let resume = known(load_run(parts, run).await?, input.clone(), guards.clone());
                Ok(Resume { then: *then, ..resume })
            }
            Opening::Fold(id) => collected(parts, load_run(parts, id).await?).await,
            Opening::TakeOver(id, claim) => {
                let run = load_run(parts, id).await?;
                let ended = end_programs(&run).await;
                // This process may have been suspended since its claim. If another one claimed the run meanwhile, what was read
                // is that one's work, and that one is alive.
                match parts.store.leases.renew(id, claim).await? {
                    LeaseState::Held => Ok(known(run, Input::Recovered(Recovered { ended }), Guards::none())),
                    LeaseState::Lost => Err(Rejection::LeaseLost.into()),
                }
            }
            Opening::Left(inner) => {
                let resume = Box::pin(inner.prepare(parts)).await?;
                Ok(Resume { then: Then::Leave, ..resume })
            }
            Opening::Decide(given) => {
                let (from, decisions) = &**given;
                let found = find(parts, from).await?;
                let context = found.context.merged(&decisions.context).by(found.run_actor());
                let answered = answered(parts, &found, (decisions, &context)).await?;
                Ok(found.into_resume(context, Input::Answered(Box::new(answered))))
            }
            Opening::Deliver(given) => {
                let (from, results) = &**given;
                let found = find(parts, from).await?;
                let context = found.context.merged(&results.context).by(found.run_actor());
                let delivered = delivered(&found, results)?;
                let resume = found.into_resume(context, Input::Delivered(Box::new(delivered)));
                // A result that a worker brought was acknowledged: no other one takes its place.
                Ok(Resume { guards: Guards::others(TaskGuard::NoResult), ..resume })
            }
        }
    }
}

fn prepare_run(parts: &Parts, request: &RunRequest) -> Result<Resume, Error> {
    let id = request.run_id.clone().unwrap_or_else(new_run_id);
    if id.as_str().trim().is_empty() {
        return Err(Error::config("`run_id` must not be blank"));
    }
    let input = Input::Started(Box::new(started(parts, request)?));
    Ok(Resume {
        run: new_run(id),
        context: request.context.clone(),
        extra: Arc::default(),
        inputs: vec![input],
        guards: Guards::none(),
        then: Then::Drive,
    })
}

fn known(run: Run, input: Input, guards: Guards) -> Resume {
    let context = stored_context(&run);
    Resume { run, context, extra: Arc::default(), inputs: vec![input], guards, then: Then::Drive }
}

/// Ends what processes that died on this machine left running, if this run has a call that a program may be doing. Returns
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

/// Takes all results that workers delivered for this run, in one commit. Each is taken only if its lease is still the
/// one under which it was delivered.
async fn collected(parts: &Parts, run: Run) -> Result<Resume, Error> {
    let (tasks, guards) = completed(parts, run.id()).await?;
    Ok(known(run, Input::TasksReturned(Box::new(TasksReturned { tasks })), guards))
}

/// The tasks that workers completed and the run has not collected, with what must be true of each to close it.
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

/// Ordered by time, and with enough randomness that nobody guesses it (I15).
pub(crate) fn new_run_id() -> RunId {
    RunId::new(uuid::Uuid::now_v7().to_string())
}

/// A run that is to be resumed.
struct Found {
    run: Run,
    /// The run to bring into the store first, when the store does not know it.
    import: Option<Arc<Snapshot>>,
    /// The run as people saw it: the import's, or the store's.
    seen: Run,
    target: Target,
    context: Context,
    /// What the caller's own object showed: decisions without a digest are bound to it.
    shown: Option<Arc<Run>>,
    extra: Arc<Attributes>,
}

impl Found {
    fn known(run: Run, target: Target, brought: Context) -> Self {
        let context = brought.merged(&Context::from_stored(run.context()));
        Self { seen: run.clone(), run, import: None, target, context, shown: None, extra: Arc::default() }
    }

    fn run_actor(&self) -> Actor {
        self.seen.actor().clone()
    }

    fn into_resume(self, context: Context, input: Input) -> Resume {
        let import = self.import.map(Input::Imported);
        let inputs = import.into_iter().chain([input]).collect();
        Resume { run: self.run, context, extra: self.extra, inputs, guards: Guards::none(), then: Then::Drive }
    }
}

async fn find(parts: &Parts, from: &ResumeFrom) -> Result<Found, Error> {
    match from {
        ResumeFrom::Ended(id) => {
            let run = load_run(parts, id).await?;
            match run.status() {
                holdpoint_core::Status::Cancelled => Err(Rejection::RunCancelled.into()),
                _ if run.pauses().0 == 0 => Err(Rejection::ContinuationNotFound.into()),
                _ => Err(Rejection::StaleContinuation { current: run.continuation() }.into()),
            }
        }
        ResumeFrom::Id(id) => {
            let run = try_load_run(parts, &id.run).await?.ok_or(Rejection::ContinuationNotFound)?;
            let mut found = Found::known(run, Target::Continuation(id.clone()), Context::new());
            // A continuation stands for one state: naming it names the questions of that state.
            found.shown = (found.run.continuation().as_ref() == Some(id)).then(|| Arc::new(found.run.clone()));
            Ok(found)
        }
        ResumeFrom::Batch(id) => {
            let run = try_load_run(parts, &id.run).await?.ok_or(Rejection::ContinuationNotFound)?;
            Ok(Found::known(run, Target::Batch(id.clone()), Context::new()))
        }
        ResumeFrom::Object(object) => {
            let target = Target::Continuation(object.id().clone());
            let context = Context::clone(object.context());
            let mut found = match try_load_run(parts, object.run_id()).await? {
                Some(run) => Found::known(run, target, context),
                None => {
                    expect_trusted(parts, object.trust())?;
                    imported(object.run().snapshot(), object.run_id(), (target, context))?
                }
            };
            found.shown = Some(Arc::clone(object.run()));
            found.extra = Arc::clone(object.extra());
            Ok(found)
        }
        ResumeFrom::Json(text) => find_payload(parts, text).await,
        ResumeFrom::BatchOf(pause) => {
            let mut found = Box::pin(find(parts, pause)).await?;
            if let Some(shown) = &found.shown {
                found.target = Target::Batch(shown.batch());
            }
            Ok(found)
        }
    }
}

async fn find_payload(parts: &Parts, text: &str) -> Result<Found, Error> {
    let loaded = read_payload(parts, text)?;
    let shown = Arc::new(imported_run(&loaded.run_id, &Arc::new(loaded.snapshot.clone())));
    let target = Target::Continuation(loaded.continuation_id);
    // If the store knows the run, the store is the truth and the payload only names it.
    let mut found = match try_load_run(parts, &loaded.run_id).await? {
        Some(run) => Found::known(run, target, loaded.context),
        None => {
            expect_trusted(parts, loaded.trust)?;
            imported(Some(loaded.snapshot), &loaded.run_id, (target, loaded.context))?
        }
    };
    found.shown = Some(shown);
    found.extra = Arc::new(loaded.extra);
    Ok(found)
}

/// Reads and checks a payload; who may bring a run that the store does not know is decided later.
pub(crate) fn read_payload(parts: &Parts, text: &str) -> Result<continuation::Loaded, Error> {
    let options = LoadOptions {
        keys: parts.signing_key.as_slice(),
        migrate: parts.migrate.as_deref(),
        // With a key nothing unsigned is looked at.
        unsigned: if parts.signing_key.is_some() { Unsigned::Refuse } else { Unsigned::Accept },
        ..LoadOptions::default()
    };
    Ok(continuation::load(text, &options)?)
}

fn expect_trusted(parts: &Parts, trust: Trust) -> Result<(), Error> {
    match (trust, parts.unsigned_imports) {
        (Trust::Unsigned, UnsignedImports::Refuse) => Err(Error::UnsignedImport),
        (Trust::Unsigned, UnsignedImports::Accept) | (Trust::Signed, _) => Ok(()),
    }
}

fn imported(snapshot: Option<Snapshot>, id: &RunId, (target, context): (Target, Context)) -> Result<Found, Error> {
    let snapshot = Arc::new(snapshot.ok_or(Rejection::ContinuationNotFound)?);
    let seen = imported_run(id, &snapshot);
    let run = new_run(id.clone());
    Ok(Found { run, import: Some(snapshot), seen, target, context, shown: None, extra: Arc::default() })
}

/// The run that an import begins with.
pub(crate) fn imported_run(id: &RunId, snapshot: &Arc<Snapshot>) -> Run {
    holdpoint_codec::imported_run(id.clone(), Arc::clone(snapshot))
}

async fn answered(
    parts: &Parts,
    found: &Found,
    (decisions, context): (&Decisions, &Context),
) -> Result<Answered, Error> {
    // What is wrong with the continuation is told before anything is looked at that it is to resume.
    found.seen.expect_answers(&found.target, decisions.missing)?;
    let mut answers = Vec::with_capacity(decisions.verdicts.len());
    let now = parts.store.runs.now();
    for Given { call, verdict, digest, remember, reason } in &decisions.verdicts {
        let shown = digest.or_else(|| shown_digest(found.shown.as_deref(), call));
        let (answer, decision) = match verdict {
            Verdict::Allow => {
                expect_answer(found, call, None)?;
                (Answer::Approve, ask_again(parts, found, (call, context)).await)
            }
            Verdict::Deny(reason) => (Answer::Refuse { reason: reason.clone() }, None),
            Verdict::Answer(result) => match expect_answer(found, call, Some(result))? {
                // What goes to a tool goes there whole, and lets it go on.
                AnswerTo::Tool => (Answer::Supply(Arc::clone(result)), ask_again(parts, found, (call, context)).await),
                AnswerTo::Model => {
                    let answer = Answer::Supply(cut(found.seen.settings(), result));
                    (answer, ask_for_terms(parts, found, (call, context)).await)
                }
            },
            Verdict::Happened(result) => {
                let answer = Answer::Happened(cut(found.seen.settings(), result));
                (answer, ask_for_terms(parts, found, (call, context)).await)
            }
            // Whatever is decided for an expired call does not count, so nobody looks at it.
            Verdict::AllowEdited(_) if has_expired(parts, &found.seen, call) => (Answer::Approve, None),
            Verdict::AllowEdited(edited) => edit(parts, found, (call, &edited.0, context)).await?,
        };
        let remember = remember.as_ref().map(|remember| remember.said_at(now));
        let reason = reason.clone();
        answers.push((call.clone(), GivenAnswer { answer, digest: shown, decision, remember, reason }));
    }
    Ok(Answered {
        target: found.target.clone(),
        actor: decisions.answerer().clone(),
        answers,
        missing: decisions.missing,
        context: decisions.context.stored(&found.seen.settings().context_keys)?,
        request: decisions.request.clone(),
    })
}

/// Who gets what a person answers.
enum AnswerTo {
    /// The tool that asked.
    Tool,
    /// The model, in the place of a result.
    Model,
}

/// What a tool asked is answered in the shape that it wants, and within the limit of a result.
fn expect_answer(found: &Found, id: &CallId, answer: Option<&ToolResult>) -> Result<AnswerTo, Error> {
    let call = found.seen.calls().iter().find(|call| call.id == *id);
    let Some(asks) = call.and_then(|call| call.asks()).and_then(|asks| Inquiry::from_result(asks)) else {
        return Ok(AnswerTo::Model);
    };
    let refuse = |problems: String, code| Error::InvalidArguments { call: id.clone(), problems, code };
    let bytes_max = found.seen.settings().tool_output_bytes_max;
    let bytes: usize = answer.iter().flat_map(|answer| &answer.blocks).map(Block::len_bytes).sum();
    if u64::try_from(bytes).unwrap_or(u64::MAX) > bytes_max {
        let problem = format!("the answer has {bytes} bytes, and {bytes_max} is the limit");
        return Err(refuse(problem, Code::ArgumentsTooLarge));
    }
    let read = asks.read_answer(answer);
    read.map(|_| AnswerTo::Tool).map_err(|problems| refuse(listed(&problems), Code::InvalidArguments))
}

fn has_expired(parts: &Parts, run: &Run, call: &CallId) -> bool {
    let question = run.calls().iter().find(|known| known.id == *call).and_then(|known| known.question());
    question.and_then(|question| question.deadline).is_some_and(|deadline| deadline <= parts.store.runs.now())
}

/// The digest of the question that the caller's object showed.
fn shown_digest(shown: Option<&Run>, call: &CallId) -> Option<holdpoint_core::Digest> {
    let shown = shown?;
    shown.question_digest(index_of(shown, call)?)
}

fn index_of(run: &Run, call: &CallId) -> Option<CallIndex> {
    run.calls().iter().position(|known| known.id == *call).map(CallIndex::from_usize)
}

/// Policy is asked again about a call that an answer lets run. Nothing for a call that no person is asked about.
async fn ask_again(parts: &Parts, found: &Found, (id, context): (&CallId, &Context)) -> Option<Decision> {
    if found.seen.settings().recheck_policy == Recheck::Off {
        return None;
    }
    let index = index_of(&found.seen, id)?;
    let call = found.seen.call(index).filter(|call| call.question().is_some())?;
    let (tool, arguments) = (call.tool.as_ref()?, call.canonical()?);
    Some(ask_policy(parts, &found.seen, (index, &tool.name, arguments, context)).await)
}

/// Policy is asked who may say so by now. An answer that lets nothing run cannot be denied.
async fn ask_for_terms(parts: &Parts, found: &Found, given: (&CallId, &Context)) -> Option<Decision> {
    match ask_again(parts, found, given).await? {
        decision @ Decision::Confirm(..) => Some(decision),
        Decision::Allow(_) | Decision::Deny(_) => None,
    }
}

async fn ask_policy(
    parts: &Parts,
    run: &Run,
    (index, tool, arguments, context): (CallIndex, &ToolName, &Arguments, &Context),
) -> Decision {
    let facts = run_facts(parts, run, (index, &[]));
    let context = context.clone().with_run_id(facts.run.clone());
    let request = AuthorizeRequest { tool, arguments, context: &context, run: &facts };
    parts.policy.authorize(&request).await.0
}

/// Edited arguments are parsed, validated, and policy is asked about them.
async fn edit(
    parts: &Parts,
    found: &Found,
    (id, text, context): (&CallId, &str, &Context),
) -> Result<(Answer, Option<Decision>), Error> {
    let unknown = || Error::from(Rejection::Call { call: id.clone(), code: Code::UnknownToolCall });
    let index = index_of(&found.seen, id).ok_or_else(unknown)?;
    let facts = found.seen.call(index).and_then(|call| call.tool.as_ref()).ok_or_else(unknown)?;
    let arguments =
        understand_edit(id, text, (&facts.name, parts.registry.find(facts.name.as_str()).map(|tool| &**tool)))?;
    let decision = ask_policy(parts, &found.seen, (index, &facts.name, &arguments, context)).await;
    Ok((Answer::ApproveEdited(arguments), Some(decision)))
}

fn delivered(found: &Found, results: &Results) -> Result<Delivered, Error> {
    let limit = found.seen.settings().tool_output_bytes_max;
    let mut cut = Vec::with_capacity(results.results.len());
    for (call, result) in &results.results {
        if call.as_str().trim().is_empty() {
            return Err(Rejection::Call { call: call.clone(), code: Code::InvalidResult }.into());
        }
        cut.push((call.clone(), Arc::new(limit_output(ToolResult::clone(result), limit))));
    }
    Ok(Delivered {
        target: found.target.clone(),
        results: cut,
        missing: results.missing,
        context: results.context.stored(&found.seen.settings().context_keys)?,
        request: results.request.clone(),
    })
}

fn cut(settings: &Settings, result: &Arc<ToolResult>) -> Arc<ToolResult> {
    Arc::new(limit_output(ToolResult::clone(result), settings.tool_output_bytes_max))
}
