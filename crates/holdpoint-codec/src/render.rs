//! Events as streams and the API show them: numbered, stable JSON.

use holdpoint_core::{
    Answer, Call, CallAnswered, CallIndex, Completeness, ContinuationId, Event, LogEntry, MessageCompleted,
    PauseNumber, PauseReason, Revision, Run, Settlement, Usage,
};
use serde_json::{Value, json};

use crate::pending::{Pending, pending_for};
use crate::result::result_shown;
use crate::wire::{ActorWire, DecisionWire, Json, Moment, Wire, to_value};
use crate::{Context, Shown, grant_to_json, message_shown};

/// Follows a run and tells its events as they are shown. Needed where a run may be ahead of the event that is told.
#[derive(Clone, Debug)]
pub struct Narrator {
    run: Run,
}

impl Narrator {
    /// Begins with a run as it was before the next event.
    pub fn new(run: Run) -> Self {
        Self { run }
    }

    /// The run as far as it was told.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Follows one entry and tells it.
    pub fn tell(&mut self, entry: &LogEntry) -> Shown {
        self.run.apply(entry);
        render_event(entry, self.run.revision(), &self.run)
    }
}

/// The public form of an event. `seq` is its number, `run` the run right after it.
pub fn render_event(entry: &LogEntry, seq: Revision, run: &Run) -> Shown {
    let mut shown = Shown::default().with("seq", &seq.0).with("event", entry.event.name());
    shown = shown.with("run_id", run.id().as_str()).with("at", &Moment(entry.at));
    shown.extend(fields(&entry.event, run));
    // Nobody came before the first pause of a turn, and saying so is part of the form; other absent things are absent.
    shown.retain(|name, raw| raw.get() != "null" || name == "parent_continuation_id");
    shown
}

fn fields(event: &Event, run: &Run) -> Shown {
    match event {
        Event::RunStarted(started) => Shown::of(&json!({
            "agent": started.agent.as_deref(),
            "model": started.model.as_deref(),
            "actor": actor(&started.actor),
            "context": Context::from_stored(&started.context).attributes(),
        }))
        .with("messages", &started.messages.iter().map(|message| message_shown(message)).collect::<Vec<_>>()),
        Event::MessageCompleted(completed) => message_fields(completed, run),
        Event::AuthorizationRequired { pause } => required(run, *pause, PauseReason::AwaitingToolConfirmation),
        Event::ExecutionRequired { pause } => required(run, *pause, PauseReason::AwaitingToolResults),
        _ => match plain_fields(event, run) {
            Value::Null => call_fields(event, run),
            fields => Shown::of(&fields),
        },
    }
}

/// The events about the run itself.
fn plain_fields(event: &Event, run: &Run) -> Value {
    match event {
        Event::Imported(snapshot) => json!({
            "turn": snapshot.turn.0,
            "reason": snapshot.reason.as_str(),
            "continuation_id": continuation(run, snapshot.pause),
        }),
        Event::TurnStarted { turn } => json!({"turn": turn.0}),
        Event::TurnEnded { turn, completeness } => {
            json!({"turn": turn.0, "complete": *completeness == Completeness::Complete})
        }
        Event::FinalAnswerAsked => json!({"turn": run.turn().0}),
        Event::Failed { failure, detail } => json!({"reason": failure.as_str(), "detail": &**detail}),
        Event::Cancelled { actor: by, reason } => json!({"actor": actor(by), "reason": reason.as_deref()}),
        Event::Done { stop } => json!({"stop_reason": stop.as_str(), "turn": run.turn().0}),
        Event::EpochStarted { epoch } => json!({"epoch": epoch.0}),
        Event::ContextChanged { attributes } => {
            json!({"context": Context::from_stored(attributes).attributes()})
        }
        Event::Retried { .. } => json!({"turn": run.turn().0}),
        Event::GrantRevoked { grant, actor: by } => {
            json!({"grant_id": grant.as_str(), "actor": actor(by)})
        }
        Event::Paused { reason } => json!({
            "reason": reason.as_str(),
            "turn": run.turn().0,
            "continuation_id": run.continuation().map(|id| id.to_string()),
            "batch_id": run.batch().to_string(),
        }),
        Event::Resumed { pause, reason, .. } => json!({
            "reason": reason.as_str(),
            "turn": run.turn().0,
            "continuation_id": continuation(run, *pause),
            "batch_id": run.batch().to_string(),
        }),
        _ => Value::Null,
    }
}

