//! Responses: what comes back.

use std::borrow::Cow;

use holdpoint_core::ModelStop;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Kept;
use crate::error::{ModelError, ModelErrorKind};
use crate::providers::assemble::Assembly;
use crate::providers::openai::Read;
use crate::providers::openai::parts::{arguments, json_text as text, other_stop, parse, usage};
use crate::providers::openai::send::error_in_stream;

/// One event. A whole response, from a server that does not stream, has no `type` but an `output`.
#[derive(Deserialize)]
struct EventIn<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<Cow<'a, str>>,
    output_index: Option<i64>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ResponseIn<'a> {
    status: Option<String>,
    #[serde(borrow)]
    output: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    incomplete_details: Option<Incomplete>,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(rename = "type")]
    kind: Option<String>,
    id: Option<String>,
    call_id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    content: Option<Vec<Part>>,
    #[serde(borrow)]
    encrypted_content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
    refusal: Option<String>,
}

/// What is known of the reply beside what is assembled.
#[derive(Default)]
pub(super) struct Reader {
    /// The place in the output of each call.
    places: Vec<Option<i64>>,
    kept: Vec<Kept>,
    said: bool,
}

impl Read for Reader {
    fn take(&mut self, data: &str, reply: &mut Assembly<'_>) -> Result<(), ModelError> {
        let event: EventIn<'_> = parse(data)?;
        let delta = event.delta.and_then(text).unwrap_or_default();
        match event.kind.as_deref().unwrap_or_default() {
            "response.output_text.delta" => self.text(&delta, reply),
            "response.refusal.delta" => {
                self.said = true;
                reply.refusal(&delta)
            }
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => reply.thinking(&delta),
            "response.function_call_arguments.delta" => {
                let position = self.position(event.output_index, reply);
                reply.arguments(position, &delta)
            }
            "response.function_call_arguments.done" => {
                let position = self.position(event.output_index, reply);
                whole_arguments(position, event.arguments, reply)
            }
            "response.output_item.added" => self.item(event.placed(Stage::Added), reply),
            "response.output_item.done" => self.item(event.placed(Stage::Done), reply),
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                self.finished(event.response.map_or("{}", RawValue::get), reply)
            }
            "error" => Err(error_in_stream(event.error.map_or(data, RawValue::get))),
            // A whole response in one piece.
            "" if event.output.is_some() => self.finished(data, reply),
            "" if event.error.is_some() => Err(error_in_stream(event.error.map_or("{}", RawValue::get))),
            _ => Ok(()),
        }
    }

    fn state(&self) -> Option<Value> {
        (!self.kept.is_empty()).then(|| serde_json::to_value(&self.kept).unwrap_or_default())
    }
}

impl Reader {
    fn text(&mut self, piece: &str, reply: &mut Assembly<'_>) -> Result<(), ModelError> {
        self.said = true;
        reply.text(piece)
    }

    /// Servers that leave out the place mean the last call.
    fn position(&self, place: Option<i64>, reply: &Assembly<'_>) -> usize {
        let found = place.and_then(|_| self.places.iter().rposition(|known| *known == place));
        found.or_else(|| reply.calls().checked_sub(1)).unwrap_or_default()
    }

    fn item(&mut self, placed: Option<Placed<'_>>, reply: &mut Assembly<'_>) -> Result<(), ModelError> {
        let Some(placed) = placed else { return Ok(()) };
        let item: Item<'_> = parse(placed.raw.get())?;
        match (item.kind.as_deref(), placed.stage) {
            (Some("function_call"), _) => self.call(&item, &placed, reply),
            (Some("reasoning"), Stage::Done) => {
                reply.begin();
                self.keep(placed.raw, &item, reply);
                Ok(())
            }
            // Text that came in pieces is not taken again.
            (Some("message"), Stage::Done) if !self.said => self.message(&item, reply),
            _ => Ok(()),
        }
    }

