//! Arguments of a call: from what a model wrote to the one text that is shown, digested, authorized and run.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use holdpoint_core::{Arguments, CallIndex, Code, Digest, IdempotencyKey, Limits, RunId, Turn};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::canonical::{JsonProblem, canonical_json};
use crate::hex;

#[cfg(test)]
mod tests;

/// A JSON object in canonical form. `Debug` shows only its length.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct CanonicalText(Arc<str>);

impl CanonicalText {
    /// No arguments: `{}`.
    pub fn empty() -> Self {
        Self("{}".into())
    }

    /// The one door to the raw text. Nothing that came through it may reach a log, a trace, a metric or an error.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for CanonicalText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CanonicalText({} bytes)", self.0.len())
    }
}

/// Why arguments cannot be used. Its sentence is for the model, which can correct them.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentsProblem {
    /// Above the limit; not even looked at.
    #[error("the arguments have {len_bytes} bytes, more than the {} that are accepted", Limits::ARGUMENTS_BYTES_MAX)]
    TooLarge {
        /// How large they are.
        len_bytes: usize,
    },
    /// Something else than an object.
    #[error("the arguments are not a JSON object")]
    NotAnObject,
    /// An object that is not JSON, is nested too deeply, or repeats a key.
    #[error("the arguments cannot be read: {0}")]
    Unreadable(JsonProblem),
}

impl ArgumentsProblem {
    /// The stable code.
    pub fn code(&self) -> Code {
        match self {
            ArgumentsProblem::TooLarge { .. } => Code::ArgumentsTooLarge,
            ArgumentsProblem::NotAnObject | ArgumentsProblem::Unreadable(_) => Code::InvalidArguments,
        }
    }
}

impl fmt::Debug for ArgumentsProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArgumentsProblem::TooLarge { len_bytes } => write!(f, "TooLarge({len_bytes} bytes)"),
            ArgumentsProblem::NotAnObject => f.write_str("NotAnObject"),
            ArgumentsProblem::Unreadable(problem) => write!(f, "Unreadable({problem:?})"),
        }
    }
}

/// Reads what a model wrote as arguments.
///
/// Nothing, blank and `null` mean no arguments. An object is accepted, in a code fence or as a JSON string too.
///
/// # Errors
/// When it is too large, or anything else than an object without repeated keys.
pub fn parse_arguments(raw: Option<&str>) -> Result<CanonicalText, ArgumentsProblem> {
    let Some(raw) = raw else { return Ok(CanonicalText::empty()) };
    if raw.len() > Limits::ARGUMENTS_BYTES_MAX {
        return Err(ArgumentsProblem::TooLarge { len_bytes: raw.len() });
    }
    let mut text = Cow::Borrowed(raw.trim());
    let (mut fenced, mut quoted) = (false, false);
    loop {
        if text.is_empty() || text == "null" {
            return Ok(CanonicalText::empty());
        }
        if text.starts_with('{') {
            let canonical = canonical_json(&text).map_err(ArgumentsProblem::Unreadable)?;
            return Ok(CanonicalText(canonical.into()));
        }
        if text.starts_with('"') && !std::mem::replace(&mut quoted, true) {
            let inner: String = serde_json::from_str(&text).map_err(|_| ArgumentsProblem::NotAnObject)?;
            text = Cow::Owned(inner.trim().to_owned());
        } else if text.starts_with(FENCE) && !std::mem::replace(&mut fenced, true) {
            let inner = without_fence(&text).ok_or(ArgumentsProblem::NotAnObject)?;
            text = Cow::Owned(inner.to_owned());
        } else {
            return Err(ArgumentsProblem::NotAnObject);
        }
    }
}

const FENCE: &str = "```";

/// What stands between the fences, without the word that may follow the first one.
fn without_fence(text: &str) -> Option<&str> {
    let inner = text.strip_prefix(FENCE)?.strip_suffix(FENCE)?;
    let word = inner.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let (word, body) = inner.split_at(word);
    // Without a line of its own, a word may be what is fenced.
    let named = word.eq_ignore_ascii_case("json") || (word != "null" && body.starts_with(['\n', '\r']));
    Some(if named { body.trim() } else { inner.trim() })
}

/// Arguments bound to the registered name of their tool; for a tool that is not registered, to the requested one.
pub fn arguments_for(name: &str, text: &CanonicalText) -> Arguments {
    Arguments::from_canonical(Arc::clone(&text.0), digest_of(name, &text.0))
}

/// Covers the registered name and the canonical arguments.
pub(crate) fn digest_of(name: &str, text: &str) -> Digest {
    let mut hash = Sha256::new();
    hash.update(b"holdpoint.arguments.1\0");
    hash.update((name.len() as u64).to_be_bytes());
    hash.update(name.as_bytes());
    hash.update(text.as_bytes());
    Digest(hash.finalize().into())
}

/// The idempotency key of a call: equal over attempts, crashes, workers and imports.
pub fn idempotency_key(run: &RunId, turn: Turn, index: CallIndex, digest: Digest) -> IdempotencyKey {
    let mut hash = Sha256::new();
    hash.update(b"holdpoint.idempotency.1\0");
    hash.update((run.as_str().len() as u64).to_be_bytes());
    hash.update(run.as_str().as_bytes());
    hash.update(turn.0.to_be_bytes());
    hash.update(index.0.to_be_bytes());
    hash.update(digest.0);
    let bytes: [u8; 32] = hash.finalize().into();
    // Half of it is far more than chance can repeat, and short enough for every API that takes such keys.
    IdempotencyKey::new(hex(&bytes[..16]))
}

const SUMMARY_NAMES_MAX: usize = 20;
const SUMMARY_NAME_CHARS_MAX: usize = 64;

/// Names and sizes of the arguments, and nothing of their values: safe for logs.
pub fn arguments_summary(arguments: &Arguments) -> String {
    let Ok(members) = serde_json::from_str::<BTreeMap<Cow<'_, str>, &RawValue>>(arguments.expose()) else {
        return format!("{} bytes", arguments.expose().len());
    };
    if members.is_empty() {
        return "no arguments".to_owned();
    }
    let shown = members.iter().take(SUMMARY_NAMES_MAX).map(|(name, value)| {
        let name: String = name.chars().filter(|c| !c.is_control()).take(SUMMARY_NAME_CHARS_MAX).collect();
        format!("{name} ({} bytes)", value.get().len())
    });
    let mut summary = shown.collect::<Vec<String>>().join(", ");
    if members.len() > SUMMARY_NAMES_MAX {
        summary.push_str(&format!(" and {} more", members.len() - SUMMARY_NAMES_MAX));
    }
    summary
}
