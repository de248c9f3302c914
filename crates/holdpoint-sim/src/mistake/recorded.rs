//! What is recorded instead of what the machine decided.

use std::sync::Arc;

use holdpoint_core::{
    Asked, CallIndex, Decision, Event, Failure, Input, Outcome, Phase, Refit, Run, RunStarted, Settlement, Source,
    Stage, Work,
};

use super::Mistake;

/// The events of an input that the machine is not told, if a mistake keeps it from the machine.
pub(crate) fn forged(mistake: Mistake, run: &Run, input: &Input) -> Option<Vec<Event>> {
    match (mistake, input) {
        (Mistake::IgnoresRetry, Input::Retried(_)) => Some(Vec::new()),
        (Mistake::SettlesTwice, Input::Returned(returned)) => {
            let settled = run.call(returned.call)?.settlement()?;
            let is_late = *run.phase() == Phase::Working(Work::Calls) && settled.source == Some(Source::Tool);
            let settlement = returned.settlement.clone();
            is_late.then(|| vec![Event::ToolEnded { call: returned.call, settlement }])
        }
        (Mistake::AcceptsLateResult, Input::TaskLate(late)) => {
            let reason = run.pause_reason()?;
            run.call(late.call).filter(|call| call.is_uncertain() && late.turn == run.turn())?;
            let (outcome, code) = Outcome::of_result(&late.result);
            let (source, result) = (Some(Source::Tool), Arc::clone(&late.result));
            let settlement = Settlement { outcome, code, source, result, latency_us: 0 };
            let resumed = Event::Resumed { pause: run.pauses(), reason, request: None };
            Some(vec![resumed, Event::ToolEnded { call: late.call, settlement }])
        }
        (Mistake::RunsChangedTool, Input::ToolChanged(changed)) => {
            let Refit::Decided(Decision::Allow(_)) = &changed.refit else { return None };
            let call = run.call(changed.call).filter(|call| run.is_executable(call))?;
            let is_approved = call.asked == Asked::Approved && changed.task.is_none();
            let decided = Event::CallDecided {
                call: changed.call,
                stage: Stage::Policy,
                decision: Decision::allow(),
                shadow: None,
            };
            is_approved.then(|| vec![Event::ToolChanged { call: changed.call, tool: changed.tool.clone() }, decided])
        }
        _ => None,
    }
}

/// The same events, with settings, decisions and actors as they were given and not as the machine was told.
pub(crate) fn as_given(run: &Run, input: &Input, events: Vec<Event>) -> Vec<Event> {
    let as_given = |mut event| {
        match (input, &mut event) {
            (Input::Started(started), Event::RunStarted(recorded)) => {
                let settings = Arc::clone(&started.settings);
                *recorded = Arc::new(RunStarted { settings, ..(**recorded).clone() });
            }
            (Input::Authorized(authorized), Event::CallDecided { call, decision, .. }) => {
                if let Some((_, given)) = authorized.decisions.iter().find(|(of, _)| of == call) {
                    *decision = given.clone();
                }
            }
            (Input::Answered(answered), Event::CallAnswered(recorded)) => {
                recorded.actor = answered.actor.clone();
                let id = run.call(recorded.call).map(|call| &call.id);
                if let Some((_, given)) = answered.answers.iter().find(|(of, _)| Some(of) == id) {
                    recorded.decision = given.decision.clone();
                }
            }
            _ => {}
        }
        event
    };
    events.into_iter().map(as_given).collect()
}

/// Changes events as a mistake does.
pub(crate) fn recorded(mistake: Mistake, events: Vec<Event>) -> Vec<Event> {
    let granted = |event: &Event| match event {
        Event::GrantUsed { call, .. } => Some(*call),
        _ => None,
    };
    let granted: Vec<CallIndex> = events.iter().filter_map(granted).collect();
    let mut recorded = Vec::with_capacity(events.len());
    for mut event in events {
        match (mistake, &mut event) {
            (Mistake::RemembersUnlogged, Event::ContextChanged { attributes }) => attributes.clear(),
            (Mistake::ForgetsDoubt, Event::CallDoubted { call, .. })
            | (Mistake::LosesResult, Event::ToolEnded { call, .. }) => event = Event::CallRequeued { call: *call },
            (Mistake::ForgetsFailedCall, Event::Failed { failure, .. }) => *failure = Failure::ContextWindowExceeded,
            (Mistake::GrantBeatsDenial, Event::CallDecided { call, decision, .. }) if granted.contains(call) => {
                *decision = Decision::deny("not here");
            }
            (Mistake::FinishesTwice, Event::Done { .. }) => recorded.push(event.clone()),
            _ => {}
        }
        recorded.push(event);
    }
    recorded
}
