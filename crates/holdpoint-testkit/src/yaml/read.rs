//! Typed values out of a tree, for types that read themselves. What does not fit is told with its line and its keys.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::{Key, Node, NodeValue};

/// A value that does not fit.
#[derive(Debug)]
pub(crate) struct Misfit {
    /// Its line, and the keys that lead to it. Nothing while only the value itself is known.
    pub(crate) place: Option<(u64, String)>,
    pub(crate) message: String,
}

impl Misfit {
    /// It happened below this key.
    fn below(mut self, line: u64, step: &str) -> Self {
        self.place = Some(match self.place {
            None => (line, step.to_owned()),
            Some((line, path)) if path.starts_with('[') => (line, format!("{step}{path}")),
            Some((line, path)) => (line, format!("{step}.{path}")),
        });
        self
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Misfit {}

impl de::Error for Misfit {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { place: None, message: message.to_string() }
    }
}

/// A node that is read.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'de>(pub(crate) &'de Node);

impl<'de> Deserializer<'de> for Reading<'de> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match &self.0.value {
            NodeValue::Null => visitor.visit_unit(),
            NodeValue::Bool(flag) => visitor.visit_bool(*flag),
            NodeValue::Number(text) => number(text, visitor),
            NodeValue::Text(text) => visitor.visit_str(text),
            NodeValue::List(items) => visitor.visit_seq(Items { items, next: 0 }),
            NodeValue::Map(entries) => visitor.visit_map(Entries { entries, next: 0 }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.0.value {
            NodeValue::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        match &self.0.value {
            NodeValue::Text(text) => visitor.visit_enum(IntoDeserializer::<Misfit>::into_deserializer(text.as_str())),
            _ => Err(de::Error::custom(format_args!("expected a word, found {}", self.0.kind()))),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

/// Whole numbers stay exact as far as a machine has them.
fn number<'de, V: Visitor<'de>>(text: &str, visitor: V) -> Result<V::Value, Misfit> {
    if let Ok(whole) = text.parse::<u64>() {
        return visitor.visit_u64(whole);
    }
    if let Ok(whole) = text.parse::<i64>() {
        return visitor.visit_i64(whole);
    }
    if let Ok(whole) = text.parse::<i128>() {
        return visitor.visit_i128(whole);
    }
    match text.parse::<f64>() {
        Ok(number) => visitor.visit_f64(number),
        Err(_) => Err(de::Error::custom("not a number")),
    }
}

struct Items<'de> {
    items: &'de [Node],
    next: usize,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Misfit;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Misfit> {
        let Some(item) = self.items.get(self.next) else { return Ok(None) };
        let step = format!("[{}]", self.next);
        self.next += 1;
        seed.deserialize(Reading(item)).map(Some).map_err(|misfit| misfit.below(item.line, &step))
    }
}

struct Entries<'de> {
    entries: &'de [(Key, Node)],
    next: usize,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Misfit;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Misfit> {
        let Some((key, _)) = self.entries.get(self.next) else { return Ok(None) };
        let text: StrDeserializer<'_, Misfit> = key.text.as_str().into_deserializer();
        seed.deserialize(text).map(Some).map_err(|misfit| misfit.below(key.line, &key.text))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Misfit> {
        let Some((key, value)) = self.entries.get(self.next) else {
            return Err(de::Error::custom("a key without a value"));
        };
        self.next += 1;
        seed.deserialize(Reading(value)).map_err(|misfit| misfit.below(key.line, &key.text))
    }
}
