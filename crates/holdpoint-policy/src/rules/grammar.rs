//! The keys of rules, in whatever format they are written. They are checked before anything is read, so that a key that
//! means nothing is named with its line and the key that was meant.

use super::condition::{NESTING, OPERATORS};
use super::nearest::nearest;

const RULE_KEYS: &[&str] = &[
    "tool",
    "name",
    "when",
    "context",
    "history",
    "decide",
    "reason",
    "approvers",
    "quorum",
    "expires_in",
    "expires_in_ms",
    "four_eyes",
    "hide",
    "example",
];
const HISTORY_KEYS: &[&str] = &["calls", "sum"];
const EXAMPLE_KEYS: &[&str] = &["tool", "arguments", "context", "past", "decides"];

/// A value as a file has it, with its lines. Each format that rules are written in has one, so that all of them have the
/// same keys.
pub trait Outline<'o>: Copy {
    /// The entries of a map, in the order of the file. None if it is something else.
    fn entries(self) -> Vec<(KeyAt<'o>, Self)>;

    /// The items of a list. None if it is something else.
    fn items(self) -> Vec<Self>;
}

/// A key and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyAt<'o> {
    /// The key.
    pub text: &'o str,
    /// Its line, from 1.
    pub line: usize,
}

/// A key that means nothing where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKey {
    /// The key.
    pub key: String,
    /// The way to it from the rule, as in `when./amount.gtt`.
    pub path: String,
    /// Its line, from 1.
    pub line: usize,
    /// The known key that is nearest, if one is near.
    pub nearest: Option<&'static str>,
}

impl UnknownKey {
    fn below(mut self, step: &str) -> Self {
        let dot = if self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{step}{dot}{}", self.path);
        self
    }
}

/// Whether every key of a rule means something: its own, those of its conditions and those of its examples.
///
/// # Errors
/// The first key that does not.
pub fn check_rule_keys<'o>(rule: impl Outline<'o>) -> Result<(), UnknownKey> {
    known(rule, RULE_KEYS)?;
    for (key, value) in rule.entries() {
        let checked = match key.text {
            "when" | "context" => check_places(value),
            "history" => check_history(value),
            "example" => check_examples(value),
            _ => Ok(()),
        };
        checked.map_err(|unknown| unknown.below(key.text))?;
    }
    Ok(())
}

fn check_history<'o>(history: impl Outline<'o>) -> Result<(), UnknownKey> {
    known(history, HISTORY_KEYS)?;
    for (key, value) in history.entries() {
        let checked = if key.text == "sum" { check_places(value) } else { check_condition(value) };
        checked.map_err(|unknown| unknown.below(key.text))?;
    }
    Ok(())
}

/// Free keys, each with a condition.
fn check_places<'o>(places: impl Outline<'o>) -> Result<(), UnknownKey> {
    for (key, condition) in places.entries() {
        check_condition(condition).map_err(|unknown| unknown.below(key.text))?;
    }
    Ok(())
}

fn check_condition<'o>(condition: impl Outline<'o>) -> Result<(), UnknownKey> {
    known(condition, OPERATORS)?;
    for (key, operand) in condition.entries() {
        if NESTING.contains(&key.text) {
            check_condition(operand).map_err(|unknown| unknown.below(key.text))?;
        }
    }
    Ok(())
}

fn check_examples<'o>(examples: impl Outline<'o>) -> Result<(), UnknownKey> {
    for (number, example) in examples.items().into_iter().enumerate() {
        known(example, EXAMPLE_KEYS).map_err(|unknown| unknown.below(&format!("[{number}]")))?;
    }
    Ok(())
}

/// The first key of a map that is not one of these.
pub(super) fn known<'o>(map: impl Outline<'o>, known: &[&'static str]) -> Result<(), UnknownKey> {
    let unknown = map.entries().into_iter().map(|(key, _)| key).find(|key| !known.contains(&key.text));
    let Some(KeyAt { text, line }) = unknown else { return Ok(()) };
    Err(UnknownKey { key: text.to_owned(), path: text.to_owned(), line, nearest: nearest(text, known) })
}
