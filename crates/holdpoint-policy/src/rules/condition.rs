//! What must be true of a value. Operands are parsed when a rule is read, and nothing is parsed again per call.

use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use holdpoint_config::{TableOr, Variants};
use regex::{Regex, RegexBuilder};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserializer, Error, IntoDeserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use super::REGEX_BYTES_MAX;
use super::decimal::Decimal;
use super::host::HostPattern;
use super::literal::Literal;
use super::node::{Node, Opened, Unreadable, all, any};
use super::path::Folder;

/// Operators that must all hold. A value that is absent meets only `present = false`.
///
/// In a file it is a table of operators, or a value that must be there. A value that is a table is written `{eq = {…}}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    pub(crate) operators: Vec<Operator>,
}

/// One operator with its operand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Operator {
    Present(bool),
    Eq(Literal),
    Ne(Literal),
    In(Vec<Literal>),
    Gt(Decimal),
    Gte(Decimal),
    Lt(Decimal),
    Lte(Decimal),
    StartsWith(Parsed<Part>),
    EndsWith(Parsed<Part>),
    /// An item of a list, or a part of a text.
    #[serde(deserialize_with = "filled")]
    Contains(Literal),
    PathUnder(Several<Parsed<Folder>>),
    Host(Several<Parsed<HostPattern>>),
    /// Of the number of items or characters.
    Len(Condition),
    Any(Condition),
    All(Condition),
    Matches(Parsed<Pattern>),
}

/// A number that a value is compared with, and the orders that are accepted.
pub(crate) struct Bound<'o> {
    pub(crate) value: &'o Decimal,
    pub(crate) accepted: [Ordering; 2],
}

impl Condition {
    /// Nothing is a value that is absent.
    pub(crate) fn holds(&self, value: Option<&Node<'_>>) -> Result<bool, Unreadable> {
        all(&self.operators, |operator| operator.holds(value))
    }
}

impl Operator {
    /// The key that it is written with.
    pub(crate) fn name(&self) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        json.split('"').nth(1).unwrap_or_default().to_owned()
    }

    /// The number that a value is compared with, if the operator does that.
    pub(crate) fn bound(&self) -> Option<Bound<'_>> {
        let (value, accepted) = match self {
            Operator::Gt(value) => (value, [Ordering::Greater, Ordering::Greater]),
            Operator::Gte(value) => (value, [Ordering::Greater, Ordering::Equal]),
            Operator::Lt(value) => (value, [Ordering::Less, Ordering::Less]),
            Operator::Lte(value) => (value, [Ordering::Less, Ordering::Equal]),
            _ => return None,
        };
        Some(Bound { value, accepted })
    }

    pub(crate) fn holds(&self, value: Option<&Node<'_>>) -> Result<bool, Unreadable> {
        let Some(node) = value else { return Ok(matches!(self, Operator::Present(false))) };
        let len = |count: usize, wanted: &Condition| wanted.holds(Some(&Node::number(Decimal::whole(count))));
        Ok(match self {
            Operator::Present(wanted) => *wanted,
            Operator::Eq(wanted) => wanted.equals(node)?,
            Operator::Ne(unwanted) => !unwanted.equals(node)?,
            Operator::In(wanted) => any(wanted, |wanted| wanted.equals(node))?,
            Operator::Gt(_) | Operator::Gte(_) | Operator::Lt(_) | Operator::Lte(_) => {
                match (self.bound(), node.open()?) {
                    (Some(bound), Opened::Number(number)) => bound.accepted.contains(&number.cmp(bound.value)),
                    _ => false,
                }
            }
            Operator::StartsWith(start) => text_of(node)?.is_some_and(|text| text.starts_with(&*start.written)),
            Operator::EndsWith(end) => text_of(node)?.is_some_and(|text| text.ends_with(&*end.written)),
            Operator::Matches(pattern) => text_of(node)?.is_some_and(|text| pattern.operand.is_in(text)),
            Operator::PathUnder(Several(folders)) => {
                node.path()?.is_some_and(|path| folders.iter().any(|folder| folder.operand.holds(path)))
            }
            Operator::Host(Several(hosts)) => {
                node.host()?.is_some_and(|host| hosts.iter().any(|pattern| pattern.operand.holds(host)))
            }
            Operator::Contains(part) => match (node.open()?, part) {
                (Opened::List(items), _) => any(items, |item| part.equals(item))?,
                (Opened::Text(text), Literal::Text(part)) => text.contains(part.as_str()),
                _ => false,
            },
            Operator::Len(wanted) => match node.open()? {
                Opened::List(items) => len(items.len(), wanted)?,
                Opened::Text(text) => len(text.chars().count(), wanted)?,
                Opened::Null | Opened::Bool(_) | Opened::Number(_) | Opened::Map(_) => false,
            },
            Operator::Any(wanted) => match node.open()? {
                Opened::List(items) => any(items, |item| wanted.holds(Some(item)))?,
                _ => false,
            },
            // A list without items does not meet `all`: a rule that allows must not allow it by having nothing to check.
            Operator::All(wanted) => match node.open()? {
                Opened::List(items) => !items.is_empty() && all(items, |item| wanted.holds(Some(item)))?,
                _ => false,
            },
        })
    }
}

