//! The public form of every event.

use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::Moment;
use super::happened::{
    CallAnsweredView, CallDecidedView, CallDeferredView, CallDoubtedView, CallRef, CancelledView, ContextChangedView,
    DoneView, EpochStartedView, EvidenceGivenView, FailedView, GrantGivenView, GrantRevokedView, GrantUsedView,
    HookFailedView, ImportedView, MessageCompletedView, PauseView, RequiredView, RunStartedView, TaskTakenView,
    ToolEndedView, ToolStartedView, TurnEndedView, TurnRef,
};

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

/// Defines the kinds of events by their names and public forms.
macro_rules! event_kinds {
    ($($(#[$doc:meta])* $kind:ident($form:ident) = $name:literal,)*) => {
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
        }
    };
}

event_kinds! {
    /// The run began.
    RunStarted(RunStartedView) = "run_started",
    /// The run came from another store, as it was when it paused there.
    Imported(ImportedView) = "imported",
    /// A turn began: the model is to be called.
    TurnStarted(TurnRef) = "turn_started",
    /// The model replied.
    MessageCompleted(MessageCompletedView) = "message_completed",
    /// A policy decided about a call.
    CallDecided(CallDecidedView) = "call_decided",
    /// A person answered a question.
    CallAnswered(CallAnsweredView) = "call_answered",
    /// A person let their answer count for later calls.
    GrantGiven(GrantGivenView) = "grant_given",
    /// A grant counted as the answer of the person who gave it.
    GrantUsed(GrantUsedView) = "grant_used",
    /// A grant that was given in this run was revoked.
    GrantRevoked(GrantRevokedView) = "grant_revoked",
    /// The definition of the tool of a call changed before it ran.
    ToolChanged(CallRef) = "tool_changed",
    /// The deadline of a question or a task passed.
    CallExpired(CallRef) = "call_expired",
    /// A tool is about to start.
    ToolStarted(ToolStartedView) = "tool_started",
    /// A call was handed to a worker or to the application.
    CallDeferred(CallDeferredView) = "call_deferred",
    /// A worker had a call. Recorded with its result.
    TaskTaken(TaskTakenView) = "task_taken",
    /// A call has its result.
    ToolEnded(ToolEndedView) = "tool_ended",
    /// A hook failed: the run stops when the calls that were started are settled.
    HookFailed(HookFailedView) = "hook_failed",
    /// A started call without a result may run again.
    CallRequeued(CallRef) = "call_requeued",
    /// It is unknown whether a started call took effect: a person is asked.
    CallDoubted(CallDoubtedView) = "call_doubted",
    /// A result of a call in doubt came too late to count.
    EvidenceGiven(EvidenceGivenView) = "evidence_given",
    /// A turn ended, or was left at a pause or a failure.
    TurnEnded(TurnEndedView) = "turn_ended",
    /// The model was asked for a final answer.
    FinalAnswerAsked(TurnRef) = "final_answer_asked",
    /// People must answer.
    AuthorizationRequired(RequiredView) = "authorization_required",
    /// Results must come.
    ExecutionRequired(RequiredView) = "execution_required",
    /// The run is paused.
    Paused(PauseView) = "paused",
    /// A continuation was used up.
    Resumed(PauseView) = "resumed",
    /// A failed run continues.
    Retried(TurnRef) = "retried",
    /// Saved context attributes changed; those not named stay.
    ContextChanged(ContextChangedView) = "context_changed",
    /// Another process took the run over.
    EpochStarted(EpochStartedView) = "epoch_started",
    /// The run failed.
    Failed(FailedView) = "failed",
    /// The run was cancelled.
    Cancelled(CancelledView) = "cancelled",
    /// A segment of the run is over: the last event of each segment.
    Done(DoneView) = "done",
}
