//! Machines with a mistake, each made around the real one: in what it is told, or in what it says that it decided. Tests use
//! them to prove that their checks can fail.

use std::collections::HashMap;
use std::sync::Arc;

use holdpoint_core::{
    Actor, Answer, Asked, Call, CallAnswered, CallIndex, CallState, Code, Completeness, Decision, Epoch, Event, Grant,
    Input, LogEntry, Outcome, Phase, Refit, Rejection, Run, Settlement, Source, Stage, StopReason, Target, Timestamp,
    ToolChanged, Work,
};

/// What a step gives.
type Decided = Result<Vec<LogEntry>, Rejection>;

/// Takes the place of [`Run::step`].
pub(crate) type Machine = fn(&mut Run, Input, Timestamp) -> Decided;

/// Applies forged events as if the machine had decided them.
fn forge(run: &mut Run, events: Vec<Event>, at: Timestamp) -> Decided {
    let log: Vec<LogEntry> = events.into_iter().map(|event| LogEntry { at, event }).collect();
    log.iter().for_each(|entry| run.apply(entry));
    Ok(log)
}

/// A rejected input leaves a trace in the state.
pub(crate) fn remembers_rejected(run: &mut Run, input: Input, now: Timestamp) -> Decided {
    let result = run.step(input, now);
    if result.is_err() {
        let event = Event::EpochStarted { epoch: Epoch(run.epoch().0 + 1) };
        run.apply(&LogEntry { at: now, event });
    }
    result
}

/// An accepted answer changes more than its events say.
pub(crate) fn remembers_unlogged(run: &mut Run, input: Input, now: Timestamp) -> Decided {
    let is_answer = matches!(input, Input::Answered(_));
    let result = run.step(input, now);
    if is_answer && result.as_ref().is_ok_and(|events| !events.is_empty()) {
        let event = Event::EpochStarted { epoch: Epoch(run.epoch().0 + 1) };
        run.apply(&LogEntry { at: now, event });
    }
    result
}

/// A result replaces that of another call, which has one.
pub(crate) fn settles_twice(run: &mut Run, input: Input, now: Timestamp) -> Decided {
    let settled = run.calls().iter().position(|call| call.settlement().is_some()).map(CallIndex::from_usize);
    if let (Input::Returned(returned), Some(call)) = (&input, settled)
        && returned.call != call
        && run.handle(input.clone(), now).is_ok()
    {
        let settlement = returned.settlement.clone();
        return forge(run, vec![Event::ToolEnded { call, settlement }], now);
    }
    run.step(input, now)
}

/// A call starts while people are asked whether it may.
pub(crate) fn runs_while_asked(run: &mut Run, input: Input, now: Timestamp) -> Decided {
    if let Input::Began(began) = &input
        && *run.phase() == Phase::Working(Work::Calls)
        && let Some(call) = run.call(began.call).filter(|call| call.question().is_some())
    {
        let attempt = call.attempts.next();
        return forge(run, vec![Event::ToolStarted { call: began.call, attempt }], now);
    }
    run.step(input, now)
}

/// A result of an earlier attempt is accepted.
pub(crate) fn accepts_old_attempt(run: &mut Run, mut input: Input, now: Timestamp) -> Decided {
    if let Input::Returned(returned) = &mut input
        && let Some(CallState::Running { attempt, .. }) = run.call(returned.call).map(|call| &call.state)
    {
        returned.attempt = returned.attempt.map(|_| *attempt);
    }
    run.step(input, now)
}

/// A result that came too late is merged.
pub(crate) fn accepts_late_result(run: &mut Run, input: Input, now: Timestamp) -> Decided {
    if let (Input::TaskLate(late), Some(reason)) = (&input, run.pause_reason())
        && run.call(late.call).is_some_and(Call::is_uncertain)
    {
        let (outcome, code) = Outcome::of_result(&late.result);
        let result = Arc::clone(&late.result);
        let settlement = Settlement { outcome, code, source: Some(Source::Tool), result, latency_us: 0 };
        let resumed = Event::Resumed { pause: run.pauses(), reason, request: None };
        return forge(run, vec![resumed, Event::ToolEnded { call: late.call, settlement }], now);
    }
    run.step(input, now)
}

/// A turn ends with its first result.
pub(crate) fn ends_turn_early(run: &mut Run, input: Input, now: Timestamp) -> Decided {
    let mut events = run.handle(input.clone(), now)?;
    let open = run.calls().iter().filter(|call| call.settlement().is_none()).count();
    if matches!(events[..], [Event::ToolEnded { .. }]) && *run.phase() == Phase::Working(Work::Calls) && open > 1 {
        let turn = run.turn();
        events.push(Event::TurnEnded { turn, completeness: Completeness::Complete });
        events.push(Event::TurnStarted { turn: turn.next() });
        return forge(run, events, now);
    }
    run.step(input, now)
}

/// A continuation works twice.
pub(crate) fn continuation_twice(run: &mut Run, mut input: Input, now: Timestamp) -> Decided {
    if let (Input::Answered(answered), Some(current)) = (&mut input, run.continuation())
        && let Target::Continuation(named) = &mut answered.target
        && named.run == current.run
        && named.pause < current.pause
    {
        *named = current;
    }
    run.step(input, now)
}

/// A call in doubt that may not be repeated is run again.
pub(crate) fn repeats_never(run: &mut Run, input: Input, now: Timestamp) -> Decided {
    let running = run.calls().iter().position(|call| matches!(call.state, CallState::Running { .. }));
    if let (Input::Recovered(_), Some(call)) = (&input, running.map(CallIndex::from_usize)) {
        let epoch = Event::EpochStarted { epoch: Epoch(run.epoch().0 + 1) };
        return forge(run, vec![epoch, Event::CallRequeued { call }], now);
    }
    run.step(input, now)
}

