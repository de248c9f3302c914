//! A request in `genai`'s words.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ContentPart, CustomPart, MessageContent, ReasoningEffort as Effort, Tool,
    ToolCall, ToolChoice as Choice, ToolResponse,
};
use holdpoint_codec::ToolDefinition;
use holdpoint_core::{AssistantMessage, CallArguments, Message, MessageCall, ParallelToolCalls, ToolMessage};
use serde_json::{Map, Value, json};

use super::state::State;
use super::tap::Tap;
use super::{Family, GenaiModel, content, words};
use crate::error::{ModelError, ModelErrorKind};
use crate::model::ModelRequest;
use crate::options::{ModelOptions, ReasoningEffort, ToolChoice};
use crate::providers::names::Names;

/// What stands around arguments that are no object, where a provider takes nothing else.
const UNUSABLE: &str = "invalid_arguments";
/// What no extra member takes the place of: the request itself.
const OWN: [&str; 6] = ["messages", "contents", "system", "systemInstruction", "stream", "tools"];

pub(super) fn options(
    model: &GenaiModel,
    request: &ModelRequest<'_>,
    names: &Names,
    tap: &Arc<Tap>,
) -> Result<ChatOptions, ModelError> {
    let ModelOptions { temperature, top_p, output_tokens_max, stop_sequences, seed, reasoning_effort, extra } =
        request.options;
    let effort = reasoning_effort.as_ref().map(effort).transpose()?;
    let stop_sequences = stop_sequences.iter().map(ToString::to_string).collect();
    // Gemini would be asked for its thoughts with it, which not every model has; their signatures come in any case.
    let thoughts = model.family != Family::Gemini || effort.is_some();
    let mut made = ChatOptions {
        temperature: *temperature,
        top_p: *top_p,
        max_tokens: *output_tokens_max,
        seed: seed.and_then(|seed| u64::try_from(seed).ok()),
        reasoning_effort: effort,
        stop_sequences,
        ..ChatOptions::default()
    }
    .with_capture_usage(true)
    .with_capture_tool_calls(true)
    .with_capture_reasoning_content(thoughts)
    .with_stream_header_timeout(model.opening.timeouts.first_byte)
    .with_stream_read_timeout(model.opening.timeouts.between_chunks)
    .with_raw_frame_sink_arc(Arc::clone(tap) as _);
    made.tool_choice = tool_choice(model.family, request, names)?;
    made.extra_body = extra_body(model.family, request, made.tool_choice.as_ref(), extra.as_deref())?;
    Ok(made)
}

fn effort(effort: &ReasoningEffort) -> Result<Effort, ModelError> {
    match effort {
        ReasoningEffort::None => Ok(Effort::Zero),
        ReasoningEffort::Minimal => Ok(Effort::Minimal),
        ReasoningEffort::Low => Ok(Effort::Low),
        ReasoningEffort::Medium => Ok(Effort::Medium),
        ReasoningEffort::High => Ok(Effort::High),
        ReasoningEffort::Other(word) => word.parse().map_err(|_| unsupported("this reasoning effort")),
    }
}

fn tool_choice(family: Family, request: &ModelRequest<'_>, names: &Names) -> Result<Option<Choice>, ModelError> {
    if request.tools.is_empty() {
        let defined = family == Family::Anthropic && calls(request.messages).next().is_some();
        return Ok(defined.then_some(Choice::None));
    }
    let choice = match request.tool_choice {
        ToolChoice::Auto => return Ok(None),
        ToolChoice::None => Choice::None,
        ToolChoice::Required => Choice::Required,
        ToolChoice::Named(name) => Choice::tool(words::to_wire(names, name.as_str())),
    };
    match (family, &choice) {
        (Family::Anthropic | Family::Gemini, _) => Ok(Some(choice)),
        // They are shown no tools instead.
        (Family::Bedrock | Family::Ollama, Choice::None) => Ok(None),
        (Family::Bedrock | Family::Ollama, Choice::Auto | Choice::Required | Choice::Tool { .. }) => {
            Err(unsupported("a tool choice"))
        }
    }
}

