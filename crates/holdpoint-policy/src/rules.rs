//! The policy that is written in a file.

mod checks;
mod compiled;
mod condition;
mod cover;
mod decimal;
mod duration;
mod error;
mod examples;
mod explain;
mod facts;
mod file;
mod grammar;
mod host;
mod index;
mod literal;
mod nearest;
mod node;
mod operator;
mod path;
mod pointer;
mod possible;
mod replay;
mod rules_file;
mod spec;
#[cfg(test)]
mod tests;
mod version;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_codec::Context;
use holdpoint_codec::ToolDefinition;
use holdpoint_core::{Decision, Ground};

use crate::{AuthorizeRequest, Policy, PolicyError, PolicyVersion};
use compiled::{CompiledRule, number_subjects};
use facts::{Facts, Looker, Trouble};
use index::Index;

pub use checks::RuleAbout;
pub use condition::Condition;
pub use error::{ModeProblem, RulePlace, RuleProblem, RuleWarning, RulesError};
pub use explain::{ExplainedCondition, ExplainedRule, Explanation, Saw, Show};
pub use grammar::{KeyAt, Outline, UnknownKey, check_rule_keys};
pub use literal::{Literal, Number};
pub use replay::{Change, RecordedCall, Replay, replay};
pub use rules_file::{Mode, RulesFile};
pub use spec::{Decide, ExampleSpec, HistorySpec, RuleSpec};

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
/// A rule matches if its `tool` glob matches the registered name and all its conditions hold: on the arguments (`when`),
/// on who asks (`context`) and on the run so far (`history`). What is absent meets no condition, not even `ne`, except
/// `present = false`. Numbers are compared as they are written, without rounding. A tool is kept from the model if the
/// first rule that is about its name and whose `context` holds hides, whatever that rule decides otherwise; nobody
/// knows the arguments then.
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
    index: Index,
    version: PolicyVersion,
    needs_history: bool,
    examples: usize,
}

impl Rules {
    /// Reads a file that is to be enforced. For one that may be only tried there is [`RulesFile`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, RulesError> {
        file::load(path.as_ref())?.enforced()
    }

    /// Reads the text of a file. The name is for messages.
    pub fn parse(text: &str, file_name: &str) -> Result<Self, RulesError> {
        file::parse(text, file_name)?.enforced()
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
        let mut rules: Vec<CompiledRule> = Vec::with_capacity(specs.len());
        let mut asked = HashMap::with_capacity(specs.len());
        for (number, spec) in specs.iter().enumerate() {
            let rule =
                CompiledRule::new(spec, rule_name(spec, number), place(number, None)).map_err(at(number, None))?;
            if let Some(earlier) = asked.insert(rule.asks(), number) {
                let earlier = rules[earlier].place.clone();
                return Err(at(number, None)(RuleProblem::Duplicate { earlier }));
            }
            rules.push(rule);
        }
        number_subjects(&mut rules);
        let index = Index::new(rules.iter().map(|rule| &rule.tool)).map_err(at(0, None))?;
        let needs_history = rules.iter().any(CompiledRule::needs_history);
        let examples = specs.iter().map(|spec| spec.example.len()).sum();
        let made = Self { version: version::of(&rules), rules, index, needs_history, examples };
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

    /// How many examples they carry. All of them came out as their authors thought.
    pub fn examples(&self) -> usize {
        self.examples
    }

    /// Equal for rules that decide alike for the same reasons: a digest of all rules without their examples.
    pub fn version(&self) -> &PolicyVersion {
        &self.version
    }

    /// Whether a tool is kept from the model, whoever asks.
    pub fn hides(&self, tool: &str) -> bool {
        self.hides_from(tool, &Context::new()).unwrap_or_default()
    }

    /// Whether a tool is kept from the model of one run.
    pub fn hides_from(&self, tool: &str, context: &Context) -> Result<bool, PolicyError> {
        let facts = Facts::new(tool, "{}", context);
        for number in &*self.index.about(tool) {
            let rule = self.rule(*number);
            let mut known = rule.conditions.iter().filter(|asked| asked.subject.is_context());
            if known.try_fold(true, |so_far, asked| Ok::<_, Trouble>(so_far && facts.meet(asked)?))? {
                return Ok(rule.hides);
            }
        }
        Ok(false)
    }

    /// The decision about a call of a registered tool with these arguments, as JSON text, when nobody in particular
    /// asks and nothing is known of the run.
    pub fn decide(&self, tool: &str, arguments: &str) -> Result<Decision, PolicyError> {
        self.decide_about(&Facts::new(tool, arguments, &Context::new()))
    }

    fn decide_about(&self, facts: &Facts<'_>) -> Result<Decision, PolicyError> {
        let mut looker = Looker::new(facts);
        for number in &*self.index.about(facts.tool()) {
            let rule = self.rule(*number);
            if looker.meet_all(rule)? {
                return Ok(rule.decision.clone());
            }
        }
        Ok(Decision::Deny(Ground::reason(NO_RULE)))
    }
}

#[async_trait]
impl Policy for Rules {
    async fn filter(
        &self,
        tools: Vec<Arc<ToolDefinition>>,
        context: &Context,
    ) -> Result<Vec<Arc<ToolDefinition>>, PolicyError> {
        let mut visible = Vec::with_capacity(tools.len());
        for tool in tools {
            if !self.hides_from(tool.name.as_str(), context)? {
                visible.push(tool);
            }
        }
        Ok(visible)
    }

    async fn authorize(&self, request: &AuthorizeRequest<'_>) -> Result<Decision, PolicyError> {
        self.decide_about(&Facts::of(request))
    }

    fn needs_history(&self) -> bool {
        self.needs_history
    }

    fn version(&self) -> Option<PolicyVersion> {
        Some(self.version.clone())
    }

    fn accepts_context_keys(&self, keys: &BTreeSet<Arc<str>>) -> Result<(), PolicyError> {
        self.check_context_keys(keys).map_err(|error| told(&error))
    }

    fn accepts_tools(&self, tools: &crate::KnownTools) -> Result<(), PolicyError> {
        self.check_tools(tools).map_err(|error| told(&error))
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rules({})", self.rules.len())
    }
}

/// The message and what to do next, in one line.
fn told(error: &RulesError) -> PolicyError {
    PolicyError::new(match error.hint() {
        Some(hint) => format!("{error}; hint: {hint}"),
        None => error.to_string(),
    })
}

fn rule_name(spec: &RuleSpec, number: usize) -> Arc<str> {
    match &spec.name {
        Some(name) => name.as_str().into(),
        None => format!("rule {}", number + 1).into(),
    }
}
