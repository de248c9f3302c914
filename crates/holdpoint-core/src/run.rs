//! The state of a run: what the log amounts to.

use std::fmt;
use std::sync::Arc;

use crate::input::{self, Usage};
use crate::{
    Actor, Attributes, BatchId, Call, CallIndex, CallRecord, CallState, ContinuationId, Edited, Epoch, Event, Failure,
    Input, LogEntry, Message, ModelStop, Outcome, PauseNumber, PauseReason, QuestionDigest, Rejection, Revision, RunId,
    Settings, Siblings, Status, StopReason, Tally, Timestamp, Turn,
};

/// A run. Made empty, then told what happened.
#[derive(Clone, Debug)]
pub struct Run {
    pub(crate) id: RunId,
    pub(crate) digests: Digests,
    pub(crate) revision: Revision,
    pub(crate) epoch: Epoch,
    pub(crate) settings: Arc<Settings>,
    pub(crate) context: Attributes,
    pub(crate) agent: Option<Arc<str>>,
    pub(crate) model: Option<Arc<str>>,
    pub(crate) actor: Actor,
    pub(crate) session: Option<Arc<str>>,
    pub(crate) trace: Option<Arc<str>>,
    pub(crate) created_at: Timestamp,
    pub(crate) messages: Vec<Arc<Message>>,
    pub(crate) history_len: u32,
    pub(crate) turn: Turn,
    pub(crate) calls: Vec<Call>,
    pub(crate) ignored: Vec<CallRecord>,
    pub(crate) completion: Vec<CallIndex>,
    pub(crate) past: Vec<CallRecord>,
    pub(crate) edited: Vec<Edited>,
    pub(crate) grants: u32,
    pub(crate) tally: Tally,
    pub(crate) usage: Vec<Usage>,
    pub(crate) model_calls: u32,
    pub(crate) tool_executions: u32,
    pub(crate) pauses: PauseNumber,
    pub(crate) parent: Option<PauseNumber>,
    pub(crate) final_asked: bool,
    pub(crate) calls_seen: bool,
    pub(crate) last_stop: ModelStop,
    pub(crate) stopping: Option<Arc<str>>,
    pub(crate) phase: Phase,
}

/// Makes the digests of questions. `Debug` shows nothing: where the function is says nothing about the run.
#[derive(Clone, Copy)]
pub(crate) struct Digests(pub(crate) QuestionDigest);

impl fmt::Debug for Digests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digests")
    }
}

/// What a run is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing yet.
    New,
    /// A turn is over or none has begun: the next one, or the end, is to be decided.
    Between,
    /// Working on the current turn.
    Working(Work),
    /// Waiting for people or results; nobody holds anything.
    Paused(PauseReason),
    /// Failed; a retry takes the work up again.
    Failed(Failure, Work),
    /// Over.
    Ended(StopReason),
}

/// What a turn needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A reply of the model.
    Model,
    /// Its calls settled.
    Calls,
}

impl Run {
    /// A run that nothing happened to. `digests` makes the digests of its questions.
    pub fn new(id: RunId, digests: QuestionDigest) -> Self {
        Self {
            id,
            digests: Digests(digests),
            revision: Revision(0),
            epoch: Epoch(0),
            settings: Arc::new(Settings::default()),
            context: Attributes::new(),
            agent: None,
            model: None,
            actor: Actor::default(),
            session: None,
            trace: None,
            created_at: Timestamp(0),
            messages: Vec::new(),
            history_len: 0,
            turn: Turn(0),
            calls: Vec::new(),
            ignored: Vec::new(),
            completion: Vec::new(),
            past: Vec::new(),
            edited: Vec::new(),
            grants: 0,
            tally: Tally::default(),
            usage: Vec::new(),
            model_calls: 0,
            tool_executions: 0,
            pauses: PauseNumber(0),
            parent: None,
            final_asked: false,
            calls_seen: false,
            last_stop: ModelStop::EndTurn,
            stopping: None,
            phase: Phase::New,
        }
    }

    /// Decides what an input leads to, without what follows from that by itself. Changes nothing.
    ///
    /// # Errors
    /// When the input cannot be accepted.
    pub fn handle(&self, input: Input, now: Timestamp) -> Result<Vec<Event>, Rejection> {
        input::decide(self, input, now)
    }

