//! Values that conditions look at: of the arguments, of the context, of a rule itself. Opened when they are first
//! looked at, each at most once, and never rounded.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::decimal::Decimal;
use super::host::host_of;
use super::literal::Literal;
use super::path::PathNames;

/// A value, opened or not.
pub(crate) struct Node<'a> {
    source: Source<'a>,
    opened: OnceCell<Result<Opened<'a>, Unreadable>>,
    host: OnceCell<Option<Box<str>>>,
    path: OnceCell<Box<PathNames>>,
}

/// Where a value comes from.
#[derive(Clone, Copy)]
enum Source<'a> {
    /// JSON text. No number in it was read by a machine type.
    Raw(&'a str),
    Json(&'a serde_json::Value),
    Members(&'a serde_json::Map<String, serde_json::Value>),
    /// It was made open.
    Made,
}

/// What a value is.
pub(crate) enum Opened<'a> {
    Null,
    Bool(bool),
    Number(Decimal),
    Text(Cow<'a, str>),
    List(Vec<Node<'a>>),
    /// In the order of the names, each there once.
    Map(Vec<(Cow<'a, str>, Node<'a>)>),
}

/// Why a value could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    NotJson,
    /// Readers differ on which of the two counts.
    RepeatedName,
}

impl Unreadable {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Unreadable::NotJson => "the arguments are not JSON",
            Unreadable::RepeatedName => "the arguments have a name twice",
        }
    }
}

impl<'a> Node<'a> {
    /// JSON text.
    pub(crate) fn raw(text: &'a str) -> Self {
        Self::new(Source::Raw(text.trim_matches([' ', '\t', '\r', '\n'])))
    }

    /// Attributes of a context.
    pub(crate) fn members(members: &'a serde_json::Map<String, serde_json::Value>) -> Self {
        Self::new(Source::Members(members))
    }

    /// A list of texts.
    pub(crate) fn texts(texts: &'a BTreeSet<Arc<str>>) -> Self {
        Self::made(Opened::List(texts.iter().map(|text| Node::text(text)).collect()))
    }

    /// A value of a rule.
    pub(crate) fn literal(literal: &'a Literal) -> Self {
        Self::made(match literal {
            Literal::Null => Opened::Null,
            Literal::Bool(value) => Opened::Bool(*value),
            Literal::Number(number) => Opened::Number(number.clone()),
            Literal::Text(text) => Opened::Text(Cow::Borrowed(text)),
            Literal::List(items) => Opened::List(items.iter().map(Node::literal).collect()),
            Literal::Map(members) => {
                let member = |(name, value): (&'a String, _)| (Cow::Borrowed(name.as_str()), Node::literal(value));
                Opened::Map(members.iter().map(member).collect())
            }
        })
    }

    /// A text.
    pub(crate) fn text(text: &'a str) -> Self {
        Self::made(Opened::Text(Cow::Borrowed(text)))
    }

    /// A number.
    pub(crate) fn number(number: Decimal) -> Self {
        Self::made(Opened::Number(number))
    }

    fn new(source: Source<'a>) -> Self {
        Self { source, opened: OnceCell::new(), host: OnceCell::new(), path: OnceCell::new() }
    }

    fn made(opened: Opened<'a>) -> Self {
        Self { opened: OnceCell::from(Ok(opened)), ..Self::new(Source::Made) }
    }

    /// Whether it is plainly a list or a map, told without opening it.
    pub(crate) fn is_container(&self) -> bool {
        match self.source {
            Source::Raw(text) => text.starts_with(['{', '[']),
            Source::Json(value) => value.is_array() || value.is_object(),
            Source::Members(_) => true,
            Source::Made => matches!(self.opened.get(), Some(Ok(Opened::List(_) | Opened::Map(_)))),
        }
    }

    /// What it is.
    pub(crate) fn open(&self) -> Result<&Opened<'a>, Unreadable> {
        self.opened.get_or_init(|| self.source.open()).as_ref().map_err(|unreadable| *unreadable)
    }

