//! A YAML document as a tree that knows its lines and keeps numbers as they were written.

mod read;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use crate::error::Problem;

pub(crate) use read::{Misfit, Reading};

/// The largest file that is read.
pub const SCENARIO_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The deepest nesting that is read.
const DEPTH_MAX: usize = 96;

/// A value with its line.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The line on which it begins, from 1.
    pub line: u64,
    /// What it is.
    pub value: NodeValue,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeValue {
    /// `null`, or nothing at all.
    Null,
    /// `true` or `false`; no other word is a boolean.
    Bool(bool),
    /// A number, as JSON writes it, with every digit that the file has.
    Number(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of the file.
    Map(Vec<(Key, Node)>),
}

/// A key with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The line on which it begins, from 1.
    pub line: u64,
    /// The key.
    pub text: String,
}

impl Node {
    /// Reads one document.
    pub(crate) fn parse(text: &str) -> Result<Self, Problem> {
        if text.len() > SCENARIO_BYTES_MAX {
            let message = format!("the file has {} bytes, more than the limit of {SCENARIO_BYTES_MAX}", text.len());
            return Err(Problem::new(0, "", message));
        }
        let options = serde_saphyr::options! {
            budget: serde_saphyr::budget! { max_depth: DEPTH_MAX, max_documents: 1 },
            strict_booleans: true,
            with_snippet: false,
            non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::AsString,
        };
        let tree: Spanned<Tree> = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
            let line = error.location().map_or(0, |location| location.line());
            Problem::new(line, "", format!("not YAML: {error}"))
        })?;
        Ok(node(tree, text))
    }

    /// What it is, in words.
    pub fn kind(&self) -> &'static str {
        match self.value {
            NodeValue::Null => "nothing",
            NodeValue::Bool(_) => "a boolean",
            NodeValue::Number(_) => "a number",
            NodeValue::Text(_) => "a text",
            NodeValue::List(_) => "a list",
            NodeValue::Map(_) => "a map",
        }
    }

    /// The same as JSON text, numbers as they were written, keys in the order of the file.
    pub fn to_json_text(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }

    /// The same as a JSON value; numbers become what `serde_json` can hold.
    pub fn to_value(&self) -> serde_json::Value {
        use serde_json::Value;
        match &self.value {
            NodeValue::Null => Value::Null,
            NodeValue::Bool(flag) => Value::Bool(*flag),
            NodeValue::Number(text) => serde_json::from_str(text).unwrap_or(Value::Null),
            NodeValue::Text(text) => Value::String(text.clone()),
            NodeValue::List(items) => Value::Array(items.iter().map(Node::to_value).collect()),
            NodeValue::Map(entries) => {
                Value::Object(entries.iter().map(|(key, value)| (key.text.clone(), value.to_value())).collect())
            }
        }
    }

    fn write_json(&self, out: &mut String) {
        match &self.value {
            NodeValue::Null => out.push_str("null"),
            NodeValue::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
            NodeValue::Number(text) => out.push_str(text),
            NodeValue::Text(text) => write_quoted(text, out),
            NodeValue::List(items) => {
                out.push('[');
                for (position, item) in items.iter().enumerate() {
                    if position > 0 {
                        out.push(',');
                    }
                    item.write_json(out);
                }
                out.push(']');
            }
            NodeValue::Map(entries) => {
                out.push('{');
                for (position, (key, value)) in entries.iter().enumerate() {
                    if position > 0 {
                        out.push(',');
                    }
                    write_quoted(&key.text, out);
                    out.push(':');
                    value.write_json(out);
                }
                out.push('}');
            }
        }
    }
}

fn write_quoted(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::String(text.to_owned()).to_string());
}

/// What serde-saphyr gives, before lines and numbers are settled.
enum Tree {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Spanned<Tree>>),
    Map(Vec<(Spanned<String>, Spanned<Tree>)>),
}

fn node(tree: Spanned<Tree>, source: &str) -> Node {
    let line = tree.referenced.line();
    let value = match tree.value {
        Tree::Null => NodeValue::Null,
        Tree::Bool(flag) => NodeValue::Bool(flag),
        Tree::Number(text) => NodeValue::Number(as_written(tree.defined, source).unwrap_or(text)),
        Tree::Text(text) => NodeValue::Text(text),
        Tree::List(items) => NodeValue::List(items.into_iter().map(|item| node(item, source)).collect()),
        Tree::Map(entries) => NodeValue::Map(
            entries
                .into_iter()
                .map(|(key, value)| (Key { line: key.referenced.line(), text: key.value }, node(value, source)))
                .collect(),
        ),
    };
    Node { line, value }
}

/// The digits of the file, if JSON would write the number like that. Without this, a long integer would become a
/// double.
fn as_written(at: serde_saphyr::Location, source: &str) -> Option<String> {
    let span = at.span();
    let begin = usize::try_from(span.byte_offset()?).ok()?;
    let end = begin.checked_add(usize::try_from(span.byte_len()?).ok()?)?;
    let text = source.get(begin..end)?.trim();
    let is_number = serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
        && text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    is_number.then(|| text.to_owned())
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Tree, E> {
        Ok(Tree::Number(number.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Tree, E> {
        Ok(Tree::Number(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Tree, E> {
        Ok(serde_json::Number::from_f64(number).map_or(Tree::Null, |number| Tree::Number(number.to_string())))
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Tree, E> {
        Ok(Tree::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tree, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Tree::Map(map))
    }
}

#[cfg(test)]
mod tests;
