//! Chat completions: what comes back, from OpenAI and from all that imitate it.

use std::borrow::Cow;

use holdpoint_core::ModelStop;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::{ModelError, ModelErrorKind};
use crate::providers::assemble::Assembly;
use crate::providers::openai::Read;
use crate::providers::openai::parts::{arguments, json_text as text, other_stop, parse, usage};
use crate::providers::openai::send::error_in_stream;
use crate::providers::sse::Event;

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    delta: Option<Piece<'a>>,
    /// A whole message, from a server that does not stream.
    #[serde(borrow)]
    message: Option<Piece<'a>>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_content: Option<Cow<'a, str>>,
    #[serde(borrow)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_details: Option<&'a RawValue>,
    refusal: Option<String>,
    #[serde(borrow)]
    tool_calls: Option<Vec<CallPiece<'a>>>,
}

#[derive(Deserialize)]
struct CallPiece<'a> {
    index: Option<i64>,
    id: Option<String>,
    #[serde(borrow)]
    function: Option<FunctionPiece<'a>>,
}

#[derive(Deserialize)]
struct FunctionPiece<'a> {
    name: Option<String>,
    /// A text, or from some servers the object itself.
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// A part of a content that is a list.
#[derive(Deserialize)]
struct ContentPart<'a> {
    text: Option<String>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
}

/// What is known of the reply beside what is assembled.
#[derive(Default)]
pub(super) struct Reader {
    /// The provider's own number of each call.
    indexes: Vec<Option<i64>>,
    reasoning_member: Option<&'static str>,
    reasoning_details: Vec<Value>,
}

impl Read for Reader {
    fn take(&mut self, data: &str, reply: &mut Assembly<'_>) -> Result<(), ModelError> {
        let chunk: Chunk<'_> = parse(data)?;
        if let Some(error) = chunk.error {
            return Err(error_in_stream(error.get()));
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

    /// Some servers leave out the last word; a reason to stop is an end as well.
    fn over(&mut self, last: Event<'_>, reply: &mut Assembly<'_>) {
        if last != Event::End || reply.has_stopped() {
            reply.end();
        }
    }

    fn state(&self) -> Option<Value> {
        let mut state = Map::new();
        if let Some(member) = self.reasoning_member {
            state.insert("reasoning_member".to_owned(), member.into());
        }
        if !self.reasoning_details.is_empty() {
            state.insert("reasoning_details".to_owned(), self.reasoning_details.clone().into());
        }
        (!state.is_empty()).then_some(Value::Object(state))
    }
}

impl Reader {
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
            self.reasoning_details.extend(serde_json::from_str::<Vec<Value>>(details.get()).into_iter().flatten());
        }
        if let Some(content) = piece.content {
            take_content(content, reply)?;
        }
        if let Some(refusal) = piece.refusal {
            reply.refusal(&refusal)?;
        }
        for call in piece.tool_calls.into_iter().flatten() {
            self.call(call, reply)?;
        }
        Ok(())
    }

    fn call(&mut self, piece: CallPiece<'_>, reply: &mut Assembly<'_>) -> Result<(), ModelError> {
        let function = piece.function.as_ref();
        let name = function.and_then(|function| function.name.as_deref()).filter(|name| !name.is_empty());
        let id = piece.id.as_deref().filter(|id| !id.is_empty());
        let position = self.position(piece.index, id, name, reply);
        if position == reply.calls() {
            self.indexes.push(piece.index);
        }
        reply.call(position, id, name)?;
        match function.and_then(|function| function.arguments).and_then(arguments) {
            Some(piece) => reply.arguments(position, &piece),
            None => Ok(()),
        }
    }

    /// Which call a piece belongs to. Servers leave out numbers or ids, or give every call the same number.
    fn position(&self, index: Option<i64>, id: Option<&str>, name: Option<&str>, reply: &Assembly<'_>) -> usize {
        let known = match (index, id) {
            (Some(_), _) => self.indexes.iter().rposition(|known| *known == index),
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
