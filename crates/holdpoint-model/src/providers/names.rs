//! Registered names and what providers accept.
//!
//! Most providers take `[A-Za-z0-9_-]{1,64}` only, some want a letter or `_` in front; a registered name may be longer
//! and hold dots and more. [`wire_name`] depends on the name alone, so that it is the same in every process, whatever
//! else is offered, and the history that a provider has in its cache stays as it was. [`Names`] maps back what the model
//! writes. Nobody but the provider and the model sees what stands on the wire.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use holdpoint_codec::ToolDefinition;
use holdpoint_core::Message;
use sha2::{Digest, Sha256};

/// The longest name that a provider takes.
pub(crate) const WIRE_NAME_BYTES_MAX: usize = 64;
/// Hexadecimal digits of the digest at the end of a name that was changed.
const DIGEST_DIGITS: usize = 10;
/// What stands between the readable part and the digest.
const MARK: &str = "-x";
/// What is left for the readable part.
const READABLE_BYTES_MAX: usize = WIRE_NAME_BYTES_MAX - MARK.len() - DIGEST_DIGITS;

/// The name on the wire: the registered one where a provider accepts it, otherwise its readable part and a digest.
pub(crate) fn wire_name(name: &str) -> Cow<'_, str> {
    if is_accepted(name) && !looks_changed(name) { Cow::Borrowed(name) } else { Cow::Owned(changed(name, 0)) }
}

fn is_accepted(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    name.len() <= WIRE_NAME_BYTES_MAX
        && name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && name.bytes().all(plain)
}

/// Whether a name ends as a changed one does. Such names are changed too, or one could be taken for another.
fn looks_changed(name: &str) -> bool {
    name.rsplit_once(MARK).is_some_and(|(_, digits)| {
        digits.len() == DIGEST_DIGITS && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

fn changed(name: &str, salt: u32) -> String {
    let mut readable: String = name
        .chars()
        .map(|char| if char.is_ascii_alphanumeric() || char == '_' || char == '-' { char } else { '_' })
        .take(READABLE_BYTES_MAX)
        .collect();
    if !readable.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_') {
        readable.insert(0, 't');
        readable.truncate(READABLE_BYTES_MAX);
    }
    let mut hash = Sha256::new();
    hash.update(name.as_bytes());
    if salt > 0 {
        hash.update([0]);
        hash.update(salt.to_le_bytes());
    }
    let digits = hash.finalize().iter().take(DIGEST_DIGITS / 2).map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("{readable}{MARK}{digits}")
}

/// The names of one request: those of the tools that are offered, both ways.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    wire: Vec<Arc<str>>,
    /// Only names that differ: in most requests it is empty.
    registered: HashMap<Arc<str>, Arc<str>>,
}

impl Names {
    /// The names of these tools.
    pub(crate) fn of(tools: &[Arc<ToolDefinition>]) -> Self {
        Self::with(tools.iter().map(|tool| tool.name.as_str()), wire_name, changed)
    }

    /// Two names that differ stay apart even where their digests do not: the later one is changed again.
    fn with<'a>(
        names: impl Iterator<Item = &'a str>,
        first: impl Fn(&'a str) -> Cow<'a, str>,
        again: impl Fn(&str, u32) -> String,
    ) -> Self {
        let mut made = Self::default();
        let mut taken: HashMap<Arc<str>, &str> = HashMap::new();
        for name in names {
            let mut wire: Arc<str> = first(name).into();
            let mut salt = 0;
            while taken.get(&wire).is_some_and(|other| *other != name) {
                salt += 1;
                wire = again(name, salt).into();
            }
            taken.insert(Arc::clone(&wire), name);
            if *wire != *name {
                made.registered.insert(Arc::clone(&wire), name.into());
            }
            made.wire.push(wire);
        }
        made
    }

    /// The names on the wire, in the order of the tools.
    pub(crate) fn wire(&self) -> &[Arc<str>] {
        &self.wire
    }

    /// The name on the wire of a tool that is offered, or of any other name.
    pub(crate) fn to_wire<'a>(&'a self, name: &'a str) -> Cow<'a, str> {
        let offered = self.registered.iter().find(|(_, registered)| ***registered == *name);
        offered.map_or_else(|| wire_name(name), |(wire, _)| Cow::Borrowed(&**wire))
    }

    /// What the model's word stands for: the registered name of a tool that is offered, a name that the history shows
    /// to the model in this form, or else the word itself.
    pub(crate) fn to_registered(&self, word: &str, history: &[Arc<Message>]) -> Arc<str> {
        if let Some(name) = self.registered.get(word) {
            return Arc::clone(name);
        }
        if looks_changed(word)
            && let Some(name) = shown_in(history, word)
        {
            return name.into();
        }
        word.into()
    }
}

fn shown_in<'a>(history: &'a [Arc<Message>], word: &str) -> Option<&'a str> {
    let calls = history.iter().rev().flat_map(|message| match &**message {
        Message::Assistant(message) => message.calls.as_slice(),
        Message::System(_) | Message::User(_) | Message::Tool(_) => &[],
    });
    calls.map(|call| call.name.as_str()).find(|name| wire_name(name) == word)
}
