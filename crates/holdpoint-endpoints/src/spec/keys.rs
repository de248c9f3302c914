//! Unknown keys are errors that name the nearest known one, at the place of the key.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, Visitor};

/// The known word that is nearest to what was written, if one is near.
pub fn nearest<'k>(written: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let near = known.into_iter().map(|word| (strsim::damerau_levenshtein(written, word), word)).min()?;
    // A third of the letters may be wrong, and one always.
    let allowed = (written.chars().count().max(near.1.chars().count()) / 3).max(1);
    (near.0 <= allowed).then_some(near.1)
}

/// The sentence about an unknown key.
pub(super) fn unknown(key: &str, known: &[&str]) -> String {
    let shown: String = key.chars().take(64).flat_map(char::escape_debug).collect();
    match nearest(key, known.iter().copied()) {
        Some(word) => format!("unknown key `{shown}`; hint: did you mean `{word}`?"),
        None => format!("unknown key `{shown}`; hint: known are `{}`", known.join("`, `")),
    }
}

/// Deserializes a struct from a map and refuses unknown keys while they are read, so that a format that knows its lines
/// can say which one it was.
pub(crate) struct NearestKeys<D>(pub(crate) D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for NearestKeys<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_struct(name, fields, KnownVisitor { visitor, fields })
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

struct KnownVisitor<V> {
    visitor: V,
    fields: &'static [&'static str],
}

impl<'de, V: Visitor<'de>> Visitor<'de> for KnownVisitor<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(KnownMap { map, fields: self.fields })
    }
}

struct KnownMap<A> {
    map: A,
    fields: &'static [&'static str],
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for KnownMap<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        self.map.next_key_seed(KnownKey { seed, fields: self.fields })
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

/// One key, checked as it is read.
pub(super) struct KnownKey<'f, K> {
    pub(super) seed: K,
    pub(super) fields: &'f [&'static str],
}

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for KnownKey<'_, K> {
    type Value = K::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<K::Value, D::Error> {
        let key = <String as serde::Deserialize>::deserialize(deserializer)?;
        if !self.fields.contains(&key.as_str()) {
            return Err(D::Error::custom(unknown(&key, self.fields)));
        }
        let key: StrDeserializer<'_, D::Error> = key.as_str().into_deserializer();
        self.seed.deserialize(key)
    }
}

/// The names of a struct's fields, as its `Deserialize` gives them.
pub fn fields_of<T: serde::de::DeserializeOwned>() -> &'static [&'static str] {
    match T::deserialize(Probe) {
        Err(Fields(fields)) => fields,
        Ok(_) => &[],
    }
}

/// Knows nothing but what it is asked for.
struct Probe;

#[derive(Debug)]
struct Fields(&'static [&'static str]);

impl<'de> Deserializer<'de> for Probe {
    type Error = Fields;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Fields> {
        Err(Fields(&[]))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Fields> {
        Err(Fields(fields))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fields")
    }
}

impl std::error::Error for Fields {}

impl Error for Fields {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(&[])
    }
}
