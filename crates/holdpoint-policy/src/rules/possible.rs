//! Conditions that nothing can meet: their author believes that they stand guard.

use std::cmp::Ordering;

use super::Literal;
use super::decimal::Decimal;
use super::node::Node;
use super::operator::{Kind, Test};

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

/// Why no value can meet all of these.
pub(crate) fn impossible(tests: &[Test], domain: Domain) -> Option<String> {
    presence(tests, domain).or_else(|| types(tests, domain)).or_else(|| listed(tests)).or_else(|| bounds(tests, domain))
}

fn presence(tests: &[Test], domain: Domain) -> Option<String> {
    let present = tests.iter().find_map(|test| match &test.kind {
        Kind::Present(present) => Some(*present),
        _ => None,
    })?;
    match domain {
        Domain::Place | Domain::Name if present || tests.len() == 1 => None,
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

fn types(tests: &[Test], domain: Domain) -> Option<String> {
    let mut left = match domain {
        Domain::Place | Domain::Item => Types::ANY,
        Domain::Roles => Types::LIST,
        Domain::Name => Types::TEXT,
        Domain::Count | Domain::Sum => Types::NUMBER,
    };
    for test in tests {
        let accepted = match &test.kind {
            Kind::Present(_) | Kind::Differs(_) => Types::ANY,
            Kind::Equals(literal) => Types::of(literal),
            Kind::OneOf(literals) if literals.is_empty() => return Some("`in` is empty".to_owned()),
            Kind::OneOf(literals) => literals.iter().map(Types::of).fold(Types(0), Types::or),
            Kind::Compares(..) => Types::NUMBER,
            Kind::StartsWith(_) | Kind::EndsWith(_) | Kind::Matches(_) => Types::TEXT,
            Kind::Under(folders) if folders.is_empty() => return Some("`path_under` is empty".to_owned()),
            Kind::Host(hosts) if hosts.is_empty() => return Some("`host` is empty".to_owned()),
            Kind::Under(_) | Kind::Host(_) => Types::TEXT,
            Kind::Contains(Literal::Text(_)) | Kind::Len(_) => Types::TEXT.or(Types::LIST),
            Kind::Contains(_) | Kind::Any(_) | Kind::All(_) => Types::LIST,
        };
        left = left.and(accepted);
        if left == Types(0) {
            return Some(format!("no value has a type that suits `{}` and the rest", test.operator));
        }
    }
    None
}

/// `eq` and `in` leave a few values: one of them must meet the rest.
fn listed(tests: &[Test]) -> Option<String> {
    let (test, literals) = tests.iter().find_map(|test| Some((test, values(&test.kind)?)))?;
    if literals.iter().any(|literal| meets_all(tests, literal)) {
        return None;
    }
    Some(format!("no value of `{}` meets the rest", test.operator))
}

/// The few values that a test leaves.
pub(crate) fn values(kind: &Kind) -> Option<&[Literal]> {
    match kind {
        Kind::Equals(literal) => Some(std::slice::from_ref(literal)),
        Kind::OneOf(literals) => Some(literals),
        _ => None,
    }
}

/// Whether a value of a rule meets all of these.
pub(crate) fn meets_all(tests: &[Test], literal: &Literal) -> bool {
    let node = Node::literal(literal);
    tests.iter().all(|test| test.holds(Some(&node)) == Ok(true))
}

fn bounds(tests: &[Test], domain: Domain) -> Option<String> {
    let zero = Decimal::whole(0);
    let mut lower: Option<(&Decimal, bool)> = (domain == Domain::Count).then_some((&zero, true));
    let mut upper: Option<(&Decimal, bool)> = None;
    for test in tests {
        let Kind::Compares(bound, accepted) = &test.kind else { continue };
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
    let excluded = || {
        tests.iter().any(|test| match &test.kind {
            Kind::Differs(Literal::Number(number)) => number.decimal() == low,
            _ => false,
        })
    };
    let nothing = match low.cmp(high) {
        Ordering::Less => false,
        Ordering::Equal => !(low_inclusive && high_inclusive) || excluded(),
        Ordering::Greater => true,
    };
    nothing.then(|| format!("no number lies between `{low}` and `{high}`"))
}
