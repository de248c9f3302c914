//! From an event and its run to the public form.

use std::sync::Arc;

use holdpoint_core::{
    Actor, Answer, Attempt, CallAnswered, CallIndex, Completeness, ContinuationId, Event, Failure, GrantId, LogEntry,
    MessageCompleted, PauseNumber, PauseReason, Revision, Run, RunStarted, Settlement, Snapshot, Timestamp, ToolResult,
    Turn,
};

use super::{
    ActorView, CallAnsweredView, CallDecidedView, CallDeferredView, CallDoubtedView, CallRef, CancelledView,
    ContextChangedView, DecisionView, DigestText, DoneView, EpochStartedView, EventKind, EventView, EvidenceGivenView,
    FailedView, GrantGivenView, GrantRevokedView, GrantUsedView, GrantView, HookFailedView, ImportedView, Members,
    MessageCompletedView, MessageView, Moment, Name, PauseView, RawJson, RequiredView, ResultView, RunStartedView,
    TaskTakenView, ToolEndedView, ToolStartedView, TurnEndedView, TurnRef,
};
use crate::pending::{Pending, pending_for};
use crate::wire::Wire;

/// The public form of an event. `seq` is its number, `run` the run right after it.
pub fn event_view(entry: &LogEntry, seq: Revision, run: &Run) -> EventView {
    EventView { seq: seq.0, run_id: run.id().as_str().to_owned(), at: Moment(entry.at), event: kind(&entry.event, run) }
}

/// Without a wildcard: a new event does not compile until it has a public form.
fn kind(event: &Event, run: &Run) -> EventKind {
    let turn = run.turn();
    let about = |index: &CallIndex| call_ref(run, *index);
    match event {
        Event::RunStarted(started) => EventKind::RunStarted(run_started(started)),
        Event::Imported(snapshot) => EventKind::Imported(imported(snapshot, run)),
        Event::TurnStarted { turn } => EventKind::TurnStarted(turn_ref(*turn)),
        Event::MessageCompleted(completed) => EventKind::MessageCompleted(message_completed(completed, turn)),
        Event::CallDecided { call, stage, decision, shadow } => EventKind::CallDecided(CallDecidedView {
            call: about(call),
            stage: Name(*stage),
            decision: DecisionView::of(decision),
            shadow: shadow.as_deref().map(DecisionView::of),
        }),
        Event::CallAnswered(answered) => EventKind::CallAnswered(call_answered(answered, about(&answered.call))),
        Event::GrantGiven { call, grant } => {
            EventKind::GrantGiven(GrantGivenView { call: about(call), grant: GrantView::of(grant) })
        }
        Event::GrantUsed { call, grant, actor } => EventKind::GrantUsed(grant_used(about(call), grant, actor)),
        Event::GrantRevoked { grant, actor } => EventKind::GrantRevoked(grant_revoked(grant, actor)),
        Event::ToolChanged { call, .. } => EventKind::ToolChanged(about(call)),
        Event::CallExpired { call } => EventKind::CallExpired(about(call)),
        Event::ToolStarted { call, attempt } => {
            EventKind::ToolStarted(ToolStartedView { call: about(call), attempt: attempt.0 })
        }
        Event::CallDeferred { call, attempt, deadline } => {
            EventKind::CallDeferred(call_deferred(about(call), *attempt, *deadline))
        }
        Event::TaskTaken { call, attempt, worker, since, fence: _ } => {
            EventKind::TaskTaken(task_taken(about(call), *attempt, worker, *since))
        }
        Event::ToolEnded { call, settlement } => EventKind::ToolEnded(tool_ended(run, *call, settlement)),
        Event::HookFailed { call, detail } => {
            EventKind::HookFailed(HookFailedView { call: about(call), detail: detail.to_string() })
        }
        Event::CallRequeued { call } => EventKind::CallRequeued(about(call)),
        Event::CallDoubted { call, cause, .. } => {
            EventKind::CallDoubted(CallDoubtedView { call: about(call), cause: Name(*cause) })
        }
        Event::EvidenceGiven { call, attempt, worker, result } => {
            EventKind::EvidenceGiven(evidence_given(about(call), *attempt, worker, result))
        }
        Event::TurnEnded { turn, completeness } => EventKind::TurnEnded(turn_ended(*turn, *completeness)),
        Event::FinalAnswerAsked => EventKind::FinalAnswerAsked(turn_ref(turn)),
        Event::AuthorizationRequired { pause } => {
            EventKind::AuthorizationRequired(required(run, *pause, PauseReason::AwaitingToolConfirmation))
        }
        Event::ExecutionRequired { pause } => {
            EventKind::ExecutionRequired(required(run, *pause, PauseReason::AwaitingToolResults))
        }
        Event::Paused { reason } => EventKind::Paused(pause(run, *reason, run.continuation())),
        Event::Resumed { pause: number, reason, .. } => {
            EventKind::Resumed(pause(run, *reason, Some(continuation(run, *number))))
        }
        Event::Retried { .. } => EventKind::Retried(turn_ref(turn)),
        Event::ContextChanged { attributes } => {
            EventKind::ContextChanged(ContextChangedView { context: Members(attributes.clone()) })
        }
        Event::EpochStarted { epoch } => EventKind::EpochStarted(EpochStartedView { epoch: epoch.0 }),
        Event::Failed { failure, detail } => EventKind::Failed(failed(*failure, detail)),
        Event::Cancelled { actor, reason } => EventKind::Cancelled(cancelled(actor, reason.as_ref())),
        Event::Done { stop } => EventKind::Done(DoneView { stop_reason: stop.as_str().to_owned(), turn: turn.0 }),
    }
}

