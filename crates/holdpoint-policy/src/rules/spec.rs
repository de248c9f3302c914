//! Rules as they are written, in whatever format: every unknown key is an error.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{self, Deserializer};

use super::nearest::did_you_mean;
use super::{Literal, Number};

/// One rule. See [`crate::Rules`] for what the fields mean together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleSpec {
    /// A glob on registered names.
    pub tool: String,
    /// What the audit calls it. `rule N` if absent.
    #[serde(default)]
    pub name: Option<String>,
    /// JSON pointers into the arguments with what must be there. All of them must hold.
    #[serde(default)]
    pub when: BTreeMap<String, Condition>,
    /// What follows. Must be there unless the rule hides.
    #[serde(default)]
    pub decide: Option<Decide>,
    /// For people and the model.
    #[serde(default)]
    pub reason: Option<String>,
    /// Roles of which an approver needs one. Only with `confirm`.
    #[serde(default)]
    pub approvers: Vec<String>,
    /// How many different people must approve. Only with `confirm`.
    #[serde(default)]
    pub quorum: Option<u32>,
    /// How long the question stays open, as in `4h`. Only with `confirm`.
    #[serde(default)]
    pub expires_in: Option<String>,
    /// The same in milliseconds.
    #[serde(default)]
    pub expires_in_ms: Option<u64>,
    /// Whether the tools are kept from the model.
    #[serde(default)]
    pub hide: bool,
    /// What the author expects, checked when the rules are loaded.
    #[serde(default)]
    pub example: Vec<ExampleSpec>,
}

impl RuleSpec {
    /// A rule without conditions.
    pub fn new(tool: impl Into<String>, decide: Decide) -> Self {
        Self { tool: tool.into(), decide: Some(decide), ..Self::default() }
    }
}

/// A call, and what all the rules together decide about it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExampleSpec {
    /// The tool that is called. The rule's own if absent.
    #[serde(default)]
    pub tool: Option<String>,
    /// The arguments of the call. None if absent.
    #[serde(default)]
    pub arguments: BTreeMap<String, Literal>,
    /// What must follow.
    pub decides: Decide,
}

/// What follows when a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decide {
    /// The call may run.
    Allow,
    /// The call may not run.
    Deny,
    /// A person must answer first.
    Confirm,
}

impl Decide {
    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Decide::Allow => "allow",
            Decide::Deny => "deny",
            Decide::Confirm => "confirm",
        }
    }
}

/// What must be true of a value in the arguments: everything that is given here. A value that is absent meets no
/// condition.
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
}

/// What may stand in a condition.
pub(crate) const OPERATORS: &[&str] = &["gt", "gte", "lt", "lte", "eq", "ne", "in", "matches"];

impl Condition {
    /// The value must be this.
    pub fn equal_to(literal: Literal) -> Self {
        Self { eq: Some(literal), ..Self::default() }
    }

    fn set(&mut self, operator: &str, operand: Literal) -> Result<(), String> {
        match (operator, operand) {
            ("eq", operand) => self.eq = Some(operand),
            ("ne", operand) => self.ne = Some(operand),
            ("gt", Literal::Number(bound)) => self.gt = Some(bound),
            ("gte", Literal::Number(bound)) => self.gte = Some(bound),
            ("lt", Literal::Number(bound)) => self.lt = Some(bound),
            ("lte", Literal::Number(bound)) => self.lte = Some(bound),
            ("in", Literal::List(operands)) => self.one_of = Some(operands),
            ("matches", Literal::Text(pattern)) => self.matches = Some(pattern),
            ("gt" | "gte" | "lt" | "lte", _) => return Err(format!("`{operator}` needs a number")),
            ("in", _) => return Err("`in` needs a list".to_owned()),
            ("matches", _) => return Err("`matches` needs a text".to_owned()),
            (unknown, _) => {
                return Err(format!("unknown operator `{unknown}`{}", did_you_mean(unknown, OPERATORS)));
            }
        }
        Ok(())
    }
}

/// A map is operators, everything else is the value itself. A value that is a map is written `{eq = {…}}`.
impl<'de> Deserialize<'de> for Condition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let operators = match Literal::deserialize(deserializer)? {
            Literal::Map(operators) => operators,
            literal => return Ok(Condition::equal_to(literal)),
        };
        if operators.is_empty() {
            return Err(de::Error::custom("a condition needs an operator"));
        }
        let mut condition = Condition::default();
        for (operator, operand) in operators {
            condition.set(&operator, operand).map_err(de::Error::custom)?;
        }
        Ok(condition)
    }
}
