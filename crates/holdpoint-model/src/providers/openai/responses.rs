//! Responses: what is sent.

mod reply;

use std::sync::Arc;

use holdpoint_codec::ToolDefinition;
use holdpoint_core::{AssistantMessage, Block, Message, MessageCall, ToolMessage};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::history::Write;
use super::parts::{
    Body, argument_text, block_text, data_url, file_name, json as write_json, only_text, plain, state_for,
};
use super::{Protocol, Read};
use crate::model::ModelRequest;
use crate::providers::names::wire_name;

/// An item of reasoning that the provider wants back, and where it stood.
#[derive(Deserialize, Serialize)]
struct Kept {
    /// How many calls stood before it.
    after_calls: usize,
    /// Whether the text stood before it.
    after_text: bool,
    item: Value,
}

/// Responses of one provider.
pub(crate) struct Responses {
    pub(crate) provider: &'static str,
    pub(crate) model: Arc<str>,
}

impl Protocol for Responses {
    fn path(&self) -> &'static str {
        "responses"
    }

    fn conversation(&self) -> &'static str {
        "input"
    }

    /// There is no way to say stop sequences or a seed.
    fn members(&self, body: &mut Body<'_>, request: &ModelRequest<'_>) {
        let options = request.options;
        // What was said is kept here and not there.
        body.member("store", &false);
        // Models that reason give their reasoning away only encrypted, and only if asked to.
        let known = ["o1", "o3", "o4", "gpt-5", "codex"].iter().any(|start| self.model.starts_with(start));
        if (known && !self.model.contains("chat")) || options.reasoning_effort.is_some() {
            body.member("include", &["reasoning.encrypted_content"]);
        }
        body.optional("max_output_tokens", options.output_tokens_max);
        let effort = options.reasoning_effort.as_ref().map(|effort| json!({ "effort": effort.as_str() }));
        body.optional("reasoning", effort);
    }

    /// `strict` would be the default here and change the schema.
    fn tool(&self, tool: &ToolDefinition, name: &str) -> Value {
        json!({
            "type": "function", "name": name, "description": &*tool.description, "parameters": &*tool.parameters,
            "strict": false,
        })
    }

    fn choice(&self, name: &str) -> Value {
        json!({ "type": "function", "name": name })
    }

    fn reader(&self) -> Box<dyn Read> {
        Box::<reply::Reader>::default()
    }
}

impl Write for Responses {
    fn write(&self, message: &Message, out: &mut Vec<u8>) {
        let items = match message {
            Message::System(text) => return plain(out, "system", text),
            Message::User(blocks) => match only_text(blocks) {
                Some(text) => return plain(out, "user", text),
                None => vec![json!({ "role": "user", "content": blocks.iter().map(part).collect::<Vec<_>>() })],
            },
            Message::Assistant(said) => assistant(said, state_for(said, self.provider)),
            Message::Tool(message) => vec![result(message)],
        };
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write_json(out, item);
        }
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
