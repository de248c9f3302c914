//! A real language model behind a real server, over three protocols. The model is small: what it says is of no
//! interest, only that it is said, counted, streamed and stopped.

#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdpoint_codec::ToolDefinition;
use holdpoint_core::{
    Arguments, AssistantMessage, CallArguments, CallId, Digest, Message, MessageCall, ModelStop, RequestedName,
    ToolMessage, ToolName, ToolResult,
};
use holdpoint_model::{
    Delta, DeltaSink, Model, ModelChoice, ModelOptions, ModelReply, ModelRequest, NoDeltas, Timeouts, ToolChoice,
};
use serde_json::{Value, json};

const PROVIDERS: [&str; 3] = ["openai", "openai-responses", "anthropic"];

/// One slow thread serves all tests, one after another.
const PATIENCE: Timeouts = Timeouts {
    connect: Duration::from_secs(10),
    first_byte: Duration::from_secs(240),
    between_chunks: Duration::from_secs(240),
    total: Duration::from_secs(300),
};

fn model(provider: &str) -> Arc<dyn Model> {
    let url = std::env::var("HOLDPOINT_TEST_LLM").expect(
        "HOLDPOINT_TEST_LLM is not set: run ./scripts/test, or start a server with ./scripts/llm start and set it to the URL",
    );
    let choice = ModelChoice::parse(&format!("{provider}:smollm2")).unwrap();
    choice.base_url(format!("{url}/v1")).timeouts(PATIENCE).open().unwrap()
}

fn options(output_tokens_max: u32) -> ModelOptions {
    ModelOptions { temperature: Some(0.0), output_tokens_max: Some(output_tokens_max), ..ModelOptions::default() }
}

async fn ask(model: &Arc<dyn Model>, request: &ModelRequest<'_>, deltas: &dyn DeltaSink) -> ModelReply {
    model.reply(request, deltas).await.unwrap().unwrap()
}

#[derive(Default)]
struct Listener {
    text: Mutex<String>,
    arguments: Mutex<String>,
    pieces: tokio::sync::watch::Sender<usize>,
}

impl DeltaSink for Listener {
    fn listens(&self) -> bool {
        true
    }

    fn take(&self, delta: Delta<'_>) {
        match delta {
            Delta::Text(text) => self.text.lock().unwrap().push_str(text),
            Delta::CallArguments { text, .. } => self.arguments.lock().unwrap().push_str(text),
            Delta::Thinking(_) | Delta::CallStarted { .. } | Delta::CallEnded { .. } => {}
        }
        self.pieces.send_modify(|pieces| *pieces += 1);
    }
}

#[tokio::test]
async fn it_says_the_same_in_pieces_and_at_once_and_is_counted() {
    let messages = [Arc::new(Message::System("Answer briefly.".into())), Arc::new(Message::user("Name a colour."))];
    let options = options(12);
    for provider in PROVIDERS {
        let model = model(provider);
        let request = ModelRequest { options: &options, ..ModelRequest::new(&messages, &[]) };
        let listener = Listener::default();
        let streamed = ask(&model, &request, &listener).await;
        let plain = ask(&model, &request, &NoDeltas).await;
        assert!(!streamed.text.trim().is_empty(), "{provider}");
        assert_eq!(streamed.text, plain.text, "{provider}");
        assert_eq!(*streamed.text, **listener.text.lock().unwrap(), "{provider}");
        assert!(*listener.pieces.borrow() > 1, "{provider} streams");
        assert!(
            streamed.usage.input > 5 && (1..=12).contains(&streamed.usage.output),
            "{provider}: {:?}",
            streamed.usage
        );
        assert!(plain.usage.cache_read <= plain.usage.input, "{provider}: {:?}", plain.usage);
    }
}

#[tokio::test]
async fn the_output_limit_stops_it() {
    let messages = [Arc::new(Message::user("Tell me a long story about the sea."))];
    let options = options(5);
    for provider in PROVIDERS {
        let request = ModelRequest { options: &options, ..ModelRequest::new(&messages, &[]) };
        let reply = ask(&model(provider), &request, &NoDeltas).await;
        // Its server calls a Responses reply complete even then.
        let stopped = reply.stop == Some(ModelStop::MaxTokens) || provider == "openai-responses";
        assert!(stopped && reply.usage.output <= 5, "{provider}: {:?} {:?}", reply.stop, reply.usage);
    }
}

