//! Values that a rule compares with: JSON, with numbers that are never rounded.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::decimal::Decimal;

/// A value in a rules file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// `null`, in formats that have it.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Literal>),
    /// Names with values.
    Map(BTreeMap<String, Literal>),
}

/// A number of any size, kept as it was written.
#[derive(Clone, Debug)]
pub struct Number {
    text: Box<str>,
    decimal: Decimal,
}

impl Number {
    /// Reads a number as JSON writes it. Nothing if it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        Some(Self { text: text.into(), decimal: Decimal::parse(text)? })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn decimal(&self) -> &Decimal {
        &self.decimal
    }
}

/// Two spellings of one number are equal.
impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.decimal == other.decimal
    }
}

impl Eq for Number {}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        let text = value.to_string();
        let decimal = Decimal::parse(&text).expect("an integer is written as JSON writes it");
        Self { text: text.into(), decimal }
    }
}

/// A value of the arguments, read as far as rules need it. Made once, compared often.
pub(crate) enum Value<'a> {
    Number(Decimal),
    Text(Cow<'a, str>),
    /// A truth value, nothing, a list or a map.
    Other(&'a str),
}

impl<'a> Value<'a> {
    pub(crate) fn of(raw: &'a RawValue) -> Self {
        let text = raw.get();
        match text.as_bytes().first() {
            Some(b'"') => serde_json::from_str(text).map(Value::Text).unwrap_or(Value::Other(text)),
            _ => Decimal::parse(text).map(Value::Number).unwrap_or(Value::Other(text)),
        }
    }
}

impl Literal {
    /// Whether a value of the arguments is this value. `1`, `1.0` and `1e0` are the same number.
    pub(crate) fn equals(&self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Literal::Null, Value::Other(text)) => *text == "null",
            (Literal::Bool(wanted), Value::Other(text)) => *text == if *wanted { "true" } else { "false" },
            (Literal::Number(wanted), Value::Number(number)) => wanted.decimal == *number,
            (Literal::Text(wanted), Value::Text(text)) => text == wanted,
            (Literal::List(wanted), Value::Other(text)) => {
                serde_json::from_str::<Vec<&RawValue>>(text).is_ok_and(|found| {
                    let equal = |(wanted, found): (&Literal, &&RawValue)| wanted.equals(&Value::of(found));
                    found.len() == wanted.len() && wanted.iter().zip(&found).all(equal)
                })
            }
            (Literal::Map(wanted), Value::Other(text)) => serde_json::from_str::<BTreeMap<String, &RawValue>>(text)
                .is_ok_and(|found| {
                    let equal = |(name, wanted): (&String, &Literal)| {
                        found.get(name).is_some_and(|found| wanted.equals(&Value::of(found)))
                    };
                    found.len() == wanted.len() && wanted.iter().all(equal)
                }),
            _ => false,
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        self.write_json(&mut text);
        text
    }

    fn write_json(&self, out: &mut String) {
        match self {
            Literal::Null => out.push_str("null"),
            Literal::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Literal::Number(number) => out.push_str(number.as_str()),
            Literal::Text(text) => out.push_str(&quoted(text)),
            Literal::List(items) => {
                let mut separator = '[';
                for item in items {
                    out.push(std::mem::replace(&mut separator, ','));
                    item.write_json(out);
                }
                out.push_str(if items.is_empty() { "[]" } else { "]" });
            }
            Literal::Map(entries) => {
                let mut separator = '{';
                for (name, value) in entries {
                    out.push(std::mem::replace(&mut separator, ','));
                    out.push_str(&quoted(name));
                    out.push(':');
                    value.write_json(out);
                }
                out.push_str(if entries.is_empty() { "{}" } else { "}" });
            }
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl<'de> Deserialize<'de> for Literal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LiteralVisitor)
    }
}

struct LiteralVisitor;

fn number<E: de::Error>(text: &str) -> Result<Literal, E> {
    Number::parse(text).map(Literal::Number).ok_or_else(|| E::custom("not a number"))
}

/// The key under which `toml` shows a date to visitors.
const TOML_DATE_KEY: &str = "$__toml_private_datetime";

impl<'de> Visitor<'de> for LiteralVisitor {
    type Value = Literal;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Literal, E> {
        Ok(Literal::Null)
    }

    fn visit_none<E>(self) -> Result<Literal, E> {
        Ok(Literal::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Literal, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Literal, E> {
        Ok(Literal::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Literal, E> {
        number(&value.to_string())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Literal, E> {
        number(&value.to_string())
    }

    fn visit_i128<E: de::Error>(self, value: i128) -> Result<Literal, E> {
        number(&value.to_string())
    }

    fn visit_u128<E: de::Error>(self, value: u128) -> Result<Literal, E> {
        number(&value.to_string())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Literal, E> {
        if !value.is_finite() {
            return Err(E::custom("no argument is infinite or not a number"));
        }
        // The shortest digits that mean this number: those that were written, up to the precision of a double.
        number(&format!("{value:e}"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Literal, E> {
        Ok(Literal::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Literal, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Literal::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Literal, A::Error> {
        let mut map = BTreeMap::new();
        while let Some((name, value)) = entries.next_entry::<String, Literal>()? {
            if name == TOML_DATE_KEY {
                return Err(de::Error::custom("arguments have no dates: write it as a text"));
            }
            if map.contains_key(&name) {
                return Err(de::Error::custom(format_args!("`{name}` is there twice")));
            }
            map.insert(name, value);
        }
        Ok(Literal::Map(map))
    }
}
