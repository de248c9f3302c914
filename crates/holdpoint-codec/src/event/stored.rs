//! The stored form of every event, defined beside the core's own type: serde writes and reads it, and the compiler finds an
//! event or a field that is missing here.
//!
//! An event is tagged from outside (`{"tool_started":{"call":0,"attempt":1}}`), so that it is read in one go and raw JSON
//! keeps its text.

use std::sync::Arc;

use holdpoint_core::{
    Actor, Answer, Attempt, Attributes, CallAnswered, CallIndex, CallOpening, CallRecord, Completeness, Decision,
    Digest, DoubtCause, Epoch, Event, Failure, Fence, Grant, GrantId, Message, MessageCompleted, ModelStop,
    PauseNumber, PauseReason, RunStarted, Settings, Settlement, Snapshot, Stage, StopReason, Timestamp, ToolFacts,
    ToolResult, Turn, Usage,
};

use serde::{Deserialize, Serialize};
use serde_with::As;

use crate::wire::{Stored, Usual, remote, stored};

remote! {
    CallAnswered => CallAnsweredDef,
    Event => EventDef,
    MessageCompleted => MessageCompletedDef,
    RunStarted => RunStartedDef,
    StopReason => StopReasonDef,
}

stored! {
    #[serde(remote = "Event", rename_all = "snake_case")]
    enum EventDef {
        RunStarted(Arc<RunStarted>),
        Imported(Arc<Snapshot>),
        TurnStarted {
            turn: Turn,
        },
        MessageCompleted(Arc<MessageCompleted>),
        CallDecided {
            call: CallIndex,
            stage: Stage,
            decision: Decision,
            shadow: Option<Box<Decision>>,
        },
        CallAnswered(Box<CallAnswered>),
        GrantGiven {
            call: CallIndex,
            grant: Arc<Grant>,
        },
        GrantUsed {
            call: CallIndex,
            grant: GrantId,
            actor: Actor,
        },
        GrantRevoked {
            grant: GrantId,
            actor: Actor,
        },
        ToolChanged {
            call: CallIndex,
            tool: ToolFacts,
        },
        CallExpired {
            call: CallIndex,
        },
        ToolStarted {
            call: CallIndex,
            attempt: Attempt,
        },
        CallDeferred {
            call: CallIndex,
            attempt: Attempt,
            deadline: Option<Timestamp>,
        },
        TaskTaken {
            call: CallIndex,
            attempt: Attempt,
            fence: Fence,
            worker: Arc<str>,
            since: Timestamp,
        },
        ToolEnded {
            call: CallIndex,
            settlement: Settlement,
        },
        HookFailed {
            call: CallIndex,
            detail: Arc<str>,
        },
        CallRequeued {
            call: CallIndex,
        },
        CallDoubted {
            call: CallIndex,
            cause: DoubtCause,
            asks: Option<Arc<ToolResult>>,
            may_run: bool,
        },
        EvidenceGiven {
            call: CallIndex,
            attempt: Attempt,
            worker: Arc<str>,
            result: Arc<ToolResult>,
        },
        TurnEnded {
            turn: Turn,
            completeness: Completeness,
        },
        FinalAnswerAsked,
        AuthorizationRequired {
            pause: PauseNumber,
        },
        ExecutionRequired {
            pause: PauseNumber,
        },
        Paused {
            reason: PauseReason,
        },
        Resumed {
            pause: PauseNumber,
            reason: PauseReason,
            request: Option<Arc<str>>,
        },
        Retried {
            request: Option<Arc<str>>,
        },
        ContextChanged {
            attributes: Attributes,
        },
        EpochStarted {
            epoch: Epoch,
        },
        Failed {
            failure: Failure,
            detail: Arc<str>,
        },
        Cancelled {
            actor: Actor,
            reason: Option<Arc<str>>,
        },
        Done {
            stop: StopReason,
        },
    }

    #[serde(remote = "RunStarted")]
    struct RunStartedDef {
        settings: Arc<Settings>,
        context: Attributes,
        agent: Option<Arc<str>>,
        model: Option<Arc<str>>,
        messages: Vec<Arc<Message>>,
        actor: Actor,
        session: Option<Arc<str>>,
        trace: Option<Arc<str>>,
    }

    #[serde(remote = "MessageCompleted")]
    struct MessageCompletedDef {
        message: Arc<Message>,
        calls: Vec<CallOpening>,
        ignored: Vec<CallRecord>,
        usage: Usage,
        stop: ModelStop,
        latency_us: u64,
    }

    #[serde(remote = "CallAnswered")]
    struct CallAnsweredDef {
        call: CallIndex,
        actor: Actor,
        answer: Answer,
        digest: Option<Digest>,
        decision: Option<Decision>,
        reason: Option<Arc<str>>,
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "StopReason", rename_all = "snake_case")]
enum StopReasonDef {
    Model(#[serde(with = "As::<Stored>")] ModelStop),
    MaxTurns,
    Halted,
    AwaitingToolConfirmation,
    AwaitingToolResults,
    Failed(#[serde(with = "As::<Stored>")] Failure),
    Cancelled,
}
