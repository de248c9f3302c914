//! The stored form of every event, defined beside the core's own types: serde writes and reads these, and the compiler finds
//! a field or an event that is missing here.
//!
//! An event is tagged from outside (`{"tool_started":{"call":0,"attempt":1}}`), so that it is read in one go and raw JSON
//! keeps its text. Fields that have their usual value are left out.

use std::sync::Arc;

use holdpoint_core::{
    Actor, Answer, Attempt, Attributes, CallAnswered, CallIndex, Completeness, Decision, Digest, DoubtCause, Epoch,
    Event, Failure, Fence, Grant, GrantId, Message, MessageCompleted, ModelStop, PauseNumber, PauseReason, RunStarted,
    Settings, Settlement, Snapshot, Stage, StopReason, Timestamp, ToolFacts, ToolResult, Turn,
};
use serde::{Deserialize, Serialize};
use serde_with::{serde_as, skip_serializing_none};

use crate::SettingsSpec;
use crate::wire::{
    ActorWire, AnswerWire, Awaited, DecisionWire, DigestText, GrantWire, Members, MessageCompletedWire, MessageWire,
    Plain, ResultWire, SettlementWire, SnapshotWire, Text, ToolWire, Via, Word, is_default, remote,
};

remote!(EventDef = Event, RunStartedDef = RunStarted, CallAnsweredDef = CallAnswered, StopReasonDef = StopReason,);

