//! The settings of the run.

use holdpoint_core::{ErrorDetail, Parallel, ResultOrder, Siblings};

use super::{AgentSpec, ExecutorSpec, LimitSpec};
use crate::reader::{At, Read};
use crate::yaml::NodeValue;

pub(super) fn agent(at: &At<'_>) -> Read<AgentSpec> {
    let mut fields = at.fields_or_nothing()?;
    let agent = AgentSpec {
        system_prompt: fields.optional("system_prompt", At::text_or_nothing)?.flatten(),
        max_turns: fields.optional("max_turns", At::whole_u32)?,
        executor: fields.optional("executor", executor)?,
        parallel: fields.optional("parallel", parallel)?,
        max_concurrency: fields.optional("max_concurrency", limit)?,
        tool_timeout_ms: fields.optional("tool_timeout_ms", At::whole)?,
        max_tool_output_bytes: fields.optional("max_tool_output_bytes", At::whole)?,
        max_tool_calls_per_turn: fields.optional("max_tool_calls_per_turn", At::whole_u32)?,
        siblings: fields.optional("siblings", siblings)?,
        recheck_policy: fields.optional("recheck_policy", At::flag)?,
        fix_empty_final: fields.optional("fix_empty_final", At::flag)?,
        fix_empty_final_text: fields.optional("fix_empty_final_text", At::text)?,
        fix_empty_final_disable_tools: fields.optional("fix_empty_final_disable_tools", At::flag)?,
        result_order: fields.optional("result_order", result_order)?,
        error_detail: fields.optional("error_detail", error_detail)?,
        context_window: fields.optional("context_window", At::whole)?,
        reserved_output_tokens: fields.optional("reserved_output_tokens", At::whole)?,
        context_keys: fields.optional("context_keys", At::texts)?,
    };
    fields.finish()?;
    Ok(agent)
}

/// Any name is read: whether there is such an executor is for the library to say.
fn executor(at: &At<'_>) -> Read<ExecutorSpec> {
    let NodeValue::Map(_) = &at.node.value else { return at.text().map(ExecutorSpec::Named) };
    let mut fields = at.fields()?;
    let routes = fields.required("route", |at| {
        at.entries()?.into_iter().map(|(key, at)| Ok((key.text.clone(), at.text()?))).collect()
    })?;
    fields.finish()?;
    Ok(ExecutorSpec::Route(routes))
}

fn limit(at: &At<'_>) -> Read<LimitSpec> {
    match &at.node.value {
        NodeValue::Text(text) if text == "none" => Ok(LimitSpec::None),
        NodeValue::Number(_) => at.whole_u32().map(LimitSpec::AtMost),
        _ => Err(at.problem(format!("expected a whole number or `none`, found {}", at.node.kind()))),
    }
}

fn parallel(at: &At<'_>) -> Read<Parallel> {
    at.word(&[("marked", Parallel::Marked), ("all", Parallel::All)])
}

fn siblings(at: &At<'_>) -> Read<Siblings> {
    at.word(&[("hold", Siblings::Hold), ("run", Siblings::Run)])
}

fn result_order(at: &At<'_>) -> Read<ResultOrder> {
    at.word(&[("request", ResultOrder::Request), ("completion", ResultOrder::Completion)])
}

fn error_detail(at: &At<'_>) -> Read<ErrorDetail> {
    at.word(&[("safe", ErrorDetail::Safe), ("debug", ErrorDetail::Debug)])
}