    /// The path, if it is a text.
    pub(crate) fn path(&self) -> Result<Option<&PathNames>, Unreadable> {
        Ok(match self.open()? {
            Opened::Text(text) => Some(&**self.path.get_or_init(|| Box::new(PathNames::of(text)))),
            Opened::Null | Opened::Bool(_) | Opened::Number(_) | Opened::List(_) | Opened::Map(_) => None,
        })
    }

    /// The host, if it is a URL.
    pub(crate) fn host(&self) -> Result<Option<&str>, Unreadable> {
        Ok(match self.open()? {
            Opened::Text(text) => self.host.get_or_init(|| host_of(text).map(Into::into)).as_deref(),
            Opened::Null | Opened::Bool(_) | Opened::Number(_) | Opened::List(_) | Opened::Map(_) => None,
        })
    }
}

impl<'a> Source<'a> {
    fn open(self) -> Result<Opened<'a>, Unreadable> {
        match self {
            Source::Raw(text) => open_raw(text),
            Source::Json(value) => open_json(value),
            Source::Members(members) => {
                named(members.iter().map(|(name, value)| (Cow::Borrowed(&**name), Node::new(Source::Json(value)))))
            }
            // A made value is open from the start.
            Source::Made => Err(Unreadable::NotJson),
        }
    }
}

fn open_raw(text: &str) -> Result<Opened<'_>, Unreadable> {
    let not_json = |_| Unreadable::NotJson;
    match text.as_bytes().first() {
        Some(b'{') => {
            let Members(members) = serde_json::from_str(text).map_err(not_json)?;
            named(members.into_iter().map(|(name, value)| (name, Node::new(Source::Raw(value.get())))))
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text).map_err(not_json)?;
            Ok(Opened::List(items.into_iter().map(|item| Node::new(Source::Raw(item.get()))).collect()))
        }
        Some(b'"') => {
            let Name(text) = serde_json::from_str(text).map_err(not_json)?;
            Ok(Opened::Text(text))
        }
        Some(b'n') if text == "null" => Ok(Opened::Null),
        Some(b't') if text == "true" => Ok(Opened::Bool(true)),
        Some(b'f') if text == "false" => Ok(Opened::Bool(false)),
        _ => Decimal::parse(text).map(Opened::Number).ok_or(Unreadable::NotJson),
    }
}

fn open_json(value: &serde_json::Value) -> Result<Opened<'_>, Unreadable> {
    use serde_json::Value;
    match value {
        Value::Null => Ok(Opened::Null),
        Value::Bool(value) => Ok(Opened::Bool(*value)),
        Value::Number(number) => Decimal::parse(&number.to_string()).map(Opened::Number).ok_or(Unreadable::NotJson),
        Value::String(text) => Ok(Opened::Text(Cow::Borrowed(text))),
        Value::Array(items) => Ok(Opened::List(items.iter().map(|item| Node::new(Source::Json(item))).collect())),
        Value::Object(members) => Source::Members(members).open(),
    }
}

fn named<'a>(members: impl Iterator<Item = (Cow<'a, str>, Node<'a>)>) -> Result<Opened<'a>, Unreadable> {
    let mut members: Vec<_> = members.collect();
    members.sort_by(|(left, _), (right, _)| left.cmp(right));
    if members.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return Err(Unreadable::RepeatedName);
    }
    Ok(Opened::Map(members))
}

/// Whether a test holds for all of these; the first that cannot be opened ends it.
pub(crate) fn all<T>(
    items: impl IntoIterator<Item = T>,
    test: impl Fn(T) -> Result<bool, Unreadable>,
) -> Result<bool, Unreadable> {
    for item in items {
        if !test(item)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a test holds for one of these.
pub(crate) fn any<T>(
    items: impl IntoIterator<Item = T>,
    test: impl Fn(T) -> Result<bool, Unreadable>,
) -> Result<bool, Unreadable> {
    Ok(!all(items, |item| Ok(!test(item)?))?)
}

/// The members of an object, each as it is written.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor).map(Members)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((Name(name), value)) = entries.next_entry()? {
            members.push((name, value));
        }
        Ok(members)
    }
}

/// A text that is copied only if it has escapes.
struct Name<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(NameVisitor).map(Name)
    }
}

struct NameVisitor;

impl<'de> Visitor<'de> for NameVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}
