//! Reports what became durable to streams, callbacks and instruments.

mod fields;

use std::collections::HashSet;
use std::sync::Arc;

use holdpoint_core::{
    Call, CallIndex, Code, Completeness, Event, LogEntry, Message, Outcome, Role, Run, RunId, Settlement, Source,
    ToolMessage, ToolName,
};
use holdpoint_model::{Delta, DeltaSink};

use self::fields::{
    answer_fields, authorize_fields, confirmation_fields, execute_fields, model_fields, pause_fields, resume_fields,
    task_fields,
};
use crate::events::instrument::fields;
use crate::events::stream::{DurableEvent, Live, StreamEvent, StreamSender};
use crate::parts::Parts;
use crate::{EndedCall, Happening, RunResult, StartedCall};

/// Reports one segment of a run to its stream, callbacks and instruments. An entry is observed when the run takes it, with
/// the run right after it, and reported when it is durable: no second copy of the run is kept.
pub(crate) struct Listeners {
    parts: Arc<Parts>,
    stream: Option<StreamSender>,
    run: RunId,
    /// The calls whose messages began, and those whose messages were shown.
    begun: HashSet<CallIndex>,
    shown: HashSet<CallIndex>,
    /// Reports that wait for the next commit.
    waiting: Vec<Notice>,
}

/// One report.
enum Notice {
    Event(DurableEvent),
    NewMessage(Role),
    ToolCall(StartedCall),
    ToolResult(EndedCall),
    EndMessage(Arc<Message>),
    Happening(Happening),
    Settled { tool: ToolName, outcome: Outcome, latency_us: u64 },
}

impl Listeners {
    pub(crate) fn new(parts: Arc<Parts>, stream: Option<StreamSender>, run: &Run) -> Self {
        let calls = run.calls().iter().enumerate().filter(|(_, call)| was_shown(call));
        let shown = calls.map(|(index, _)| CallIndex::from_usize(index)).collect();
        Self { parts, stream, run: run.id().clone(), begun: HashSet::new(), shown, waiting: Vec::new() }
    }

    /// The run took an entry. `run` is the run right after it.
    pub(crate) fn observe(&mut self, entry: &LogEntry, run: &Run) {
        let event = self.view(entry, run);
        self.waiting.extend(event.map(Notice::Event));
        if let Event::ToolEnded { call, settlement } = &entry.event
            && let Some(tool) = run.call(*call).and_then(|call| call.tool.as_ref())
        {
            let (outcome, latency_us) = (settlement.outcome, settlement.latency_us);
            self.waiting.push(Notice::Settled { tool: tool.name.clone(), outcome, latency_us });
        }
        self.call_back(&entry.event, run);
        if self.parts.instruments.listens() {
            self.note(&entry.event, run);
        }
    }

    /// The first commit of the segment succeeded.
    pub(crate) fn accepted(&self, run: impl FnOnce() -> RunResult) {
        if let Some(stream) = &self.stream {
            stream.accepted(run);
        }
    }

    /// Everything observed so far is durable.
    pub(crate) fn durable(&mut self) {
        let Parts { callbacks, instruments, stats, .. } = &*self.parts;
        for notice in self.waiting.drain(..) {
            match notice {
                Notice::Event(event) => {
                    if let Some(stream) = &self.stream {
                        stream.send(StreamEvent::Durable(event));
                    }
                }
                Notice::NewMessage(role) => callbacks.on_new_message(role),
                Notice::ToolCall(started) => callbacks.on_tool_call(&started),
                Notice::ToolResult(ended) => callbacks.on_tool_result(&ended),
                Notice::EndMessage(message) => callbacks.on_end_message(&message),
                Notice::Happening(happening) => instruments.note(&happening),
                Notice::Settled { tool, outcome, latency_us } => stats.add(tool, outcome, latency_us),
            }
        }
    }

    /// The event as the stream shows it; `None` without a stream. `run` is the run right after it.
    pub(crate) fn view(&self, entry: &LogEntry, run: &Run) -> Option<DurableEvent> {
        self.stream.is_some().then(|| DurableEvent::new(entry, run))
    }

    /// Another process made these events durable and discarded what was observed here. Its own callbacks and instruments
    /// have reported them; only the stream has not shown them.
    pub(crate) fn overtaken(&mut self, missed: Vec<DurableEvent>) {
        self.waiting = missed.into_iter().map(Notice::Event).collect();
        self.durable();
    }

    pub(crate) fn model_called(&self) {
        self.parts.callbacks.on_new_message(Role::Assistant);
    }

    /// The listeners of transient events.
    pub(crate) fn live(&self) -> Option<Live> {
        let hub = self.parts.deltas.clone().map(|hub| (hub, self.run.clone()));
        Live::new(self.stream.clone(), hub)
    }

    fn call_back(&mut self, event: &Event, run: &Run) {
        match event {
            Event::MessageCompleted(completed) => {
                self.begun.clear();
                self.shown.clear();
                self.end_message(|| Arc::clone(&completed.message));
            }
            Event::ToolStarted { call, .. } => self.begin(*call, run),
            Event::ToolEnded { call: index, settlement } => {
                let Some(call) = run.call(*index) else { return };
                if settlement.source == Some(Source::External) {
                    self.new_message(Role::Tool);
                } else if !self.begun.contains(index) {
                    // A hook answered in the tool's place.
                    self.begin(*index, run);
                }
                if self.parts.callbacks.tool_result.is_some() {
                    let (call, settlement) = (call.record(run.turn(), *index), settlement.clone());
                    self.waiting.push(Notice::ToolResult(EndedCall { call, settlement }));
                }
                self.end_message(|| tool_message(call, settlement));
                self.shown.insert(*index);
            }
            Event::TurnEnded { completeness: Completeness::Complete, .. } => self.call_back_unexecuted(run),
            _ => {}
        }
    }

