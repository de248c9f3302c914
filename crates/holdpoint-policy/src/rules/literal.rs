//! Values that a rule compares with: JSON, with numbers that are never rounded.

use std::borrow::Cow;
use std::collections::BTreeMap;

use holdpoint_config::RawJson;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::decimal::Decimal;
use super::node::{Node, Opened, Unreadable, all};

/// A value in a rules file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Number(Decimal),
    Text(String),
    List(Vec<Literal>),
    Map(BTreeMap<String, Literal>),
}

impl Literal {
    /// A value of a call, as a rule would write it.
    pub(crate) fn of(node: &Node<'_>) -> Result<Self, Unreadable> {
        Ok(match node.open()? {
            Opened::Null => Literal::Null,
            Opened::Bool(value) => Literal::Bool(*value),
            Opened::Number(number) => Literal::Number(number.clone()),
            Opened::Text(text) => Literal::Text(text.clone().into_owned()),
            Opened::List(items) => Literal::List(items.iter().map(Literal::of).collect::<Result<_, _>>()?),
            Opened::Map(members) => {
                let member = |(name, node): &(Cow<'_, str>, Node<'_>)| Ok((name.to_string(), Literal::of(node)?));
                Literal::Map(members.iter().map(member).collect::<Result<_, Unreadable>>()?)
            }
        })
    }

    /// Whether a value is this one. `1`, `1.0` and `1e0` are the same number.
    pub(crate) fn equals(&self, node: &Node<'_>) -> Result<bool, Unreadable> {
        // What is large and cannot be equal is not opened for it.
        if node.is_container() && !matches!(self, Literal::List(_) | Literal::Map(_)) {
            return Ok(false);
        }
        Ok(match (self, node.open()?) {
            (Literal::Null, Opened::Null) => true,
            (Literal::Bool(wanted), Opened::Bool(found)) => wanted == found,
            (Literal::Number(wanted), Opened::Number(number)) => wanted == number,
            (Literal::Text(wanted), Opened::Text(text)) => text == wanted,
            (Literal::List(wanted), Opened::List(found)) => {
                wanted.len() == found.len() && all(wanted.iter().zip(found), |(wanted, found)| wanted.equals(found))?
            }
            (Literal::Map(wanted), Opened::Map(found)) => {
                // Both are in the order of their names.
                wanted.len() == found.len()
                    && wanted.keys().zip(found).all(|(wanted, (found, _))| found == wanted)
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
}

impl<'de> Deserialize<'de> for Literal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let RawJson(text) = RawJson::deserialize(deserializer)?;
        Literal::of(&Node::raw(&text)).map_err(|_| D::Error::custom("is not a value that JSON has"))
    }
}
