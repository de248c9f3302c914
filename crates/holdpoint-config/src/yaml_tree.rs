//! YAML as a tree.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

use crate::node::{Key, Node, Number, Value};
use crate::{Located, Place, Problem};

/// What a YAML document may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct YamlLimits {
    /// The size of the text.
    pub max_bytes: usize,
    /// How deep values are nested.
    pub max_depth: usize,
    /// Values, with what aliases repeat.
    pub max_nodes: usize,
}

pub(crate) fn parse(text: &str, limits: YamlLimits) -> Result<Node, Located> {
    let YamlLimits { max_bytes, max_depth, max_nodes } = limits;
    if text.len() > max_bytes {
        return Err(Located { place: None, problem: Problem::new(format_args!("has more than {max_bytes} bytes")) });
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: max_depth, max_nodes: max_nodes, max_documents: 1 },
        strict_booleans: true,
        with_snippet: false,
        non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::AsString,
    };
    let tree: Spanned<Tree> = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let message = error.to_string();
        let message = message.lines().next().unwrap_or_default();
        Located { place: error.location().map(place), problem: Problem::new(format_args!("is not YAML: {message}")) }
    })?;
    Ok(node(tree, text))
}

fn place(at: Location) -> Place {
    let from_one = |number: u64| usize::try_from(number).unwrap_or(usize::MAX).max(1);
    Place { line: from_one(at.line()), column: from_one(at.column()) }
}

fn node(tree: Spanned<Tree>, text: &str) -> Node {
    let value = match tree.value.0 {
        Value::Null => Value::Null,
        Value::Bool(flag) => Value::Bool(flag),
        Value::Number(number) => Value::Number(as_written(tree.defined, text).unwrap_or(number)),
        Value::Text(text) => Value::Text(text),
        Value::Date => Value::Date,
        Value::List(items) => Value::List(items.into_iter().map(|item| node(item, text)).collect()),
        Value::Map(entries) => Value::Map(
            entries
                .into_iter()
                .map(|(key, value)| (Key { place: place(key.referenced), text: key.value }, node(value, text)))
                .collect(),
        ),
    };
    Node { place: place(tree.referenced), value }
}

/// The digits of the file. Without this, a long integer would become a double.
fn as_written(at: Location, text: &str) -> Option<Number> {
    let span = at.span();
    let begin = usize::try_from(span.byte_offset()?).ok()?;
    let end = begin.checked_add(usize::try_from(span.byte_len()?).ok()?)?;
    let written = text.get(begin..end)?.trim();
    let is_json = serde_json::from_str::<&serde_json::value::RawValue>(written).is_ok()
        && written.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    is_json.then(|| Number { json: written.to_owned(), written: written.to_owned() })
}

/// What the parser gives, before places and digits are settled.
struct Tree(Value<Spanned<Tree>, Spanned<String>>);

impl Tree {
    fn number(text: String) -> Self {
        Self(Value::Number(Number { written: text.clone(), json: text }))
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree(Value::Null))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Tree, E> {
        Ok(Tree(Value::Bool(flag)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Tree, E> {
        Ok(Tree::number(number.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Tree, E> {
        Ok(Tree::number(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Tree, E> {
        let number = serde_json::Number::from_f64(number);
        Ok(number.map_or(Tree(Value::Null), |number| Tree::number(number.to_string())))
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree(Value::Text(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree(Value::List(list)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tree, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Tree(Value::Map(map)))
    }
}