fn text_of<'n>(node: &'n Node<'_>) -> Result<Option<&'n str>, Unreadable> {
    Ok(match node.open()? {
        Opened::Text(text) => Some(text),
        Opened::Null | Opened::Bool(_) | Opened::Number(_) | Opened::List(_) | Opened::Map(_) => None,
    })
}

impl<'de> Deserialize<'de> for Condition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut operators = match TableOr::<Variants<Operator>, Literal>::deserialize(deserializer)? {
            TableOr::Table(Variants(operators)) if operators.is_empty() => {
                return Err(D::Error::custom("needs an operator"));
            }
            TableOr::Table(Variants(operators)) => operators,
            TableOr::Other(literal) => vec![Operator::Eq(literal)],
        };
        // Searching for a pattern costs most, so it is done last.
        operators.sort_by_key(|operator| matches!(operator, Operator::Matches(_)));
        Ok(Self { operators })
    }
}

/// A table of its operators, in the order of their names: equal for conditions that ask the same.
impl Serialize for Condition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::Error;
        // Each operator is an object with one member.
        let member = |operator| serde_json::to_string(operator).map(|object| object[1..object.len() - 1].to_owned());
        let mut members: Vec<String> =
            self.operators.iter().map(member).collect::<Result<_, _>>().map_err(S::Error::custom)?;
        members.sort_unstable();
        RawValue::from_string(format!("{{{}}}", members.join(","))).map_err(S::Error::custom)?.serialize(serializer)
    }
}

/// An operand that was parsed, and the text that it was parsed from.
#[derive(Clone, Debug)]
pub(crate) struct Parsed<T> {
    written: Box<str>,
    pub(crate) operand: T,
}

impl<T> Parsed<T> {
    pub(crate) fn written(&self) -> &str {
        &self.written
    }
}

impl<T> PartialEq for Parsed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl<T> Serialize for Parsed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.written)
    }
}

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Parsed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = String::deserialize(deserializer)?;
        Ok(Self { operand: written.parse().map_err(D::Error::custom)?, written: written.into() })
    }
}

/// A text, or a list of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Several<T>(pub(crate) Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Several<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMore<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMore<T> {
            type Value = Several<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of strings")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Several<T>, E> {
                Ok(Several(vec![T::deserialize(text.into_deserializer())?]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Several<T>, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(items)).map(Several)
            }
        }
        deserializer.deserialize_any(OneOrMore(PhantomData))
    }
}

const EMPTY: &str = "is empty\nhint: use `present = true` for any value";

/// A text that is not empty: every text begins with an empty one, so its author meant something else.
#[derive(Clone, Debug)]
pub(crate) struct Part;

impl FromStr for Part {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() { Err(EMPTY) } else { Ok(Self) }
    }
}

fn filled<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Literal, D::Error> {
    match Literal::deserialize(deserializer)? {
        Literal::Text(text) if text.is_empty() => Err(D::Error::custom(EMPTY)),
        literal => Ok(literal),
    }
}

/// A regular expression.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    /// What every text begins with in which it is found, if it is plain that there is such a thing: most texts are told
    /// apart by that alone.
    start: Option<Box<str>>,
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(pattern: &str) -> Result<Self, String> {
        let built = RegexBuilder::new(pattern).size_limit(REGEX_BYTES_MAX).build();
        let regex = built.map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => format!("is larger than {REGEX_BYTES_MAX} bytes when compiled"),
            // The engine's own text without its drawing of the pattern.
            other => {
                let text = other.to_string();
                let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
                format!("is not a regular expression: {reason}")
            }
        })?;
        Ok(Self { regex, start: literal_start(pattern).map(Into::into) })
    }
}

impl Pattern {
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.start.as_ref().is_none_or(|start| text.starts_with(&**start)) && self.regex.is_match(text)
    }
}

/// The letters after `^` that stand for themselves. Nothing where alternatives, groups with flags or escapes could give
/// them another meaning.
fn literal_start(pattern: &str) -> Option<&str> {
    let rest = pattern.strip_prefix('^')?;
    if rest.contains('|') || rest.contains("(?") {
        return None;
    }
    let end = rest.find(['\\', '.', '+', '*', '?', '(', ')', '[', ']', '{', '}', '^', '$']).unwrap_or(rest.len());
    let (plain, after) = rest.split_at(end);
    // A letter that is repeated need not be there.
    let repeated = after.starts_with(['+', '*', '?', '{']);
    let plain = if repeated { &plain[..plain.char_indices().next_back()?.0] } else { plain };
    (!plain.is_empty()).then_some(plain)
}
