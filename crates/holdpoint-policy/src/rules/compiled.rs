//! A rule made ready: everything that can be wrong with it was found, nothing is parsed again per call.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use holdpoint_config::{KeyPath, Problem, within};
use holdpoint_core::{Decision, FourEyes, Ground, Terms};

use super::facts::{Subject, pointer};
use super::index::ToolPattern;
use super::{Condition, Decide, EXPIRES_IN_MS_MAX, QUORUM_MAX, RuleSpec};

/// What a rule asks and what it decides.
pub(super) struct CompiledRule {
    pub(super) place: RulePlace,
    pub(super) tool: ToolPattern,
    /// What costs least comes first: arguments, context, history.
    pub(super) conditions: Vec<Asked>,
    pub(super) decision: Decision,
    /// Whether it keeps tools from the model.
    pub(super) hides: bool,
}

/// Which rule, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulePlace {
    /// The file, if it is from one.
    pub file: Option<Arc<str>>,
    /// The line, from 1, if it is from a file.
    pub line: Option<usize>,
    /// The number of the rule, from 1.
    pub rule: usize,
    /// What the audit calls it.
    pub name: Arc<str>,
}

impl fmt::Display for RulePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(file), Some(line)) = (&self.file, self.line) {
            write!(f, "{file}:{line}: ")?;
        }
        write!(f, "rule {}", self.rule)
    }
}

/// One condition of a rule.
pub(super) struct Asked {
    pub(super) subject: Subject,
    /// The same number for the same subject in all rules: what one rule looked up, the next one need not.
    pub(super) slot: u32,
    pub(super) condition: Condition,
}

impl CompiledRule {
    pub(super) fn new(spec: &RuleSpec, place: RulePlace) -> Result<Self, Problem> {
        if spec.hide && !(spec.when.is_empty() && spec.history.is_empty()) {
            let problem = Problem::at("hide", "cannot depend on arguments or history");
            return Err(problem.with_hint("make it two rules, or use `decide = \"deny\"`"));
        }
        let decision = decision(spec, Arc::clone(&place.name))?;
        let tool = ToolPattern::parse(&spec.tool)?;
        Ok(Self { place, tool, conditions: conditions(spec)?, decision, hides: spec.hide })
    }

    /// Whether every call that the other is about is plainly decided by this one, if this one comes first.
    pub(super) fn covers(&self, later: &Self) -> bool {
        let covered = |asked: &Asked| {
            let same = later.conditions.iter().find(|known| known.subject == asked.subject);
            same.is_some_and(|narrow| asked.condition.covers(&narrow.condition))
        };
        self.tool.covers(&later.tool) && self.conditions.iter().all(covered)
    }

    /// Whether it can only be decided with the history of the run.
    pub(super) fn needs_history(&self) -> bool {
        self.conditions.iter().any(|asked| matches!(asked.subject, Subject::Calls | Subject::Sum(_)))
    }
}

/// Numbers the subjects of all rules.
pub(super) fn number_subjects(rules: &mut [CompiledRule]) {
    let mut slots = HashMap::<Subject, u32>::new();
    for asked in rules.iter_mut().flat_map(|rule| &mut rule.conditions) {
        let next = u32::try_from(slots.len()).unwrap_or(u32::MAX);
        asked.slot = *slots.entry(asked.subject.clone()).or_insert(next);
    }
}

/// Everything that a rule asks.
fn conditions(spec: &RuleSpec) -> Result<Vec<Asked>, Problem> {
    let mut conditions: Vec<Asked> = Vec::new();
    let mut ask = |subject: Result<Subject, Problem>, condition: &Condition| {
        let subject = subject?;
        if conditions.iter().any(|known| known.subject == subject) {
            return Err(Problem::new("has a condition already").with_hint("put both into one condition"));
        }
        condition.check(subject.domain())?;
        conditions.push(Asked { subject, slot: 0, condition: condition.clone() });
        Ok(())
    };
    let at = |keys: &[&str]| {
        let path = keys.iter().fold(KeyPath::default(), |path, key| path.key(key));
        move |problem: Problem| problem.below(path)
    };
    for (key, condition) in &spec.when {
        ask(pointer(key).map(Subject::Argument), condition).map_err(at(&["when", key]))?;
    }
    for (key, condition) in &spec.context {
        ask(Subject::of_context(key), condition).map_err(at(&["context", key]))?;
    }
    if let Some(condition) = &spec.history.calls {
        ask(Ok(Subject::Calls), condition).map_err(at(&["history", "calls"]))?;
    }
    for (key, condition) in &spec.history.sum {
        ask(pointer(key).map(Subject::Sum), condition).map_err(at(&["history", "sum", key]))?;
    }
    Ok(conditions)
}

fn decision(spec: &RuleSpec, name: Arc<str>) -> Result<Decision, Problem> {
    let terms = terms(spec)?;
    let ground = Ground { reason: spec.reason.as_deref().map(Into::into), rule: Some(name), policy: None };
    match spec.decide {
        // Whatever else it says: what is hidden cannot be called.
        _ if spec.hide => Ok(Decision::Deny(ground)),
        Some(Decide::Allow) => Ok(Decision::Allow(ground)),
        Some(Decide::Deny) => Ok(Decision::Deny(ground)),
        Some(Decide::Confirm) => Ok(Decision::Confirm(ground, terms)),
        None => {
            let problem = Problem::new("decides nothing");
            Err(problem.with_hint("add `decide = \"allow\"`, `\"deny\"` or `\"confirm\"`"))
        }
    }
}

/// Terms on a rule that asks nobody are refused: its author believes that somebody is asked.
fn terms(spec: &RuleSpec) -> Result<Terms, Problem> {
    let given = [
        ("approvers", !spec.approvers.is_empty()),
        ("quorum", spec.quorum.is_some()),
        ("expires_in", spec.expires_in.is_some()),
        ("expires_in_ms", spec.expires_in_ms.is_some()),
        ("four_eyes", spec.four_eyes),
    ];
    if spec.decide != Some(Decide::Confirm)
        && let Some((key, _)) = given.into_iter().find(|(_, given)| *given)
    {
        let problem = Problem::at(key, "is for rules that decide `confirm`");
        return Err(problem.with_hint("set `decide = \"confirm\"`, or remove it"));
    }
    within("quorum", spec.quorum, 1..=QUORUM_MAX)?;
    if let Some(empty) = spec.approvers.iter().position(String::is_empty) {
        return Err(Problem::at(KeyPath::from("approvers").index(empty), "is empty"));
    }
    Ok(Terms {
        approvers: spec.approvers.iter().map(|role| role.as_str().into()).collect(),
        quorum: spec.quorum.unwrap_or(1),
        expires_in_ms: expires_in_ms(spec)?,
        four_eyes: if spec.four_eyes { FourEyes::On } else { FourEyes::Off },
    })
}

fn expires_in_ms(spec: &RuleSpec) -> Result<Option<u64>, Problem> {
    let (key, ms) = match (spec.expires_in, spec.expires_in_ms) {
        (Some(_), Some(_)) => {
            return Err(Problem::at("expires_in_ms", "stands beside `expires_in`").with_hint("keep one of them"));
        }
        (Some(duration), None) => ("expires_in", Some(duration.0)),
        (None, ms) => ("expires_in_ms", ms),
    };
    let most_days = EXPIRES_IN_MS_MAX / 86_400_000;
    match ms {
        Some(ms) if ms > EXPIRES_IN_MS_MAX => Err(Problem::at(key, format_args!("is more than {most_days} days"))),
        ms => Ok(ms),
    }
}
