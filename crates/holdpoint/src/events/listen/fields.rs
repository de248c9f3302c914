//! The fields of happenings: names, sizes and counts, never a raw argument or result (I8).

use holdpoint_codec::arguments_summary;
use holdpoint_core::{
    Call, CallAnswered, CallIndex, Decision, MessageCompleted, PauseNumber, PauseReason, Run, Settlement, Stage,
};
use holdpoint_tools::Executors;
use serde_json::{Map, Value};

use crate::events::instrument::fields;

fn call_fields(run: &Run, call: &Call) -> Map<String, Value> {
    fields! {
        run_id: run.id().as_str(), tool_call_id: call.id.as_str(), name: call.name.as_str(),
        executed_name: call.tool.as_ref().map(|tool| tool.name.as_str()),
        arguments_summary: call.canonical().map(arguments_summary),
    }
}

pub(super) fn task_fields(run: &Run, index: CallIndex) -> Map<String, Value> {
    let Some(call) = run.call(index) else { return Map::new() };
    let tool = call.tool.as_ref().map(|tool| tool.name.as_str());
    fields! {
        run_id: run.id().as_str(), turn_number: run.turn().0, tool_call_id: call.id.as_str(),
        name: call.name.as_str(), executed_name: tool,
        executor: tool.map(|tool| &**Executors::name_for(&run.settings().executor, tool)),
    }
}

pub(super) fn authorize_fields(run: &Run, index: CallIndex, stage: &Stage, decision: &Decision) -> Map<String, Value> {
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

pub(super) fn execute_fields(run: &Run, index: CallIndex, settlement: &Settlement) -> Map<String, Value> {
    let Some(call) = run.call(index) else { return Map::new() };
    let blocks = &settlement.result.blocks;
    let bytes: usize = blocks.iter().map(holdpoint_core::Block::len_bytes).sum();
    let mut fields = call_fields(run, call);
    fields.extend(fields! {
        source: settlement.source.map(holdpoint_core::Source::as_str), result_error: settlement.result.is_error(),
        result_summary: format!("{} blocks, {bytes} bytes", blocks.len()),
        duration_ms: settlement.latency_us as f64 / 1000.0,
    });
    if let Some(tenant) = &run.actor().tenant {
        fields.insert("tenant".to_owned(), (**tenant).into());
    }
    fields
}

pub(super) fn pause_fields(run: &Run, reason: PauseReason) -> Map<String, Value> {
    let tally = run.tally();
    fields! {
        run_id: run.id().as_str(), turn_number: run.turn().0, pause_reason: reason.as_str(),
        continuation_id: run.continuation().map(|id| id.to_string()),
        parent_continuation_id: run.parent_continuation().map(|id| id.to_string()),
        pending_confirmations_count: tally.asked, pending_executions_count: tally.deferred,
    }
}

pub(super) fn resume_fields(run: &Run, pause: PauseNumber, reason: PauseReason) -> Map<String, Value> {
    fields! {
        run_id: run.id().as_str(), paused_turn_number: run.turn().0, pause_reason: reason.as_str(),
        continuation_id: run.continuation_at(pause).to_string(), resumed: true,
    }
}

pub(super) fn model_fields(run: &Run, completed: &MessageCompleted) -> Map<String, Value> {
    fields! {
        run_id: run.id().as_str(), turn_number: run.turn().0, model: run.model().map(|model| &**model),
        input_tokens: completed.usage.input, output_tokens: completed.usage.output,
        stop_reason: completed.stop.as_str(), duration_ms: completed.latency_us / 1000,
    }
}

pub(super) fn confirmation_fields(run: &Run, call: &Call, answered: &CallAnswered) -> Map<String, Value> {
    fields! {
        run_id: run.id().as_str(), tool_call_id: call.id.as_str(), outcome: answered.answer.as_str(),
        actor_id: answered.actor.id.as_deref(), reason: answered.why().map(|reason| &**reason),
    }
}

pub(super) fn answer_fields(run: &Run, call: &Call, answered: &CallAnswered) -> Map<String, Value> {
    let mut fields = call_fields(run, call);
    fields.extend(fields! {
        outcome: answered.answer.as_str(), reason: answered.why().map(|reason| &**reason), stage: "confirmation",
    });
    fields
}
