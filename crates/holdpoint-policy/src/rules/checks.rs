//! What can be said against rules that are good in themselves.

use std::collections::HashMap;
use std::sync::Arc;

use holdpoint_config::{ConfigError, KeyPath, Problem, nearest};
use holdpoint_core::ToolName;
use thiserror::Error;

use super::compiled::CompiledRule;
use super::{Decide, RulePlace, Rules};

/// A rule that never decides, because an earlier one decides all that it is about.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{rule}: it never decides, because {by} comes first and is about all of it")]
pub struct RuleWarning {
    /// The rule.
    pub rule: RulePlace,
    /// The earlier rule.
    pub by: RulePlace,
}

impl RuleWarning {
    /// What to do next.
    pub fn hint(&self) -> &'static str {
        "move it before the other one, or remove it"
    }
}

/// A rule that is about a tool, for lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleAbout {
    /// What the audit calls it.
    pub name: Arc<str>,
    /// What it decides.
    pub decides: Decide,
    /// Whether that depends on the arguments, on who asks, or on the run.
    pub conditional: bool,
    /// Whether it keeps the tool from the model.
    pub hides: bool,
}

impl Rules {
    /// The rules that are about a tool, in their order, up to the one after which none can decide.
    #[doc(hidden)]
    pub fn about(&self, tool: &ToolName) -> Vec<RuleAbout> {
        let about = |rule: &CompiledRule| RuleAbout {
            name: Arc::clone(&rule.place.name),
            decides: Decide::of(&rule.decision),
            conditional: !rule.conditions.is_empty(),
            hides: rule.hides,
        };
        let mut listed: Vec<RuleAbout> =
            self.index.about(tool.as_str()).iter().map(|number| about(self.rule(*number))).collect();
        if let Some(last) = listed.iter().position(|rule| !rule.conditional) {
            listed.truncate(last + 1);
        }
        listed
    }

    /// The rules that never decide, because an earlier one plainly decides all that they are about.
    pub fn warnings(&self) -> Vec<RuleWarning> {
        let mut about = HashMap::<&str, Vec<u32>>::new();
        let mut globs = Vec::new();
        let mut warnings = Vec::new();
        for (number, rule) in (0_u32..).zip(&self.rules) {
            let earlier = match rule.tool.names().and_then(<[_]>::first) {
                Some(name) => about.entry(name).or_insert_with(|| self.index.about(name).into_owned()),
                None => {
                    globs.push(number);
                    &mut globs
                }
            };
            let mut earlier = earlier.iter().take_while(|known| **known < number).map(|known| self.rule(*known));
            if let Some(by) = earlier.find(|earlier| earlier.covers(rule)) {
                warnings.push(RuleWarning { rule: rule.place.clone(), by: by.place.clone() });
            }
        }
        warnings
    }

    /// Whether every rule is about a registered tool.
    ///
    /// # Errors
    /// The first rule whose glob matches none of them, with the name that is nearest.
    pub fn check_tools(&self, tools: &crate::KnownTools) -> Result<(), ConfigError> {
        let names: Vec<&str> = tools.names.iter().map(ToolName::as_str).collect();
        for rule in self.rules.iter().filter(|rule| !tools.is_open(rule.tool.text())) {
            if !names.iter().any(|name| rule.tool.matches(name)) {
                let tool = rule.tool.text();
                let hint = meant(tool, &names).unwrap_or_else(|| "register the tool or remove the rule".to_owned());
                let problem = Problem::at("tool", format_args!("is `{tool}`, which matches no registered tool"));
                return Err(self.error(rule, problem.with_hint(hint)));
            }
        }
        Ok(())
    }

    /// Whether the rules read only attributes of the context that are kept with a run. Who asks, for whom and in which
    /// roles can always be read.
    ///
    /// # Errors
    /// The first rule that reads another attribute, with the key that is nearest.
    pub fn check_context_keys(&self, keys: impl IntoIterator<Item = impl AsRef<str>>) -> Result<(), ConfigError> {
        let keys: Vec<_> = keys.into_iter().collect();
        let keys: Vec<&str> = keys.iter().map(AsRef::as_ref).collect();
        for rule in &self.rules {
            for key in rule.conditions.iter().filter_map(|asked| asked.subject.attribute()) {
                if !keys.contains(&key) {
                    let hint = meant(key, &keys).unwrap_or_else(|| "add it to `context_keys`".to_owned());
                    let problem = format!("reads the attribute `{key}`, which is not in `context_keys`");
                    return Err(self.error(rule, Problem::at("context", problem).with_hint(hint)));
                }
            }
        }
        Ok(())
    }

    /// A problem of a rule, with its place if the rules are from a file.
    fn error(&self, rule: &CompiledRule, problem: Problem) -> ConfigError {
        let problem = problem.below(KeyPath::from("rule").index(rule.place.rule - 1));
        match &self.document {
            Some(document) => document.error(problem),
            None => ConfigError::without_file([problem]),
        }
    }

    pub(super) fn rule(&self, number: u32) -> &CompiledRule {
        &self.rules[number as usize]
    }
}

fn meant(written: &str, known: &[&str]) -> Option<String> {
    nearest(written, known.iter().copied()).map(|name| format!("did you mean `{name}`?"))
}
