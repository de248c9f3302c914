//! Chat completions and Responses against a server of the test: what is sent, and what is made of what comes back.

#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

mod chat;
mod quirks;
mod responses;
mod retries;
mod server;

use std::sync::{Arc, Mutex};

use holdpoint_codec::ToolDefinition;
use holdpoint_core::{
    AssistantMessage, Blob, Block, CallArguments, Message, MessageCall, ProviderState, ToolMessage, ToolResult,
};
use holdpoint_model::{Delta, DeltaSink, Model, ModelChoice, ModelReply};
use serde_json::{Value, json};

use server::Server;

/// The model behind a server, by the provider's name.
fn model(provider: &str, server: &Server) -> Arc<dyn Model> {
    choice(provider, server).open().unwrap()
}

fn choice(provider: &str, server: &Server) -> ModelChoice {
    ModelChoice::parse(&format!("{provider}:small")).unwrap().base_url(server.url())
}

fn user(text: &str) -> Arc<Message> {
    Arc::new(Message::user(text))
}

/// An earlier turn: a call and what it gave.
fn turn(state: Option<ProviderState>, blocks: Vec<Block>) -> [Arc<Message>; 2] {
    let text = holdpoint_codec::parse_arguments(Some(r#"{"path":"a"}"#)).unwrap();
    let arguments = holdpoint_codec::arguments_for("files.read", &text);
    let call = MessageCall {
        id: "c1".into(),
        provider_id: None,
        name: "files.read".into(),
        arguments: CallArguments::Canonical(arguments),
    };
    let said = AssistantMessage {
        text: "".into(),
        thinking: Some("let me look".into()),
        calls: vec![call],
        provider_state: state,
    };
    let result = Arc::new(ToolResult::from_blocks(blocks));
    let gave = ToolMessage { call: "c1".into(), provider_id: None, result };
    [Arc::new(Message::Assistant(said)), Arc::new(Message::Tool(gave))]
}

fn image() -> Block {
    Block::Image(Blob { media_type: "image/png".into(), bytes: Arc::from(*b"png") })
}

fn document() -> Block {
    Block::File(Blob { media_type: "application/pdf".into(), bytes: Arc::from(*b"pdf") })
}

fn files_read() -> Arc<ToolDefinition> {
    Arc::new(ToolDefinition::new("files.read", "Reads a file", json!({ "type": "object" })))
}

/// What a reply amounts to, as JSON.
fn shown(reply: &ModelReply) -> Value {
    let call = |call: &holdpoint_model::ModelCall| json!([call.id, &*call.name, call.arguments]);
    json!({
        "text": &*reply.text, "thinking": reply.thinking, "calls": reply.calls.iter().map(call).collect::<Vec<_>>(),
        "stop": reply.stop.as_ref().map(holdpoint_core::ModelStop::as_str),
        "usage": [reply.usage.input, reply.usage.output, reply.usage.cache_read, reply.usage.cache_write, reply.usage.reasoning],
    })
}

/// Keeps the text that was streamed.
#[derive(Default)]
struct Listener(Mutex<String>);

impl DeltaSink for Listener {
    fn listens(&self) -> bool {
        true
    }

    fn take(&self, delta: Delta<'_>) {
        if let Delta::Text(text) = delta {
            self.0.lock().unwrap().push_str(text);
        }
    }
}
