//! A rule made ready: everything that can be wrong with it was found, nothing is parsed again per call.

use std::cmp::Ordering;
use std::sync::Arc;

use holdpoint_core::{Decision, Ground, Terms};
use regex::{Regex, RegexBuilder};

use super::decimal::Decimal;
use super::literal::Value;
use super::pointer::Pointer;
use super::{
    Condition, Decide, EXPIRES_IN_MS_MAX, Literal, QUORUM_MAX, REGEX_BYTES_MAX, RuleProblem, RuleSpec, duration,
};

/// What a rule asks of the arguments and what it decides.
pub(super) struct CompiledRule {
    /// A pointer, by its place in the list of all pointers, with what must be there.
    pub(super) conditions: Vec<(usize, CompiledCondition)>,
    pub(super) decision: Decision,
    /// Whether it keeps tools from the model.
    pub(super) hides: bool,
}

/// The pointers of all rules, each once: a place that many rules look at is looked up once per call.
#[derive(Default)]
pub(super) struct Pointers {
    pub(super) all: Vec<Pointer>,
}

impl Pointers {
    fn place_of(&mut self, pointer: Pointer) -> usize {
        self.all.iter().position(|known| *known == pointer).unwrap_or_else(|| {
            self.all.push(pointer);
            self.all.len() - 1
        })
    }
}

impl CompiledRule {
    /// `name` is what the ground of its decisions says.
    pub(super) fn new(spec: &RuleSpec, name: Arc<str>, pointers: &mut Pointers) -> Result<Self, RuleProblem> {
        if spec.hide && !spec.when.is_empty() {
            return Err(RuleProblem::HidesWhen);
        }
        let mut conditions = Vec::with_capacity(spec.when.len());
        for (text, condition) in &spec.when {
            let pointer = Pointer::parse(text).ok_or_else(|| RuleProblem::Pointer { pointer: text.clone() })?;
            conditions.push((pointers.place_of(pointer), CompiledCondition::new(text, condition)?));
        }
        Ok(Self { conditions, decision: decision(spec, name)?, hides: spec.hide })
    }
}

fn decision(spec: &RuleSpec, name: Arc<str>) -> Result<Decision, RuleProblem> {
    let terms = terms(spec)?;
    let ground = Ground { reason: spec.reason.as_deref().map(Into::into), rule: Some(name) };
    match spec.decide {
        // Whatever else it says: what is hidden cannot be called.
        _ if spec.hide => Ok(Decision::Deny(ground)),
        Some(Decide::Allow) => Ok(Decision::Allow(ground)),
        Some(Decide::Deny) => Ok(Decision::Deny(ground)),
        Some(Decide::Confirm) => Ok(Decision::Confirm(ground, terms)),
        None => Err(RuleProblem::DecidesNothing),
    }
}

/// Terms on a rule that asks nobody are refused: its author believes that somebody is asked.
fn terms(spec: &RuleSpec) -> Result<Terms, RuleProblem> {
    let given = [
        ("approvers", !spec.approvers.is_empty()),
        ("quorum", spec.quorum.is_some()),
        ("expires_in", spec.expires_in.is_some()),
        ("expires_in_ms", spec.expires_in_ms.is_some()),
    ];
    if spec.decide != Some(Decide::Confirm)
        && let Some((key, _)) = given.into_iter().find(|(_, given)| *given)
    {
        return Err(RuleProblem::TermsWithoutQuestion { key });
    }
    let quorum = spec.quorum.unwrap_or(1);
    if quorum == 0 || quorum > QUORUM_MAX {
        return Err(RuleProblem::Quorum { quorum });
    }
    if spec.approvers.iter().any(String::is_empty) {
        return Err(RuleProblem::EmptyRole);
    }
    let approvers = spec.approvers.iter().map(|role| role.as_str().into()).collect();
    Ok(Terms { approvers, quorum, expires_in_ms: expires_in_ms(spec)? })
}

fn expires_in_ms(spec: &RuleSpec) -> Result<Option<u64>, RuleProblem> {
    let (ms, written) = match (&spec.expires_in, spec.expires_in_ms) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => return Err(RuleProblem::TwoDurations),
        (Some(text), None) => (duration::parse_ms(text), text.clone()),
        (None, Some(ms)) => (Some(ms), format!("{ms}ms")),
    };
    match ms {
        Some(ms) if ms <= EXPIRES_IN_MS_MAX => Ok(Some(ms)),
        _ => Err(RuleProblem::Duration { duration: written }),
    }
}

/// What must be true of one value.
pub(super) struct CompiledCondition {
    tests: Vec<Test>,
}

enum Test {
    Equals(Literal),
    Differs(Literal),
    OneOf(Vec<Literal>),
    /// The value compares with the bound in one of two ways.
    Compares(Decimal, [Ordering; 2]),
    Matches(Regex),
}

impl CompiledCondition {
    fn new(pointer: &str, condition: &Condition) -> Result<Self, RuleProblem> {
        let mut tests = Vec::new();
        let Condition { eq, ne, gt, gte, lt, lte, one_of, matches } = condition;
        tests.extend(eq.clone().map(Test::Equals));
        tests.extend(ne.clone().map(Test::Differs));
        tests.extend(one_of.clone().map(Test::OneOf));
        let bounds = [
            (gt, [Ordering::Greater, Ordering::Greater]),
            (gte, [Ordering::Greater, Ordering::Equal]),
            (lt, [Ordering::Less, Ordering::Less]),
            (lte, [Ordering::Less, Ordering::Equal]),
        ];
        for (bound, accepted) in bounds {
            tests.extend(bound.as_ref().map(|bound| Test::Compares(bound.decimal().clone(), accepted)));
        }
        if let Some(pattern) = matches {
            let regex = RegexBuilder::new(pattern).size_limit(REGEX_BYTES_MAX).build();
            tests.push(Test::Matches(regex.map_err(|error| RuleProblem::regex(pointer, &error))?));
        }
        if tests.is_empty() {
            return Err(RuleProblem::NoOperator { pointer: pointer.to_owned() });
        }
        Ok(Self { tests })
    }

    pub(super) fn holds(&self, value: &Value<'_>) -> bool {
        self.tests.iter().all(|test| test.holds(value))
    }
}

impl Test {
    fn holds(&self, value: &Value<'_>) -> bool {
        match self {
            Test::Equals(wanted) => wanted.equals(value),
            Test::Differs(unwanted) => !unwanted.equals(value),
            Test::OneOf(wanted) => wanted.iter().any(|wanted| wanted.equals(value)),
            Test::Compares(bound, accepted) => match value {
                Value::Number(number) => accepted.contains(&number.cmp(bound)),
                Value::Text(_) | Value::Other(_) => false,
            },
            Test::Matches(regex) => match value {
                Value::Text(text) => regex.is_match(text),
                Value::Number(_) | Value::Other(_) => false,
            },
        }
    }
}
