//! The spans of a run, with OpenTelemetry's names for generative AI. Like happenings they hold no raw value (I8).

use holdpoint_core::{Run, Usage};
use holdpoint_model::ModelReply;
use holdpoint_tools::ToolCall;
use tracing::Span;
use tracing::field::{Empty, display};

/// What collectors list a span under: the operation, and whose it is.
fn named(operation: &str, whose: Option<&str>) -> String {
    whose.map_or_else(|| operation.to_owned(), |whose| format!("{operation} {whose}"))
}

/// One segment of a run.
pub(crate) fn run(run: &Run, agent: Option<&str>) -> Span {
    tracing::info_span!(
        target: "holdpoint",
        "holdpoint.run",
        run_id = %run.id(),
        otel.name = named("invoke_agent", agent),
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.name = agent,
    )
}

/// One turn, as far as this segment works on it.
pub(crate) fn turn(run: &Run) -> Span {
    tracing::info_span!(target: "holdpoint", "holdpoint.turn", run_id = %run.id(), turn_number = run.turn().0)
}

/// One call of the model.
pub(crate) fn llm_call(run: &Run) -> Span {
    tracing::info_span!(
        target: "holdpoint",
        "holdpoint.llm.call",
        run_id = %run.id(),
        turn_number = run.turn().0,
        otel.name = named("chat", run.model().map(|model| &**model)),
        gen_ai.operation.name = "chat",
        gen_ai.request.model = run.model().map(|model| &**model),
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.response.finish_reasons = Empty,
    )
}

/// Adds to the span of a model's call what the model gave.
pub(crate) fn record_reply(span: &Span, reply: &ModelReply) {
    let Usage { input, output, .. } = reply.usage;
    span.record("gen_ai.usage.input_tokens", input).record("gen_ai.usage.output_tokens", output);
    if let Some(stop) = &reply.stop {
        span.record("gen_ai.response.finish_reasons", display(stop.as_str()));
    }
}

/// One execution, its hooks included. Executors may poll it anywhere, so its parent is named.
pub(crate) fn tool_execute(parent: &Span, call: &ToolCall) -> Span {
    let (id, tool) = (call.id(), call.tool());
    tracing::info_span!(
        target: "holdpoint",
        parent: parent,
        "holdpoint.tool.execute",
        run_id = call.key().run.as_str(),
        tool_call_id = %id,
        executed_name = %tool,
        otel.name = named("execute_tool", Some(tool.as_str())),
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = %tool,
        gen_ai.tool.call.id = %id,
    )
}