#[tokio::test]
async fn a_cancelled_stream_sets_the_server_free() {
    let messages = [Arc::new(Message::user("Count from one to a thousand, in words."))];
    let long = options(2_000);
    let short = options(2);
    for provider in PROVIDERS {
        let model = model(provider);
        let listener = Listener::default();
        let request = ModelRequest { options: &long, ..ModelRequest::new(&messages, &[]) };
        let mut seen = listener.pieces.subscribe();
        tokio::select! {
            _ = model.reply(&request, &listener) => {}
            seen = seen.wait_for(|pieces| *pieces > 2) => { seen.unwrap(); }
        }
        // There is one place only: without the cancellation this would wait for two thousand words.
        let request = ModelRequest { options: &short, ..ModelRequest::new(&messages, &[]) };
        let reply = tokio::time::timeout(Duration::from_secs(20), ask(&model, &request, &NoDeltas)).await;
        assert!(reply.is_ok(), "{provider} is still busy");
    }
}

fn weather(name: &str) -> Arc<ToolDefinition> {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    Arc::new(ToolDefinition::new(name, "Weather in a city", schema))
}

/// Two turns that went well, so that the small model sees how it is done.
fn example(tool: &str) -> Vec<Arc<Message>> {
    let turn = |id: &str, city: &str, sky: &str, says: &str| {
        let arguments = Arguments::from_canonical(format!("{{\"city\":\"{city}\"}}"), Digest([0; 32]));
        let call = MessageCall {
            id: CallId::new(id),
            provider_id: None,
            name: RequestedName::new(tool),
            arguments: CallArguments::Canonical(arguments),
        };
        let result =
            ToolMessage { call: CallId::new(id), provider_id: None, result: Arc::new(ToolResult::success(sky)) };
        [
            Message::user(format!("Weather in {city}?")),
            Message::Assistant(AssistantMessage { calls: vec![call], ..AssistantMessage::default() }),
            Message::Tool(result),
            Message::assistant(says),
        ]
    };
    let turns = [turn("a", "Rome", "sunny", "It is sunny in Rome."), turn("b", "Oslo", "rain", "It is rainy in Oslo.")];
    turns.into_iter().flatten().map(Arc::new).collect()
}

#[tokio::test]
async fn it_asks_for_a_tool_that_it_must_ask_for() {
    let options = options(80);
    for provider in PROVIDERS {
        let mut messages = example("get_weather");
        messages.push(Arc::new(Message::user("Weather in Paris?")));
        let tools = [weather("get_weather")];
        let plain = ModelRequest { options: &options, ..ModelRequest::new(&messages, &tools) };
        let listener = Listener::default();
        let reply =
            ask(&model(provider), &ModelRequest { tool_choice: &ToolChoice::Required, ..plain }, &listener).await;
        let [call] = reply.calls.as_slice() else { panic!("{provider}: {reply:?}") };
        let arguments: Value = serde_json::from_str(call.arguments.as_deref().unwrap()).unwrap();
        assert_eq!((&*call.name, &arguments), ("get_weather", &json!({"city": "Paris"})), "{provider}");
        assert_eq!(call.arguments.as_deref(), Some(&**listener.arguments.lock().unwrap()), "{provider}");
        assert!(call.id.as_deref().is_some_and(|id| !id.is_empty()), "{provider}");
        // Responses have no word for it: calls are their own reason.
        let stop = reply.stop.unwrap_or(ModelStop::ToolUse);
        assert_eq!(stop, ModelStop::ToolUse, "{provider}");
    }
}

#[tokio::test]
async fn it_knows_a_tool_by_a_name_that_providers_take() {
    let options = options(120);
    let name = "weather.of/city";
    for provider in PROVIDERS {
        let mut messages = example(name);
        messages.push(Arc::new(Message::user("Weather in Paris?")));
        let tools = [weather(name)];
        let choice = match provider {
            // Its server knows no named choice for these two, and takes it for none.
            "openai" | "openai-responses" => ToolChoice::Required,
            _ => ToolChoice::Named(ToolName::new(name)),
        };
        let request = ModelRequest { options: &options, tool_choice: &choice, ..ModelRequest::new(&messages, &tools) };
        let reply = ask(&model(provider), &request, &NoDeltas).await;
        let names: Vec<&str> = reply.calls.iter().map(|call| &*call.name).collect();
        assert_eq!(names, [name], "{provider}: {reply:?}");
    }
}

#[tokio::test]
async fn a_tool_that_is_offered_is_read() {
    let messages = [Arc::new(Message::user("Hello."))];
    let options = options(1);
    for provider in PROVIDERS {
        let model = model(provider);
        let without = ModelRequest { options: &options, ..ModelRequest::new(&messages, &[]) };
        let tools = [weather("get_weather")];
        let with = ModelRequest { tools: &tools, ..without };
        let (without, with) = (ask(&model, &without, &NoDeltas).await, ask(&model, &with, &NoDeltas).await);
        assert!(with.usage.input > without.usage.input + 20, "{provider}: {:?} {:?}", without.usage, with.usage);
    }
}
