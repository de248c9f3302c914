//! Chat completions: what comes back, from OpenAI and from all that imitate it.

use std::borrow::Cow;

use holdpoint_core::{JsonText, ModelStop, ProviderState};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::STATE_VERSION;
use crate::error::{ModelError, ModelErrorKind};
use crate::providers::assemble::Assembly;
use crate::providers::openai::parts::{json_text as text, other_stop, parse, usage};
use crate::providers::openai::send::{ErrorIn, error_of};
use crate::providers::sse::{DONE, Event, Events};

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    index: Option<u64>,
    #[serde(borrow, default)]
    delta: Option<Piece<'a>>,
    /// A whole message, from a server that does not stream.
    #[serde(borrow, default)]
    message: Option<Piece<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<Cow<'a, str>>,
}

#[derive(Default, Deserialize)]
struct Piece<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning_content: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning_details: Option<&'a RawValue>,
    #[serde(borrow, default)]
    refusal: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<CallPiece<'a>>>,
}

#[derive(Deserialize)]
struct CallPiece<'a> {
    #[serde(default)]
    index: Option<i64>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    function: Option<FunctionPiece<'a>>,
}

#[derive(Deserialize)]
struct FunctionPiece<'a> {
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    /// A text, or from some servers the object itself.
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

/// A part of a content that is a list.
#[derive(Deserialize)]
struct ContentPart<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    thinking: Option<&'a RawValue>,
}

/// What is known of the reply beside what is assembled.
#[derive(Default)]
pub(in crate::providers::openai) struct Reader {
    /// The provider's own number of each call.
    indexes: Vec<Option<i64>>,
    reasoning_member: Option<&'static str>,
    reasoning_details: Vec<Box<RawValue>>,
    refused: bool,
}

impl Reader {
    /// Reads until the end of the reply.
    pub(in crate::providers::openai) async fn read(
        mut self,
        events: &mut Events,
        reply: &mut Assembly<'_>,
        provider: &str,
    ) -> Result<(), ModelError> {
        loop {
            match events.next().await? {
                Event::Data(DONE) => break,
                Event::Data(data) => self.take(data, reply)?,
                // Some servers leave out the last word; a reason to stop is an end as well.
                Event::End if reply.has_stopped() => break,
                Event::End => return Ok(()),
            }
        }
        if self.refused {
            reply.stop(ModelStop::ContentFilter);
        }
        if let Some(state) = self.state(provider) {
            reply.state(state)?;
        }
        reply.end();
        Ok(())
    }

    fn take(&mut self, data: &str, reply: &mut Assembly<'_>) -> Result<(), ModelError> {
        let chunk: Chunk<'_> = parse(data)?;
        if let Some(error) = chunk.error {
            let error: ErrorIn = serde_json::from_str(error.get()).unwrap_or_default();
            return Err(error_of(200, &error));
        }
        if let Some(raw) = chunk.usage {
            reply.usage(usage(raw));
        }
        // Only one choice was asked for.
        let first = |choice: &Choice<'_>| choice.index.unwrap_or(0) == 0;
        for choice in chunk.choices.into_iter().flatten().filter(first) {
            for piece in choice.delta.into_iter().chain(choice.message) {
                self.piece(piece, reply)?;
            }
            match choice.finish_reason.as_deref() {
                None | Some("") => {}
                Some(word) => reply.stop(stop(word)?),
            }
        }
        Ok(())
    }

    fn piece(&mut self, piece: Piece<'_>, reply: &mut Assembly<'_>) -> Result<(), ModelError> {
        reply.begin();
        let reasoning = piece.reasoning.and_then(text);
        for (member, text) in [("reasoning_content", piece.reasoning_content), ("reasoning", reasoning)] {
            // Some servers send the same under both names; the first that had something counts.
            if let Some(text) = text.filter(|text| !text.is_empty())
                && *self.reasoning_member.get_or_insert(member) == member
            {
                reply.thinking(&text)?;
            }
        }
        if let Some(details) = piece.reasoning_details {
            self.reasoning_details.push(details.to_owned());
        }
        if let Some(content) = piece.content {
            take_content(content, reply)?;
        }
        if let Some(refusal) = piece.refusal.filter(|refusal| !refusal.is_empty()) {
            self.refused = true;
            reply.text(&refusal)?;
        }
        for call in piece.tool_calls.into_iter().flatten() {
            self.call(call, reply)?;
        }
        Ok(())
    }

