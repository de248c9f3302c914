//! What is known about a call when it is decided: its arguments, who asks, and the run so far. Looked up when a rule
//! asks for it, and at most once.

use std::cell::OnceCell;
use std::fmt;

use holdpoint_codec::Context;
use holdpoint_config::Problem;

use super::compiled::{Asked, CompiledRule};
use super::decimal::Decimal;
use super::node::{Node, Opened, Unreadable};
use super::pointer::Pointer;
use super::possible::Domain;
use crate::{AuthorizeRequest, PolicyError, RunFacts};

/// How many places are remembered while rules are gone through. Of more than that, some are looked for again.
const REMEMBERED_MAX: usize = 16;

/// What a condition is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Subject {
    /// A place in the arguments.
    Argument(Pointer),
    /// A place in the attributes of the context; the first name is the attribute's.
    Attribute(Pointer),
    Actor,
    Tenant,
    Roles,
    /// The number of earlier calls.
    Calls,
    /// The sum of the numbers at a place in the arguments.
    Sum(Pointer),
}

impl Subject {
    /// A key of `context`: a word for who asks, the name of an attribute, or a pointer.
    pub(super) fn of_context(key: &str) -> Result<Self, Problem> {
        match key {
            "actor" => Ok(Subject::Actor),
            "tenant" => Ok(Subject::Tenant),
            "roles" => Ok(Subject::Roles),
            "" => Err(not_a_pointer()),
            key if key.starts_with('/') => pointer(key).map(Subject::Attribute),
            name => Ok(Subject::Attribute(Pointer::member(name))),
        }
    }

    pub(super) fn domain(&self) -> Domain {
        match self {
            Subject::Argument(_) | Subject::Attribute(_) => Domain::Place,
            Subject::Actor | Subject::Tenant => Domain::Name,
            Subject::Roles => Domain::Roles,
            Subject::Calls => Domain::Count,
            Subject::Sum(_) => Domain::Sum,
        }
    }

    /// The attribute of the context that it reads, if it reads one.
    pub(super) fn attribute(&self) -> Option<&str> {
        match self {
            Subject::Attribute(pointer) => pointer.first(),
            Subject::Argument(_) | Subject::Actor | Subject::Tenant | Subject::Roles => None,
            Subject::Calls | Subject::Sum(_) => None,
        }
    }

    /// Whether it is known before there is a call.
    pub(super) fn is_context(&self) -> bool {
        match self {
            Subject::Attribute(_) | Subject::Actor | Subject::Tenant | Subject::Roles => true,
            Subject::Argument(_) | Subject::Calls | Subject::Sum(_) => false,
        }
    }

    /// Which part of a rule it stands in.
    pub(super) fn part(&self) -> &'static str {
        match self {
            Subject::Argument(_) => "arguments",
            Subject::Attribute(_) | Subject::Actor | Subject::Tenant | Subject::Roles => "context",
            Subject::Calls | Subject::Sum(_) => "history",
        }
    }
}

/// Where within its part.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Argument(pointer) | Subject::Attribute(pointer) => pointer.fmt(f),
            Subject::Actor => f.write_str("actor"),
            Subject::Tenant => f.write_str("tenant"),
            Subject::Roles => f.write_str("roles"),
            Subject::Calls => f.write_str("calls"),
            Subject::Sum(pointer) => write!(f, "sum {pointer}"),
        }
    }
}

pub(super) fn pointer(text: &str) -> Result<Pointer, Problem> {
    Pointer::parse(text).ok_or_else(not_a_pointer)
}

fn not_a_pointer() -> Problem {
    Problem::new("is not a JSON pointer").with_hint("a pointer starts with `/`, as in `/amount`")
}

/// Why a rule could not be decided. Without values: it may be logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    Unreadable(Unreadable),
    NoHistory,
    NotANumber(String),
    SumTooLong(String),
}

impl From<Unreadable> for Trouble {
    fn from(unreadable: Unreadable) -> Self {
        Trouble::Unreadable(unreadable)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Unreadable(unreadable) => f.write_str(unreadable.as_str()),
            Trouble::NoHistory => f.write_str("a rule asks for the history of the run, which is not known here"),
            Trouble::NotANumber(pointer) => write!(f, "a rule sums `{pointer}`, where a call has no number"),
            Trouble::SumTooLong(pointer) => write!(f, "the sum of `{pointer}` has too many digits"),
        }
    }
}

impl From<Trouble> for PolicyError {
    fn from(trouble: Trouble) -> Self {
        PolicyError::new(trouble.to_string())
    }
}

/// One call.
pub(crate) struct Facts<'a> {
    tool: &'a str,
    arguments: Node<'a>,
    context: &'a Context,
    attributes: Node<'a>,
    run: Option<&'a RunFacts>,
    /// The arguments of the earlier calls of this tool, once they are asked for.
    past: OnceCell<Option<Vec<Node<'a>>>>,
}