    /// Handles an input, applies what it leads to and everything that follows by itself, and returns all of it.
    ///
    /// # Errors
    /// When the input cannot be accepted; then nothing changed.
    pub fn step(&mut self, input: Input, now: Timestamp) -> Result<Vec<LogEntry>, Rejection> {
        self.step_observed(input, now, |_, _| {})
    }

    /// As [`Run::step`]; `observe` gets each entry with the run right after it.
    ///
    /// # Errors
    /// When the input cannot be accepted; then nothing changed.
    pub fn step_observed(
        &mut self,
        input: Input,
        now: Timestamp,
        mut observe: impl FnMut(&LogEntry, &Run),
    ) -> Result<Vec<LogEntry>, Rejection> {
        let mut events = self.handle(input, now)?;
        let mut log = Vec::with_capacity(events.len());
        while !events.is_empty() {
            for event in events {
                let entry = LogEntry { at: now, event };
                self.apply(&entry);
                observe(&entry, self);
                log.push(entry);
            }
            events = self.follow();
        }
        Ok(log)
    }

    /// The run's id.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// How many events were applied.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// How many processes owned it before.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Its settings.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// Stored context attributes.
    pub fn context(&self) -> &Attributes {
        &self.context
    }

    /// The agent's name.
    pub fn agent(&self) -> Option<&Arc<str>> {
        self.agent.as_ref()
    }

    /// The model's name.
    pub fn model(&self) -> Option<&Arc<str>> {
        self.model.as_ref()
    }

    /// Who started it.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// The session that it belongs to.
    pub fn session(&self) -> Option<&Arc<str>> {
        self.session.as_ref()
    }

    /// The trace of whoever started it, as W3C `traceparent`: for spans, never for the model.
    pub fn trace(&self) -> Option<&Arc<str>> {
        self.trace.as_ref()
    }

    /// When it was started.
    pub fn created_at(&self) -> Timestamp {
        self.created_at
    }

    /// The conversation so far.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// How many messages it started with, its input included.
    pub fn history_len(&self) -> u32 {
        self.history_len
    }

    /// The current turn, or the last one.
    pub fn turn(&self) -> Turn {
        self.turn
    }

    /// The calls of the current turn.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// One call of the current turn.
    pub fn call(&self, index: CallIndex) -> Option<&Call> {
        self.calls.get(index.as_usize())
    }

    /// What remains of the calls of earlier turns, in order.
    pub fn past(&self) -> &[CallRecord] {
        &self.past
    }

    /// How many calls of the current turn are in which state.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// What it is doing.
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// What each turn cost.
    pub fn usage_per_turn(&self) -> &[Usage] {
        &self.usage
    }

    /// What the whole run cost.
    pub fn usage(&self) -> Usage {
        self.usage.iter().fold(Usage::default(), |sum, turn| sum + *turn)
    }

    /// Whether the model has asked for a call in this run.
    pub fn calls_seen(&self) -> bool {
        self.calls_seen
    }

    /// How often the model was called.
    pub fn model_calls(&self) -> u32 {
        self.model_calls
    }

    /// How often a tool was executed, here or outside.
    pub fn tool_executions(&self) -> u32 {
        self.tool_executions
    }

    /// Every call of the run, in order.
    pub fn records(&self) -> Vec<CallRecord> {
        let now = self.calls.iter().enumerate();
        let now = now.map(|(index, call)| call.record(self.turn, CallIndex::from_usize(index)));
        self.past.iter().cloned().chain(now).chain(self.ignored.iter().cloned()).collect()
    }

    /// Where it is, as lists show it.
    pub fn status(&self) -> Status {
        match &self.phase {
            Phase::New | Phase::Between | Phase::Working(_) => Status::Running,
            Phase::Paused(PauseReason::AwaitingToolConfirmation) => Status::AwaitingToolConfirmation,
            Phase::Paused(PauseReason::AwaitingToolResults) => Status::AwaitingToolResults,
            Phase::Failed(..) => Status::Failed,
            Phase::Ended(StopReason::Cancelled) => Status::Cancelled,
            Phase::Ended(_) => Status::Finished,
        }
    }