fn extra_body(
    family: Family,
    request: &ModelRequest<'_>,
    choice: Option<&Choice>,
    extra: Option<&Map<String, Value>>,
) -> Result<Option<Value>, ModelError> {
    let mut body = Map::new();
    let one_call = request.parallel_tool_calls == ParallelToolCalls::One && !request.tools.is_empty();
    if one_call && family == Family::Anthropic {
        let mut choice = match choice {
            None | Some(Choice::Auto) => json!({"type": "auto"}),
            Some(Choice::Required) => json!({"type": "any"}),
            Some(Choice::Tool { name }) => json!({"type": "tool", "name": name}),
            Some(Choice::None) => json!({"type": "none"}),
        };
        if choice["type"] != "none" {
            choice["disable_parallel_tool_use"] = json!(true);
        }
        body.insert("tool_choice".to_owned(), choice);
    }
    let extra = extra.into_iter().flatten().filter(|(name, _)| !OWN.contains(&name.as_str()));
    body.extend(extra.map(|(name, value)| (name.clone(), value.clone())));
    match family {
        Family::Bedrock | Family::Ollama if !body.is_empty() => Err(unsupported("extra members")),
        Family::Anthropic | Family::Gemini | Family::Bedrock | Family::Ollama => {
            Ok((!body.is_empty()).then_some(Value::Object(body)))
        }
    }
}

fn unsupported(what: &str) -> ModelError {
    ModelError::of(ModelErrorKind::InvalidRequest, format!("this provider cannot be given {what}"))
}

pub(super) fn chat(model: &GenaiModel, request: &ModelRequest<'_>, names: &Names) -> ChatRequest {
    let mut writer = Writer::new(model, names, request.messages.len());
    for message in request.messages {
        writer.add(message);
    }
    writer.flush();
    let mut chat = ChatRequest::new(writer.messages);
    chat.tools = tools(model.family, request, names);
    chat
}

fn tools(family: Family, request: &ModelRequest<'_>, names: &Names) -> Option<Vec<Tool>> {
    let hidden = matches!(family, Family::Bedrock | Family::Ollama) && *request.tool_choice == ToolChoice::None;
    if !request.tools.is_empty() && !hidden {
        let tool = |tool: &Arc<ToolDefinition>| {
            Tool::new(&*words::to_wire(names, tool.name.as_str()))
                .with_description(&*tool.description)
                .with_schema((*tool.parameters).clone())
        };
        return Some(request.tools.iter().map(tool).collect());
    }
    // A conversation with calls in it is refused there unless some tools are defined.
    let defined: BTreeSet<&str> = match family {
        Family::Anthropic | Family::Bedrock => calls(request.messages).map(|call| call.name.as_str()).collect(),
        Family::Gemini | Family::Ollama => BTreeSet::new(),
    };
    let tool = |name: &str| Tool::new(&*words::to_wire(names, name)).with_schema(json!({"type": "object"}));
    (!defined.is_empty()).then(|| defined.into_iter().map(tool).collect())
}

fn calls(messages: &[Arc<Message>]) -> impl Iterator<Item = &MessageCall> {
    messages.iter().flat_map(|message| match &**message {
        Message::Assistant(message) => message.calls.as_slice(),
        Message::System(_) | Message::User(_) | Message::Tool(_) => &[],
    })
}

/// Writes the conversation. Results of one turn go into one message, as most protocols want it.
struct Writer<'a> {
    model: &'a GenaiModel,
    names: &'a Names,
    messages: Vec<ChatMessage>,
    results: Vec<ContentPart>,
    attached: Vec<ContentPart>,
    /// The calls of the latest turn: their shown ids, with what stands on the wire for id and name.
    turn: HashMap<&'a str, (String, String)>,
    used: HashSet<String>,
}

impl<'a> Writer<'a> {
    fn new(model: &'a GenaiModel, names: &'a Names, capacity: usize) -> Self {
        Self {
            model,
            names,
            messages: Vec::with_capacity(capacity),
            results: Vec::new(),
            attached: Vec::new(),
            turn: HashMap::new(),
            used: HashSet::new(),
        }
    }

