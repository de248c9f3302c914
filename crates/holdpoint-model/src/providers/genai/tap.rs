//! Listens to the frames that `genai` reads.
//!
//! Its events do not tell all: whether anything came at all, whether the end was the provider's or its own, and the exact
//! text of arguments that a provider sends as JSON values.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Family;

/// What was heard so far.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Frames, those without data included.
    pub(super) frames: u64,
    /// Frames with data.
    pub(super) data_frames: u64,
    /// Bytes of data.
    pub(super) bytes: usize,
    /// For each call that began, in order and until it is taken: the exact arguments that came with its beginning.
    pub(super) arguments: VecDeque<Option<String>>,
    /// The provider itself said that it is done.
    pub(super) done: bool,
    /// The provider said that it will not answer this.
    pub(super) blocked: bool,
}

/// The listener.
#[derive(Debug)]
pub(super) struct Tap {
    family: Family,
    heard: Mutex<Heard>,
}

impl Tap {
    pub(super) fn new(family: Family) -> Self {
        Self { family, heard: Mutex::default() }
    }

    pub(super) fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChatFrameSink for Tap {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        let mut heard = self.heard();
        heard.frames += 1;
        heard.data_frames += u64::from(!frame.data.is_empty());
        heard.bytes = heard.bytes.saturating_add(frame.data.len());
        match self.family {
            Family::Anthropic if frame.event == Some("content_block_start") => anthropic(frame.data, &mut heard),
            Family::Bedrock if frame.event == Some("contentBlockStart") => bedrock(frame.data, &mut heard),
            Family::Gemini => gemini(frame.data, &mut heard),
            Family::Ollama => ollama(frame.data, &mut heard),
            Family::Anthropic | Family::Bedrock => {}
        }
    }
}

#[derive(Deserialize)]
struct AnthropicFrame<'a> {
    #[serde(borrow)]
    content_block: Option<AnthropicBlock<'a>>,
}

#[derive(Deserialize)]
struct AnthropicBlock<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

/// A block usually begins without arguments; some gateways send all of them with it.
fn anthropic(data: &str, heard: &mut Heard) {
    let Ok(AnthropicFrame { content_block: Some(block) }) = serde_json::from_str(data) else { return };
    if block.kind == "tool_use" {
        heard.arguments.push_back(block.input.map(exact).filter(|text| text != "{}" && text != "null"));
    }
}

fn bedrock(data: &str, heard: &mut Heard) {
    if data.contains("\"toolUse\"") {
        heard.arguments.push_back(None);
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiFrame<'a> {
    #[serde(borrow, default)]
    candidates: Vec<GeminiCandidate<'a>>,
    #[serde(borrow)]
    prompt_feedback: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct GeminiCandidate<'a> {
    #[serde(borrow)]
    content: Option<GeminiContent<'a>>,
}

#[derive(Deserialize)]
struct GeminiContent<'a> {
    #[serde(borrow, default)]
    parts: Vec<GeminiPart<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiPart<'a> {
    #[serde(borrow)]
    function_call: Option<GeminiCall<'a>>,
}

#[derive(Deserialize)]
struct GeminiCall<'a> {
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

fn gemini(data: &str, heard: &mut Heard) {
    if !data.contains("\"functionCall\"") && !data.contains("\"promptFeedback\"") {
        return;
    }
    let Ok(frame) = serde_json::from_str::<GeminiFrame<'_>>(data) else { return };
    heard.blocked |= frame.prompt_feedback.is_some_and(|feedback| feedback.get().contains("\"blockReason\""));
    let parts = frame.candidates.into_iter().next().and_then(|candidate| candidate.content);
    for call in parts.into_iter().flat_map(|content| content.parts).filter_map(|part| part.function_call) {
        heard.arguments.push_back(call.args.map(exact));
    }
}

#[derive(Deserialize)]
struct OllamaFrame<'a> {
    #[serde(borrow)]
    message: Option<OllamaMessage<'a>>,
    #[serde(default)]
    done: bool,
}

#[derive(Deserialize)]
struct OllamaMessage<'a> {
    #[serde(borrow, default)]
    tool_calls: Vec<OllamaCall<'a>>,
}

#[derive(Deserialize)]
struct OllamaCall<'a> {
    #[serde(borrow)]
    function: Option<OllamaFunction<'a>>,
}

#[derive(Deserialize)]
struct OllamaFunction<'a> {
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

fn ollama(data: &str, heard: &mut Heard) {
    if !data.contains("\"done\":true") && !data.contains("\"tool_calls\"") && !data.contains("\"done\": true") {
        return;
    }
    let Ok(frame) = serde_json::from_str::<OllamaFrame<'_>>(data) else { return };
    heard.done |= frame.done;
    for call in frame.message.into_iter().flat_map(|message| message.tool_calls) {
        heard.arguments.push_back(call.function.and_then(|function| function.arguments).map(exact));
    }
}

/// The text as it came. A JSON string is text that holds the arguments.
fn exact(raw: &RawValue) -> String {
    serde_json::from_str::<String>(raw.get()).unwrap_or_else(|_| raw.get().to_owned())
}
