//! Everything that is told of an event, in one table: its public form, and what the audit log keeps of it.

use std::fmt;

use holdpoint_core::{Answer, CallIndex, Completeness, Event, LogEntry, Outcome, PauseReason, Revision, Run};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::forms::{
    CallAnsweredView, CallDecidedView, CallDeferredView, CallDoubtedView, CallRef, CancelledView, ContextChangedView,
    DoneView, EpochStartedView, EvidenceGivenView, FailedView, GrantGivenView, GrantRevokedView, GrantUsedView,
    HookFailedView, ImportedView, MessageCompletedView, PauseView, RequiredView, RunStartedView, TaskTakenView,
    ToolEndedView, ToolStartedView, TurnEndedView, TurnRef,
};
use super::{
    ActorView, DecisionView, DecisionWord, DigestText, GrantView, Members, MessageView, Moment, Name, RawJson,
    ResultView,
};
use crate::audit::{Entry, Step};
use crate::wire::{Text, Wire};

/// An event of a run. `Debug` shows its number and its name only.
#[derive(Clone, Serialize)]
pub struct EventView {
    /// Counts the events of the run, from 1.
    pub seq: u64,
    /// The run.
    pub run_id: String,
    /// When it happened.
    pub at: Moment,
    /// What happened.
    #[serde(flatten)]
    pub event: EventKind,
}

/// The public form of an event. `seq` is its number, `run` the run right after it.
pub fn event_view(entry: &LogEntry, seq: Revision, run: &Run) -> EventView {
    let event = EventKind::of(&entry.event, run);
    EventView { seq: seq.0, run_id: run.id().as_str().to_owned(), at: Moment(entry.at), event }
}

impl fmt::Debug for EventView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventView").field("seq", &self.seq).field("event", &self.event.name()).finish_non_exhaustive()
    }
}

/// As JSON in one line.
impl fmt::Display for EventView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// Reads the fields of an event straight from its text: a derived reader of a tagged enum would take numbers apart.
impl<'de> Deserialize<'de> for EventView {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Head {
            seq: u64,
            run_id: String,
            at: Moment,
            event: String,
        }

        let raw = Box::<RawValue>::deserialize(deserializer)?;
        // The reader's own message may quote what it read.
        let broken = |_| D::Error::custom("not an event");
        let Head { seq, run_id, at, event } = serde_json::from_str(raw.get()).map_err(broken)?;
        let event = EventKind::read(&event, raw.get()).map_err(broken)?;
        Ok(Self { seq, run_id, at, event })
    }
}

