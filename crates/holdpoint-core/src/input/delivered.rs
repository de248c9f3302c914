//! Somebody outside delivered results of calls that were handed out.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Missing, Target};
use crate::{
    Attributes, Call, CallId, CallIndex, CallState, Code, Event, Outcome, PauseReason, Rejection, Run, Settlement,
    Source, Timestamp, ToolResult,
};

/// Results from outside.
#[derive(Clone, Debug)]
pub struct Delivered {
    /// What is resumed.
    pub target: Target,
    /// Results by shown call id.
    pub results: Vec<(CallId, Arc<ToolResult>)>,
    /// What to do about calls that are not mentioned.
    pub missing: Missing,
    /// Context attributes that replace stored ones of the same name.
    pub context: Attributes,
    /// Names the request that brought them, so that the same request is recognised when it is sent again.
    pub request: Option<Arc<str>>,
}

pub(super) fn decide(run: &Run, delivered: Delivered, now: Timestamp) -> Result<Vec<Event>, Rejection> {
    let brought = PauseReason::AwaitingToolResults;
    run.expect_target(&delivered.target, delivered.missing, brought)?;
    let by_id = run.calls_by_id();
    let mut fresh: HashMap<CallIndex, Arc<ToolResult>> = HashMap::new();
    let mut order = Vec::new();
    for (id, result) in delivered.results {
        let reject = |code| Rejection::Call { call: id.clone(), code };
        if id.as_str().trim().is_empty() {
            return Err(reject(Code::InvalidResult));
        }
        let (index, call) = *by_id.get(&id).ok_or_else(|| reject(Code::UnexpectedResult))?;
        let known = fresh.get(&index).or_else(|| call.delivered());
        match (known, &call.state) {
            (Some(known), _) if known.same_as(&result) => {}
            (Some(_), _) => return Err(reject(Code::ConflictingResult)),
            (None, CallState::Deferred { .. }) => {
                fresh.insert(index, result);
                order.push(index);
            }
            (None, _) => return Err(reject(Code::UnexpectedResult)),
        }
    }
    if delivered.missing == Missing::Reject {
        run.expect_all_results(&fresh)?;
    }
    let expired = run.expired(now);
    if fresh.is_empty() && expired.is_empty() {
        return Ok(Vec::new());
    }
    let reason = run.pause_reason().unwrap_or(brought);
    let mut events = vec![Event::Resumed { pause: run.pauses, reason, request: delivered.request }];
    events.extend(run.context_changed(delivered.context));
    events.extend(expired.into_iter().map(|call| Event::CallExpired { call }));
    events.extend(order.into_iter().filter_map(|call| {
        let settlement = settlement(fresh.remove(&call)?);
        Some(Event::ToolEnded { call, settlement })
    }));
    Ok(events)
}

fn settlement(result: Arc<ToolResult>) -> Settlement {
    let (outcome, code) = Outcome::of_result(&result);
    Settlement { outcome, code, source: Some(Source::External), result, latency_us: 0 }
}

impl Run {
    /// The calls of the turn by their shown ids, so that many answers cost what they are, not their square.
    pub(super) fn calls_by_id(&self) -> HashMap<CallId, (CallIndex, &Call)> {
        let calls = self.calls.iter().enumerate();
        calls.map(|(index, call)| (call.id.clone(), (CallIndex::from_usize(index), call))).collect()
    }

    fn expect_all_results(&self, fresh: &HashMap<CallIndex, Arc<ToolResult>>) -> Result<(), Rejection> {
        let calls = self.calls.iter().enumerate();
        let waiting = calls.filter(|(_, call)| matches!(call.state, CallState::Deferred { .. }));
        let missing = waiting.filter(|(index, _)| !fresh.contains_key(&CallIndex::from_usize(*index)));
        let missing: Vec<CallId> = missing.map(|(_, call)| call.id.clone()).collect();
        if missing.is_empty() { Ok(()) } else { Err(Rejection::Missing { calls: missing, code: Code::MissingResult }) }
    }

    /// The change of stored context attributes, if there is one. Only listed keys are stored.
    pub(super) fn context_changed(&self, given: Attributes) -> Option<Event> {
        let keys = &self.settings.context_keys;
        let changed =
            given.into_iter().filter(|(key, value)| keys.contains(key) && self.context.get(key) != Some(value));
        let attributes: Attributes = changed.collect();
        (!attributes.is_empty()).then_some(Event::ContextChanged { attributes })
    }
}
