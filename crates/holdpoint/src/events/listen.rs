//! Tells everybody who listens what became durable: streams, callbacks, instruments.

mod fields;

use std::collections::HashSet;
use std::sync::Arc;

use holdpoint_core::{
    Call, CallAnswered, CallIndex, Code, Completeness, Event, LogEntry, Message, MessageCompleted, Outcome, Role, Run,
    RunId, Settlement, Source, ToolMessage,
};
use holdpoint_model::{Delta, DeltaSink};

use self::fields::{authorize_fields, call_fields, execute_fields, pause_fields, task_fields};
use crate::RunResult;
use crate::events::instrument::fields;
use crate::events::stream::{DurableEvent, Live, StreamEvent, StreamSender};
use crate::parts::Parts;

/// Those who listen to one segment of a run.
pub(crate) struct Listeners {
    parts: Arc<Parts>,
    stream: Option<StreamSender>,
    run: RunId,
    /// The calls whose messages began, and those whose messages were shown.
    begun: HashSet<CallIndex>,
    shown: HashSet<CallIndex>,
    /// The run as far as it was told; nobody keeps it when nobody listens.
    told: Option<Run>,
}

impl Listeners {
    pub(crate) fn new(parts: Arc<Parts>, stream: Option<StreamSender>, run: &Run) -> Self {
        let listened = stream.is_some() || parts.callbacks.listen() || parts.instruments.listens();
        let calls = run.calls().iter().enumerate().filter(|(_, call)| was_shown(call));
        let shown = calls.map(|(index, _)| CallIndex::from_usize(index)).collect();
        let told = listened.then(|| run.clone());
        Self { parts, stream, run: run.id().clone(), begun: HashSet::new(), shown, told }
    }

    /// Somebody else made these events durable. They told the callbacks and instruments of their process; whoever
    /// streams the run from here is told here.
    pub(crate) fn overtaken(&mut self, log: &[LogEntry]) {
        let (Some(stream), Some(run)) = (&self.stream, &mut self.told) else { return };
        for entry in log {
            run.apply(entry);
            stream.send(StreamEvent::Durable(DurableEvent::new(entry, run)));
        }
    }

    /// The first commit of the segment succeeded.
    pub(crate) fn accepted(&self, run: impl FnOnce() -> RunResult) {
        if let Some(stream) = &self.stream {
            stream.accepted(run);
        }
    }

    /// These events are durable. Each is told with the run as it was right after it.
    pub(crate) fn durable(&mut self, log: &[LogEntry]) {
        let Some(mut run) = self.told.take() else { return };
        for entry in log {
            run.apply(entry);
            if let Some(stream) = &self.stream {
                stream.send(StreamEvent::Durable(DurableEvent::new(entry, &run)));
            }
            self.call_back(&entry.event, &run);
            self.note(&entry.event, &run);
        }
        self.told = Some(run);
    }

    pub(crate) fn model_called(&self) {
        self.parts.callbacks.on_new_message(Role::Assistant);
    }

    /// Where what is not durable goes.
    pub(crate) fn live(&self) -> Option<Live> {
        let hub = self.parts.deltas.clone().map(|hub| (hub, self.run.clone()));
        Live::new(self.stream.clone(), hub)
    }

    fn call_back(&mut self, event: &Event, run: &Run) {
        let callbacks = &self.parts.callbacks;
        match event {
            Event::MessageCompleted(completed) => {
                self.begun.clear();
                self.shown.clear();
                callbacks.on_end_message(&completed.message);
            }
            Event::ToolStarted { call, .. } => self.begin(*call, run),
            Event::ToolEnded { call: index, settlement } => {
                let Some(call) = run.call(*index) else { return };
                if settlement.source == Some(Source::External) {
                    callbacks.on_new_message(Role::Tool);
                } else if !self.begun.contains(index) {
                    // A hook answered in the tool's place.
                    self.begin(*index, run);
                }
                let ended =
                    || crate::EndedCall { call: call.record(run.turn(), *index), settlement: settlement.clone() };
                let callbacks = &self.parts.callbacks;
                callbacks.on_tool_result(|| Some(ended()));
                callbacks.on_end_message(&tool_message(call, settlement));
                self.shown.insert(*index);
            }
            Event::TurnEnded { completeness: Completeness::Complete, .. } => self.call_back_unexecuted(run),
            _ => {}
        }
    }

