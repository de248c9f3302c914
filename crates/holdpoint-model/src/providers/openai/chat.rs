//! Chat completions: what is sent.

pub(super) mod reply;

use holdpoint_codec::ToolDefinition;
use holdpoint_core::{AssistantMessage, Block, Message, ParallelToolCalls, ToolMessage};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::history::Write;
use super::parts::{
    Body, argument_text, block_text, data_url, file_name, json as write_json, only_text, plain, state_for,
};
use crate::model::ModelRequest;
use crate::options::{ReasoningEffort, ToolChoice};
use crate::providers::choice::Provider;
use crate::providers::names::{Names, wire_name};

/// The version of what is kept for the provider.
pub(super) const STATE_VERSION: u32 = 1;

/// What the provider wants back with a message that has calls: its reasoning, in the member it came in.
#[derive(Deserialize)]
struct State {
    #[serde(default)]
    reasoning_member: Option<String>,
    #[serde(default)]
    reasoning_details: Option<Box<RawValue>>,
}

/// Everything of a request but the conversation.
pub(super) fn members(body: &mut Body<'_>, request: &ModelRequest<'_>, at_openai: bool) {
    let options = request.options;
    body.member("stream", &true);
    body.member("stream_options", &json!({ "include_usage": true }));
    body.optional("temperature", options.temperature);
    body.optional("top_p", options.top_p);
    // Servers that imitate OpenAI know the older name, OpenAI's newer models only the newer one.
    let room = if at_openai { "max_completion_tokens" } else { "max_tokens" };
    body.optional(room, options.output_tokens_max);
    body.optional("stop", (!options.stop_sequences.is_empty()).then(|| texts(&options.stop_sequences)));
    body.optional("seed", options.seed);
    body.optional("reasoning_effort", options.reasoning_effort.as_ref().map(ReasoningEffort::as_str));
}

fn texts(list: &[std::sync::Arc<str>]) -> Vec<&str> {
    list.iter().map(|text| &**text).collect()
}

/// How the model may use the tools; only where there are some.
pub(super) fn choice(body: &mut Body<'_>, request: &ModelRequest<'_>, names: &Names) {
    let choice = match request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(json!("none")),
        ToolChoice::Required => Some(json!("required")),
        ToolChoice::Named(name) => {
            Some(json!({ "type": "function", "function": { "name": names.to_wire(name.as_str()) } }))
        }
    };
    body.optional("tool_choice", choice);
    if request.parallel_tool_calls == ParallelToolCalls::One {
        body.member("parallel_tool_calls", &false);
    }
}

/// A tool, under its name on the wire.
pub(super) fn tool(tool: &ToolDefinition, name: &str) -> Value {
    json!({
        "type": "function",
        "function": { "name": name, "description": &*tool.description, "parameters": &*tool.parameters },
    })
}

/// Writes messages for one provider.
pub(super) struct Writer {
    pub(super) provider: &'static Provider,
}

impl Write for Writer {
    fn write(&self, message: &Message, out: &mut Vec<u8>) {
        match message {
            Message::System(text) => plain(out, "system", text),
            Message::User(blocks) => match only_text(blocks) {
                Some(text) => plain(out, "user", text),
                None => {
                    let parts: Vec<Value> = blocks.iter().map(part).collect();
                    write_json(out, &json!({ "role": "user", "content": parts }));
                }
            },
            Message::Assistant(said) if said.calls.is_empty() => plain(out, "assistant", &said.text),
            Message::Assistant(said) => {
                let state = state_for(message, self.provider.name, STATE_VERSION);
                write_json(out, &assistant(said, state));
            }
            Message::Tool(message) => write_json(out, &result(message)),
        }
    }

    fn write_after(&self, message: &Message) -> Option<Vec<u8>> {
        let Message::Tool(message) = message else { return None };
        let mut parts =
            vec![json!({ "type": "text", "text": format!("Of the result of `{}`:", message.call.as_str()) })];
        parts.extend(message.result.blocks.iter().filter(|block| block_text(block).is_none()).map(part));
        let mut out = Vec::new();
        (parts.len() > 1).then(|| {
            write_json(&mut out, &json!({ "role": "user", "content": parts }));
            out
        })
    }
}

fn part(block: &Block) -> Value {
    if let Some(text) = block_text(block) {
        return json!({ "type": "text", "text": text });
    }
    match block {
        Block::Image(blob) => json!({ "type": "image_url", "image_url": { "url": data_url(blob) } }),
        Block::File(blob) => {
            json!({ "type": "file", "file": { "filename": file_name(blob), "file_data": data_url(blob) } })
        }
        Block::Text(_) | Block::Json(_) => Value::Null,
    }
}

fn assistant(message: &AssistantMessage, state: Option<&str>) -> Value {
    let text = if message.text.is_empty() { Value::Null } else { json!(&*message.text) };
    let mut said = json!({ "role": "assistant", "content": text });
    let call = |call: &holdpoint_core::MessageCall| {
        let name = wire_name(call.name.as_str());
        let function = json!({ "name": name, "arguments": argument_text(&call.arguments) });
        json!({ "id": call.id.as_str(), "type": "function", "function": function })
    };
    said["tool_calls"] = message.calls.iter().map(call).collect();
    // Reasoning goes back with calls only: without them some providers refuse it.
    if let Some(state) = state.and_then(|text| serde_json::from_str::<State>(text).ok()) {
        if let (Some(member), Some(thinking)) = (state.reasoning_member, &message.thinking) {
            said[member.as_str()] = json!(&**thinking);
        }
        if let Some(details) = state.reasoning_details {
            said["reasoning_details"] = serde_json::from_str(details.get()).unwrap_or_default();
        }
    }
    said
}

/// A result is text here. What cannot be text comes after the last result, and this says so.
fn result(message: &ToolMessage) -> Value {
    let mut texts: Vec<&str> = message.result.blocks.iter().filter_map(block_text).collect();
    if texts.len() < message.result.blocks.len() {
        texts.push("[The rest of this result follows.]");
    }
    json!({ "role": "tool", "tool_call_id": message.call.as_str(), "content": texts.join("\n") })
}
