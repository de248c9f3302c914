//! The top level of a scenario: tools and the model's script.

use holdpoint_core::Repeat;

use super::{
    CallSpec, Does, Ending, ModelEntry, Piece, SaySpec, Scenario, ToolSpec, read_agent, read_hooks, read_rules,
    read_steps,
};
use crate::reader::{At, Fields, Read};
use crate::yaml::NodeValue;

pub(super) fn scenario(at: &At<'_>) -> Read<Scenario> {
    let mut fields = at.fields()?;
    let scenario = Scenario {
        name: fields.required("name", At::text)?,
        agent: fields.optional("agent", read_agent::agent)?.unwrap_or_default(),
        tools: fields.optional("tools", tools)?.unwrap_or_default(),
        policy: fields.optional("policy", read_rules::policy)?.unwrap_or_default(),
        hooks: fields.optional("hooks", read_hooks::hooks)?.unwrap_or_default(),
        model: fields.optional("model", model)?.unwrap_or_default(),
        steps: fields.required("steps", read_steps::steps)?,
    };
    fields.finish()?;
    Ok(scenario)
}

pub(super) fn tools(at: &At<'_>) -> Read<Vec<ToolSpec>> {
    at.entries()?.into_iter().map(|(key, at)| tool(&key.text, key.line, &at)).collect()
}

fn tool(name: &str, line: u64, at: &At<'_>) -> Read<ToolSpec> {
    let words = [("never", Repeat::Never), ("safe", Repeat::Safe), ("with_key", Repeat::WithKey)];
    let mut fields = at.fields_or_nothing()?;
    let tool = ToolSpec {
        name: name.to_owned(),
        line,
        description: fields.optional("description", At::text)?.unwrap_or_default(),
        parameters: fields.optional("parameters", |at| Ok(at.node.to_value()))?,
        parallelizable: fields.optional("parallelizable", At::flag)?,
        repeat: fields.optional("repeat", |at| at.word(&words))?.unwrap_or_default(),
        timeout_ms: fields.optional("timeout_ms", At::whole)?,
        does: fields.optional("does", does_list)?.unwrap_or_else(|| vec![Does::default()]),
    };
    fields.finish()?;
    Ok(tool)
}

fn does_list(at: &At<'_>) -> Read<Vec<Does>> {
    match &at.node.value {
        NodeValue::List(items) if items.is_empty() => Err(at.problem("the list is empty")),
        NodeValue::List(_) => at.list()?.iter().map(does).collect(),
        _ => Ok(vec![does(at)?]),
    }
}

fn does(at: &At<'_>) -> Read<Does> {
    let mut fields = at.fields_or_nothing()?;
    let sleep_ms = fields.optional("sleep_ms", At::whole)?.unwrap_or(0);
    let fail = fields.optional("fail", At::text)?.map(Ending::Fail);
    let panic = fields.optional("panic", At::text)?.map(Ending::Panic);
    let halt = fields.optional("halt", At::text)?.map(Ending::Halt);
    let hang = fields.optional("hang", At::flag)?.unwrap_or(false).then_some(Ending::Hang);
    let pieces = pieces(&mut fields)?;
    let returned = (!pieces.is_empty()).then_some(Ending::Return(pieces));
    // An entry may have any of these; what ends the execution sooner wins.
    let ending = panic.or(fail).or(hang).or(halt).or(returned).unwrap_or_default();
    fields.finish()?;
    Ok(Does { sleep_ms, ending })
}

fn pieces(fields: &mut Fields<'_>) -> Read<Vec<Piece>> {
    let text = fields.optional("return", At::text)?.map(Piece::Text);
    let json = fields.optional("return_json", |at| Ok(Piece::Json(at.node.to_json_text())))?;
    let echo = fields.optional("echo", At::flag)?.unwrap_or(false).then_some(Piece::Echo);
    let context = fields.optional("context", At::text)?.map(Piece::Context);
    let bytes = |at: &At<'_>| at.whole_u32().map(|bytes| Piece::Image(bytes as usize));
    let image = fields.optional("image_bytes", bytes)?;
    Ok([text, json, echo, context, image].into_iter().flatten().collect())
}

pub(super) fn nothing(at: &At<'_>) -> Read<()> {
    at.fields_or_nothing()?.finish()
}

pub(super) fn model(at: &At<'_>) -> Read<Vec<ModelEntry>> {
    at.list()?.iter().map(model_entry).collect()
}

fn model_entry(at: &At<'_>) -> Read<ModelEntry> {
    let mut fields = at.fields()?;
    let keys = at.entries()?.len();
    let alone = |entry| if keys == 1 { Ok(entry) } else { Err(at.problem("`fail` and `nothing` stand alone")) };
    if let Some(message) = fields.optional("fail", At::text)? {
        return alone(ModelEntry::Fail(message));
    }
    if fields.optional("nothing", At::flag)?.unwrap_or(false) {
        return alone(ModelEntry::Nothing);
    }
    let say = SaySpec {
        text: fields.optional("text", At::text_or_nothing)?.flatten(),
        thinking: fields.optional("thinking", At::text_or_nothing)?.flatten(),
        calls: fields.optional("calls", |at| at.list()?.iter().map(call).collect())?.unwrap_or_default(),
        usage: fields.optional("usage", usage)?.unwrap_or_default(),
        stop: fields.optional("stop", At::text)?,
    };
    fields.finish()?;
    Ok(ModelEntry::Say(say))
}

fn usage(at: &At<'_>) -> Read<(u64, u64)> {
    let mut fields = at.fields()?;
    let input = fields.optional("input", At::whole)?.unwrap_or(0);
    let output = fields.optional("output", At::whole)?.unwrap_or(0);
    fields.finish()?;
    Ok((input, output))
}

fn call(at: &At<'_>) -> Read<CallSpec> {
    let mut fields = at.fields()?;
    let call = CallSpec {
        id: fields.optional("id", At::text_or_nothing)?.flatten(),
        tool: fields.required("tool", At::text)?,
        arguments: fields.optional("arguments", |at| Ok(raw_text(at)))?,
    };
    fields.finish()?;
    Ok(call)
}

/// A text is the raw text; everything else is written as JSON.
fn raw_text(at: &At<'_>) -> String {
    match &at.node.value {
        NodeValue::Text(text) => text.clone(),
        _ => at.node.to_json_text(),
    }
}
