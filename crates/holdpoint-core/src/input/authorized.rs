//! Policy decided about calls that the model asked for.

use crate::{CallIndex, CallState, Decision, Event, Phase, Rejection, Run, Stage, Timestamp, Work};

/// What policy said.
#[derive(Clone, Debug)]
pub struct Authorized {
    /// One decision per call that waits for one.
    pub decisions: Vec<(CallIndex, Decision)>,
}

pub(super) fn decide(run: &Run, authorized: Authorized, now: Timestamp) -> Result<Vec<Event>, Rejection> {
    let not_expected = Rejection::NotExpected { input: "authorized" };
    if run.phase != Phase::Working(Work::Calls) {
        return Err(not_expected);
    }
    let mut seen = std::collections::HashSet::new();
    let mut events = Vec::with_capacity(authorized.decisions.len());
    for (call, decision) in authorized.decisions {
        let proposed = run.call(call).is_some_and(|call| matches!(call.state, CallState::Proposed));
        if !proposed || !seen.insert(call) {
            return Err(not_expected);
        }
        events.push(Event::CallDecided { call, stage: Stage::Policy, decision, at: now });
    }
    Ok(events)
}
