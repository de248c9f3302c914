//! Conditions that nothing can meet: their author believes that they stand guard.

use std::cmp::Ordering;

use holdpoint_config::Problem;

use super::Condition;
use super::condition::{Bound, Operator, Several};
use super::decimal::Decimal;
use super::literal::Literal;
use super::node::Node;

/// What kind of value a condition is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Domain {
    /// A place where anything or nothing can be.
    Place,
    /// An item of a list.
    Item,
    /// The roles of an actor, a list that is always there.
    Roles,
    /// Who acts, or for whom: a text or nothing.
    Name,
    /// A whole number that is not below zero.
    Count,
    /// A number.
    Sum,
}

impl Condition {
    /// Refuses what no value can meet.
    pub(crate) fn check(&self, domain: Domain) -> Result<(), Problem> {
        for operator in &self.operators {
            match operator {
                Operator::Len(inner) => inner.check(Domain::Count),
                Operator::Any(inner) | Operator::All(inner) => inner.check(Domain::Item),
                _ => Ok(()),
            }
            .map_err(|problem| problem.below(&*operator.name()))?;
        }
        let why = presence(&self.operators, domain)
            .or_else(|| types(&self.operators, domain))
            .or_else(|| listed(&self.operators))
            .or_else(|| bounds(&self.operators, domain));
        let hint = "a rule that never matches guards nothing: correct or remove it";
        why.map_or(Ok(()), |why| Err(Problem::new(format_args!("can never hold: {why}")).with_hint(hint)))
    }
}

fn presence(operators: &[Operator], domain: Domain) -> Option<String> {
    let present = operators.iter().find_map(|operator| match operator {
        Operator::Present(present) => Some(*present),
        _ => None,
    })?;
    match domain {
        Domain::Place | Domain::Name if present || operators.len() == 1 => None,
        Domain::Place | Domain::Name => Some("what is not there meets no other operator".to_owned()),
        Domain::Item | Domain::Roles | Domain::Count | Domain::Sum => {
            Some("`present` is for what can be absent".to_owned())
        }
    }
}

/// The types that a value can have.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Types(u8);

impl Types {
    const NULL: Self = Self(1);
    const BOOL: Self = Self(2);
    const NUMBER: Self = Self(4);
    const TEXT: Self = Self(8);
    const LIST: Self = Self(16);
    const MAP: Self = Self(32);
    const ANY: Self = Self(63);

    fn of(literal: &Literal) -> Self {
        match literal {
            Literal::Null => Self::NULL,
            Literal::Bool(_) => Self::BOOL,
            Literal::Number(_) => Self::NUMBER,
            Literal::Text(_) => Self::TEXT,
            Literal::List(_) => Self::LIST,
            Literal::Map(_) => Self::MAP,
        }
    }

    fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

fn types(operators: &[Operator], domain: Domain) -> Option<String> {
    let mut left = match domain {
        Domain::Place | Domain::Item => Types::ANY,
        Domain::Roles => Types::LIST,
        Domain::Name => Types::TEXT,
        Domain::Count | Domain::Sum => Types::NUMBER,
    };
    for operator in operators {
        let accepted = match operator {
            Operator::Present(_) | Operator::Ne(_) => Types::ANY,
            Operator::Eq(literal) => Types::of(literal),
            Operator::In(literals) if literals.is_empty() => return Some("`in` is empty".to_owned()),
            Operator::In(literals) => literals.iter().map(Types::of).fold(Types(0), Types::or),
            Operator::Gt(_) | Operator::Gte(_) | Operator::Lt(_) | Operator::Lte(_) => Types::NUMBER,
            Operator::StartsWith(_) | Operator::EndsWith(_) | Operator::Matches(_) => Types::TEXT,
            Operator::PathUnder(Several(folders)) if folders.is_empty() => {
                return Some("`path_under` is empty".to_owned());
            }
            Operator::Host(Several(hosts)) if hosts.is_empty() => return Some("`host` is empty".to_owned()),
            Operator::PathUnder(_) | Operator::Host(_) => Types::TEXT,
            Operator::Contains(Literal::Text(_)) | Operator::Len(_) => Types::TEXT.or(Types::LIST),
            Operator::Contains(_) | Operator::Any(_) | Operator::All(_) => Types::LIST,
        };
        left = left.and(accepted);
        if left == Types(0) {
            return Some(format!("no value has a type that suits `{}` and the rest", operator.name()));
        }
    }
    None
}

/// `eq` and `in` leave a few values: one of them must meet the rest.
fn listed(operators: &[Operator]) -> Option<String> {
    let (operator, literals) = operators.iter().find_map(|operator| Some((operator, values(operator)?)))?;
    if literals.iter().any(|literal| meets_all(operators, literal)) {
        return None;
    }
    Some(format!("no value of `{}` meets the rest", operator.name()))
}

/// The few values that an operator leaves.
pub(crate) fn values(operator: &Operator) -> Option<&[Literal]> {
    match operator {
        Operator::Eq(literal) => Some(std::slice::from_ref(literal)),
        Operator::In(literals) => Some(literals),
        _ => None,
    }
}

/// Whether a value of a rule meets all of these.
pub(crate) fn meets_all(operators: &[Operator], literal: &Literal) -> bool {
    let node = Node::literal(literal);
    operators.iter().all(|operator| operator.holds(Some(&node)) == Ok(true))
}

fn bounds(operators: &[Operator], domain: Domain) -> Option<String> {
    let zero = Decimal::whole(0);
    let mut lower: Option<(&Decimal, bool)> = (domain == Domain::Count).then_some((&zero, true));
    let mut upper: Option<(&Decimal, bool)> = None;
    for operator in operators {
        let Some(Bound { value: bound, accepted }) = operator.bound() else { continue };
        let inclusive = accepted.contains(&Ordering::Equal);
        let (side, tighter) = if accepted.contains(&Ordering::Greater) {
            (&mut lower, Ordering::Greater)
        } else {
            (&mut upper, Ordering::Less)
        };
        let replaces = side.is_none_or(|(known, known_inclusive)| {
            let order = bound.cmp(known);
            order == tighter || (order == Ordering::Equal && known_inclusive)
        });
        if replaces {
            *side = Some((bound, inclusive));
        }
    }
    let (Some((low, low_inclusive)), Some((high, high_inclusive))) = (lower, upper) else { return None };
    let excludes_low = |operator: &Operator| matches!(operator, Operator::Ne(Literal::Number(number)) if number == low);
    let nothing = match low.cmp(high) {
        Ordering::Less => false,
        Ordering::Equal => !(low_inclusive && high_inclusive) || operators.iter().any(excludes_low),
        Ordering::Greater => true,
    };
    nothing.then(|| format!("no number lies between `{low}` and `{high}`"))
}