    fn call(&mut self, item: &Item<'_>, placed: &Placed<'_>, reply: &mut Assembly<'_>) -> Result<(), ModelError> {
        let place = placed.place;
        let id = item.call_id.as_deref().or(item.id.as_deref());
        let by_place = place.and_then(|_| self.places.iter().rposition(|known| *known == place));
        let by_id = || (0..reply.calls()).rfind(|position| id.is_some() && reply.call_id(*position) == id);
        // Ids may repeat; what begins is a call of its own, and a place tells which one ends.
        let known = match (placed.stage, place) {
            (Stage::Added, _) => None,
            (Stage::Done, Some(_)) => by_place,
            (Stage::Done, None) => by_id(),
        };
        let position = known.unwrap_or(reply.calls());
        if known.is_none() {
            self.places.push(place);
            reply.call(position, id, item.name.as_deref())?;
        }
        whole_arguments(position, item.arguments, reply)?;
        match placed.stage {
            Stage::Added => Ok(()),
            Stage::Done => reply.call_ended(position),
        }
    }

    /// Only encrypted reasoning can be sent back without the provider having kept it.
    fn keep(&mut self, raw: &RawValue, item: &Item<'_>, reply: &Assembly<'_>) {
        if item.encrypted_content.is_none_or(|content| content.get() == "null") {
            return;
        }
        let Ok(Value::Object(mut item)) = serde_json::from_str(raw.get()) else { return };
        item.remove("status");
        self.kept.push(Kept { after_calls: reply.calls(), after_text: self.said, item: Value::Object(item) });
    }

    fn message(&mut self, item: &Item<'_>, reply: &mut Assembly<'_>) -> Result<(), ModelError> {
        reply.begin();
        for part in item.content.iter().flatten() {
            if let Some(refusal) = &part.refusal {
                self.said = true;
                reply.refusal(refusal)?;
            }
            if let Some(text) = &part.text {
                self.text(text, reply)?;
            }
        }
        Ok(())
    }

    fn finished(&mut self, response: &str, reply: &mut Assembly<'_>) -> Result<(), ModelError> {
        let response: ResponseIn<'_> = parse(response)?;
        if let Some(error) = response.error {
            return Err(error_in_stream(error.get()));
        }
        if let Some(raw) = response.usage {
            reply.usage(usage(raw));
        }
        // What did not come in pieces is taken from the whole.
        if !self.said && reply.calls() == 0 && self.kept.is_empty() {
            for (place, raw) in response.output.iter().flatten().enumerate() {
                self.item(Some(Placed { raw, place: i64::try_from(place).ok(), stage: Stage::Done }), reply)?;
            }
        }
        match response.status.as_deref() {
            Some("failed" | "cancelled") => {
                return Err(ModelError::of(ModelErrorKind::Overloaded, "the provider gave up"));
            }
            Some("incomplete") => {
                let reason = response.incomplete_details.and_then(|details| details.reason);
                reply.stop(match reason.as_deref() {
                    Some("max_output_tokens") | None => ModelStop::MaxTokens,
                    Some("content_filter") => ModelStop::ContentFilter,
                    Some(other) => other_stop(other),
                });
            }
            Some(_) | None => {}
        }
        reply.end();
        Ok(())
    }
}

/// Whether an item begins or is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Added,
    Done,
}

/// An item of the output, and where it stands.
struct Placed<'a> {
    raw: &'a RawValue,
    place: Option<i64>,
    stage: Stage,
}

impl<'a> EventIn<'a> {
    fn placed(&self, stage: Stage) -> Option<Placed<'a>> {
        self.item.map(|raw| Placed { raw, place: self.output_index, stage })
    }
}

/// All arguments of a call, if they are there.
fn whole_arguments(position: usize, raw: Option<&RawValue>, reply: &mut Assembly<'_>) -> Result<(), ModelError> {
    match raw.and_then(arguments) {
        Some(whole) => reply.arguments_so_far(position, &whole),
        None => Ok(()),
    }
}
