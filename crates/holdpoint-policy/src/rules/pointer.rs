//! JSON pointers (RFC 6901) into the arguments of a call.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Where in the arguments to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pointer {
    tokens: Vec<Box<str>>,
}

impl Pointer {
    /// Reads a pointer. Nothing if it is not one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self { tokens: Vec::new() });
        }
        let tokens = text.strip_prefix('/')?.split('/').map(unescape).collect::<Option<_>>()?;
        Some(Self { tokens })
    }

    /// The value there, exactly as it is written. Nothing when the arguments have no such place.
    ///
    /// Goes level by level and reads no number on the way: one that no machine type can hold must not be in the way.
    pub(crate) fn find<'a>(&self, json: &'a str) -> Result<Option<&'a RawValue>, serde_json::Error> {
        let mut value: &RawValue = serde_json::from_str(json)?;
        for token in &self.tokens {
            let mut reader = serde_json::Deserializer::from_str(value.get());
            let inner = match value.get().as_bytes().first() {
                Some(b'{') => reader.deserialize_map(Member(token))?,
                Some(b'[') => reader.deserialize_seq(Element(index(token)))?,
                _ => None,
            };
            match inner {
                Some(inner) => value = inner,
                None => return Ok(None),
            }
        }
        Ok(Some(value))
    }
}

fn unescape(token: &str) -> Option<Box<str>> {
    let mut plain = String::with_capacity(token.len());
    let mut chars = token.chars();
    while let Some(char) = chars.next() {
        plain.push(match char {
            '~' => match chars.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            },
            other => other,
        });
    }
    Some(plain.into())
}

/// An index has no zeros in front and no sign.
fn index(token: &str) -> Option<usize> {
    let canonical = token == "0" || !token.starts_with('0');
    let digits = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
    if canonical && digits { token.parse().ok() } else { None }
}

/// Finds one value of an object.
struct Member<'t>(&'t str);

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(Name(name)) = entries.next_key()? {
            if name == self.0 {
                found = Some(entries.next_value()?);
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Finds one value of a list.
struct Element(Option<usize>);

impl<'de> Visitor<'de> for Element {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        let mut place = 0;
        while let Some(item) = items.next_element::<&RawValue>()? {
            if Some(place) == self.0 {
                found = Some(item);
            }
            place += 1;
        }
        Ok(found)
    }
}

/// A name that is copied only if it has escapes.
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
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}
