//! Values that are taken as they are.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// The name by which a [`Reader`](crate::read::Reader) knows that JSON text is wanted.
pub(crate) const TOKEN: &str = "$holdpoint::RawJson";

/// A value as JSON text, with every digit of its numbers and its keys in the order of the file.
#[derive(Clone, PartialEq, Eq)]
pub struct RawJson(pub String);

impl RawJson {
    /// The string, if the value is one.
    pub fn as_string(&self) -> Option<String> {
        serde_json::from_str(&self.0).ok()
    }
}

/// As a value; numbers become what `serde_json` can hold.
impl From<&RawJson> for serde_json::Value {
    fn from(raw: &RawJson) -> Self {
        serde_json::from_str(&raw.0).unwrap_or_default()
    }
}

/// Without the content: it may be arguments or a result.
impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawJson({} bytes)", self.0.len())
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = RawJson;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_str<E>(self, text: &str) -> Result<RawJson, E> {
                Ok(RawJson(text.to_owned()))
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<RawJson, D::Error> {
                let value = serde_json::Value::deserialize(deserializer)?;
                serde_json::to_string(&value).map(RawJson).map_err(D::Error::custom)
            }
        }
        deserializer.deserialize_newtype_struct(TOKEN, Text)
    }
}
