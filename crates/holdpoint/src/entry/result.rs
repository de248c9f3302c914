//! What an entry point returns: the run as it stood when it stopped.

use std::sync::Arc;
use std::time::Duration;

use holdpoint_codec::{Context, Pending, Trust, continuation, imported_run, pending};
use holdpoint_core::{
    Attributes, BatchId, CallRecord, ContinuationId, Message, PauseReason, Revision, Run, RunId, Status, StopReason,
    Usage,
};
use holdpoint_store::{Scope, Store};

use crate::Error;
use crate::driver::read_run;
use crate::entry::point::stored_context;

/// A run at the end of a segment. Never changed by what happens later.
#[derive(Clone, Debug)]
pub struct RunResult {
    run: Arc<Run>,
    carried: Carried,
    segment: Spent,
}

/// What goes along with a run without being part of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Carried {
    pub(crate) context: Arc<Context>,
    /// Unknown fields of the payload that the run came from.
    pub(crate) extra: Arc<Attributes>,
}

/// What this call of an entry point added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    pub(crate) messages_before: usize,
    pub(crate) began_after: Revision,
    pub(crate) durations: Durations,
}

impl Spent {
    /// Nothing yet, for a segment that begins with the run as it is.
    pub(crate) fn since(run: &Run) -> Self {
        Self { messages_before: run.messages().len(), began_after: run.revision(), durations: Durations::default() }
    }
}

/// How long a segment took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Durations {
    /// From the entry point's start to its end.
    pub total: Duration,
    /// Of it, waiting for the model.
    pub model: Duration,
    /// Of it, executing tools.
    pub tools: Duration,
}

impl RunResult {
    pub(crate) fn new(run: Arc<Run>, carried: Carried, segment: Spent) -> Self {
        Self { run, carried, segment }
    }

    /// The run as a store has it, if it is within the scope. For servers, which have no agent for each run that they show.
    ///
    /// # Errors
    /// When the store failed, or has no such run there.
    pub async fn read(store: &Store, scope: &Scope, run: &RunId) -> Result<Self, Error> {
        let run = read_run(store, scope, run).await?;
        let carried = Carried { context: Arc::new(stored_context(&run)), ..Carried::default() };
        let spent = Spent::since(&run);
        Ok(Self::new(Arc::new(run), carried, spent))
    }

    /// The run's id: the same over all its segments.
    pub fn run_id(&self) -> &RunId {
        self.run.id()
    }

    /// How many events the run had: what came later is read from there.
    pub fn revision(&self) -> Revision {
        self.run.revision()
    }

    /// How many events the run had when this segment began: the first event of the segment has the next number.
    pub fn began_after(&self) -> Revision {
        self.segment.began_after
    }

    /// Why the run stopped. Nothing only when it was looked up in the store while somebody drives it.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.run.stop_reason()
    }

    /// Where the run is.
    pub fn status(&self) -> Status {
        self.run.status()
    }

    /// What the model said last, or a halting tool.
    pub fn text(&self) -> Option<String> {
        self.run.text()
    }

    /// The whole conversation.
    pub fn messages(&self) -> &[Arc<Message>] {
        self.run.messages()
    }

    /// The messages that this segment added after the input.
    pub fn new_messages(&self) -> &[Arc<Message>] {
        self.run.messages().get(self.segment.messages_before..).unwrap_or_default()
    }

    /// How many turns the run had, resumes included.
    pub fn turns(&self) -> u32 {
        self.run.turn().0
    }

    /// What the whole run cost.
    pub fn usage(&self) -> Usage {
        self.run.usage()
    }

    /// What each turn cost.
    pub fn usage_per_turn(&self) -> &[Usage] {
        self.run.usage_per_turn()
    }

    /// Every call of the run in order, with its requested and its executed name.
    pub fn records(&self) -> Vec<CallRecord> {
        self.run.records()
    }

    /// How often the model was called in the whole run.
    pub fn model_calls(&self) -> u32 {
        self.run.model_calls()
    }

    /// How often a tool was executed in the whole run.
    pub fn tool_executions(&self) -> u32 {
        self.run.tool_executions()
    }

    /// How long this segment took.
    pub fn durations(&self) -> Durations {
        self.segment.durations
    }

    /// Whether people must answer.
    pub fn is_awaiting_confirmation(&self) -> bool {
        self.run.pause_reason() == Some(PauseReason::AwaitingToolConfirmation)
    }

    /// Whether results must come.
    pub fn is_awaiting_results(&self) -> bool {
        self.run.pause_reason() == Some(PauseReason::AwaitingToolResults)
    }

    /// What is pending, in call order: questions at a confirmation, calls that were handed out otherwise.
    pub fn pending(&self) -> Vec<Pending> {
        pending(&self.run)
    }

    /// The questions, if people must answer.
    pub fn pending_confirmations(&self) -> Vec<Pending> {
        if self.is_awaiting_confirmation() { self.pending() } else { Vec::new() }
    }

    /// The calls that were handed out, if results must come.
    pub fn pending_executions(&self) -> Vec<Pending> {
        if self.is_awaiting_results() { self.pending() } else { Vec::new() }
    }

    /// What resumes the run, if it is paused.
    pub fn continuation(&self) -> Option<Continuation> {
        self.run.continuation().map(|id| Continuation {
            id,
            run: Arc::clone(&self.run),
            carried: self.carried.clone(),
            trust: Trust::Signed,
        })
    }

    /// The run itself, for the other crates of this workspace.
    #[doc(hidden)]
    pub fn run(&self) -> &Arc<Run> {
        &self.run
    }
}

/// A paused run, to be resumed once. Treat it as opaque; hold it, or export it with `Runner::export`.
#[derive(Clone, Debug)]
pub struct Continuation {
    id: ContinuationId,
    run: Arc<Run>,
    carried: Carried,
    /// What this process made counts as signed: nobody else had it.
    trust: Trust,
}

impl Continuation {
    /// From a payload that was read and checked.
    pub(crate) fn loaded(loaded: continuation::Loaded) -> Self {
        let run = imported_run(loaded.run_id, Arc::new(loaded.snapshot));
        let context = loaded.context.by(run.actor().clone());
        Self {
            id: loaded.continuation_id,
            run: Arc::new(run),
            carried: Carried { context: Arc::new(context), extra: Arc::new(loaded.extra) },
            trust: loaded.trust,
        }
    }

    /// Its id: new at each pause.
    pub fn id(&self) -> &ContinuationId {
        &self.id
    }

    /// The continuation from which it came.
    pub fn parent_id(&self) -> Option<ContinuationId> {
        self.run.parent_continuation()
    }

    /// The turn's batch: the same over all partial resumes.
    pub fn batch_id(&self) -> BatchId {
        self.run.batch()
    }

    /// The run.
    pub fn run_id(&self) -> &RunId {
        self.run.id()
    }

    /// What it waits for.
    pub fn reason(&self) -> PauseReason {
        self.run.pause_reason().unwrap_or(PauseReason::AwaitingToolConfirmation)
    }

    /// What is pending.
    pub fn pending(&self) -> Vec<Pending> {
        pending(&self.run)
    }

    /// The run as it was when it paused, for the other crates of this workspace.
    #[doc(hidden)]
    pub fn run(&self) -> &Arc<Run> {
        &self.run
    }

    /// The context that the run had.
    pub fn context(&self) -> &Arc<Context> {
        &self.carried.context
    }

    pub(crate) fn extra(&self) -> &Arc<Attributes> {
        &self.carried.extra
    }

    pub(crate) fn trust(&self) -> Trust {
        self.trust
    }
}
