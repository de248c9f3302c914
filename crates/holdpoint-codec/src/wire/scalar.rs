//! Texts, raw JSON, moments and digests.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use holdpoint_core::{Attributes, Digest, JsonText, Timestamp};
use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::canonical::{canonical_json, key_order};
use crate::hex;

/// A shared text. Read with one copy, whether it has escapes or not.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Text(pub(crate) Arc<str>);

impl Text {
    /// A copy of a text.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The same text.
    pub fn share(text: &Arc<str>) -> Self {
        Self(Arc::clone(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
        Ok(Text(text.into()))
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor)
    }
}

/// A JSON value in its exact text, which is canonical. `Debug` shows its size only.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(pub(crate) JsonText);

impl Json {
    /// JSON that is canonical already.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(JsonText::new(text))
    }

    /// Its text. Holds arguments or results: data, not for logs.
    pub fn as_str(&self) -> &str {
        self.0.expose()
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Json({} bytes)", self.as_str().len())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serde_json::from_str::<&RawValue>(self.as_str()) {
            Ok(raw) if raw.get() == self.as_str() => raw.serialize(serializer),
            // Only somebody who went past the codec could have made this: it stays a text rather than break the rest.
            Ok(_) | Err(_) => serializer.serialize_str(self.as_str()),
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let canonical = canonical_json(raw.get()).map_err(|_| D::Error::custom("not a value that can be kept"))?;
        Ok(Self::new(canonical))
    }
}

/// Values by name, written in canonical order.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Members(pub(crate) Attributes);

impl Members {
    /// The value of this name, as JSON text.
    pub fn raw(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(JsonText::expose)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members: Vec<(&Arc<str>, &JsonText)> = self.0.iter().collect();
        members.sort_by(|(one, _), (other, _)| key_order(one, other));
        let mut map = serializer.serialize_map(Some(members.len()))?;
        for (name, value) in members {
            map.serialize_entry(&**name, &Json(value.clone()))?;
        }
        map.end()
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let mut members = BTreeMap::new();
        while let Some((name, value)) = map.next_entry::<Text, Json>()? {
            if members.insert(name.0, value.0).is_some() {
                return Err(A::Error::custom("a name occurs twice"));
            }
        }
        Ok(Members(members))
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

/// A moment for people: RFC 3339. One that no calendar has stays a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(pub Timestamp);

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match jiff::Timestamp::from_microsecond(self.0.0) {
            Ok(moment) => serializer.collect_str(&moment),
            Err(_) => serializer.serialize_i64(self.0.0),
        }
    }
}

struct MomentVisitor;

impl Visitor<'_> for MomentVisitor {
    type Value = Moment;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a moment")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Moment, E> {
        let moment: jiff::Timestamp = text.parse().map_err(|_| E::custom("not a moment"))?;
        Ok(Moment(Timestamp(moment.as_microsecond())))
    }

    fn visit_i64<E: Error>(self, us: i64) -> Result<Moment, E> {
        Ok(Moment(Timestamp(us)))
    }

    fn visit_u64<E: Error>(self, us: u64) -> Result<Moment, E> {
        i64::try_from(us).map(|us| Moment(Timestamp(us))).map_err(|_| E::custom("not a moment"))
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MomentVisitor)
    }
}

/// A digest as 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigestText(pub Digest);

impl Serialize for DigestText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex(&self.0.0))
    }
}

impl<'de> Deserialize<'de> for DigestText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        Digest::parse(&text).map(Self).ok_or_else(|| D::Error::custom("not a digest"))
    }
}
