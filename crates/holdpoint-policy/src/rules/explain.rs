//! Why a call gets its decision.

use std::fmt;

use holdpoint_core::{Decision, Ground};
use serde::Serialize;
use serde_json::value::RawValue;

use super::compiled::{Asked, CompiledRule};
use super::condition::Operator;
use super::facts::{Facts, Seen, Subject, Trouble};
use super::literal::Literal;
use super::node::{Node, Opened};
use super::{Decide, NO_RULE, RulePlace, Rules};
use crate::AuthorizeRequest;

/// What an explanation tells of the values that it saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// Their types and sizes: it may be shown to anyone.
    Types,
    /// The values themselves. It must not be logged.
    Values,
}

/// Which rule decides about a call, why, and why the rules before it did not.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Explanation {
    /// The registered name.
    pub tool: String,
    /// Which rules.
    pub version: String,
    /// What follows.
    pub decides: Decide,
    /// Why, in the words of the rule.
    pub reason: Option<String>,
    /// Why the rules could not decide, if they could not. Then the call is denied.
    pub problem: Option<String>,
    /// The rule that decides, or that could not. None if no rule matches.
    pub rule: Option<ExplainedRule>,
    /// The rules before it that are about the tool, each with its conditions up to the one that did not hold.
    pub passed_over: Vec<ExplainedRule>,
    /// How many rules are about other tools only.
    pub elsewhere: usize,
}

/// A rule that was looked at.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct ExplainedRule {
    /// The number of the rule, from 1.
    pub rule: usize,
    /// What the audit calls it.
    pub name: String,
    /// The file, if it is from one.
    pub file: Option<String>,
    /// Its line, from 1.
    pub line: Option<usize>,
    /// What it decides when it matches.
    pub decides: Decide,
    /// Its conditions, as far as they were looked at.
    pub conditions: Vec<ExplainedCondition>,
}

/// One operator of a condition, and what it met.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct ExplainedCondition {
    /// What it is about: `arguments`, `context` or `history`.
    pub on: &'static str,
    /// Where in it.
    pub at: String,
    /// The operator with its operand.
    #[cfg_attr(feature = "openapi", schema(value_type = std::collections::HashMap<String, serde_json::Value>))]
    pub wants: Box<RawValue>,
    /// What was there.
    pub saw: Saw,
    /// The value itself, if values were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub value: Option<Box<RawValue>>,
    /// Whether it held.
    pub held: bool,
}

/// The outside of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Saw {
    /// `absent`, `null`, `bool`, `number`, `text`, `list`, `object` or `unreadable`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The number of characters, items or members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub len: Option<usize>,
}

impl fmt::Display for Saw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.len {
            Some(len) => write!(f, "{}({len})", self.kind),
            None => f.write_str(self.kind),
        }
    }
}

impl Explanation {
    /// Its stable JSON form. Numbers have all their digits.
    pub fn to_json(&self) -> String {
        // Writing to memory does not fail, and nothing of it refuses to be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Rules {
    /// Says which rule decides about a call and why. It decides exactly as [`crate::Policy::authorize`] does.
    #[doc(hidden)]
    pub fn explain(&self, request: &AuthorizeRequest<'_>, show: Show) -> Explanation {
        let facts = Facts::of(request);
        let about = self.index.about(facts.tool());
        let mut explanation = Explanation {
            tool: facts.tool().to_owned(),
            version: self.version.to_string(),
            decides: Decide::Deny,
            reason: Some(NO_RULE.to_owned()),
            problem: None,
            rule: None,
            passed_over: Vec::new(),
            elsewhere: self.rules.len() - about.len(),
        };
        for number in &*about {
            let rule = self.rule(*number);
            let mut explained = rule.explained();
            match rule.look_at(&facts, show, &mut explained.conditions) {
                Ok(false) => {
                    explanation.passed_over.push(explained);
                    continue;
                }
                Ok(true) => explanation.decided(&rule.decision),
                Err(trouble) => {
                    explanation.reason = None;
                    explanation.problem = Some(trouble.to_string());
                }
            }
            explanation.rule = Some(explained);
            break;
        }
        explanation
    }
}

impl Explanation {
    fn decided(&mut self, decision: &Decision) {
        let Ground { reason, .. } = decision.ground();
        self.decides = Decide::of(decision);
        self.reason = reason.as_deref().map(str::to_owned);
    }
}

impl CompiledRule {
    fn explained(&self) -> ExplainedRule {
        let RulePlace { file, line, rule, name } = &self.place;
        ExplainedRule {
            rule: *rule,
            name: name.to_string(),
            file: file.as_deref().map(str::to_owned),
            line: *line,
            decides: Decide::of(&self.decision),
            conditions: Vec::new(),
        }
    }

    /// Whether it matches; writes down what it met on the way.
    fn look_at(&self, facts: &Facts<'_>, show: Show, met: &mut Vec<ExplainedCondition>) -> Result<bool, Trouble> {
        for Asked { subject, condition, .. } in &self.conditions {
            let seen = facts.look(subject)?;
            let node = seen.as_ref().map(Seen::node);
            for operator in &condition.operators {
                let held = operator.holds(node)?;
                met.push(ExplainedCondition { held, ..explained(subject, operator, node, show) });
                if !held {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

fn explained(subject: &Subject, operator: &Operator, node: Option<&Node<'_>>, show: Show) -> ExplainedCondition {
    let value = match show {
        Show::Types => None,
        Show::Values => node.and_then(|node| Literal::of(node).ok()).map(|literal| raw(&literal)),
    };
    ExplainedCondition {
        on: subject.part(),
        at: subject.to_string(),
        wants: raw(operator),
        saw: Saw::of(node),
        value,
        held: false,
    }
}

/// Nothing in a rule or a call refuses to be written.
fn raw(part: &impl Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(part).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

impl Saw {
    fn of(node: Option<&Node<'_>>) -> Self {
        let Some(node) = node else { return Self { kind: "absent", len: None } };
        let (kind, len) = match node.open() {
            Ok(Opened::Null) => ("null", None),
            Ok(Opened::Bool(_)) => ("bool", None),
            Ok(Opened::Number(_)) => ("number", None),
            Ok(Opened::Text(text)) => ("text", Some(text.chars().count())),
            Ok(Opened::List(items)) => ("list", Some(items.len())),
            Ok(Opened::Map(members)) => ("object", Some(members.len())),
            Err(_) => ("unreadable", None),
        };
        Self { kind, len }
    }
}
