//! What must be true of a value, as it is written.

use serde::Deserialize;
use serde::de::{self, Deserializer};

use super::nearest::did_you_mean;
use super::{Literal, Number};

/// What must be true of a value: everything that is given here. A value that is absent meets only `present = false`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// It is this.
    pub eq: Option<Literal>,
    /// It is there and not this.
    pub ne: Option<Literal>,
    /// It is a number above this one.
    pub gt: Option<Number>,
    /// It is a number not below this one.
    pub gte: Option<Number>,
    /// It is a number below this one.
    pub lt: Option<Number>,
    /// It is a number not above this one.
    pub lte: Option<Number>,
    /// It is one of these.
    pub one_of: Option<Vec<Literal>>,
    /// It is a text in which this regular expression is found.
    pub matches: Option<String>,
    /// It is a text that begins with this.
    pub starts_with: Option<String>,
    /// It is a text that ends with this.
    pub ends_with: Option<String>,
    /// It is a list with this item, or a text with this in it.
    pub contains: Option<Literal>,
    /// It is a list with an item of which this is true.
    pub any: Option<Box<Condition>>,
    /// It is a list with at least one item, and this is true of every one.
    pub all: Option<Box<Condition>>,
    /// It is a list or a text, and this is true of the number of its items or characters.
    pub len: Option<Box<Condition>>,
    /// It is there, or it is not.
    pub present: Option<bool>,
    /// It is an absolute path that leads into one of these folders.
    pub path_under: Option<Vec<String>>,
    /// It is a URL with one of these hosts.
    pub host: Option<Vec<String>>,
}

/// What may stand in a condition.
pub(crate) const OPERATORS: &[&str] = &[
    "gt",
    "gte",
    "lt",
    "lte",
    "eq",
    "ne",
    "in",
    "matches",
    "starts_with",
    "ends_with",
    "contains",
    "any",
    "all",
    "len",
    "present",
    "path_under",
    "host",
];

/// Operators whose operand is a condition again.
pub(crate) const NESTING: &[&str] = &["any", "all", "len"];

impl Condition {
    /// The value must be this.
    pub fn equal_to(literal: Literal) -> Self {
        Self { eq: Some(literal), ..Self::default() }
    }

    /// A map is operators, everything else is the value itself.
    pub(crate) fn from_literal(literal: Literal) -> Result<Self, String> {
        let operators = match literal {
            Literal::Map(operators) => operators,
            literal => return Ok(Condition::equal_to(literal)),
        };
        if operators.is_empty() {
            return Err("a condition needs an operator".to_owned());
        }
        let mut condition = Condition::default();
        for (operator, operand) in operators {
            condition.set(&operator, operand)?;
        }
        Ok(condition)
    }

    fn set(&mut self, operator: &str, operand: Literal) -> Result<(), String> {
        match operator {
            "eq" => self.eq = Some(operand),
            "ne" => self.ne = Some(operand),
            "contains" => self.contains = Some(operand),
            "gt" => self.gt = Some(number(operator, operand)?),
            "gte" => self.gte = Some(number(operator, operand)?),
            "lt" => self.lt = Some(number(operator, operand)?),
            "lte" => self.lte = Some(number(operator, operand)?),
            "matches" => self.matches = Some(text(operator, operand)?),
            "starts_with" => self.starts_with = Some(text(operator, operand)?),
            "ends_with" => self.ends_with = Some(text(operator, operand)?),
            "path_under" => self.path_under = Some(texts(operator, operand)?),
            "host" => self.host = Some(texts(operator, operand)?),
            "any" => self.any = Some(Box::new(Self::from_literal(operand)?)),
            "all" => self.all = Some(Box::new(Self::from_literal(operand)?)),
            "len" => self.len = Some(Box::new(Self::from_literal(operand)?)),
            "in" => match operand {
                Literal::List(operands) => self.one_of = Some(operands),
                _ => return Err("`in` needs a list".to_owned()),
            },
            "present" => match operand {
                Literal::Bool(present) => self.present = Some(present),
                _ => return Err("`present` needs `true` or `false`".to_owned()),
            },
            unknown => return Err(format!("unknown operator `{unknown}`{}", did_you_mean(unknown, OPERATORS))),
        }
        Ok(())
    }

    /// The operators that are there with their operands, always in this order.
    pub(crate) fn operators(&self) -> Vec<(&'static str, Literal)> {
        let number = |number: &Option<Number>| number.clone().map(Literal::Number);
        let text = |text: &Option<String>| text.clone().map(Literal::Text);
        let texts = |texts: &Option<Vec<String>>| {
            texts.as_ref().map(|texts| Literal::List(texts.iter().cloned().map(Literal::Text).collect()))
        };
        let nested = |nested: &Option<Box<Condition>>| nested.as_ref().map(|condition| condition.to_literal());
        let all = [
            ("present", self.present.map(Literal::Bool)),
            ("eq", self.eq.clone()),
            ("ne", self.ne.clone()),
            ("in", self.one_of.clone().map(Literal::List)),
            ("gt", number(&self.gt)),
            ("gte", number(&self.gte)),
            ("lt", number(&self.lt)),
            ("lte", number(&self.lte)),
            ("starts_with", text(&self.starts_with)),
            ("ends_with", text(&self.ends_with)),
            ("contains", self.contains.clone()),
            ("path_under", texts(&self.path_under)),
            ("host", texts(&self.host)),
            ("len", nested(&self.len)),
            ("any", nested(&self.any)),
            ("all", nested(&self.all)),
            ("matches", text(&self.matches)),
        ];
        all.into_iter().filter_map(|(operator, operand)| Some((operator, operand?))).collect()
    }

    /// The condition as a map of its operators.
    pub(crate) fn to_literal(&self) -> Literal {
        let operators = self.operators().into_iter();
        Literal::Map(operators.map(|(operator, operand)| (operator.to_owned(), operand)).collect())
    }
}

fn number(operator: &str, operand: Literal) -> Result<Number, String> {
    match operand {
        Literal::Number(number) => Ok(number),
        _ => Err(format!("`{operator}` needs a number")),
    }
}

fn text(operator: &str, operand: Literal) -> Result<String, String> {
    match operand {
        Literal::Text(text) => Ok(text),
        _ => Err(format!("`{operator}` needs a text")),
    }
}

fn texts(operator: &str, operand: Literal) -> Result<Vec<String>, String> {
    match operand {
        Literal::Text(text) => Ok(vec![text]),
        Literal::List(items) => items.into_iter().map(|item| text(operator, item)).collect(),
        _ => Err(format!("`{operator}` needs a text or a list of texts")),
    }
}

/// A map is operators, everything else is the value itself. A value that is a map is written `{eq = {…}}`.
impl<'de> Deserialize<'de> for Condition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_literal(Literal::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}
