//! Values that can be written in more than one way, and words of the core.

use std::fmt;
use std::marker::PhantomData;

use holdpoint_core::Named;
use serde::Serialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// A text, or a table that says more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum TextOr<T> {
    /// The text.
    Text(String),
    /// The table.
    Table(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for TextOr<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = TextOr<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a table")
            }

            fn visit_str<E>(self, text: &str) -> Result<TextOr<T>, E> {
                Ok(TextOr::Text(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<TextOr<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(table)).map(TextOr::Table)
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

/// Reads a value of the core by its stable name; for `deserialize_with`.
pub fn named<'de, D: Deserializer<'de>, T: Named>(deserializer: D) -> Result<T, D::Error> {
    let name = String::deserialize(deserializer)?;
    T::named(&name).ok_or_else(|| D::Error::unknown_variant(&name, T::NAMES))
}
