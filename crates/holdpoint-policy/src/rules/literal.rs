//! Values that a rule compares with: JSON, with numbers that are never rounded.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::decimal::Decimal;
use super::node::{Node, Opened, Unreadable, all};

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

    /// The same for every spelling of the number.
    pub(crate) fn plain(&self) -> Self {
        Self { text: self.decimal.to_string().into(), decimal: self.decimal.clone() }
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

impl Literal {
    /// Whether a value is this one. `1`, `1.0` and `1e0` are the same number.
    pub(crate) fn equals(&self, node: &Node<'_>) -> Result<bool, Unreadable> {
        // What is large and cannot be equal is not opened for it.
        if node.is_container() && !matches!(self, Literal::List(_) | Literal::Map(_)) {
            return Ok(false);
        }
        Ok(match (self, node.open()?) {
            (Literal::Null, Opened::Null) => true,
            (Literal::Bool(wanted), Opened::Bool(found)) => wanted == found,
            (Literal::Number(wanted), Opened::Number(number)) => wanted.decimal == *number,
            (Literal::Text(wanted), Opened::Text(text)) => text == wanted,
            (Literal::List(wanted), Opened::List(found)) => {
                wanted.len() == found.len() && all(wanted.iter().zip(found), |(wanted, found)| wanted.equals(found))?
            }
            (Literal::Map(wanted), Opened::Map(found)) => {
                // Both are in the order of their names.
                let same_name = |((wanted, _), (found, _)): ((&String, _), &(Cow<'_, str>, _))| found == wanted;
                wanted.len() == found.len()
                    && wanted.iter().zip(found).all(same_name)
                    && all(wanted.values().zip(found), |(wanted, (_, found))| wanted.equals(found))?
            }
            (
                Literal::Null
                | Literal::Bool(_)
                | Literal::Number(_)
                | Literal::Text(_)
                | Literal::List(_)
                | Literal::Map(_),
                _,
            ) => false,
        })
    }

    /// The same for every spelling of the numbers in it.
    pub(crate) fn plain(&self) -> Self {
        match self {
            Literal::Number(number) => Literal::Number(number.plain()),
            Literal::List(items) => Literal::List(items.iter().map(Literal::plain).collect()),
            Literal::Map(entries) => {
                Literal::Map(entries.iter().map(|(name, value)| (name.clone(), value.plain())).collect())
            }
            Literal::Null | Literal::Bool(_) | Literal::Text(_) => self.clone(),
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
