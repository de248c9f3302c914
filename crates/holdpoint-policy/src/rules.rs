//! The policy that is written in a file.

mod compiled;
mod decimal;
mod duration;
mod error;
mod file;
mod literal;
mod nearest;
mod pointer;
mod spec;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use globset::{Glob, GlobSet, GlobSetBuilder};
use holdpoint_codec::Context;
use holdpoint_core::{Decision, Ground};
use holdpoint_tools::ToolDefinition;

use crate::{AuthorizeRequest, Policy, PolicyError};
use compiled::{CompiledRule, Pointers};
use literal::Value;

pub use error::{RulePlace, RuleProblem, RulesError};
pub use literal::{Literal, Number};
pub use spec::{Condition, Decide, ExampleSpec, RuleSpec};

/// The largest file.
pub const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// The most rules.
pub const RULES_MAX: usize = 10_000;
/// The most people that a question can need.
pub const QUORUM_MAX: u32 = 100;
/// The longest time that a question can stay open: ten years.
pub const EXPIRES_IN_MS_MAX: u64 = 3_650 * 86_400_000;
/// The largest regular expression, compiled.
pub const REGEX_BYTES_MAX: usize = 1024 * 1024;

/// The reason of a denial that no rule gave.
const NO_RULE: &str = "no rule allows it";

/// An ordered list of rules. The first one that matches decides; what none matches is denied.
///
/// A rule matches if its `tool` glob matches the registered name and every pointer of `when` finds a value that meets
/// its condition. A pointer that finds nothing meets no condition, not even `ne`. Numbers are compared as they are
/// written, without rounding. A tool is kept from the model if the first rule whose
/// glob matches its name hides, whatever that rule decides otherwise; nobody knows the arguments then.
///
/// ```
/// use holdpoint_policy::Rules;
///
/// let rules = Rules::parse(r#"
///     [[rule]]
///     tool = "refund"
///     when = { "/amount" = { gt = 100 } }
///     decide = "confirm"
///     reason = "a large refund"
///     approvers = ["finance"]
///     expires_in = "4h"
///     [[rule.example]]
///     arguments = { amount = 250 }
///     decides = "confirm"
///
///     [[rule]]
///     tool = "{refund,read_*}"
///     decide = "allow"
/// "#, "policy.toml");
/// assert_eq!(rules.map(|rules| rules.len()).ok(), Some(2));
/// ```
pub struct Rules {
    rules: Vec<CompiledRule>,
    /// The globs of all rules, in order.
    globs: GlobSet,
    pointers: Pointers,
}

