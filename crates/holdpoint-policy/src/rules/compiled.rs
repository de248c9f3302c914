//! A rule made ready: everything that can be wrong with it was found, nothing is parsed again per call.

use std::collections::HashMap;
use std::sync::Arc;

use holdpoint_core::{Decision, FourEyes, Ground, Terms};

use super::facts::{Subject, pointer};
use super::index::ToolPattern;
use super::operator::CompiledCondition;
use super::{Condition, Decide, EXPIRES_IN_MS_MAX, QUORUM_MAX, RulePlace, RuleProblem, RuleSpec, duration};

/// What a rule asks and what it decides.
pub(super) struct CompiledRule {
    pub(super) place: RulePlace,
    pub(super) name: Arc<str>,
    pub(super) tool: ToolPattern,
    /// What costs least comes first: arguments, context, history.
    pub(super) conditions: Vec<Asked>,
    pub(super) decision: Decision,
    /// Whether it keeps tools from the model.
    pub(super) hides: bool,
}

/// One condition of a rule.
pub(super) struct Asked {
    pub(super) subject: Subject,
    /// The same number for the same subject in all rules: what one rule looked up, the next one need not.
    pub(super) slot: u32,
    pub(super) condition: CompiledCondition,
}

impl CompiledRule {
    /// `name` is what the ground of its decisions says.
    pub(super) fn new(spec: &RuleSpec, name: Arc<str>, place: RulePlace) -> Result<Self, RuleProblem> {
        if spec.hide && !(spec.when.is_empty() && spec.history.is_empty()) {
            return Err(RuleProblem::HidesWhen);
        }
        let mut conditions: Vec<Asked> = Vec::new();
        for (subject, at, condition) in subjects(spec)? {
            if conditions.iter().any(|known| known.subject == subject) {
                return Err(RuleProblem::SameSubject { at: at.to_owned() });
            }
            let condition = CompiledCondition::new(at, condition, subject.domain())?;
            conditions.push(Asked { subject, slot: 0, condition });
        }
        let decision = decision(spec, Arc::clone(&name))?;
        Ok(Self { place, name, tool: ToolPattern::parse(&spec.tool)?, conditions, decision, hides: spec.hide })
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

/// Everything that a rule asks, with how its author calls it.
fn subjects(spec: &RuleSpec) -> Result<Vec<(Subject, &str, &Condition)>, RuleProblem> {
    let mut subjects = Vec::new();
    for (at, condition) in &spec.when {
        subjects.push((Subject::Argument(pointer(at)?), &**at, condition));
    }
    for (at, condition) in &spec.context {
        subjects.push((Subject::of_context(at)?, &**at, condition));
    }
    if let Some(condition) = &spec.history.calls {
        subjects.push((Subject::Calls, "history.calls", condition));
    }
    for (at, condition) in &spec.history.sum {
        subjects.push((Subject::Sum(pointer(at)?), &**at, condition));
    }
    Ok(subjects)
}

fn decision(spec: &RuleSpec, name: Arc<str>) -> Result<Decision, RuleProblem> {
    let terms = terms(spec)?;
    let ground = Ground { reason: spec.reason.as_deref().map(Into::into), rule: Some(name), policy: None };
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
        ("four_eyes", spec.four_eyes),
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
    let four_eyes = if spec.four_eyes { FourEyes::On } else { FourEyes::Off };
    Ok(Terms { approvers, quorum, expires_in_ms: expires_in_ms(spec)?, four_eyes })
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
