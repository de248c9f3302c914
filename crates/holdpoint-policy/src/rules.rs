//! The policy that is written in a file.

mod checks;
mod compiled;
mod condition;
mod cover;
mod decimal;
mod examples;
mod explain;
mod facts;
mod host;
mod index;
mod literal;
mod node;
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
use holdpoint_config::{ConfigError, Document, KeyPath, Problem};
use holdpoint_core::{Decision, Ground};

use crate::{AuthorizeRequest, Policy, PolicyError, PolicyVersion};
use compiled::{CompiledRule, number_subjects};
use facts::{Facts, Looker, Trouble};
use index::Index;
use rules_file::Written;

pub use checks::{RuleAbout, RuleWarning};
pub use compiled::RulePlace;
pub use condition::Condition;
pub use explain::{ExplainedCondition, ExplainedRule, Explanation, Saw, Show};
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
    /// The file that they are from: it knows their places.
    document: Option<Arc<Document>>,
    index: Index,
    version: PolicyVersion,
    needs_history: bool,
    examples: usize,
}

impl Rules {
    /// Reads a file that is to be enforced. For one that may be only tried there is [`RulesFile`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        Written::load(path.as_ref())?.enforced()
    }

    /// Reads the text of a file. The name is for messages.
    pub fn parse(text: &str, file_name: &str) -> Result<Self, ConfigError> {
        Written::read(Document::toml(text, file_name)?)?.enforced()
    }

    /// Takes rules that are part of another file, and checks them and their examples. The path of a problem begins with
    /// the index of the rule.
    #[doc(hidden)]
    pub fn new(specs: &[RuleSpec]) -> Result<Self, Problem> {
        Self::read(specs, None)
    }

    fn read(specs: &[RuleSpec], document: Option<&Arc<Document>>) -> Result<Self, Problem> {
        if specs.len() > RULES_MAX {
            return Err(Problem::new(format_args!("has {} rules, and must have at most {RULES_MAX}", specs.len())));
        }
        let mut rules: Vec<CompiledRule> = Vec::with_capacity(specs.len());
        let mut asked = HashMap::with_capacity(specs.len());
        for (index, spec) in specs.iter().enumerate() {
            let rule = CompiledRule::new(spec, place(index, spec, document)).map_err(|problem| at(index, problem))?;
            if let Some(earlier) = asked.insert(rule.asks(), index) {
                let problem = Problem::new(format_args!("asks the same as {}", rules[earlier].place));
                let hint = "the first rule that matches decides: remove one of the two";
                return Err(at(index, problem.with_hint(hint)));
            }
            rules.push(rule);
        }
        number_subjects(&mut rules);
        let index = Index::new(rules.iter().map(|rule| &rule.tool))?;
        let needs_history = rules.iter().any(CompiledRule::needs_history);
        let examples = specs.iter().map(|spec| spec.example.len()).sum();
        let version = version::of(&rules);
        let made = Self { version, rules, document: document.cloned(), index, needs_history, examples };
        for (index, spec) in specs.iter().enumerate() {
            for (number, example) in spec.example.iter().enumerate() {
                let below = |problem: Problem| at(index, problem.below(KeyPath::from("example").index(number)));
                made.check_example(spec, example).map_err(below)?;
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
        self.check_context_keys(keys).map_err(|error| PolicyError::new(error.to_string()))
    }

    fn accepts_tools(&self, tools: &crate::KnownTools) -> Result<(), PolicyError> {
        self.check_tools(tools).map_err(|error| PolicyError::new(error.to_string()))
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rules({})", self.rules.len())
    }
}

/// A problem of the rule at this index.
fn at(index: usize, problem: Problem) -> Problem {
    problem.below(KeyPath::default().index(index))
}

fn place(index: usize, spec: &RuleSpec, document: Option<&Arc<Document>>) -> RulePlace {
    let rule = index + 1;
    let line = |document: &Arc<Document>| document.place(&KeyPath::from("rule").index(index)).line;
    RulePlace {
        file: document.map(|document| document.file().into()),
        line: document.map(line),
        rule,
        name: spec.name.as_deref().map_or_else(|| format!("rule {rule}").into(), Into::into),
    }
}
