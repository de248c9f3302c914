//! A document as a tree whose values know their places.

use serde::ser::{Error, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::Place;
use crate::key_path::{KeyPath, Step};
use crate::problem::Spot;

/// What is wrong with a date.
pub(crate) const NO_DATES: &str = "must not be a date\nhint: write it as a string in quotes";

/// A value and where it begins.
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) value: Value,
}

pub(crate) enum Value<N = Node, K = Key> {
    /// `null`, or nothing at all.
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    /// TOML has dates; nothing that is read here does.
    Date,
    List(Vec<N>),
    /// In the order of the file, each key once.
    Map(Vec<(K, N)>),
}

pub(crate) struct Key {
    pub(crate) place: Place,
    pub(crate) text: String,
}

/// A number that loses no digit.
pub(crate) struct Number {
    /// As JSON writes it; `inf` and `nan` are not JSON.
    pub(crate) json: String,
    /// As the file writes it.
    pub(crate) written: String,
}

impl Node {
    /// The place of what a path leads to, or of the innermost value on the way that exists.
    pub(crate) fn place_of(&self, path: &KeyPath, spot: Spot) -> Place {
        let mut node = self;
        for (position, step) in path.steps().iter().enumerate() {
            let is_last = position + 1 == path.steps().len();
            match (&node.value, step) {
                (Value::Map(entries), Step::Key(key)) => {
                    let Some((key, value)) = entries.iter().find(|(known, _)| known.text == *key) else { break };
                    if is_last && spot == Spot::Key {
                        return key.place;
                    }
                    node = value;
                }
                (Value::List(items), Step::Index(index)) => match items.get(*index) {
                    Some(item) => node = item,
                    None => break,
                },
                _ => break,
            }
        }
        node.place
    }

    /// The value at a path.
    pub(crate) fn find(&self, path: &KeyPath) -> Option<&Self> {
        path.steps().iter().try_fold(self, |node, step| match (&node.value, step) {
            (Value::Map(entries), Step::Key(key)) => {
                entries.iter().find(|(known, _)| known.text == *key).map(|(_, value)| value)
            }
            (Value::List(items), Step::Index(index)) => items.get(*index),
            _ => None,
        })
    }
}

/// A value that comes from no file.
impl From<serde_json::Value> for Node {
    fn from(value: serde_json::Value) -> Self {
        use serde_json::Value as Json;
        let place = Place { line: 1, column: 1 };
        let value = match value {
            Json::Null => Value::Null,
            Json::Bool(flag) => Value::Bool(flag),
            Json::Number(number) => Value::Number(Number { json: number.to_string(), written: number.to_string() }),
            Json::String(text) => Value::Text(text),
            Json::Array(items) => Value::List(items.into_iter().map(Self::from).collect()),
            Json::Object(members) => {
                Value::Map(members.into_iter().map(|(text, value)| (Key { place, text }, Self::from(value))).collect())
            }
        };
        Self { place, value }
    }
}

/// As JSON, with every digit of its numbers and the keys in the order of the file. Dates and numbers that are infinite
/// have no JSON.
impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Value::Null => serializer.serialize_unit(),
            Value::Date => Err(S::Error::custom(NO_DATES)),
            Value::Bool(flag) => serializer.serialize_bool(*flag),
            Value::Number(number) => match RawValue::from_string(number.json.clone()) {
                Ok(raw) => raw.serialize(serializer),
                Err(_) => Err(S::Error::custom("must not be infinite, and must be a number")),
            },
            Value::Text(text) => serializer.serialize_str(text),
            Value::List(items) => serializer.collect_seq(items),
            Value::Map(entries) => serializer.collect_map(entries.iter().map(|(key, value)| (&key.text, value))),
        }
    }
}