    fn begin(&mut self, index: CallIndex, run: &Run) {
        // A call that is started again has begun its message before.
        if self.begun.insert(index) {
            self.new_message(Role::Tool);
        }
        if self.parts.callbacks.tool_call.is_some()
            && let Some(call) = run.call(index)
        {
            let arguments = call.canonical().cloned();
            self.waiting.push(Notice::ToolCall(StartedCall { call: call.record(run.turn(), index), arguments }));
        }
    }

    /// Calls that never ran have messages too.
    fn call_back_unexecuted(&mut self, run: &Run) {
        for (index, call) in run.calls().iter().enumerate() {
            if self.shown.contains(&CallIndex::from_usize(index)) {
                continue;
            }
            if let Some(settlement) = call.settlement() {
                self.new_message(Role::Tool);
                self.end_message(|| tool_message(call, settlement));
            }
        }
    }

    fn new_message(&mut self, role: Role) {
        if self.parts.callbacks.new_message.is_some() {
            self.waiting.push(Notice::NewMessage(role));
        }
    }

    fn end_message(&mut self, message: impl FnOnce() -> Arc<Message>) {
        if self.parts.callbacks.end_message.is_some() {
            self.waiting.push(Notice::EndMessage(message()));
        }
    }

    fn note(&mut self, event: &Event, run: &Run) {
        let mut note = |name, fields| self.waiting.push(Notice::Happening(Happening { name, fields }));
        match event {
            Event::TurnStarted { turn } => {
                note("holdpoint.turn", fields! { run_id: run.id().as_str(), turn_number: turn.0 });
            }
            Event::MessageCompleted(completed) => {
                note("holdpoint.llm.call", model_fields(run, completed));
                for index in 0..completed.calls.len() {
                    note("holdpoint.tool.task.created", task_fields(run, CallIndex::from_usize(index)));
                }
            }
            Event::CallDecided { call, stage, decision, .. } => {
                note("holdpoint.tool.authorize", authorize_fields(run, *call, stage, decision));
            }
            Event::CallAnswered(answered) => {
                if let Some(call) = run.call(answered.call) {
                    note("holdpoint.tool.confirmation", confirmation_fields(run, call, answered));
                    note("holdpoint.tool.authorize", answer_fields(run, call, answered));
                }
            }
            Event::CallDeferred { call, .. } => note("holdpoint.tool.task.deferred", task_fields(run, *call)),
            Event::ToolEnded { call, settlement } => {
                note("holdpoint.tool.execute", execute_fields(run, *call, settlement));
            }
            Event::Paused { reason } => note("holdpoint.pause", pause_fields(run, *reason)),
            Event::Resumed { pause, reason, .. } => note("holdpoint.resume", resume_fields(run, *pause, *reason)),
            Event::Done { stop } => {
                note("holdpoint.run", fields! { run_id: run.id().as_str(), stop_reason: stop.as_str() });
            }
            _ => {}
        }
    }
}

/// Whether a call's message was shown in an earlier segment: that of a call that ended is, when it ends; that of a call
/// that never ran is, when its turn ends.
fn was_shown(call: &Call) -> bool {
    let Some(settlement) = call.settlement() else { return false };
    let refused_at_once = matches!(settlement.code, Some(Code::InvalidArguments | Code::ArgumentsTooLarge));
    match settlement.source {
        Some(Source::Person) => false,
        Some(_) => true,
        None => settlement.outcome == Outcome::Failed && call.tool.is_some() && !refused_at_once,
    }
}

fn tool_message(call: &Call, settlement: &Settlement) -> Arc<Message> {
    Arc::new(Message::Tool(ToolMessage {
        call: call.id.clone(),
        provider_id: call.provider_id.clone(),
        result: Arc::clone(&settlement.result),
    }))
}

/// Sends the pieces of a reply to a stream; pieces of calls above the limit are not shown.
pub(crate) struct Deltas {
    pub(crate) live: Option<Live>,
    pub(crate) calls_shown_max: usize,
}

impl DeltaSink for Deltas {
    fn listens(&self) -> bool {
        self.live.is_some()
    }

    fn take(&self, delta: Delta<'_>) {
        let Some(live) = &self.live else { return };
        let shown = |position: usize| position < self.calls_shown_max;
        let event = match delta {
            Delta::Text(text) => StreamEvent::TextDelta(text.to_owned()),
            Delta::Thinking(text) => StreamEvent::ThinkingDelta(text.to_owned()),
            Delta::CallStarted { position, name } if shown(position) => {
                StreamEvent::ToolCallStarted { position, name: name.to_owned() }
            }
            Delta::CallArguments { position, text } if shown(position) => {
                StreamEvent::ToolCallDelta { position, text: text.to_owned() }
            }
            Delta::CallEnded { position } if shown(position) => StreamEvent::ToolCallEnded { position },
            Delta::CallStarted { .. } | Delta::CallArguments { .. } | Delta::CallEnded { .. } => return,
        };
        live.send(event);
    }
}