fn turn_ref(turn: Turn) -> TurnRef {
    TurnRef { turn: turn.0 }
}

fn call_ref(run: &Run, index: CallIndex) -> CallRef {
    let call = run.call(index);
    CallRef {
        turn: run.turn().0,
        index: index.0,
        call_id: call.map(|call| call.id.to_string()),
        name: call.map(|call| call.name.to_string()),
        tool: call.and_then(|call| call.tool.as_ref()).map(|facts| facts.name.to_string()),
    }
}

fn continuation(run: &Run, pause: PauseNumber) -> ContinuationId {
    ContinuationId { run: run.id().clone(), pause }
}

fn text(text: Option<&Arc<str>>) -> Option<String> {
    text.map(ToString::to_string)
}

fn run_started(started: &RunStarted) -> RunStartedView {
    RunStartedView {
        agent: text(started.agent.as_ref()),
        model: text(started.model.as_ref()),
        actor: ActorView::known(&started.actor),
        context: Members(started.context.clone()),
        messages: started.messages.iter().map(|message| MessageView::of(message)).collect(),
    }
}

fn imported(snapshot: &Snapshot, run: &Run) -> ImportedView {
    ImportedView {
        turn: snapshot.turn.0,
        reason: Name(snapshot.reason),
        continuation_id: continuation(run, snapshot.pause).to_string(),
    }
}

fn message_completed(completed: &MessageCompleted, turn: Turn) -> MessageCompletedView {
    MessageCompletedView {
        turn: turn.0,
        usage: completed.usage.into(),
        stop: completed.stop.as_str().to_owned(),
        latency_us: completed.latency_us,
        message: MessageView::of(&completed.message),
    }
}

fn call_answered(answered: &CallAnswered, call: CallRef) -> CallAnsweredView {
    let (result, arguments) = match &answered.answer {
        Answer::Approve | Answer::Refuse { .. } => (None, None),
        Answer::ApproveEdited(arguments) => (None, Some(RawJson::new(arguments.share()))),
        Answer::Supply(result) | Answer::Happened(result) => (Some(ResultView::of(result)), None),
    };
    CallAnsweredView {
        call,
        decision: answered.answer.as_str().to_owned(),
        reason: text(answered.why()),
        digest: answered.digest.map(DigestText),
        actor: ActorView::known(&answered.actor),
        result,
        arguments,
    }
}

fn grant_used(call: CallRef, grant: &GrantId, actor: &Actor) -> GrantUsedView {
    GrantUsedView { call, grant_id: grant.to_string(), actor: ActorView::known(actor) }
}

fn grant_revoked(grant: &GrantId, actor: &Actor) -> GrantRevokedView {
    GrantRevokedView { grant_id: grant.to_string(), actor: ActorView::known(actor) }
}

fn call_deferred(call: CallRef, attempt: Attempt, deadline: Option<Timestamp>) -> CallDeferredView {
    CallDeferredView { call, attempt: attempt.0, deadline: deadline.map(Moment) }
}

fn task_taken(call: CallRef, attempt: Attempt, worker: &str, since: Timestamp) -> TaskTakenView {
    TaskTakenView { call, attempt: attempt.0, worker: worker.to_owned(), since: Moment(since) }
}

fn tool_ended(run: &Run, index: CallIndex, settlement: &Settlement) -> ToolEndedView {
    ToolEndedView {
        call: call_ref(run, index),
        outcome: Name(settlement.outcome),
        error: settlement.result.is_error(),
        code: settlement.code.map(Name),
        source: settlement.source.map(Name),
        latency_us: settlement.latency_us,
        attempt: run.call(index).map(|call| call.attempts.0),
        result: ResultView::of(&settlement.result),
    }
}

fn evidence_given(call: CallRef, attempt: Attempt, worker: &str, result: &ToolResult) -> EvidenceGivenView {
    EvidenceGivenView { call, attempt: attempt.0, worker: worker.to_owned(), result: ResultView::of(result) }
}

fn turn_ended(turn: Turn, completeness: Completeness) -> TurnEndedView {
    TurnEndedView { turn: turn.0, complete: completeness == Completeness::Complete }
}

fn required(run: &Run, pause: PauseNumber, reason: PauseReason) -> RequiredView {
    RequiredView {
        turn: run.turn().0,
        continuation_id: continuation(run, pause).to_string(),
        parent_continuation_id: run.parent_continuation().map(|id| id.to_string()),
        batch_id: run.batch().to_string(),
        pending: pending_for(run, reason).iter().map(Pending::view).collect(),
    }
}

fn pause(run: &Run, reason: PauseReason, continuation: Option<ContinuationId>) -> PauseView {
    PauseView {
        reason: Name(reason),
        turn: run.turn().0,
        continuation_id: continuation.map(|id| id.to_string()),
        batch_id: run.batch().to_string(),
    }
}

fn failed(failure: Failure, detail: &str) -> FailedView {
    FailedView { reason: Name(failure), detail: detail.to_owned() }
}

fn cancelled(actor: &Actor, reason: Option<&Arc<str>>) -> CancelledView {
    CancelledView { actor: ActorView::known(actor), reason: text(reason) }
}