/// The events about one call.
fn call_fields(event: &Event, run: &Run) -> Shown {
    let about = |index: &CallIndex, more: Value| about_call(run, *index, Shown::of(&more));
    match event {
        Event::CallDecided { call, stage, decision, shadow } => about(
            call,
            json!({
                "stage": stage.as_str(), "decision": to_value(&DecisionWire::of(decision)),
                "shadow": shadow.as_deref().map(|shadow| to_value(&DecisionWire::of(shadow))),
            }),
        ),
        Event::GrantGiven { call, grant } => about(call, json!({"grant": grant_to_json(grant)})),
        Event::GrantUsed { call, grant, actor: by } => {
            about(call, json!({"grant_id": grant.as_str(), "actor": actor(by)}))
        }
        Event::ToolChanged { call, .. } => about(call, Value::Null),
        Event::CallAnswered(answered) => about_call(run, answered.call, answer_fields(answered)),
        Event::CallExpired { call } | Event::CallRequeued { call } => about(call, Value::Null),
        Event::CallDoubted { call, cause, .. } => about(call, json!({"cause": cause.as_str()})),
        Event::ToolStarted { call, attempt } => about(call, json!({"attempt": attempt.0})),
        Event::CallDeferred { call, attempt, deadline } => {
            about(call, json!({"attempt": attempt.0, "deadline": deadline.map(moment)}))
        }
        Event::TaskTaken { call, attempt, worker, since, .. } => {
            about(call, json!({"attempt": attempt.0, "worker": &**worker, "since": moment(*since)}))
        }
        Event::EvidenceGiven { call, attempt, worker, result } => {
            about(call, json!({"attempt": attempt.0, "worker": &**worker})).with("result", &result_shown(result))
        }
        Event::ToolEnded { call, settlement } => {
            let attempt = run.call(*call).map(|call| call.attempts.0);
            about_call(run, *call, settlement_fields(settlement, attempt))
        }
        Event::HookFailed { call, detail } => about(call, json!({"detail": &**detail})),
        _ => Shown::default(),
    }
}

/// Which call it is: the turn and the index are our key, the rest is for people.
fn about_call(run: &Run, index: CallIndex, more: Shown) -> Shown {
    let call: Option<&Call> = run.call(index);
    let mut shown = Shown::of(&json!({
        "turn": run.turn().0,
        "index": index.0,
        "call_id": call.map(|call| call.id.as_str()),
        "name": call.map(|call| call.name.as_str()),
        "tool": call.and_then(|call| Some(call.tool.as_ref()?.name.as_str())),
    }));
    shown.extend(more);
    shown
}

fn settlement_fields(settlement: &Settlement, attempt: Option<u32>) -> Shown {
    Shown::of(&json!({
        "outcome": settlement.outcome.as_str(),
        "error": settlement.result.is_error(),
        "code": settlement.code.map(holdpoint_core::Code::as_str),
        "source": settlement.source.map(holdpoint_core::Source::as_str),
        "latency_us": settlement.latency_us,
        "attempt": attempt,
    }))
    .with("result", &result_shown(&settlement.result))
}

fn answer_fields(answered: &CallAnswered) -> Shown {
    let (decision, result) = match &answered.answer {
        Answer::Approve | Answer::ApproveEdited(_) => ("allow", None),
        Answer::Refuse { .. } => ("deny", None),
        Answer::Supply(result) => ("answer", Some(result)),
        Answer::Happened(result) => ("happened", Some(result)),
    };
    let edited = match &answered.answer {
        Answer::ApproveEdited(arguments) => Some(Json::new(arguments.expose())),
        _ => None,
    };
    Shown::of(&json!({
        "decision": decision,
        "reason": answered.why().map(|reason| &**reason),
        "digest": answered.digest.map(|digest| digest.to_string()),
        "actor": actor(&answered.actor),
    }))
    .with("result", &result.map(|result| result_shown(result)))
    .with("arguments", &edited)
}

/// Dropped calls are not shown.
fn message_fields(completed: &MessageCompleted, run: &Run) -> Shown {
    Shown::of(&json!({
        "turn": run.turn().0,
        "usage": usage(completed.usage),
        "stop": completed.stop.as_str(),
        "latency_us": completed.latency_us,
    }))
    .with("message", &message_shown(&completed.message))
}

fn required(run: &Run, pause: PauseNumber, reason: PauseReason) -> Shown {
    Shown::of(&json!({
        "turn": run.turn().0,
        "continuation_id": continuation(run, pause),
        "parent_continuation_id": run.parent_continuation().map(|id| id.to_string()),
        "batch_id": run.batch().to_string(),
    }))
    .with("pending", &pending_for(run, reason).iter().map(Pending::shown).collect::<Vec<_>>())
}

fn continuation(run: &Run, pause: PauseNumber) -> String {
    ContinuationId { run: run.id().clone(), pause }.to_string()
}

fn actor(actor: &holdpoint_core::Actor) -> Value {
    match to_value(&ActorWire::of(actor)) {
        Value::Object(members) if members.is_empty() => Value::Null,
        shown => shown,
    }
}

fn moment(at: holdpoint_core::Timestamp) -> Value {
    to_value(&Moment(at))
}

fn usage(usage: Usage) -> Value {
    json!({
        "input": usage.input,
        "output": usage.output,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "reasoning": usage.reasoning,
        "total": usage.total(),
    })
}
