//! Names that `genai` takes for tools of the provider's own.
//!
//! A tool of ours with such a name would be replaced, without a word, by one that runs at the provider: no policy would
//! be asked, and nobody would see it. On the wire it goes by another name.

use std::borrow::Cow;

use crate::providers::names::{Names, wire_name};

const TAKEN: [&str; 5] = ["web_search", "googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext"];

/// The name on the wire.
pub(super) fn to_wire<'a>(names: &'a Names, name: &'a str) -> Cow<'a, str> {
    let wire = names.to_wire(name);
    if TAKEN.contains(&&*wire) { other(&wire).into() } else { wire }
}

/// What our names know the wire's word by.
pub(super) fn from_wire(word: &str) -> &str {
    TAKEN.iter().find(|taken| word.starts_with(**taken) && other(taken) == word).copied().unwrap_or(word)
}

/// No registered name holds this character, so that no other name comes out the same.
fn other(name: &str) -> String {
    wire_name(&format!("{name}\0")).into_owned()
}
