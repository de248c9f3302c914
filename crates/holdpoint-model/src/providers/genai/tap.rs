//! Listens to the frames that `genai` reads.
//!
//! Its events do not tell all: whether anything came at all, whether the end was the provider's or its own, and the exact
//! text of arguments that a provider sends as JSON values.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
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

/// A block usually begins without arguments; some gateways send all of them with it.
fn anthropic(data: &str, heard: &mut Heard) {
    let Some(block) = member(data, "content_block") else { return };
    if member(block, "type") == Some("\"tool_use\"") {
        let input = member(block, "input").map(exact);
        heard.arguments.push_back(input.filter(|text| text != "{}" && text != "null"));
    }
}

fn bedrock(data: &str, heard: &mut Heard) {
    if data.contains("\"toolUse\"") {
        heard.arguments.push_back(None);
    }
}

fn gemini(data: &str, heard: &mut Heard) {
    if !data.contains("\"functionCall\"") && !data.contains("\"promptFeedback\"") {
        return;
    }
    heard.blocked |= member(data, "promptFeedback").is_some_and(|feedback| feedback.contains("\"blockReason\""));
    let first = member(data, "candidates").and_then(|candidates| elements(candidates).next());
    let parts = first.and_then(|candidate| member(member(candidate, "content")?, "parts"));
    for call in parts.into_iter().flat_map(elements).filter_map(|part| member(part, "functionCall")) {
        heard.arguments.push_back(member(call, "args").map(exact));
    }
}

fn ollama(data: &str, heard: &mut Heard) {
    if !data.contains("\"done\":true") && !data.contains("\"tool_calls\"") && !data.contains("\"done\": true") {
        return;
    }
    heard.done |= member(data, "done") == Some("true");
    let calls = member(data, "message").and_then(|message| member(message, "tool_calls"));
    for call in calls.into_iter().flat_map(elements) {
        let arguments = member(call, "function").and_then(|function| member(function, "arguments"));
        heard.arguments.push_back(arguments.map(exact));
    }
}

/// The text of a member of an object. Nothing when it is not there or null.
fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let members: HashMap<Cow<'a, str>, &'a RawValue> = serde_json::from_str(object).ok()?;
    members.get(name).map(|value| value.get()).filter(|text| *text != "null")
}

/// The texts of the elements of an array.
fn elements(array: &str) -> impl Iterator<Item = &str> {
    serde_json::from_str::<Vec<&RawValue>>(array).unwrap_or_default().into_iter().map(RawValue::get)
}

/// The text as it came. A JSON string is text that holds the arguments.
fn exact(text: &str) -> String {
    serde_json::from_str(text).unwrap_or_else(|_| text.to_owned())
}
