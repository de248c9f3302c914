//! From an answer to a result.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use holdpoint_codec::canonical_json;
use holdpoint_config::Problem;
use holdpoint_core::{Blob, Block, JsonText, Repeat, ToolResult};
use holdpoint_tools::TRUNCATED;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::body::{Body, Extent};
use super::exchange::Answer;
use super::texts;

/// The longest text that is taken from an error of the service.
const MAX_ERROR_CHARS: usize = 500;

/// `response`: what the model gets of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ResponseSpec {
    /// How an answer is read.
    pub form: ResponseForm,
    /// A JSON pointer: only this part of the answer.
    pub pointer: Option<String>,
    /// A JSON pointer: the text of an error, where the service gives one that the model may see.
    pub error_pointer: Option<String>,
}

/// `form`: how an answer is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseForm {
    /// As the service says it is.
    #[default]
    Auto,
    /// JSON, whatever the service says.
    Json,
    /// Text, whatever the service says.
    Text,
}

impl ResponseSpec {
    pub(super) fn check(&self) -> Result<(), Problem> {
        for (key, pointer) in [("pointer", &self.pointer), ("error_pointer", &self.error_pointer)] {
            if pointer.as_ref().is_some_and(|pointer| !pointer.is_empty() && !pointer.starts_with('/')) {
                return Err(Problem::at(key, "must begin with `/`"));
            }
        }
        if self.pointer.is_some() && self.form == ResponseForm::Text {
            return Err(Problem::at("pointer", "has no meaning for a text"));
        }
        Ok(())
    }

    /// The result for an answer.
    pub(super) fn map(&self, answer: Answer, limits: Limits) -> ToolResult {
        if !answer.status.is_success() {
            return ToolResult::error(self.error_text(&answer));
        }
        let kind = self.kind(answer.media_type.as_deref());
        match (kind, answer.body.extent) {
            (Kind::Text, _) => text(answer.body),
            (Kind::Json | Kind::Other(_), Extent::Cut) => {
                let problem = format!("with more than {} bytes", limits.max_bytes);
                ToolResult::error(texts::unusable(answer.status, &problem, limits.repeat))
            }
            (Kind::Json | Kind::Other(_), Extent::Whole) if answer.body.bytes.is_empty() => done(),
            (Kind::Json, Extent::Whole) => self
                .json(&answer.body.bytes)
                .unwrap_or_else(|problem| ToolResult::error(texts::unusable(answer.status, problem, limits.repeat))),
            (Kind::Other(media_type), Extent::Whole) => file(media_type, answer.body.bytes),
        }
    }

    fn kind(&self, media_type: Option<&str>) -> Kind {
        match self.form {
            ResponseForm::Json => Kind::Json,
            ResponseForm::Text => Kind::Text,
            ResponseForm::Auto if self.pointer.is_some() => Kind::Json,
            ResponseForm::Auto => Kind::of(media_type),
        }
    }

    /// The problem is to be read after "but".
    fn json(&self, bytes: &[u8]) -> Result<ToolResult, &'static str> {
        const NOT_JSON: &str = "its answer is not JSON";
        let text = str::from_utf8(bytes).map_err(|_| NOT_JSON)?;
        // Also what the pointer does not name must be JSON.
        let whole = canonical_json(text).map_err(|_| NOT_JSON)?;
        let part = match &self.pointer {
            None => whole,
            Some(pointer) => at(&whole, pointer).ok_or("its answer does not have what was agreed on")?,
        };
        match serde_json::from_str::<String>(&part) {
            Ok(text) if self.pointer.is_some() => Ok(ToolResult::success(text)),
            Ok(_) | Err(_) => Ok(ToolResult::from_blocks(vec![Block::Json(JsonText::new(part))])),
        }
    }

    fn error_text(&self, answer: &Answer) -> String {
        let text = texts::of_status(answer.status);
        let Some(pointer) = &self.error_pointer else { return text };
        let value = serde_json::from_slice::<Value>(&answer.body.bytes).ok();
        let said = value.as_ref().and_then(|value| value.pointer(pointer)).and_then(Value::as_str);
        match said.map(shortened).filter(|said| !said.trim().is_empty()) {
            Some(said) => format!("{text} It says: {said}"),
            None => text,
        }
    }
}

/// What the reading of an answer needs to know of its tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) max_bytes: usize,
    pub(super) repeat: Repeat,
}

/// The text of the value that a JSON pointer names, with every digit of its numbers.
fn at(text: &str, pointer: &str) -> Option<String> {
    let mut place: &RawValue = serde_json::from_str(text).ok()?;
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        place = if place.get().starts_with('[') {
            // As the standard has it: no sign, no leading zero.
            let index = token.parse::<usize>().ok().filter(|index| index.to_string() == token)?;
            *serde_json::from_str::<Vec<&RawValue>>(place.get()).ok()?.get(index)?
        } else {
            let members: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(place.get()).ok()?;
            *members.get(token.as_str())?
        };
    }
    Some(place.get().to_owned())
}

/// What is text although its type is not `text`.
const TEXTS: [&str; 7] = ["xml", "yaml", "x-yaml", "toml", "javascript", "x-ndjson", "x-www-form-urlencoded"];

enum Kind {
    Text,
    Json,
    Other(Arc<str>),
}

impl Kind {
    fn of(media_type: Option<&str>) -> Self {
        let media_type = media_type.unwrap_or("text/plain").split(';').next().unwrap_or_default().trim();
        let subtype = media_type.split_once('/').map_or("", |(_, subtype)| subtype);
        if subtype == "json" || subtype.ends_with("+json") {
            Kind::Json
        } else if media_type.starts_with("text/") || subtype.ends_with("+xml") || TEXTS.contains(&subtype) {
            Kind::Text
        } else {
            Kind::Other(media_type.into())
        }
    }
}

/// A text is cut where the limit is, and says so.
fn text(body: Body) -> ToolResult {
    let mut text = String::from_utf8_lossy(&body.bytes).into_owned();
    match body.extent {
        Extent::Whole if text.is_empty() => done(),
        Extent::Whole => ToolResult::success(text),
        Extent::Cut => {
            // The cut may have gone through a character.
            while text.ends_with(char::REPLACEMENT_CHARACTER) {
                text.pop();
            }
            text.push_str(TRUNCATED);
            ToolResult::success(text)
        }
    }
}

fn file(media_type: Arc<str>, bytes: Vec<u8>) -> ToolResult {
    let image = media_type.starts_with("image/");
    let blob = Blob { media_type, bytes: bytes.into() };
    ToolResult::from_blocks(vec![if image { Block::Image(blob) } else { Block::File(blob) }])
}

/// Providers refuse an empty result.
fn done() -> ToolResult {
    ToolResult::success("done")
}

fn shortened(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(MAX_ERROR_CHARS).collect()
}
