//! Deserializes the values of a document.

use std::cell::RefCell;
use std::slice;

use serde::de::value::{BorrowedStrDeserializer, StrDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use crate::key_path::Step;
use crate::node::{Key, NO_DATES, Node, Value};
use crate::{Problem, choice, flatten, raw_json};

/// Whether a number or a boolean can stand where a string is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalars {
    /// It cannot.
    Strict,
    /// It is the text that the file has, as YAML users expect.
    AsWritten,
}

/// The keys of the structs that share a table.
pub(crate) type KnownKeys = RefCell<Vec<&'static str>>;

/// A value that is being read.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'de, 'k> {
    node: &'de Node,
    scalars: Scalars,
    /// Set while several structs are read from the table: each takes its own keys and leaves the others alone.
    shared: Option<&'k KnownKeys>,
}

impl<'de> Reader<'de, '_> {
    pub(crate) fn new(node: &'de Node, scalars: Scalars) -> Self {
        Self { node, scalars, shared: None }
    }

    fn entries(self, entries: &'de [(Key, Node)], known: Option<&'static [&'static str]>) -> Entries<'de> {
        Entries { rest: entries.iter(), known, value: None, scalars: self.scalars }
    }
}

impl<'de> Deserializer<'de> for Reader<'de, '_> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match &self.node.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(flag) => visitor.visit_bool(*flag),
            Value::Number(number) => visit_number(&number.json, visitor),
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::Date => Err(Problem::new(NO_DATES)),
            Value::List(items) => visitor.visit_seq(Items { rest: items.iter().enumerate(), scalars: self.scalars }),
            Value::Map(entries) => visitor.visit_map(self.entries(entries, None)),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match (&self.node.value, self.scalars) {
            (Value::Number(number), Scalars::AsWritten) => visitor.visit_borrowed_str(&number.written),
            (Value::Bool(flag), Scalars::AsWritten) => visitor.visit_str(if *flag { "true" } else { "false" }),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.node.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Problem> {
        match (name, &self.node.value) {
            (raw_json::TOKEN, _) => visitor.visit_string(serde_json::to_string(self.node).map_err(Problem::custom)?),
            (choice::TABLE_OR_TOKEN, value) if !matches!(value, Value::Map(_)) => visitor.visit_some(self),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    /// Nothing at all stands for a table without keys.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        let entries: &[_] = match &self.node.value {
            Value::Map(entries) => entries,
            Value::Null => &[],
            // A derived struct would take a list for its fields in order.
            Value::List(_) => return Err(Problem::invalid_type(Unexpected::Seq, &visitor)),
            _ => return self.deserialize_any(visitor),
        };
        match self.shared {
            Some(known) => known.borrow_mut().extend(fields),
            None => check_keys(entries, fields)?,
        }
        visitor.visit_map(self.entries(entries, Some(fields)))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        match (name, &self.node.value) {
            (flatten::TOKEN, _) => {}
            (choice::VARIANTS_TOKEN, Value::Map(entries)) => {
                return visitor.visit_seq(VariantEntries { rest: entries.iter(), scalars: self.scalars });
            }
            (choice::VARIANTS_TOKEN, Value::Null) => {
                return visitor.visit_seq(VariantEntries { rest: [].iter(), scalars: self.scalars });
            }
            (choice::VARIANTS_TOKEN, Value::List(_)) => return Err(Problem::invalid_type(Unexpected::Seq, &visitor)),
            _ => return self.deserialize_any(visitor),
        }
        let own = KnownKeys::default();
        let known = self.shared.unwrap_or(&own);
        let read = visitor.visit_seq(Parts { reader: Reader { shared: Some(known), ..self } });
        // A key that is missing may only be misspelt, so unknown keys are told first.
        if let (Value::Map(entries), None) = (&self.node.value, self.shared) {
            check_keys(entries, &own.borrow())?;
        }
        read
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        match &self.node.value {
            Value::Text(text) => {
                let word: StrDeserializer<'_, Problem> = text.as_str().into_deserializer();
                visitor.visit_enum(word)
            }
            Value::Map(entries) => {
                if let Some(known) = self.shared {
                    known.borrow_mut().extend(variants);
                }
                // Of a shared table only the keys that are variants belong to the enum.
                let own = |(key, _): &&(Key, Node)| self.shared.is_none() || variants.contains(&key.text.as_str());
                match entries.iter().filter(own).collect::<Vec<_>>()[..] {
                    [(key, node)] => visitor.visit_enum(Variant { key, reader: Reader::new(node, self.scalars) }),
                    ref several => {
                        let problem = Problem::new(format_args!("must have one key, but has {}", several.len()));
                        Err(problem.with_hint(format!("it is one of `{}`", variants.join("`, `"))))
                    }
                }
            }
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct seq tuple map
        identifier ignored_any
    }
}

fn check_keys(entries: &[(Key, Node)], known: &[&'static str]) -> Result<(), Problem> {
    match entries.iter().find(|(key, _)| !known.contains(&key.text.as_str())) {
        Some((key, _)) => {
            let problem = Problem::unknown_key(&key.text, known.iter().copied());
            Err(problem.below_step(Step::Key(key.text.clone())))
        }
        None => Ok(()),
    }
}

/// Whole numbers stay exact as far as an `i128` holds them.
fn visit_number<'de, V: Visitor<'de>>(text: &str, visitor: V) -> Result<V::Value, Problem> {
    if let Ok(number) = text.parse::<u64>() {
        return visitor.visit_u64(number);
    }
    if let Ok(number) = text.parse::<i64>() {
        return visitor.visit_i64(number);
    }
    if let Ok(number) = text.parse::<i128>() {
        return visitor.visit_i128(number);
    }
    match text.parse::<f64>() {
        Ok(number) => visitor.visit_f64(number),
        Err(_) => Err(Problem::new("is not a number")),
    }
}

struct Items<'de> {
    rest: std::iter::Enumerate<slice::Iter<'de, Node>>,
    scalars: Scalars,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Problem;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Problem> {
        let Some((index, node)) = self.rest.next() else { return Ok(None) };
        let item = seed.deserialize(Reader::new(node, self.scalars));
        item.map(Some).map_err(|problem| problem.below_step(Step::Index(index)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// The structs that share a table, one after another.
struct Parts<'de, 'k> {
    reader: Reader<'de, 'k>,
}

impl<'de> SeqAccess<'de> for Parts<'de, '_> {
    type Error = Problem;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Problem> {
        seed.deserialize(self.reader).map(Some)
    }
}

struct Entries<'de> {
    rest: slice::Iter<'de, (Key, Node)>,
    /// Other keys are skipped: they belong to other structs.
    known: Option<&'static [&'static str]>,
    value: Option<&'de (Key, Node)>,
    scalars: Scalars,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Problem;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Problem> {
        let known = self.known;
        let entry = self.rest.find(|(key, _)| known.is_none_or(|known| known.contains(&key.text.as_str())));
        let Some((key, _)) = entry else { return Ok(None) };
        self.value = entry;
        seed.deserialize(BorrowedStrDeserializer::new(&key.text)).map(Some).map_err(|problem| key.inside(problem))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Problem> {
        let Some((key, node)) = self.value.take() else { return Err(Problem::new("has a key without a value")) };
        seed.deserialize(Reader::new(node, self.scalars)).map_err(|problem| key.inside(problem))
    }
}

/// The entries of a table, each a variant of an enum.
struct VariantEntries<'de> {
    rest: slice::Iter<'de, (Key, Node)>,
    scalars: Scalars,
}

impl<'de> SeqAccess<'de> for VariantEntries<'de> {
    type Error = Problem;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Problem> {
        let Some((key, node)) = self.rest.next() else { return Ok(None) };
        seed.deserialize(Variant { key, reader: Reader::new(node, self.scalars) }).map(Some)
    }
}

/// A table with one key: the name of a variant and its content.
struct Variant<'de> {
    key: &'de Key,
    reader: Reader<'de, 'static>,
}

impl<'de> Deserializer<'de> for Variant<'de> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_enum(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Problem;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Problem> {
        let name = seed.deserialize(BorrowedStrDeserializer::new(&self.key.text));
        let unknown = |problem: Problem| self.key.inside(problem.about_key());
        name.map_err(unknown).map(|name| (name, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Problem;

    fn unit_variant(self) -> Result<(), Problem> {
        match self.reader.node.value {
            Value::Null => Ok(()),
            _ => Err(self.key.inside(Problem::new("must be empty"))),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Problem> {
        seed.deserialize(self.reader).map_err(|problem| self.key.inside(problem))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Problem> {
        self.reader.deserialize_tuple(len, visitor).map_err(|problem| self.key.inside(problem))
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Problem> {
        self.reader.deserialize_struct("", fields, visitor).map_err(|problem| self.key.inside(problem))
    }
}

impl Key {
    fn inside(&self, problem: Problem) -> Problem {
        problem.below_step(Step::Key(self.text.clone()))
    }
}
