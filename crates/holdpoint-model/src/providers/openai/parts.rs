//! What chat completions and Responses have in common on the wire.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use holdpoint_core::{AssistantMessage, Blob, Block, CallArguments, ModelStop, Usage};
use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::STATE_VERSION;
use crate::error::ModelError;
use crate::media::text_of;
use crate::providers::sse::garbage;

/// Appends a JSON value. What is written here has no maps with other keys than texts, so that nothing can fail.
pub(super) fn json(out: &mut Vec<u8>, value: &(impl serde::Serialize + ?Sized)) {
    let _ = serde_json::to_writer(out, value);
}

/// Appends a message that is nothing but a text: most are, and a long history has many.
pub(super) fn plain(out: &mut Vec<u8>, role: &str, text: &str) {
    out.extend_from_slice(b"{\"role\":");
    json(out, role);
    out.extend_from_slice(b",\"content\":");
    json(out, text);
    out.push(b'}');
}

/// The text of blocks that are nothing else.
pub(super) fn only_text(blocks: &[Block]) -> Option<&str> {
    match blocks {
        [] => Some(""),
        [block] => block_text(block),
        [..] => None,
    }
}

/// The members of a request, one after another.
pub(crate) struct Body<'a> {
    out: Vec<u8>,
    extra: Option<&'a Map<String, Value>>,
}

/// Members that nobody may replace: without them nothing of ours would work.
const FIXED: [&str; 4] = ["messages", "input", "stream", "tools"];

impl<'a> Body<'a> {
    pub(super) fn new(extra: Option<&'a Map<String, Value>>) -> Self {
        Self { out: b"{".to_vec(), extra }
    }

    /// A member, unless the caller gave one of the same name.
    pub(super) fn member(&mut self, name: &str, value: &(impl serde::Serialize + ?Sized)) {
        if !self.is_replaced(name) {
            json(self.named(name), value);
        }
    }

    /// A member, if there is a value.
    pub(super) fn optional(&mut self, name: &str, value: Option<impl serde::Serialize>) {
        if let Some(value) = value {
            self.member(name, &value);
        }
    }

    /// A member whose value is appended by the caller.
    pub(super) fn named(&mut self, name: &str) -> &mut Vec<u8> {
        if self.out.len() > 1 {
            self.out.push(b',');
        }
        json(&mut self.out, name);
        self.out.push(b':');
        &mut self.out
    }

    fn is_replaced(&self, name: &str) -> bool {
        !FIXED.contains(&name) && self.extra.is_some_and(|extra| extra.contains_key(name))
    }

    /// Adds what the caller gave.
    pub(super) fn finish(mut self) -> Vec<u8> {
        let extra = self.extra.into_iter().flatten().filter(|(name, _)| !FIXED.contains(&name.as_str()));
        for (name, value) in extra {
            json(self.named(name), value);
        }
        self.out.push(b'}');
        self.out
    }
}

/// Bytes as providers take them.
pub(super) fn data_url(blob: &Blob) -> String {
    let mut url = format!("data:{};base64,", blob.media_type);
    STANDARD.encode_string(&blob.bytes, &mut url);
    url
}

/// A name for a file that has none.
pub(super) fn file_name(blob: &Blob) -> String {
    let kind = blob.media_type.split(';').next().unwrap_or_default();
    let ending = kind.rsplit('/').next().unwrap_or_default();
    let plain = !ending.is_empty() && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if plain { format!("file.{ending}") } else { "file.bin".to_owned() }
}

/// The text of a block that can be shown as text.
pub(super) fn block_text(block: &Block) -> Option<&str> {
    match block {
        Block::Text(_) | Block::Json(_) => block.as_text(),
        Block::File(blob) => text_of(blob),
        Block::Image(_) => None,
    }
}

/// What a provider sent, if it is what the protocol says.
pub(super) fn parse<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, ModelError> {
    serde_json::from_str(data).map_err(|_| garbage("is not what the protocol says"))
}

/// A JSON text, if it is one.
pub(super) fn json_text(raw: &RawValue) -> Option<Cow<'_, str>> {
    if raw.get().starts_with('"') { serde_json::from_str(raw.get()).ok() } else { None }
}

/// What a provider sent for arguments: a text, or the object itself, exactly as it was written. Nothing for null.
pub(super) fn arguments(raw: &RawValue) -> Option<Cow<'_, str>> {
    json_text(raw).or_else(|| (raw.get() != "null").then_some(Cow::Borrowed(raw.get())))
}

/// Arguments of an earlier call. Some servers parse them, so that what is no JSON object is put into one.
pub(super) fn argument_text(arguments: &CallArguments) -> String {
    match arguments {
        CallArguments::Canonical(arguments) => arguments.expose().to_owned(),
        CallArguments::Unusable(text) => serde_json::json!({ "invalid_arguments": &**text }).to_string(),
        CallArguments::Dropped { .. } => "{}".to_owned(),
    }
}

/// Whether a message has reasoning that the provider of this name wants back, and what it wants.
pub(super) fn state_for<'a>(message: &'a AssistantMessage, provider: &str) -> Option<&'a str> {
    let state = message.provider_state.as_ref()?;
    (*state.provider == *provider && state.version == STATE_VERSION).then(|| state.data.expose())
}

/// A count of tokens, whatever a provider takes for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Tokens(u64);

impl<'de> Deserialize<'de> for Tokens {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let whole = value.as_u64();
        let rounded = || value.as_f64().filter(|count| *count > 0.0).map(|count| count as u64);
        Ok(Self(whole.or_else(rounded).unwrap_or_default()))
    }
}

/// Usage, in the words of chat completions and of Responses. Some servers use both at once.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsageIn {
    prompt_tokens: Tokens,
    input_tokens: Tokens,
    completion_tokens: Tokens,
    output_tokens: Tokens,
    prompt_tokens_details: Option<Read>,
    input_tokens_details: Option<Read>,
    completion_tokens_details: Option<Wrote>,
    output_tokens_details: Option<Wrote>,
    /// DeepSeek's word for what came from the cache.
    prompt_cache_hit_tokens: Tokens,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Read {
    cached_tokens: Tokens,
    cache_write_tokens: Tokens,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Wrote {
    reasoning_tokens: Tokens,
}

/// What a reply cost. What is not usage counts as nothing: nobody should lose a reply over it.
pub(super) fn usage(raw: &RawValue) -> Usage {
    let usage: UsageIn = serde_json::from_str(raw.get()).unwrap_or_default();
    let read = usage.prompt_tokens_details.or(usage.input_tokens_details).unwrap_or_default();
    let wrote = usage.completion_tokens_details.or(usage.output_tokens_details).unwrap_or_default();
    Usage {
        input: usage.prompt_tokens.max(usage.input_tokens).0,
        output: usage.completion_tokens.max(usage.output_tokens).0,
        cache_read: read.cached_tokens.max(usage.prompt_cache_hit_tokens).0,
        cache_write: read.cache_write_tokens.0,
        reasoning: wrote.reasoning_tokens.0,
    }
}

/// A provider's own word for why the model stopped, if it is a word.
pub(super) fn other_stop(word: &str) -> ModelStop {
    const WORD_BYTES_MAX: usize = 32;
    let plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if plain && word.len() <= WORD_BYTES_MAX { ModelStop::Other(word.into()) } else { ModelStop::Other("other".into()) }
}
