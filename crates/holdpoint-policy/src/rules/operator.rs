//! Conditions made ready: nothing is parsed again per call.

use std::cmp::Ordering;

use regex::{Regex, RegexBuilder};

use super::decimal::Decimal;
use super::host::HostPattern;
use super::node::{Node, Opened, Unreadable, all, any};
use super::path::Folder;
use super::possible::{Domain, impossible};
use super::{Condition, Literal, REGEX_BYTES_MAX, RuleProblem};

/// What must be true of one value.
pub(crate) struct CompiledCondition {
    pub(crate) tests: Vec<Test>,
}

/// One operator with its operand.
pub(crate) struct Test {
    pub(crate) operator: &'static str,
    pub(crate) kind: Kind,
    /// As it was written, for people. Apart, because deciding does not look at it.
    pub(crate) operand: Box<Literal>,
}

pub(crate) enum Kind {
    Present(bool),
    Equals(Literal),
    Differs(Literal),
    OneOf(Vec<Literal>),
    /// The value compares with the bound in one of two ways.
    Compares(Decimal, [Ordering; 2]),
    StartsWith(Box<str>),
    EndsWith(Box<str>),
    Contains(Literal),
    Under(Vec<Folder>),
    Host(Vec<HostPattern>),
    Len(CompiledCondition),
    Any(CompiledCondition),
    All(CompiledCondition),
    Matches(Pattern),
}

/// A regular expression.
pub(crate) struct Pattern {
    regex: Regex,
    /// What every text begins with in which it is found, if it is plain that there is such a thing: most texts are told
    /// apart by that alone.
    start: Option<Box<str>>,
}

impl CompiledCondition {
    /// `at` is for messages.
    pub(crate) fn new(at: &str, condition: &Condition, domain: Domain) -> Result<Self, RuleProblem> {
        let mut tests = Vec::new();
        for (operator, operand) in condition.operators() {
            tests.push(Test { operator, kind: kind(at, condition, operator)?, operand: Box::new(operand) });
        }
        if tests.is_empty() {
            return Err(RuleProblem::NoOperator { pointer: at.to_owned() });
        }
        match impossible(&tests, domain) {
            Some(why) => Err(RuleProblem::Impossible { at: at.to_owned(), why }),
            None => Ok(Self { tests }),
        }
    }

    /// Nothing is a value that is absent.
    pub(crate) fn holds(&self, value: Option<&Node<'_>>) -> Result<bool, Unreadable> {
        all(&self.tests, |test| test.holds(value))
    }
}

impl Test {
    pub(crate) fn holds(&self, value: Option<&Node<'_>>) -> Result<bool, Unreadable> {
        match (&self.kind, value) {
            (Kind::Present(wanted), value) => Ok(*wanted == value.is_some()),
            (_, None) => Ok(false),
            (kind, Some(node)) => kind.holds(node),
        }
    }
}

impl Kind {
    fn holds(&self, node: &Node<'_>) -> Result<bool, Unreadable> {
        Ok(match self {
            Kind::Present(wanted) => *wanted,
            Kind::Equals(wanted) => wanted.equals(node)?,
            Kind::Differs(unwanted) => !unwanted.equals(node)?,
            Kind::OneOf(wanted) => any(wanted, |wanted| wanted.equals(node))?,
            Kind::Compares(bound, accepted) => match node.open()? {
                Opened::Number(number) => accepted.contains(&number.cmp(bound)),
                _ => false,
            },
            Kind::StartsWith(start) => text_of(node)?.is_some_and(|text| text.starts_with(&**start)),
            Kind::EndsWith(end) => text_of(node)?.is_some_and(|text| text.ends_with(&**end)),
            Kind::Matches(regex) => text_of(node)?.is_some_and(|text| regex.is_in(text)),
            Kind::Under(folders) => node.path()?.is_some_and(|path| folders.iter().any(|folder| folder.holds(path))),
            Kind::Host(hosts) => node.host()?.is_some_and(|host| hosts.iter().any(|pattern| pattern.holds(host))),
            Kind::Contains(part) => match (node.open()?, part) {
                (Opened::List(items), _) => any(items, |item| part.equals(item))?,
                (Opened::Text(text), Literal::Text(part)) => text.contains(part.as_str()),
                _ => false,
            },
            Kind::Len(wanted) => match node.open()? {
                Opened::List(items) => wanted.holds(Some(&Node::number(Decimal::whole(items.len()))))?,
                Opened::Text(text) => wanted.holds(Some(&Node::number(Decimal::whole(text.chars().count()))))?,
                Opened::Null | Opened::Bool(_) | Opened::Number(_) | Opened::Map(_) => false,
            },
            Kind::Any(wanted) => match node.open()? {
                Opened::List(items) => any(items, |item| wanted.holds(Some(item)))?,
                _ => false,
            },
            // Of a list without items nothing is true: that all of nothing is well has let many a stranger in.
            Kind::All(wanted) => match node.open()? {
                Opened::List(items) => !items.is_empty() && all(items, |item| wanted.holds(Some(item)))?,
                _ => false,
            },
        })
    }
}