impl<'a> Facts<'a> {
    /// A call of which nothing but the arguments, as JSON text, and the context is known.
    pub(crate) fn new(tool: &'a str, arguments: &'a str, context: &'a Context) -> Self {
        Self {
            tool,
            arguments: Node::raw(arguments),
            context,
            attributes: Node::members(context.attributes()),
            run: None,
            past: OnceCell::new(),
        }
    }

    /// The call of a request.
    pub(crate) fn of(request: &AuthorizeRequest<'a>) -> Self {
        let facts = Self::new(request.tool.as_str(), request.arguments.expose(), request.context);
        Self { run: Some(request.run), ..facts }
    }

    /// The registered name.
    pub(crate) fn tool(&self) -> &'a str {
        self.tool
    }

    /// Whether one condition holds.
    pub(super) fn meet(&self, asked: &Asked) -> Result<bool, Trouble> {
        let seen = self.look(&asked.subject)?;
        Ok(asked.condition.holds(seen.as_ref().map(Seen::node))?)
    }

    /// The value that a condition is about. Nothing if it is absent.
    pub(crate) fn look(&self, subject: &Subject) -> Result<Option<Seen<'_, 'a>>, Trouble> {
        let actor = self.context.actor();
        let text = |text: &'a Option<std::sync::Arc<str>>| text.as_deref().map(|text| Seen::Made(Node::text(text)));
        Ok(match subject {
            Subject::Argument(pointer) => pointer.find(&self.arguments)?.map(Seen::There),
            Subject::Attribute(pointer) => pointer.find(&self.attributes)?.map(Seen::There),
            Subject::Actor => text(&actor.id),
            Subject::Tenant => text(&actor.tenant),
            Subject::Roles => Some(Seen::Made(Node::texts(&actor.roles))),
            Subject::Calls => Some(Seen::Made(Node::number(Decimal::whole(self.past()?.len())))),
            Subject::Sum(pointer) => Some(Seen::Made(Node::number(self.sum(pointer)?))),
        })
    }

    fn past(&self) -> Result<&[Node<'a>], Trouble> {
        let past = self.past.get_or_init(|| {
            let past = self.run?.past()?.iter().filter(|call| call.tool.as_str() == self.tool);
            Some(past.map(|call| Node::raw(call.arguments.expose())).collect())
        });
        // A gate on what happened so far must not open because nobody told what happened.
        past.as_deref().ok_or(Trouble::NoHistory)
    }

    fn sum(&self, pointer: &Pointer) -> Result<Decimal, Trouble> {
        let mut sum = Decimal::whole(0);
        for arguments in self.past()?.iter().chain([&self.arguments]) {
            let number = match pointer.find(arguments)?.map(Node::open).transpose()? {
                None | Some(Opened::Null) => continue,
                Some(Opened::Number(number)) => number,
                // What cannot be added up must not pass for nothing.
                Some(_) => return Err(Trouble::NotANumber(pointer.to_string())),
            };
            sum = sum.checked_add(number).ok_or_else(|| Trouble::SumTooLong(pointer.to_string()))?;
        }
        Ok(sum)
    }
}

/// Goes through rules and remembers what it found in the arguments.
pub(super) struct Looker<'f, 'a> {
    facts: &'f Facts<'a>,
    /// Each place has one where it may be remembered, by its number.
    found: [Option<(u32, Option<&'f Node<'a>>)>; REMEMBERED_MAX],
}

impl<'f, 'a> Looker<'f, 'a> {
    pub(super) fn new(facts: &'f Facts<'a>) -> Self {
        Self { facts, found: [None; REMEMBERED_MAX] }
    }

    /// Whether all conditions of a rule hold.
    pub(super) fn meet_all(&mut self, rule: &CompiledRule) -> Result<bool, Trouble> {
        for asked in &rule.conditions {
            let met = match &asked.subject {
                Subject::Argument(pointer) => asked.condition.holds(self.argument(asked.slot, pointer)?)?,
                _ => self.facts.meet(asked)?,
            };
            if !met {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn argument(&mut self, slot: u32, pointer: &Pointer) -> Result<Option<&'f Node<'a>>, Unreadable> {
        let place = slot as usize % REMEMBERED_MAX;
        if let Some((known, node)) = self.found[place]
            && known == slot
        {
            return Ok(node);
        }
        let node = pointer.find(&self.facts.arguments)?;
        self.found[place] = Some((slot, node));
        Ok(node)
    }
}

/// A value that was found or made.
pub(crate) enum Seen<'n, 'a> {
    There(&'n Node<'a>),
    Made(Node<'a>),
}

impl<'a> Seen<'_, 'a> {
    pub(crate) fn node(&self) -> &Node<'a> {
        match self {
            Seen::There(node) => node,
            Seen::Made(node) => node,
        }
    }
}
