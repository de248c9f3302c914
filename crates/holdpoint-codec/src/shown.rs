//! JSON objects that people and programs are shown: every member in its exact text, so that no number loses a digit.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// A JSON object whose members keep the text they were written with, in the order they were set. A
/// [`serde_json::Value`] would turn an integer of more than 64 bits into another one. `Debug` shows names only.
#[derive(Clone, Default)]
pub struct Shown {
    members: Vec<(String, Box<RawValue>)>,
}

impl Shown {
    /// The members of something that is written as an object. Of anything else there are none.
    pub fn of<T: Serialize + ?Sized>(object: &T) -> Self {
        let text = serde_json::to_string(object).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Sets a member: in its place if there is one of that name, at the end otherwise.
    pub fn set<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) {
        // What cannot be written, a map with keys that are no text, is nothing that is shown.
        let raw = serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned());
        match self.members.iter_mut().find(|(known, _)| known == name) {
            Some((_, held)) => *held = raw,
            None => self.members.push((name.to_owned(), raw)),
        }
    }

    /// With one more member.
    #[must_use]
    pub fn with<T: Serialize + ?Sized>(mut self, name: &str, value: &T) -> Self {
        self.set(name, value);
        self
    }

    /// Takes a member out.
    pub fn take(&mut self, name: &str) -> Option<Box<RawValue>> {
        let place = self.members.iter().position(|(known, _)| known == name)?;
        Some(self.members.remove(place).1)
    }

    /// The exact text of a member.
    pub fn raw(&self, name: &str) -> Option<&RawValue> {
        self.members.iter().find(|(known, _)| known == name).map(|(_, held)| &**held)
    }

    /// A member as a value, null if there is none. An integer of more than 64 bits is only near to what it was.
    pub fn value(&self, name: &str) -> Value {
        self.raw(name).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
    }

    /// A member that is a text.
    pub fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.raw(name)?.get()).ok()
    }

    /// The object as a value. An integer of more than 64 bits is only near to what it was.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The only member, with its exact text. Nothing when there are more or none.
    pub(crate) fn only(&self) -> Option<(&str, &str)> {
        match self.members.as_slice() {
            [(name, raw)] => Some((name, raw.get())),
            _ => None,
        }
    }

    /// All members, each with its exact text.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.members.iter().map(|(name, raw)| (name.as_str(), &**raw))
    }

    /// Whether it has no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

/// As JSON in one line.
impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.members.iter().map(|(name, _)| name)).finish()
    }
}

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.members.iter().map(|(name, raw)| (name, raw)))
    }
}

impl<'de> Deserialize<'de> for Shown {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Shown;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shown, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Shown { members })
            }
        }

        deserializer.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests;