fn text_of<'n>(node: &'n Node<'_>) -> Result<Option<&'n str>, Unreadable> {
    Ok(match node.open()? {
        Opened::Text(text) => Some(text),
        Opened::Null | Opened::Bool(_) | Opened::Number(_) | Opened::List(_) | Opened::Map(_) => None,
    })
}

/// The test for one operator that the condition has.
fn kind(at: &str, condition: &Condition, operator: &'static str) -> Result<Kind, RuleProblem> {
    let Condition { eq, ne, gt, gte, lt, lte, one_of, matches, starts_with, ends_with, contains, .. } = condition;
    let Condition { any, all, len, present, path_under, host, .. } = condition;
    let nested = |inner: &Option<Box<Condition>>, domain| {
        let inner = inner.as_ref().map(|inner| CompiledCondition::new(&format!("{at} {operator}"), inner, domain));
        inner.transpose()
    };
    let compares = |bound: &Option<super::Number>, accepted| {
        bound.as_ref().map(|bound| Kind::Compares(bound.decimal().clone(), accepted))
    };
    let made = match operator {
        "present" => present.map(Kind::Present),
        "eq" => eq.clone().map(Kind::Equals),
        "ne" => ne.clone().map(Kind::Differs),
        "in" => one_of.clone().map(Kind::OneOf),
        "gt" => compares(gt, [Ordering::Greater, Ordering::Greater]),
        "gte" => compares(gte, [Ordering::Greater, Ordering::Equal]),
        "lt" => compares(lt, [Ordering::Less, Ordering::Less]),
        "lte" => compares(lte, [Ordering::Less, Ordering::Equal]),
        "starts_with" => filled(at, operator, starts_with.as_deref())?.map(|text| Kind::StartsWith(text.into())),
        "ends_with" => filled(at, operator, ends_with.as_deref())?.map(|text| Kind::EndsWith(text.into())),
        "contains" => {
            if let Some(Literal::Text(part)) = contains {
                filled(at, operator, Some(part))?;
            }
            contains.clone().map(Kind::Contains)
        }
        "path_under" => Some(Kind::Under(folders(at, path_under.as_deref().unwrap_or_default())?)),
        "host" => Some(Kind::Host(hosts(at, host.as_deref().unwrap_or_default())?)),
        "len" => nested(len, Domain::Count)?.map(Kind::Len),
        "any" => nested(any, Domain::Item)?.map(Kind::Any),
        "all" => nested(all, Domain::Item)?.map(Kind::All),
        _ => matches.as_deref().map(|pattern| Pattern::new(at, pattern)).transpose()?.map(Kind::Matches),
    };
    made.ok_or_else(|| RuleProblem::NoOperator { pointer: at.to_owned() })
}

/// Every text begins with nothing: whoever writes that meant something else.
fn filled<'t>(at: &str, operator: &'static str, text: Option<&'t str>) -> Result<Option<&'t str>, RuleProblem> {
    match text {
        Some("") => Err(RuleProblem::EmptyOperand { at: at.to_owned(), operator }),
        text => Ok(text),
    }
}

impl Pattern {
    /// `at` is for messages.
    pub(crate) fn new(at: &str, pattern: &str) -> Result<Self, RuleProblem> {
        let built = RegexBuilder::new(pattern).size_limit(REGEX_BYTES_MAX).build();
        let regex = built.map_err(|error| RuleProblem::regex(at, &error))?;
        Ok(Self { regex, start: literal_start(pattern).map(Into::into) })
    }

    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.start.as_ref().is_none_or(|start| text.starts_with(&**start)) && self.regex.is_match(text)
    }
}

/// The letters after `^` that stand for themselves. Nothing where alternatives, groups with flags or escapes could give
/// them another meaning.
fn literal_start(pattern: &str) -> Option<&str> {
    let rest = pattern.strip_prefix('^')?;
    if rest.contains('|') || rest.contains("(?") {
        return None;
    }
    let end = rest.find(['\\', '.', '+', '*', '?', '(', ')', '[', ']', '{', '}', '^', '$']).unwrap_or(rest.len());
    let (plain, after) = rest.split_at(end);
    // A letter that is repeated need not be there.
    let repeated = after.starts_with(['+', '*', '?', '{']);
    let plain = if repeated { &plain[..plain.char_indices().next_back()?.0] } else { plain };
    (!plain.is_empty()).then_some(plain)
}

fn folders(at: &str, written: &[String]) -> Result<Vec<Folder>, RuleProblem> {
    let folder =
        |text: &String| Folder::parse(text).ok_or_else(|| RuleProblem::Path { at: at.to_owned(), path: text.clone() });
    written.iter().map(folder).collect()
}

fn hosts(at: &str, written: &[String]) -> Result<Vec<HostPattern>, RuleProblem> {
    let host = |text: &String| {
        HostPattern::parse(text).ok_or_else(|| RuleProblem::Host { at: at.to_owned(), host: text.clone() })
    };
    written.iter().map(host).collect()
}