    fn add(&mut self, message: &'a Message) {
        match message {
            Message::Tool(message) => self.result(message),
            Message::System(text) => {
                self.flush();
                self.messages.push(ChatMessage::system(&**text));
            }
            Message::User(blocks) => {
                self.flush();
                let parts = blocks.iter().map(|block| content::part(self.model.family, block)).collect();
                self.push(ChatMessage::user, parts);
            }
            Message::Assistant(message) => {
                self.flush();
                self.assistant(message);
            }
        }
    }

    fn assistant(&mut self, message: &'a AssistantMessage) {
        let state = State::unseal(message.provider_state.as_ref(), self.model.opening.provider.name);
        self.turn.clear();
        let mut calls = Vec::with_capacity(message.calls.len());
        for (position, call) in message.calls.iter().enumerate() {
            let id = self.wire_id(call);
            let name = words::to_wire(self.names, call.name.as_str()).into_owned();
            self.turn.insert(call.id.as_str(), (id.clone(), name.clone()));
            let signature = state.calls.get(position).cloned().flatten();
            calls.push(ContentPart::ToolCall(ToolCall {
                call_id: id,
                fn_name: name,
                fn_arguments: arguments(&call.arguments),
                thought_signatures: signature.map(|signature| vec![signature]),
            }));
        }
        let mut parts = state.parts();
        parts.push(ContentPart::Text(message.text.to_string()));
        parts.extend(calls);
        self.push(ChatMessage::assistant, parts);
    }

    fn result(&mut self, message: &'a ToolMessage) {
        let known = self.turn.get(message.call.as_str()).cloned();
        let (id, name) = known.unwrap_or_else(|| (message.call.as_str().to_owned(), String::new()));
        let blocks = &message.result.blocks;
        if self.model.family == Family::Anthropic {
            let data = json!({"type": "tool_result", "tool_use_id": id, "is_error": message.result.is_error(),
                "content": content::anthropic_result(blocks)});
            self.results.push(ContentPart::Custom(CustomPart { model_iden: None, data }));
            return;
        }
        let (text, attached) = content::result(self.model.family, blocks);
        self.results.push(ContentPart::ToolResponse(ToolResponse::new(id, text).with_fn_name(name)));
        self.attached.extend(attached);
        // Ollama's messages hold one result each.
        if self.model.family == Family::Ollama {
            let parts = std::mem::take(&mut self.results);
            self.push(ChatMessage::tool, parts);
        }
    }

    /// Ends a turn: its results, then what they could not hold.
    fn flush(&mut self) {
        let results = std::mem::take(&mut self.results);
        self.push(ChatMessage::tool, results);
        let attached = std::mem::take(&mut self.attached);
        self.push(ChatMessage::user, attached);
    }

    fn push(&mut self, message: fn(MessageContent) -> ChatMessage, mut parts: Vec<ContentPart>) {
        // An empty text is refused by some, and says nothing to the others.
        parts.retain(|part| !matches!(part, ContentPart::Text(text) if text.is_empty()));
        if !parts.is_empty() {
            self.messages.push(message(MessageContent::from_parts(parts)));
        }
    }

    /// The provider's own id where it is one. Anthropic and Bedrock take no id twice in a conversation and few characters;
    /// Gemini takes a call without one as it gave it.
    fn wire_id(&mut self, call: &MessageCall) -> String {
        let own = call.provider_id.as_deref().unwrap_or(call.id.as_str());
        match self.model.family {
            Family::Gemini | Family::Ollama => own.to_owned(),
            Family::Anthropic | Family::Bedrock => {
                let own = if own.is_empty() { call.id.as_str() } else { own };
                let plain: String = own
                    .chars()
                    .map(|char| if char.is_ascii_alphanumeric() || char == '-' { char } else { '_' })
                    .collect();
                let mut id = plain.clone();
                let mut again = 1;
                while !self.used.insert(id.clone()) {
                    again += 1;
                    id = format!("{plain}__{again}");
                }
                id
            }
        }
    }
}

/// These protocols take an object and nothing else.
fn arguments(arguments: &CallArguments) -> Value {
    match arguments {
        CallArguments::Canonical(arguments) => serde_json::from_str(arguments.expose()).unwrap_or_else(|_| json!({})),
        CallArguments::Unusable(text) => json!({UNUSABLE: &**text}),
        CallArguments::Dropped { len_bytes } => json!({UNUSABLE: format!("{len_bytes} bytes, too large to keep")}),
    }
}