    fn begin(&mut self, index: CallIndex, run: &Run) {
        // A call that is started again has begun its message before.
        if self.begun.insert(index) {
            self.parts.callbacks.on_new_message(Role::Tool);
        }
        self.parts.callbacks.on_tool_call(|| {
            let call = run.call(index)?;
            let arguments = call.canonical().cloned();
            Some(crate::StartedCall { call: call.record(run.turn(), index), arguments })
        });
    }

    /// Calls that never ran have messages too.
    fn call_back_unexecuted(&self, run: &Run) {
        let calls = run.calls().iter().enumerate();
        for (index, call) in calls {
            if self.shown.contains(&CallIndex::from_usize(index)) {
                continue;
            }
            if let Some(settlement) = call.settlement() {
                self.parts.callbacks.on_new_message(Role::Tool);
                self.parts.callbacks.on_end_message(&tool_message(call, settlement));
            }
        }
    }

    fn note(&self, event: &Event, run: &Run) {
        let instruments = &self.parts.instruments;
        if !instruments.listens() {
            return;
        }
        match event {
            Event::TurnStarted { turn } => {
                instruments.note("holdpoint.turn", || fields! { run_id: run.id().as_str(), turn_number: turn.0 });
            }
            Event::MessageCompleted(completed) => self.note_message(completed, run),
            Event::CallDecided { call, stage, decision, .. } => {
                instruments.note("holdpoint.tool.authorize", || authorize_fields(run, *call, stage, decision));
            }
            Event::CallAnswered(answered) => self.note_answered(answered, run),
            Event::CallDeferred { call, .. } => {
                instruments.note("holdpoint.tool.task.deferred", || task_fields(run, *call));
            }
            Event::ToolEnded { call, settlement } => {
                instruments.note("holdpoint.tool.execute", || execute_fields(run, *call, settlement));
            }
            Event::Paused { reason } => instruments.note("holdpoint.pause", || pause_fields(run, *reason)),
            Event::Resumed { pause, reason, .. } => instruments.note("holdpoint.resume", || {
                let id = holdpoint_core::ContinuationId { run: run.id().clone(), pause: *pause };
                fields! {
                    run_id: run.id().as_str(), paused_turn_number: run.turn().0, pause_reason: reason.as_str(),
                    continuation_id: id.to_string(), resumed: true,
                }
            }),
            Event::Done { stop } => {
                instruments.note("holdpoint.run", || fields! { run_id: run.id().as_str(), stop_reason: stop.as_str() });
            }
            _ => {}
        }
    }

    fn note_message(&self, completed: &MessageCompleted, run: &Run) {
        self.parts.instruments.note("holdpoint.llm.call", || {
            fields! {
                run_id: run.id().as_str(), turn_number: run.turn().0, model: run.model().map(|model| &**model),
                input_tokens: completed.usage.input, output_tokens: completed.usage.output,
                stop_reason: completed.stop.as_str(), duration_ms: completed.latency_us / 1000,
            }
        });
        for index in 0..completed.calls.len() {
            let fields = || task_fields(run, CallIndex::from_usize(index));
            self.parts.instruments.note("holdpoint.tool.task.created", fields);
        }
    }

    fn note_answered(&self, answered: &CallAnswered, run: &Run) {
        let Some(call) = run.call(answered.call) else { return };
        let outcome = answered.answer.as_str();
        let reason = answered.why().map(|reason| &**reason);
        self.parts.instruments.note("holdpoint.tool.confirmation", || {
            fields! {
                run_id: run.id().as_str(), tool_call_id: call.id.as_str(), outcome: outcome,
                actor_id: answered.actor.id.as_deref(), reason: reason,
            }
        });
        self.parts.instruments.note("holdpoint.tool.authorize", || {
            let mut fields = call_fields(run, call);
            fields.extend(fields! { outcome: outcome, reason: reason, stage: "confirmation" });
            fields
        });
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

fn tool_message(call: &Call, settlement: &Settlement) -> Message {
    Message::Tool(ToolMessage {
        call: call.id.clone(),
        provider_id: call.provider_id.clone(),
        result: Arc::clone(&settlement.result),
    })
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
