//! From an event to its record.

use holdpoint_core::{
    CallAnswered, CallIndex, Completeness, Decision, DoubtCause, Event, LogEntry, Message, MessageCompleted, ModelStop,
    RunStarted, Stage, StopReason,
};

use super::record::Record;
use crate::SettingsSpec;
use crate::wire::{
    ActorWire, AnswerWire, Awaited, DecisionWire, DigestText, GrantWire, Members, MessageWire, Name, OpeningWire,
    ResultWire, SettlementWire, SnapshotWire, Text, ToolWire, UsageWire, Wire, all_of,
};

impl Record {
    /// The record of an entry.
    pub(super) fn of(entry: &LogEntry) -> Self {
        Record { at: entry.at.0, ..Self::of_event(&entry.event) }
    }

    fn of_event(event: &Event) -> Self {
        let empty = Record::named(event.name());
        let about = |call: &CallIndex| Record { call: Some(call.0), ..Record::named(event.name()) };
        match event {
            Event::RunStarted(started) => started_record(empty, started),
            Event::Imported(snapshot) => Record { snapshot: Some(Box::new(SnapshotWire::of(snapshot))), ..empty },
            Event::TurnStarted { turn } => Record { turn: Some(turn.0), ..empty },
            Event::MessageCompleted(completed) => message_record(empty, completed),
            Event::CallDecided { call, stage, decision, shadow } => {
                let shadow = shadow.as_deref().map(DecisionWire::of);
                Record { shadow, ..decided(about(call), *stage, decision) }
            }
            Event::CallAnswered(answered) => answered_record(about(&answered.call), answered),
            Event::GrantGiven { call, grant } => Record { grant: Some(GrantWire::of(grant)), ..about(call) },
            Event::GrantUsed { call, grant, actor } => {
                Record { grant_id: Some(Text::new(grant.as_str())), actor: ActorWire::of(actor), ..about(call) }
            }
            Event::GrantRevoked { grant, actor } => {
                Record { grant_id: Some(Text::new(grant.as_str())), actor: ActorWire::of(actor), ..empty }
            }
            Event::ToolChanged { call, tool } => Record { tool: Some(ToolWire::of(tool)), ..about(call) },
            Event::CallExpired { call } | Event::CallRequeued { call } => about(call),
            Event::CallDoubted { call, cause, asks, may_run } => {
                let cause = (*cause != DoubtCause::Crashed).then_some(Name(*cause));
                Record { cause, result: asks.as_deref().map(ResultWire::of), may_run: *may_run, ..about(call) }
            }
            Event::ToolStarted { call, attempt } => Record { attempt: Some(attempt.0), ..about(call) },
            Event::CallDeferred { call, attempt, deadline } => {
                Record { attempt: Some(attempt.0), deadline: deadline.map(|at| at.0), ..about(call) }
            }
            Event::TaskTaken { call, attempt, fence, worker, since } => {
                let worker = Some(Text::share(worker));
                Record { attempt: Some(attempt.0), fence: Some(fence.0), since: Some(since.0), worker, ..about(call) }
            }
            Event::EvidenceGiven { call, attempt, worker, result } => {
                let (worker, result) = (Some(Text::share(worker)), Some(ResultWire::of(result)));
                Record { attempt: Some(attempt.0), worker, result, ..about(call) }
            }
            Event::ToolEnded { call, settlement } => {
                Record { settlement: Some(SettlementWire::of(settlement)), ..about(call) }
            }
            Event::HookFailed { call, detail } => Record { detail: Some(Text::share(detail)), ..about(call) },
            Event::TurnEnded { turn, completeness } => {
                let interrupted = *completeness == Completeness::Interrupted;
                Record { turn: Some(turn.0), interrupted, ..empty }
            }
            Event::AuthorizationRequired { pause } | Event::ExecutionRequired { pause } => {
                Record { pause: Some(pause.0), ..empty }
            }
            Event::Paused { reason } => Record { waits_for: Some(Name(Awaited(*reason))), ..empty },
            Event::Resumed { pause, reason, request } => {
                let request = request.as_ref().map(Text::share);
                Record { pause: Some(pause.0), waits_for: Some(Name(Awaited(*reason))), request, ..empty }
            }
            Event::FinalAnswerAsked => empty,
            Event::Retried { request } => Record { request: request.as_ref().map(Text::share), ..empty },
            Event::ContextChanged { attributes } => Record { context: Members(attributes.clone()), ..empty },
            Event::EpochStarted { epoch } => Record { epoch: Some(epoch.0), ..empty },
            Event::Failed { failure, detail } => {
                Record { failure: Some(Name(*failure)), detail: Some(Text::share(detail)), ..empty }
            }
            Event::Cancelled { actor, reason } => {
                Record { actor: ActorWire::of(actor), reason: reason.as_ref().map(Text::share), ..empty }
            }
            Event::Done { stop } => done(empty, stop),
        }
    }
}

fn done(record: Record, stop: &StopReason) -> Record {
    match stop {
        StopReason::Model(stop) => Record { model_stop: Some(Name(stop.clone())), ..record },
        stop => Record { stop: Some(Name(stop.clone())), ..record },
    }
}

fn decided(record: Record, stage: Stage, decision: &Decision) -> Record {
    let stage = (stage != Stage::Policy).then_some(Name(stage));
    Record { stage, decision: Some(DecisionWire::of(decision)), ..record }
}

fn started_record(empty: Record, started: &RunStarted) -> Record {
    Record {
        settings: SettingsSpec::of(&started.settings),
        context: Members(started.context.clone()),
        agent: started.agent.as_ref().map(Text::share),
        model: started.model.as_ref().map(Text::share),
        messages: started.messages.iter().map(|message| MessageWire::of(message)).collect(),
        actor: ActorWire::of(&started.actor),
        session: started.session.as_ref().map(Text::share),
        trace: started.trace.as_ref().map(Text::share),
        ..empty
    }
}

fn message_record(empty: Record, completed: &MessageCompleted) -> Record {
    let requested = requested_names(&completed.message);
    let openings = completed.calls.iter().enumerate();
    let openings = openings.map(|(index, opening)| OpeningWire::of(opening, requested.get(index).unwrap_or(&"")));
    let mut openings: Vec<OpeningWire> = openings.collect();
    if openings.len() == requested.len() && openings.iter().all(|opening| *opening == OpeningWire::default()) {
        openings.clear();
    }
    Record {
        message: Some(MessageWire::of(&completed.message)),
        openings,
        ignored: all_of(&completed.ignored),
        usage: UsageWire::of(&completed.usage),
        model_stop: (completed.stop != ModelStop::ToolUse).then(|| Name(completed.stop.clone())),
        latency_us: completed.latency_us,
        ..empty
    }
}

/// The names that the calls of a message were asked for by.
pub(super) fn requested_names(message: &Message) -> Vec<&str> {
    match message {
        Message::Assistant(message) => message.calls.iter().map(|call| call.name.as_str()).collect(),
        Message::System(_) | Message::User(_) | Message::Tool(_) => Vec::new(),
    }
}

fn answered_record(about: Record, answered: &CallAnswered) -> Record {
    Record {
        actor: ActorWire::of(&answered.actor),
        answer: Some(AnswerWire::of(&answered.answer)),
        digest: answered.digest.map(DigestText),
        decision: answered.decision.as_ref().map(DecisionWire::of),
        reason: answered.reason.as_ref().map(Text::share),
        ..about
    }
}