#[serde_as]
#[skip_serializing_none]
#[derive(Serialize, Deserialize)]
#[serde(remote = "Event", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum EventDef {
    RunStarted(#[serde_as(as = "Arc<RunStartedDef>")] Arc<RunStarted>),
    Imported(#[serde_as(as = "Arc<Via<SnapshotWire>>")] Arc<Snapshot>),
    TurnStarted {
        #[serde_as(as = "Plain")]
        turn: Turn,
    },
    MessageCompleted(#[serde_as(as = "Arc<Via<MessageCompletedWire>>")] Arc<MessageCompleted>),
    CallDecided {
        #[serde_as(as = "Plain")]
        call: CallIndex,
        #[serde_as(as = "Word")]
        #[serde(default = "first_stage", skip_serializing_if = "is_first_stage")]
        stage: Stage,
        #[serde_as(as = "Via<DecisionWire>")]
        decision: Decision,
        #[serde_as(as = "Option<Box<Via<DecisionWire>>>")]
        shadow: Option<Box<Decision>>,
    },
    CallAnswered(#[serde_as(as = "Box<CallAnsweredDef>")] Box<CallAnswered>),
    GrantGiven {
        #[serde_as(as = "Plain")]
        call: CallIndex,
        #[serde_as(as = "Arc<Via<GrantWire>>")]
        grant: Arc<Grant>,
    },
    GrantUsed {
        #[serde_as(as = "Plain")]
        call: CallIndex,
        #[serde_as(as = "Plain")]
        grant: GrantId,
        #[serde_as(as = "Via<ActorWire>")]
        #[serde(default, skip_serializing_if = "is_default")]
        actor: Actor,
    },
    GrantRevoked {
        #[serde_as(as = "Plain")]
        grant: GrantId,
        #[serde_as(as = "Via<ActorWire>")]
        #[serde(default, skip_serializing_if = "is_default")]
        actor: Actor,
    },
    ToolChanged {
        #[serde_as(as = "Plain")]
        call: CallIndex,
        #[serde_as(as = "Via<ToolWire>")]
        tool: ToolFacts,
    },
    CallExpired {
        #[serde_as(as = "Plain")]
        call: CallIndex,
    },
    ToolStarted {
        #[serde_as(as = "Plain")]
        call: CallIndex,
        #[serde_as(as = "Plain")]
        attempt: Attempt,
    },
    CallDeferred {
        #[serde_as(as = "Plain")]
        call: CallIndex,
        #[serde_as(as = "Plain")]
        attempt: Attempt,
        #[serde_as(as = "Option<Plain>")]
        deadline: Option<Timestamp>,
    },
    TaskTaken {
        #[serde_as(as = "Plain")]
        call: CallIndex,
        #[serde_as(as = "Plain")]
        attempt: Attempt,
        #[serde_as(as = "Plain")]
        fence: Fence,
        #[serde_as(as = "Text")]
        worker: Arc<str>,
        #[serde_as(as = "Plain")]
        since: Timestamp,
    },
    ToolEnded {
        #[serde_as(as = "Plain")]
        call: CallIndex,
        #[serde_as(as = "Via<SettlementWire>")]
        settlement: Settlement,
    },
    HookFailed {
        #[serde_as(as = "Plain")]
        call: CallIndex,
        #[serde_as(as = "Text")]
        detail: Arc<str>,
    },
    CallRequeued {
        #[serde_as(as = "Plain")]
        call: CallIndex,
    },
    CallDoubted {
        #[serde_as(as = "Plain")]
        call: CallIndex,
        #[serde_as(as = "Word")]
        #[serde(default = "crashed", skip_serializing_if = "is_crashed")]
        cause: DoubtCause,
        #[serde_as(as = "Option<Arc<Via<ResultWire>>>")]
        asks: Option<Arc<ToolResult>>,
        #[serde(default, skip_serializing_if = "is_default")]
        may_run: bool,
    },
    EvidenceGiven {
        #[serde_as(as = "Plain")]
        call: CallIndex,
        #[serde_as(as = "Plain")]
        attempt: Attempt,
        #[serde_as(as = "Text")]
        worker: Arc<str>,
        #[serde_as(as = "Arc<Via<ResultWire>>")]
        result: Arc<ToolResult>,
    },
    TurnEnded {
        #[serde_as(as = "Plain")]
        turn: Turn,
        #[serde_as(as = "Word")]
        #[serde(default = "complete", skip_serializing_if = "is_complete")]
        completeness: Completeness,
    },
    FinalAnswerAsked,
    AuthorizationRequired {
        #[serde_as(as = "Plain")]
        pause: PauseNumber,
    },
    ExecutionRequired {
        #[serde_as(as = "Plain")]
        pause: PauseNumber,
    },
    Paused {
        #[serde_as(as = "Awaited")]
        reason: PauseReason,
    },
    Resumed {
        #[serde_as(as = "Plain")]
        pause: PauseNumber,
        #[serde_as(as = "Awaited")]
        reason: PauseReason,
        #[serde_as(as = "Option<Text>")]
        request: Option<Arc<str>>,
    },
    Retried {
        #[serde_as(as = "Option<Text>")]
        request: Option<Arc<str>>,
    },
    ContextChanged {
        #[serde_as(as = "Members")]
        attributes: Attributes,
    },
    EpochStarted {
        #[serde_as(as = "Plain")]
        epoch: Epoch,
    },
    Failed {
        #[serde_as(as = "Word")]
        failure: Failure,
        #[serde_as(as = "Text")]
        detail: Arc<str>,
    },
    Cancelled {
        #[serde_as(as = "Via<ActorWire>")]
        #[serde(default, skip_serializing_if = "is_default")]
        actor: Actor,
        #[serde_as(as = "Option<Text>")]
        reason: Option<Arc<str>>,
    },
    Done {
        #[serde_as(as = "StopReasonDef")]
        stop: StopReason,
    },
}

#[serde_as]
#[skip_serializing_none]
#[derive(Serialize, Deserialize)]
#[serde(remote = "RunStarted", deny_unknown_fields)]
struct RunStartedDef {
    #[serde_as(as = "Arc<Via<SettingsSpec>>")]
    #[serde(default, skip_serializing_if = "is_default")]
    settings: Arc<Settings>,
    #[serde_as(as = "Members")]
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    context: Attributes,
    #[serde_as(as = "Option<Text>")]
    agent: Option<Arc<str>>,
    #[serde_as(as = "Option<Text>")]
    model: Option<Arc<str>>,
    #[serde_as(as = "Vec<Arc<Via<MessageWire>>>")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    messages: Vec<Arc<Message>>,
    #[serde_as(as = "Via<ActorWire>")]
    #[serde(default, skip_serializing_if = "is_default")]
    actor: Actor,
    #[serde_as(as = "Option<Text>")]
    session: Option<Arc<str>>,
    #[serde_as(as = "Option<Text>")]
    trace: Option<Arc<str>>,
}

#[serde_as]
#[skip_serializing_none]
#[derive(Serialize, Deserialize)]
#[serde(remote = "CallAnswered", deny_unknown_fields)]
struct CallAnsweredDef {
    #[serde_as(as = "Plain")]
    call: CallIndex,
    #[serde_as(as = "Via<ActorWire>")]
    #[serde(default, skip_serializing_if = "is_default")]
    actor: Actor,
    #[serde_as(as = "Via<AnswerWire>")]
    answer: Answer,
    #[serde_as(as = "Option<DigestText>")]
    digest: Option<Digest>,
    #[serde_as(as = "Option<Via<DecisionWire>>")]
    decision: Option<Decision>,
    #[serde_as(as = "Option<Text>")]
    reason: Option<Arc<str>>,
}

#[serde_as]
#[derive(Serialize, Deserialize)]
#[serde(remote = "StopReason", rename_all = "snake_case")]
enum StopReasonDef {
    Model(#[serde_as(as = "Word")] ModelStop),
    MaxTurns,
    Halted,
    AwaitingToolConfirmation,
    AwaitingToolResults,
    Failed(#[serde_as(as = "Word")] Failure),
    Cancelled,
}

fn first_stage() -> Stage {
    Stage::Policy
}

fn is_first_stage(stage: &Stage) -> bool {
    *stage == first_stage()
}

fn crashed() -> DoubtCause {
    DoubtCause::Crashed
}

fn is_crashed(cause: &DoubtCause) -> bool {
    *cause == crashed()
}

fn complete() -> Completeness {
    Completeness::Complete
}

fn is_complete(completeness: &Completeness) -> bool {
    *completeness == complete()
}