    /// Why it does not go on, unless it does.
    pub fn stop_reason(&self) -> Option<StopReason> {
        match &self.phase {
            Phase::New | Phase::Between | Phase::Working(_) => None,
            Phase::Paused(PauseReason::AwaitingToolConfirmation) => Some(StopReason::AwaitingToolConfirmation),
            Phase::Paused(PauseReason::AwaitingToolResults) => Some(StopReason::AwaitingToolResults),
            Phase::Failed(failure, _) => Some(StopReason::Failed(*failure)),
            Phase::Ended(stop) => Some(stop.clone()),
        }
    }

    /// The current pause, if it is paused.
    pub fn pause_reason(&self) -> Option<PauseReason> {
        match &self.phase {
            Phase::Paused(reason) => Some(*reason),
            _ => None,
        }
    }

    /// The continuation that would resume it.
    pub fn continuation(&self) -> Option<ContinuationId> {
        self.pause_reason().map(|_| self.continuation_at(self.pauses))
    }

    /// How often it paused.
    pub fn pauses(&self) -> PauseNumber {
        self.pauses
    }

    /// The continuation from which the current one came.
    pub fn parent_continuation(&self) -> Option<ContinuationId> {
        self.parent.map(|pause| self.continuation_at(pause))
    }

    /// The batch of the current turn.
    pub fn batch(&self) -> BatchId {
        BatchId { run: self.id.clone(), turn: self.turn }
    }

    /// One of its pauses.
    pub fn continuation_at(&self, pause: PauseNumber) -> ContinuationId {
        ContinuationId { run: self.id.clone(), pause }
    }

    /// The earliest deadline of an open question or of a call that was handed out.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.calls.iter().filter_map(Call::deadline).min()
    }

    /// The calls of the current turn that somebody outside must do, in order.
    pub fn deferred(&self) -> impl Iterator<Item = (CallIndex, &Call)> {
        let calls = self.calls.iter().enumerate().map(|(index, call)| (CallIndex::from_usize(index), call));
        calls.filter(|(_, call)| matches!(call.state, CallState::Deferred { .. }))
    }

    /// Whether a call may start now: it is ready and nothing holds it.
    pub fn is_executable(&self, call: &Call) -> bool {
        matches!(call.state, CallState::Ready) && self.stopping.is_none() && !self.is_held(call)
    }

    /// Whether this attempt of a call is the one that runs.
    pub(crate) fn is_running(&self, index: CallIndex, wanted: crate::Attempt) -> bool {
        let state = self.call(index).map(|call| &call.state);
        matches!(state, Some(CallState::Running { attempt, .. }) if *attempt == wanted)
    }

    fn is_held(&self, call: &Call) -> bool {
        // What policy has not decided may become a question that holds the turn.
        if self.tally.proposed > 0 {
            return true;
        }
        if self.tally.asked == 0 {
            return false;
        }
        match self.settings.siblings {
            Siblings::Hold => true,
            Siblings::Run => call.asked != crate::Asked::No,
        }
    }

    /// How many calls may start now.
    pub(crate) fn executable_count(&self) -> u32 {
        if self.stopping.is_some() || self.tally.proposed > 0 {
            return 0;
        }
        match (self.tally.asked, self.settings.siblings) {
            (0, _) => self.tally.ready_allowed + self.tally.ready_approved,
            (_, Siblings::Hold) => 0,
            (_, Siblings::Run) => self.tally.ready_allowed,
        }
    }

    /// The text of the run: of the last halt, or what the model said last.
    pub fn text(&self) -> Option<String> {
        if self.phase == Phase::Ended(StopReason::Halted) {
            return self.halt_text();
        }
        let own = self.messages.get(self.history_len as usize..).unwrap_or_default();
        let mut said = own.iter().rev().filter_map(|message| match &**message {
            Message::Assistant(message) => Some(&*message.text),
            Message::System(_) | Message::User(_) | Message::Tool(_) => None,
        });
        let text = match self.phase {
            Phase::Ended(StopReason::Model(_)) => said.next().filter(|text| !text.trim().is_empty()),
            _ => said.find(|text| !text.trim().is_empty()),
        };
        text.map(str::to_owned)
    }

    fn halt_text(&self) -> Option<String> {
        let halted = self.calls.iter().rev().filter_map(Call::settlement);
        let mut halted = halted.filter(|settlement| settlement.outcome == Outcome::Halted);
        halted.next().map(|settlement| settlement.result.text())
    }
}
