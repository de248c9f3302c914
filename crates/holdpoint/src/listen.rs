//! Tells everybody who listens what became durable: streams, callbacks, instruments.

use std::collections::HashSet;
use std::sync::Arc;

use holdpoint_codec::arguments_summary;
use holdpoint_core::{
    Answer, Call, CallAnswered, CallIndex, Completeness, Decision, Event, Message, MessageCompleted, PauseReason,
    Role, Run, Settlement, Stage, ToolMessage,
};
use holdpoint_model::{Delta, DeltaSink};
use serde_json::{Map, Value};

use crate::instrument::fields;
use crate::parts::Parts;
use crate::stream::{DurableEvent, StreamEvent, StreamSender};

/// Those who listen to one segment of a run.
pub(crate) struct Listeners {
    parts: Arc<Parts>,
    stream: Option<StreamSender>,
    shown: HashSet<CallIndex>,
    /// The run as far as it was told; nobody keeps it when nobody listens.
    told: Option<Run>,
}

impl Listeners {
    pub(crate) fn new(parts: Arc<Parts>, stream: Option<StreamSender>, run: &Run) -> Self {
        let listened = stream.is_some() || parts.callbacks.listen() || parts.instruments.listens();
        Self { parts, stream, shown: HashSet::new(), told: listened.then(|| run.clone()) }
    }

    /// These events are durable. Each is told with the run as it was right after it.
    pub(crate) fn durable(&mut self, events: &[Event]) {
        let Some(mut run) = self.told.take() else { return };
        for event in events {
            run.apply(event);
            if let Some(stream) = &self.stream {
                stream.send(StreamEvent::Durable(DurableEvent::new(event, &run)));
            }
            self.call_back(event, &run);
            self.note(event, &run);
        }
        self.told = Some(run);
    }

    pub(crate) fn model_called(&self) {
        self.parts.callbacks.on_new_message(Role::Assistant);
    }

    pub(crate) fn stream(&self) -> Option<&StreamSender> {
        self.stream.as_ref()
    }