/// Edited arguments run although people must look at them.
pub(crate) fn edits_need_no_approval(run: &mut Run, mut input: Input, now: Timestamp) -> Decided {
    if let Input::Answered(answered) = &mut input {
        for (_, given) in &mut answered.answers {
            if let (Answer::ApproveEdited(_), Some(Decision::Confirm(ground, _))) = (&given.answer, &given.decision) {
                given.decision = Some(Decision::Allow(ground.clone()));
            }
        }
    }
    run.step(input, now)
}

/// An answer that comes after the deadline counts.
pub(crate) fn answers_too_late(run: &mut Run, input: Input, now: Timestamp) -> Decided {
    let deadline = run.next_deadline().filter(|_| matches!(input, Input::Answered(_)));
    run.step(input, deadline.map_or(now, |deadline| now.min(Timestamp(deadline.0 - 1))))
}

/// Anyone may answer, whatever the rule says.
pub(crate) fn anyone_answers(run: &mut Run, mut input: Input, now: Timestamp) -> Decided {
    let is_rejected = is_rejected_as(run, &input, now, Code::NotAnApprover);
    let (Input::Answered(answered), true) = (&mut input, is_rejected) else { return run.step(input, now) };
    let actor = answered.actor.clone();
    let terms = run.calls().iter().map(|call| &call.terms);
    let roles = terms.flat_map(|terms| terms.approvers.iter().cloned()).collect();
    answered.actor = Actor { id: Some("approver".into()), roles, tenant: None };
    let mut events = run.step(input, now)?;
    answers_of(&mut events).for_each(|said| said.actor = actor.clone());
    Ok(events)
}

/// An answer counts for the question that is open, whichever question was shown.
pub(crate) fn answers_any_question(run: &mut Run, mut input: Input, now: Timestamp) -> Decided {
    let is_rejected = is_rejected_as(run, &input, now, Code::DigestMismatch);
    let (Input::Answered(answered), true) = (&mut input, is_rejected) else { return run.step(input, now) };
    let mut shown = HashMap::new();
    for (id, given) in &mut answered.answers {
        let index = run.calls().iter().position(|call| call.id == *id).map(CallIndex::from_usize);
        shown.extend(index.map(|index| (index, given.digest)));
        given.digest = index.and_then(|index| run.question_digest(index));
    }
    let mut events = run.step(input, now)?;
    answers_of(&mut events).for_each(|said| said.digest = shown.get(&said.call).copied().flatten());
    Ok(events)
}

fn is_rejected_as(run: &Run, input: &Input, now: Timestamp, code: Code) -> bool {
    run.handle(input.clone(), now).is_err_and(|rejection| rejection.code() == code)
}

fn answers_of(log: &mut [LogEntry]) -> impl Iterator<Item = &mut CallAnswered> {
    log.iter_mut().filter_map(|entry| match &mut entry.event {
        Event::CallAnswered(said) => Some(&mut **said),
        _ => None,
    })
}

/// A grant lets a call run that policy denied.
pub(crate) fn grant_beats_denial(run: &mut Run, input: Input, now: Timestamp) -> Decided {
    let mut events = run.step(input, now)?;
    let used = |entry: &LogEntry| match entry.event {
        Event::GrantUsed { call, .. } => Some(call),
        _ => None,
    };
    let used: Vec<CallIndex> = events.iter().filter_map(used).collect();
    for entry in &mut events {
        if let Event::CallDecided { call, decision, .. } = &mut entry.event
            && used.contains(call)
        {
            *decision = Decision::deny("no");
        }
    }
    Ok(events)
}

/// A grant counts for a tool that takes other arguments by now.
pub(crate) fn grant_outlives_tool(run: &mut Run, mut input: Input, now: Timestamp) -> Decided {
    if let Input::Authorized(authorized) = &mut input {
        for grant in &mut authorized.grants {
            let called = run.calls().iter().filter_map(|call| call.tool.as_ref());
            if let Some(facts) = called.into_iter().find(|facts| facts.name == grant.tool) {
                *grant = Arc::new(Grant { definition: facts.definition.clone(), ..(**grant).clone() });
            }
        }
    }
    run.step(input, now)
}

/// A call runs without being approved again although its tool has changed.
pub(crate) fn runs_changed_tool(run: &mut Run, input: Input, now: Timestamp) -> Decided {
    if let Input::ToolChanged(changed) = &input
        && let ToolChanged { call, task: None, tool, refit: Refit::Decided(decision @ Decision::Allow(_)) } = &**changed
        && run.call(*call).is_some_and(|call| run.is_executable(call) && call.asked == Asked::Approved)
    {
        let changed = Event::ToolChanged { call: *call, tool: tool.clone() };
        let (decision, stage) = (decision.clone(), Stage::Policy);
        let decided = Event::CallDecided { call: *call, stage, decision, shadow: None };
        return forge(run, vec![changed, decided], now);
    }
    run.step(input, now)
}

/// A segment ends twice.
pub(crate) fn finishes_twice(run: &mut Run, input: Input, now: Timestamp) -> Decided {
    let mut events = run.step(input, now)?;
    if let Some(Event::Done { stop: StopReason::Model(_) }) = events.last().map(|entry| &entry.event) {
        let again = events[events.len() - 1].clone();
        run.apply(&again);
        events.push(again);
    }
    Ok(events)
}