/// Defines each kind of event: its public form and name, the core's event, its public fields, and its audit entry. An
/// event of the core that is missing here does not compile.
macro_rules! events {
    (|$run:ident, $about:ident, $step:ident| $(
        $(#[$doc:meta])* $kind:ident($form:ident) = $name:literal: $pattern:pat => $view:expr, audit $entry:expr;
    )*) => {
        /// What happened, named by `event`.
        #[derive(Clone, Serialize)]
        #[serde(tag = "event")]
        #[non_exhaustive]
        pub enum EventKind {
            $($(#[$doc])* #[serde(rename = $name)] $kind($form),)*
        }

        impl EventKind {
            /// Its stable name.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$kind(_) => $name,)*
                }
            }

            #[cfg(feature = "openapi")]
            pub(super) fn kinds() -> Vec<super::schema::Kind> {
                vec![$(super::schema::Kind::of::<$form>($name, stringify!($kind)),)*]
            }

            fn read(name: &str, text: &str) -> Result<Self, serde_json::Error> {
                match name {
                    $($name => serde_json::from_str(text).map(Self::$kind),)*
                    _ => Err(serde_json::Error::custom("not a known event")),
                }
            }

            #[allow(unused_variables, reason = "the audit entry uses other parts of the event")]
            fn of(event: &Event, $run: &Run) -> Self {
                let $about = |index: &CallIndex| CallRef::of($run, *index);
                match event {
                    $($pattern => Self::$kind($view),)*
                }
            }
        }

        /// What the audit log keeps of an event. Never arguments, results or what the model said.
        #[allow(unused_variables, reason = "the public form uses other parts of the event")]
        pub(crate) fn audited(event: &Event, $step: &Step<'_>) -> Option<Entry> {
            let entry: Option<Entry> = match event {
                $($pattern => $entry,)*
            };
            entry.map(|entry| Entry { event: Text::new(event.name()), ..entry })
        }
    };
}

events! { |run, about, step|
    /// The run began.
    RunStarted(RunStartedView) = "run_started": Event::RunStarted(started) => RunStartedView {
        agent: started.agent.as_ref().map(ToString::to_string),
        model: started.model.as_ref().map(ToString::to_string),
        actor: ActorView::known(&started.actor),
        context: Members(started.context.clone()),
        messages: started.messages.iter().map(|message| MessageView::of(message)).collect(),
    }, audit Some(Entry { agent: started.agent.as_ref().map(Text::share), ..Entry::by(&started.actor) });

    /// The run came from another store, as it was when it paused there.
    Imported(ImportedView) = "imported": Event::Imported(snapshot) => ImportedView {
        turn: snapshot.turn.0,
        reason: Name(snapshot.reason),
        continuation_id: run.continuation_at(snapshot.pause).to_string(),
    }, audit Some(Entry { agent: snapshot.agent.as_ref().map(Text::share), ..Entry::by(&snapshot.actor) });

    /// A turn began: the model is to be called.
    TurnStarted(TurnRef) = "turn_started": Event::TurnStarted { turn } => TurnRef { turn: turn.0 }, audit None;

    /// The model replied.
    MessageCompleted(MessageCompletedView) = "message_completed":
    Event::MessageCompleted(completed) => MessageCompletedView {
        turn: run.turn().0,
        usage: completed.usage.into(),
        stop: completed.stop.as_str().to_owned(),
        latency_us: completed.latency_us,
        message: MessageView::of(&completed.message),
    }, audit None;

    /// A policy decided about a call.
    CallDecided(CallDecidedView) = "call_decided":
    Event::CallDecided { call, stage, decision, shadow } => CallDecidedView {
        call: about(call),
        stage: Name(*stage),
        decision: DecisionView::of(decision),
        shadow: shadow.as_deref().map(DecisionView::of),
    }, audit Some(step.about(*call).decided(*stage, decision, shadow.as_deref()));

    /// A person answered a question.
    CallAnswered(CallAnsweredView) = "call_answered": Event::CallAnswered(answered) => CallAnsweredView {
        call: about(&answered.call),
        decision: DecisionWord::of(&answered.answer),
        reason: answered.why().map(ToString::to_string),
        digest: answered.digest.map(DigestText),
        actor: ActorView::known(&answered.actor),
        result: answered.answer.result().map(|result| ResultView::of(result)),
        arguments: match &answered.answer {
            Answer::ApproveEdited(arguments) => Some(RawJson::new(arguments.share())),
            Answer::Approve | Answer::Refuse { .. } | Answer::Supply(_) | Answer::Happened(_) => None,
        },
    }, audit Some(step.answered(answered));

    /// A person let their answer count for later calls.
    GrantGiven(GrantGivenView) = "grant_given": Event::GrantGiven { call, grant } => GrantGivenView {
        call: about(call),
        grant: GrantView::of(grant),
    }, audit Some(Entry { digest: grant.digest.map(DigestText), ..step.about(*call).granted(&grant.id, &grant.actor) });

    /// A grant counted as the answer of the person who gave it.
    GrantUsed(GrantUsedView) = "grant_used": Event::GrantUsed { call, grant, actor } => GrantUsedView {
        call: about(call),
        grant_id: grant.to_string(),
        actor: ActorView::known(actor),
    }, audit Some(step.about(*call).granted(grant, actor));

    /// A grant that was given in this run was revoked.
    GrantRevoked(GrantRevokedView) = "grant_revoked": Event::GrantRevoked { grant, actor } => GrantRevokedView {
        grant_id: grant.to_string(),
        actor: ActorView::known(actor),
    }, audit Some(Entry::default().granted(grant, actor));

    /// The definition of the tool of a call changed before it ran.
    ToolChanged(CallRef) = "tool_changed": Event::ToolChanged { call, tool: _ } => about(call),
        audit Some(step.about(*call));

    /// The deadline of a question or a task passed.
    CallExpired(CallRef) = "call_expired": Event::CallExpired { call } => about(call),
        audit Some(Entry { outcome: Some(Name(Outcome::Expired)), ..step.about(*call) });

    /// A tool is about to start.
    ToolStarted(ToolStartedView) = "tool_started": Event::ToolStarted { call, attempt } => ToolStartedView {
        call: about(call),
        attempt: attempt.0,
    }, audit Some(step.attempted(*call, *attempt));

    /// A call was handed to a worker or to the application.
    CallDeferred(CallDeferredView) = "call_deferred":
    Event::CallDeferred { call, attempt, deadline } => CallDeferredView {
        call: about(call),
        attempt: attempt.0,
        deadline: deadline.map(Moment),
    }, audit Some(step.attempted(*call, *attempt));

    /// A worker had a call. Recorded with its result.
    TaskTaken(TaskTakenView) = "task_taken":
    Event::TaskTaken { call, attempt, worker, since, fence: _ } => TaskTakenView {
        call: about(call),
        attempt: attempt.0,
        worker: worker.to_string(),
        since: Moment(*since),
    }, audit Some(Entry { since: Some(Moment(*since)), ..step.about(*call).by_worker(*attempt, worker) });

    /// A call has its result.
    ToolEnded(ToolEndedView) = "tool_ended": Event::ToolEnded { call, settlement } => ToolEndedView {
        call: about(call),
        outcome: Name(settlement.outcome),
        error: settlement.result.is_error(),
        code: settlement.code.map(Name),
        source: settlement.source.map(Name),
        latency_us: settlement.latency_us,
        attempt: run.call(*call).map(|call| call.attempts.0),
        result: ResultView::of(&settlement.result),
    }, audit Some(step.about(*call).settled(settlement));

    /// A hook failed: the run stops when the calls that were started are settled.
    HookFailed(HookFailedView) = "hook_failed": Event::HookFailed { call, detail } => HookFailedView {
        call: about(call),
        detail: detail.to_string(),
    }, audit Some(step.about(*call));

    /// A started call without a result may run again.
    CallRequeued(CallRef) = "call_requeued":
    Event::CallRequeued { call } => about(call), audit Some(step.about(*call));

    /// It is unknown whether a started call took effect: a person is asked.
    CallDoubted(CallDoubtedView) = "call_doubted":
    Event::CallDoubted { call, cause, asks: _, may_run: _ } => CallDoubtedView {
        call: about(call),
        cause: Name(*cause),
    }, audit Some(Entry { cause: Some(Name(*cause)), ..step.about(*call) });

    /// A result of a call in doubt came too late to count.
    EvidenceGiven(EvidenceGivenView) = "evidence_given":
    Event::EvidenceGiven { call, attempt, worker, result } => EvidenceGivenView {
        call: about(call),
        attempt: attempt.0,
        worker: worker.to_string(),
        result: ResultView::of(result),
    }, audit Some(step.about(*call).by_worker(*attempt, worker));

    /// A turn ended, or was left at a pause or a failure.
    TurnEnded(TurnEndedView) = "turn_ended": Event::TurnEnded { turn, completeness } => TurnEndedView {
        turn: turn.0,
        complete: *completeness == Completeness::Complete,
    }, audit None;

    /// The model was asked for a final answer.
    FinalAnswerAsked(TurnRef) = "final_answer_asked":
    Event::FinalAnswerAsked => TurnRef { turn: run.turn().0 }, audit None;

    /// People must answer.
    AuthorizationRequired(RequiredView) = "authorization_required": Event::AuthorizationRequired { pause } =>
        RequiredView::of(run, *pause, PauseReason::AwaitingToolConfirmation), audit None;

    /// Results must come.
    ExecutionRequired(RequiredView) = "execution_required": Event::ExecutionRequired { pause } =>
        RequiredView::of(run, *pause, PauseReason::AwaitingToolResults), audit None;

    /// The run is paused.
    Paused(PauseView) = "paused":
    Event::Paused { reason } => PauseView::of(run, *reason, run.continuation()), audit None;

    /// A continuation was used up.
    Resumed(PauseView) = "resumed": Event::Resumed { pause, reason, request: _ } =>
        PauseView::of(run, *reason, Some(run.continuation_at(*pause))), audit None;

    /// A failed run continues.
    Retried(TurnRef) = "retried": Event::Retried { request: _ } => TurnRef { turn: run.turn().0 },
        audit Some(Entry::default());

    /// Saved context attributes changed; those not named stay.
    ContextChanged(ContextChangedView) = "context_changed": Event::ContextChanged { attributes } =>
        ContextChangedView { context: Members(attributes.clone()) }, audit None;

    /// Another process took the run over.
    EpochStarted(EpochStartedView) = "epoch_started":
    Event::EpochStarted { epoch } => EpochStartedView { epoch: epoch.0 },
        audit None;

    /// The run failed.
    Failed(FailedView) = "failed": Event::Failed { failure, detail } => FailedView {
        reason: Name(*failure),
        detail: detail.to_string(),
    }, audit None;

    /// The run was cancelled.
    Cancelled(CancelledView) = "cancelled": Event::Cancelled { actor, reason } => CancelledView {
        actor: ActorView::known(actor),
        reason: reason.as_ref().map(ToString::to_string),
    }, audit Some(Entry { reason: reason.as_ref().map(Text::share), ..Entry::by(actor) });

    /// A segment of the run is over: the last event of each segment.
    Done(DoneView) = "done":
    Event::Done { stop } => DoneView { stop_reason: stop.as_str().to_owned(), turn: run.turn().0 },
        // A pause is no act of a person or a program: its questions were decided on.
        audit (!stop.is_pause()).then(|| Entry { stop: Some(Text::new(stop.as_str())), ..Entry::default() });
}