    fn call_back(&mut self, event: &Event, run: &Run) {
        let callbacks = &self.parts.callbacks;
        match event {
            Event::MessageCompleted(completed) => {
                self.shown.clear();
                callbacks.on_end_message(&completed.message);
            }
            Event::ToolStarted { call, .. } => {
                callbacks.on_new_message(Role::Tool);
                let started = || run.call(*call).map(|call| crate::StartedCall { call: call.clone() });
                callbacks.on_tool_call(started);
            }
            Event::ToolEnded { call: index, settlement } => {
                let Some(call) = run.call(*index) else { return };
                let ended = || crate::EndedCall { call: call.clone(), settlement: settlement.clone() };
                callbacks.on_tool_result(|| Some(ended()));
                callbacks.on_end_message(&tool_message(call, settlement));
                self.shown.insert(*index);
            }
            Event::TurnEnded { completeness: Completeness::Complete, .. } => self.call_back_unexecuted(run),
            _ => {}
        }
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
                instruments.note("holdpoint.tool.authorize", || authorize_fields(run, *call, (stage, decision)));
            }
            Event::CallAnswered(answered) => self.note_answered(answered, run),
            Event::CallDeferred { call, .. } => {
                instruments.note("holdpoint.tool.task.deferred", || task_fields(run, *call));
            }
            Event::ToolEnded { call, settlement } => {
                instruments.note("holdpoint.tool.execute", || execute_fields(run, *call, settlement));
            }
            Event::Paused { reason } => instruments.note("holdpoint.pause", || pause_fields(run, *reason)),
            Event::Resumed { pause, reason } => instruments.note("holdpoint.resume", || {
                let id = holdpoint_core::ContinuationId { run: run.id().clone(), pause: *pause };
                fields! {
                    run_id: run.id().as_str(), paused_turn_number: run.turn().0, pause_reason: reason.as_str(),
                    continuation_id: id.to_string(), resumed: true,
                }
            }),
            Event::Finished { stop } => {
                instruments.note("holdpoint.run", || fields! { run_id: run.id().as_str(), stop_reason: stop.as_str() });
            }
            _ => {}
        }
    }

    fn note_message(&self, completed: &MessageCompleted, run: &Run) {
        self.parts.instruments.note("holdpoint.llm.call", || {
            fields! {
                run_id: run.id().as_str(), turn_number: run.turn().0, model: run.model().map(|model| model.to_string()),
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
        let (outcome, reason) = match &answered.answer {
            Answer::Approve | Answer::ApproveEdited(_) => ("allow", None),
            Answer::Refuse { reason } => ("deny", reason.as_deref()),
            Answer::Supply(_) => ("answer", None),
            Answer::Happened(_) => ("happened", None),
        };
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

fn tool_message(call: &Call, settlement: &Settlement) -> Message {
    Message::Tool(ToolMessage {
        call: call.id.clone(),
        provider_id: call.provider_id.clone(),
        result: Arc::clone(&settlement.result),
    })
}

fn call_fields(run: &Run, call: &Call) -> Map<String, Value> {
    fields! {
        run_id: run.id().as_str(), tool_call_id: call.id.as_str(), name: call.name.as_str(),
        executed_name: call.tool.as_ref().map(|tool| tool.name.as_str()),
        arguments_summary: call.canonical().map(arguments_summary),
    }
}

fn task_fields(run: &Run, index: CallIndex) -> Map<String, Value> {
    let Some(call) = run.call(index) else { return Map::new() };
    fields! {
        run_id: run.id().as_str(), turn_number: run.turn().0, tool_call_id: call.id.as_str(),
        name: call.name.as_str(), executed_name: call.tool.as_ref().map(|tool| tool.name.as_str()),
        executor: &*run.settings().executor.name,
    }
}

fn authorize_fields(run: &Run, index: CallIndex, (stage, decision): (&Stage, &Decision)) -> Map<String, Value> {
    let Some(call) = run.call(index) else { return Map::new() };
    let outcome = match decision {
        Decision::Allow(_) => "allow",
        Decision::Deny(_) => "deny",
        Decision::Confirm(..) => "confirm",
    };
    let mut fields = call_fields(run, call);
    fields.extend(fields! { outcome: outcome, reason: decision.ground().reason.as_deref(), stage: stage.as_str() });
    fields
}

fn execute_fields(run: &Run, index: CallIndex, settlement: &Settlement) -> Map<String, Value> {
    let Some(call) = run.call(index) else { return Map::new() };
    let blocks = &settlement.result.blocks;
    let bytes: usize = blocks.iter().map(holdpoint_core::Block::len_bytes).sum();
    let mut fields = call_fields(run, call);
    fields.extend(fields! {
        source: settlement.source.map(holdpoint_core::Source::as_str), result_error: settlement.result.is_error(),
        result_summary: format!("{} blocks, {bytes} bytes", blocks.len()),
        duration_ms: settlement.latency_us as f64 / 1000.0,
    });
    fields
}

fn pause_fields(run: &Run, reason: PauseReason) -> Map<String, Value> {
    let tally = run.tally();
    fields! {
        run_id: run.id().as_str(), turn_number: run.turn().0, pause_reason: reason.as_str(),
        continuation_id: run.continuation().map(|id| id.to_string()),
        parent_continuation_id: run.parent_continuation().map(|id| id.to_string()),
        pending_confirmations_count: tally.asked, pending_executions_count: tally.deferred,
    }
}

/// Sends the pieces of a reply to a stream; pieces of calls above the limit are not shown.
pub(crate) struct Deltas {
    pub(crate) stream: Option<StreamSender>,
    pub(crate) calls_shown_max: usize,
}

impl DeltaSink for Deltas {
    fn listens(&self) -> bool {
        self.stream.is_some()
    }

    fn take(&self, delta: Delta<'_>) {
        let Some(stream) = &self.stream else { return };
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
        stream.send(event);
    }
}
