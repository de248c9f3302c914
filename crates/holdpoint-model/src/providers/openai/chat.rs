//! Chat completions: what is sent.

mod reply;

use holdpoint_codec::ToolDefinition;
use holdpoint_core::{AssistantMessage, Block, Message, ToolMessage};
use serde::Deserialize;
use serde_json::{Value, json};

use super::history::Write;
use super::parts::{
    Body, argument_text, block_text, data_url, file_name, json as write_json, only_text, plain, state_for,
};
use super::{Protocol, Read};
use crate::model::ModelRequest;
use crate::options::ReasoningEffort;
use crate::providers::names::wire_name;

/// What the provider wants back with a message that has calls: its reasoning, in the member it came in.
#[derive(Deserialize)]
struct State {
    reasoning_member: Option<String>,
    reasoning_details: Option<Value>,
}

/// Chat completions of one provider.
pub(crate) struct Chat {
    pub(crate) provider: &'static str,
    /// Whether it is OpenAI itself, and not somebody who speaks its protocol.
    pub(crate) at_openai: bool,
}

impl Protocol for Chat {
    fn path(&self) -> &'static str {
        "chat/completions"
    }

    fn conversation(&self) -> &'static str {
        "messages"
    }

    fn members(&self, body: &mut Body<'_>, request: &ModelRequest<'_>) {
        let options = request.options;
        body.member("stream_options", &json!({ "include_usage": true }));
        // Servers that imitate OpenAI know the older name, OpenAI's newer models only the newer one.
        let room = if self.at_openai { "max_completion_tokens" } else { "max_tokens" };
        body.optional(room, options.output_tokens_max);
        let stops: Vec<&str> = options.stop_sequences.iter().map(|text| &**text).collect();
        body.optional("stop", (!stops.is_empty()).then_some(stops));
        body.optional("seed", options.seed);
        body.optional("reasoning_effort", options.reasoning_effort.as_ref().map(ReasoningEffort::as_str));
    }

    fn tool(&self, tool: &ToolDefinition, name: &str) -> Value {
        json!({
            "type": "function",
            "function": { "name": name, "description": &*tool.description, "parameters": &*tool.parameters },
        })
    }

    fn choice(&self, name: &str) -> Value {
        json!({ "type": "function", "function": { "name": name } })
    }

    fn reader(&self) -> Box<dyn Read> {
        Box::<reply::Reader>::default()
    }
}

impl Write for Chat {
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
                let state = state_for(said, self.provider);
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
            said["reasoning_details"] = details;
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
