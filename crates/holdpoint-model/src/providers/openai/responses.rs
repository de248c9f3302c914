//! Responses: what is sent.

pub(super) mod reply;

use holdpoint_codec::ToolDefinition;
use holdpoint_core::{AssistantMessage, Block, Message, MessageCall, ParallelToolCalls, ToolMessage};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::history::Write;
use super::parts::{
    Body, argument_text, block_text, data_url, file_name, json as write_json, only_text, plain, state_for,
};
use crate::model::ModelRequest;
use crate::options::ToolChoice;
use crate::providers::choice::Provider;
use crate::providers::names::{Names, wire_name};

/// The version of what is kept for the provider.
pub(super) const STATE_VERSION: u32 = 1;

/// An item of reasoning that the provider wants back, and where it stood.
#[derive(Deserialize, Serialize)]
struct Kept {
    /// How many calls stood before it.
    after_calls: usize,
    /// Whether the text stood before it.
    after_text: bool,
    item: Value,
}

/// Models that reason give their reasoning away only encrypted, and only if asked to.
fn reasons(model: &str, request: &ModelRequest<'_>) -> bool {
    let known = ["o1", "o3", "o4", "gpt-5", "codex"].iter().any(|start| model.starts_with(start));
    (known && !model.contains("chat")) || request.options.reasoning_effort.is_some()
}

/// Everything of a request but the conversation. There is no way to say stop sequences or a seed.
pub(super) fn members(body: &mut Body<'_>, request: &ModelRequest<'_>, model: &str) {
    let options = request.options;
    body.member("stream", &true);
    // What was said is kept here and not there.
    body.member("store", &false);
    if reasons(model, request) {
        body.member("include", &["reasoning.encrypted_content"]);
    }
    body.optional("temperature", options.temperature);
    body.optional("top_p", options.top_p);
    body.optional("max_output_tokens", options.output_tokens_max);
    let effort = options.reasoning_effort.as_ref().map(|effort| json!({ "effort": effort.as_str() }));
    body.optional("reasoning", effort);
}

/// How the model may use the tools; only where there are some.
pub(super) fn choice(body: &mut Body<'_>, request: &ModelRequest<'_>, names: &Names) {
    let choice = match request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(json!("none")),
        ToolChoice::Required => Some(json!("required")),
        ToolChoice::Named(name) => Some(json!({ "type": "function", "name": names.to_wire(name.as_str()) })),
    };
    body.optional("tool_choice", choice);
    if request.parallel_tool_calls == ParallelToolCalls::One {
        body.member("parallel_tool_calls", &false);
    }
}

/// A tool, under its name on the wire. `strict` would be the default here and change the schema.
pub(super) fn tool(tool: &ToolDefinition, name: &str) -> Value {
    json!({
        "type": "function", "name": name, "description": &*tool.description, "parameters": &*tool.parameters,
        "strict": false,
    })
}

/// Writes messages for one provider.
pub(super) struct Writer {
    pub(super) provider: &'static Provider,
}

impl Write for Writer {
    fn write(&self, message: &Message, out: &mut Vec<u8>) {
        let items = match message {
            Message::System(text) => return plain(out, "system", text),
            Message::User(blocks) => match only_text(blocks) {
                Some(text) => return plain(out, "user", text),
                None => vec![json!({ "role": "user", "content": blocks.iter().map(part).collect::<Vec<_>>() })],
            },
            Message::Assistant(said) => assistant(said, state_for(message, self.provider.name, STATE_VERSION)),
            Message::Tool(message) => vec![result(message)],
        };
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write_json(out, item);
        }
    }

    /// A result can hold anything here.
    fn write_after(&self, _: &Message) -> Option<Vec<u8>> {
        None
    }
}

fn part(block: &Block) -> Value {
    if let Some(text) = block_text(block) {
        return json!({ "type": "input_text", "text": text });
    }
    match block {
        Block::Image(blob) => json!({ "type": "input_image", "detail": "auto", "image_url": data_url(blob) }),
        Block::File(blob) => {
            json!({ "type": "input_file", "filename": file_name(blob), "file_data": data_url(blob) })
        }
        Block::Text(_) | Block::Json(_) => Value::Null,
    }
}

/// Text, calls and kept reasoning, in the order in which they came. Reasoning that nothing follows any more is left out:
/// the provider would not take it.
fn assistant(message: &AssistantMessage, state: Option<&str>) -> Vec<Value> {
    let kept: Vec<Kept> = state.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let at = |after_calls: usize, after_text: bool| {
        let there = move |kept: &&Kept| kept.after_calls == after_calls && kept.after_text == after_text;
        kept.iter().filter(there).map(|kept| kept.item.clone())
    };
    let has_text = !message.text.is_empty() || message.calls.is_empty();
    let mut items: Vec<Value> = at(0, false).collect();
    if has_text {
        items.push(json!({ "type": "message", "role": "assistant", "content": &*message.text }));
    }
    for (index, call) in message.calls.iter().enumerate() {
        if index > 0 {
            items.extend(at(index, false));
        }
        items.extend(at(index, true));
        items.push(function_call(call));
    }
    items
}

fn function_call(call: &MessageCall) -> Value {
    json!({
        "type": "function_call", "call_id": call.id.as_str(), "name": wire_name(call.name.as_str()),
        "arguments": argument_text(&call.arguments),
    })
}

fn result(message: &ToolMessage) -> Value {
    let blocks = &message.result.blocks;
    let texts: Vec<&str> = blocks.iter().filter_map(block_text).collect();
    let output = if texts.len() == blocks.len() { json!(texts.join("\n")) } else { blocks.iter().map(part).collect() };
    json!({ "type": "function_call_output", "call_id": message.call.as_str(), "output": output })
}