impl Rules {
    /// Reads a file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, RulesError> {
        file::load(path.as_ref())
    }

    /// Reads the text of a file. The name is for messages.
    pub fn parse(text: &str, file_name: &str) -> Result<Self, RulesError> {
        file::parse(text, file_name)
    }

    /// Takes rules that were read from elsewhere, and checks them and their examples.
    pub fn new(specs: Vec<RuleSpec>) -> Result<Self, RulesError> {
        Self::at(&specs, |rule, _example| RulePlace { file: None, line: None, rule: rule + 1 })
    }

    /// `place` tells where a rule is, or one of its examples; both are counted from 0.
    fn at(specs: &[RuleSpec], place: impl Fn(usize, Option<usize>) -> RulePlace) -> Result<Self, RulesError> {
        if specs.len() > RULES_MAX {
            return Err(RulesError::TooMany { rules: specs.len() });
        }
        let at = |rule, example| {
            let place = place(rule, example);
            move |problem| RulesError::Rule { place, problem }
        };
        let mut pointers = Pointers::default();
        let (mut rules, mut globs) = (Vec::new(), GlobSetBuilder::new());
        for (number, spec) in specs.iter().enumerate() {
            let glob = tool_glob(&spec.tool).map_err(at(number, None))?;
            globs.add(glob);
            rules.push(CompiledRule::new(spec, rule_name(spec, number), &mut pointers).map_err(at(number, None))?);
        }
        let all_globs = |_| at(0, None)(RuleProblem::Tool { tool: "all globs together".to_owned() });
        let globs = globs.build().map_err(all_globs)?;
        let made = Self { rules, globs, pointers };
        for (number, spec) in specs.iter().enumerate() {
            for (example, expected) in spec.example.iter().enumerate() {
                made.check_example(spec, example, expected).map_err(at(number, Some(example)))?;
            }
        }
        Ok(made)
    }

    /// How many rules there are.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there are none: then everything is denied.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether a tool is kept from the model.
    pub fn hides(&self, tool: &str) -> bool {
        self.globs.matches(tool).first().is_some_and(|number| self.rules[*number].hides)
    }

    /// The decision about a call of a registered tool with these arguments, as JSON text.
    pub fn decide(&self, tool: &str, arguments: &str) -> Result<Decision, PolicyError> {
        let mut found = Found { pointers: &self.pointers, arguments, values: Vec::new() };
        for number in self.globs.matches(tool) {
            let rule = &self.rules[number];
            if found.meets(rule).map_err(|_| PolicyError::new("the arguments are not JSON"))? {
                return Ok(rule.decision.clone());
            }
        }
        Ok(Decision::Deny(Ground::reason(NO_RULE)))
    }

    fn check_example(&self, spec: &RuleSpec, number: usize, example: &ExampleSpec) -> Result<(), RuleProblem> {
        let number = number + 1;
        // Most globs match their own text, so that an example need not name a tool.
        let tool = example.tool.as_deref().unwrap_or(&spec.tool);
        let about = tool_glob(&spec.tool)?.compile_matcher();
        if !about.is_match(tool) {
            return Err(match &example.tool {
                None => RuleProblem::ExampleTool { example: number },
                Some(tool) => RuleProblem::ExampleElsewhere { example: number, tool: tool.clone() },
            });
        }
        let arguments = Literal::Map(example.arguments.clone()).to_json();
        let decision = self.decide(tool, &arguments).unwrap_or_else(|error| Decision::deny(error.to_string()));
        let found = kind(&decision);
        if found == example.decides {
            return Ok(());
        }
        let by = decision.ground().rule.clone().unwrap_or_else(|| NO_RULE.into());
        Err(RuleProblem::Example { example: number, wanted: example.decides, found, by })
    }
}

#[async_trait]
impl Policy for Rules {
    async fn filter(
        &self,
        mut tools: Vec<Arc<ToolDefinition>>,
        _context: &Context,
    ) -> Result<Vec<Arc<ToolDefinition>>, PolicyError> {
        tools.retain(|tool| !self.hides(tool.name.as_str()));
        Ok(tools)
    }

    async fn authorize(&self, request: &AuthorizeRequest<'_>) -> Result<Decision, PolicyError> {
        self.decide(request.tool.as_str(), request.arguments.expose())
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rules({})", self.rules.len())
    }
}

/// What the pointers found so far in the arguments of one call.
struct Found<'a> {
    pointers: &'a Pointers,
    arguments: &'a str,
    /// By the place of the pointer.
    values: Vec<Lookup<'a>>,
}

enum Lookup<'a> {
    NotYet,
    Absent,
    There(Value<'a>),
}

impl<'a> Found<'a> {
    fn meets(&mut self, rule: &CompiledRule) -> Result<bool, serde_json::Error> {
        for (place, condition) in &rule.conditions {
            match self.value(*place)? {
                Some(value) if condition.holds(value) => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    fn value(&mut self, place: usize) -> Result<Option<&Value<'a>>, serde_json::Error> {
        if self.values.is_empty() {
            self.values.resize_with(self.pointers.all.len(), || Lookup::NotYet);
        }
        let lookup = &mut self.values[place];
        if matches!(lookup, Lookup::NotYet) {
            let found = self.pointers.all[place].find(self.arguments)?;
            *lookup = found.map_or(Lookup::Absent, |raw| Lookup::There(Value::of(raw)));
        }
        Ok(match lookup {
            Lookup::There(value) => Some(value),
            Lookup::NotYet | Lookup::Absent => None,
        })
    }
}

fn tool_glob(tool: &str) -> Result<Glob, RuleProblem> {
    let problem = || RuleProblem::Tool { tool: tool.to_owned() };
    if tool.is_empty() {
        return Err(problem());
    }
    Glob::new(tool).map_err(|_| problem())
}

fn rule_name(spec: &RuleSpec, number: usize) -> Arc<str> {
    match &spec.name {
        Some(name) => name.as_str().into(),
        None => format!("rule {}", number + 1).into(),
    }
}

fn kind(decision: &Decision) -> Decide {
    match decision {
        Decision::Allow(_) => Decide::Allow,
        Decision::Deny(_) => Decide::Deny,
        Decision::Confirm(..) => Decide::Confirm,
    }
}