    fn call(&mut self, piece: CallPiece<'_>, reply: &mut Assembly<'_>) -> Result<(), ModelError> {
        let name =
            piece.function.as_ref().and_then(|function| function.name.as_deref()).filter(|name| !name.is_empty());
        let id = piece.id.as_deref().filter(|id| !id.is_empty());
        let position = self.position(&piece, name, reply);
        if position == reply.calls() {
            self.indexes.push(piece.index);
        }
        reply.call(position, id, name)?;
        if let Some(arguments) = piece.function.as_ref().and_then(|function| function.arguments) {
            match text(arguments) {
                Some(piece) => reply.arguments(position, &piece)?,
                None if arguments.get() == "null" => {}
                // The object itself, exactly as it was written.
                None => reply.arguments(position, arguments.get())?,
            }
        }
        Ok(())
    }

    /// Which call a piece belongs to. Servers leave out numbers or ids, or give every call the same number.
    fn position(&self, piece: &CallPiece<'_>, name: Option<&str>, reply: &Assembly<'_>) -> usize {
        let id = piece.id.as_deref().filter(|id| !id.is_empty());
        let known = match (piece.index, id) {
            (Some(_), _) => self.indexes.iter().rposition(|index| *index == piece.index),
            (None, Some(id)) => (0..reply.calls()).rfind(|position| reply.call_id(*position) == Some(id)),
            (None, None) if name.is_none() => reply.calls().checked_sub(1),
            (None, None) => None,
        };
        let another = |position: &usize| {
            let other_id = reply.call_id(*position).zip(id).is_some_and(|(known, id)| known != id);
            !(other_id && name.is_some())
        };
        known.filter(another).unwrap_or(reply.calls())
    }

    fn state(self, provider: &str) -> Option<ProviderState> {
        if self.reasoning_member.is_none() && self.reasoning_details.is_empty() {
            return None;
        }
        let mut data = json!({});
        if let Some(member) = self.reasoning_member {
            data["reasoning_member"] = json!(member);
        }
        let lists = self.reasoning_details.iter().map(|raw| serde_json::from_str::<Vec<serde_json::Value>>(raw.get()));
        let details: Vec<serde_json::Value> = lists.filter_map(Result::ok).flatten().collect();
        if !details.is_empty() {
            data["reasoning_details"] = details.into();
        }
        let data = JsonText::new(holdpoint_codec::canonical_value(&data));
        Some(ProviderState { provider: provider.into(), version: STATE_VERSION, data })
    }
}

/// A text, or a list of parts.
fn take_content(content: &RawValue, reply: &mut Assembly<'_>) -> Result<(), ModelError> {
    if let Some(text) = text(content) {
        return reply.text(&text);
    }
    if content.get() == "null" {
        return Ok(());
    }
    let parts: Vec<ContentPart<'_>> = parse(content.get())?;
    for part in parts {
        if let Some(thinking) = part.thinking {
            match text(thinking) {
                Some(text) => reply.thinking(&text)?,
                None => {
                    let parts = serde_json::from_str::<Vec<ContentPart<'_>>>(thinking.get()).unwrap_or_default();
                    parts.iter().filter_map(|part| part.text.as_deref()).try_for_each(|text| reply.thinking(text))?;
                }
            }
        }
        if let Some(text) = part.text {
            reply.text(&text)?;
        }
    }
    Ok(())
}

fn stop(word: &str) -> Result<ModelStop, ModelError> {
    Ok(match word {
        "stop" | "eos" => ModelStop::EndTurn,
        "tool_calls" | "function_call" | "tool_use" => ModelStop::ToolUse,
        "length" | "max_tokens" | "model_length" => ModelStop::MaxTokens,
        "stop_sequence" => ModelStop::StopSequence,
        "content_filter" => ModelStop::ContentFilter,
        // The words of several servers for having broken off: what there is of the reply is no reply.
        "error" | "abort" | "insufficient_system_resource" => {
            let text = "the provider broke off in the middle of the reply";
            return Err(ModelError::of(ModelErrorKind::Overloaded, text));
        }
        other => other_stop(other),
    })
}
