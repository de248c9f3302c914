//! Policy decided about calls that the model asked for.

use std::sync::Arc;

use crate::{Call, CallIndex, CallState, Decision, Event, Grant, Phase, Rejection, Run, Stage, Timestamp, Work};

/// What policy said.
#[derive(Clone, Debug, Default)]
pub struct Authorized {
    /// One decision per call that waits for one.
    pub decisions: Vec<(CallIndex, Decision)>,
    /// What a policy that is only being tried would have decided.
    pub shadows: Vec<(CallIndex, Decision)>,
    /// What people said before about calls like these. Those that do not apply do nothing.
    pub grants: Vec<Arc<Grant>>,
}

impl Authorized {
    /// Decisions, and nothing beside them.
    pub fn new(decisions: Vec<(CallIndex, Decision)>) -> Self {
        Self { decisions, ..Self::default() }
    }
}

pub(super) fn decide(run: &Run, authorized: Authorized, now: Timestamp) -> Result<Vec<Event>, Rejection> {
    let not_expected = Rejection::NotExpected { input: "authorized" };
    if run.phase != Phase::Working(Work::Calls) {
        return Err(not_expected);
    }
    let Authorized { decisions, shadows, grants } = authorized;
    let mut seen = std::collections::HashSet::new();
    let mut events = Vec::with_capacity(decisions.len());
    for (index, decision) in decisions {
        let call = run.call(index).filter(|call| matches!(call.state, CallState::Proposed)).ok_or(&not_expected);
        let call = call.map_err(Clone::clone)?;
        if !seen.insert(index) {
            return Err(not_expected);
        }
        let used = run.standing(index, call, &decision, &grants, now);
        let shadow = shadows.iter().find(|(of, _)| *of == index).map(|(_, shadow)| Box::new(shadow.clone()));
        events.push(Event::CallDecided { call: index, stage: Stage::Policy, decision, shadow });
        events.extend(used);
    }
    Ok(events)
}

impl Run {
    /// The grants that count for a question: one for each person, and no more than are needed.
    fn standing(
        &self,
        index: CallIndex,
        call: &Call,
        decision: &Decision,
        grants: &[Arc<Grant>],
        now: Timestamp,
    ) -> Vec<Event> {
        let terms = match decision {
            Decision::Confirm(_, terms) => terms,
            Decision::Allow(_) | Decision::Deny(_) => return Vec::new(),
        };
        let mut used: Vec<&Arc<Grant>> = Vec::new();
        for grant in grants.iter().filter(|grant| grant.answers(self, call, terms, now)) {
            if used.len() >= terms.quorum.max(1) as usize {
                break;
            }
            if used.iter().all(|other| other.actor.id != grant.actor.id) {
                used.push(grant);
            }
        }
        let event = |grant: &Arc<Grant>| {
            let (grant, actor) = (grant.id.clone(), grant.actor.clone());
            Event::GrantUsed { call: index, grant, actor }
        };
        used.into_iter().map(event).collect()
    }
}
