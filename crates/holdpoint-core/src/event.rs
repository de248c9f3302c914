//! What happened in a run. The log of these is the truth; everything else is derived from it.
//!
//! A new event touches four places, and the compiler finds each of them: this file (the event and its name), `apply.rs` (what it
//! changes), `event/stored.rs` of the codec (how it is stored), and the table in `view/event.rs` of the codec (its public form,
//! and what the audit log keeps of it).

use std::sync::Arc;

use crate::named::named;
use crate::{
    Actor, Answer, Attempt, Attributes, CallIndex, CallRecord, CallState, Decision, Digest, DoubtCause, Epoch, Failure,
    Fence, Grant, GrantId, Message, ModelStop, PauseNumber, PauseReason, Settings, Settlement, Snapshot, StopReason,
    Timestamp, ToolFacts, ToolResult, Turn, Usage,
};

/// One entry of a run's log. `Run::step` stamps every event with the `now` that it was given, so the core reads no clock.
#[derive(Clone, Debug)]
pub struct LogEntry {
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
}

/// One thing that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// The run began.
    RunStarted(Arc<RunStarted>),
    /// The run came from another store, as it was when it paused there.
    Imported(Arc<Snapshot>),
    /// A turn began: the model is to be called.
    TurnStarted {
        /// Which.
        turn: Turn,
    },
    /// The model replied.
    MessageCompleted(Arc<MessageCompleted>),
    /// A policy decided about a call.
    CallDecided {
        /// Which.
        call: CallIndex,
        /// When it was asked.
        stage: Stage,
        /// What it said.
        decision: Decision,
        /// What a policy that is only being tried would have decided.
        shadow: Option<Box<Decision>>,
    },
    /// A person answered a question.
    CallAnswered(Box<CallAnswered>),
    /// With an answer a person said something about calls that are yet to come.
    GrantGiven {
        /// The call that they answered about.
        call: CallIndex,
        /// What they said.
        grant: Arc<Grant>,
    },
    /// What a person had said before counts as their answer.
    GrantUsed {
        /// For which call.
        call: CallIndex,
        /// Which grant.
        grant: GrantId,
        /// Who gave it.
        actor: Actor,
    },
    /// A grant that was given in this run was taken back.
    GrantRevoked {
        /// Which.
        grant: GrantId,
        /// By whom.
        actor: Actor,
    },
    /// The tool of a call that was about to run has another schema by now.
    ToolChanged {
        /// Which call.
        call: CallIndex,
        /// What is registered by now.
        tool: ToolFacts,
    },
    /// Nobody answered a question in time, or nobody did what was handed out.
    CallExpired {
        /// Which.
        call: CallIndex,
    },
    /// The intent: a tool is about to start.
    ToolStarted {
        /// Which.
        call: CallIndex,
        /// For the how-manieth time.
        attempt: Attempt,
    },
    /// A call was handed to somebody outside.
    CallDeferred {
        /// Which.
        call: CallIndex,
        /// For the how-manieth time.
        attempt: Attempt,
        /// Past this moment nobody needs to do it.
        deadline: Option<Timestamp>,
    },
    /// A worker had a call that was handed out. Recorded with what became of it.
    TaskTaken {
        /// Which.
        call: CallIndex,
        /// For the how-manieth time.
        attempt: Attempt,
        /// Under which lease.
        fence: Fence,
        /// Who.
        worker: Arc<str>,
        /// Since when.
        since: Timestamp,
    },
    /// A call has its result.
    ToolEnded {
        /// Which.
        call: CallIndex,
        /// How it ended.
        settlement: Settlement,
    },
    /// A hook failed: the run stops once what was started is settled.
    HookFailed {
        /// Which call it was around.
        call: CallIndex,
        /// For people; never for the model.
        detail: Arc<str>,
    },
    /// A started call without a result may run again.
    CallRequeued {
        /// Which.
        call: CallIndex,
    },
    /// A started call without a result may not run again, or not without an answer: a person is asked.
    CallDoubted {
        /// Which.
        call: CallIndex,
        /// How it came to be in doubt.
        cause: DoubtCause,
        /// What the tool asks, when it asks a person before it goes on.
        asks: Option<Arc<ToolResult>>,
        /// Whether a program that does the call may still be running.
        may_run: bool,
    },
    /// A result of a call in doubt came too late to count. The person who is asked sees it.
    EvidenceGiven {
        /// Which.
        call: CallIndex,
        /// The attempt that it is of.
        attempt: Attempt,
        /// Who brought it.
        worker: Arc<str>,
        /// What they brought.
        result: Arc<ToolResult>,
    },
    /// A turn ended, or was left at a pause or a failure.
    TurnEnded {
        /// Which.
        turn: Turn,
        /// Whether every call is settled and the results are in the conversation.
        completeness: Completeness,
    },
    /// The model was asked for a final answer.
    FinalAnswerAsked,
    /// People must answer.
    AuthorizationRequired {
        /// Names the continuation.
        pause: PauseNumber,
    },
    /// Results must come.
    ExecutionRequired {
        /// Names the continuation.
        pause: PauseNumber,
    },
    /// The run is paused.
    Paused {
        /// What for.
        reason: PauseReason,
    },
    /// A continuation was used up.
    Resumed {
        /// Which.
        pause: PauseNumber,
        /// What it was paused for.
        reason: PauseReason,
        /// Names the request that brought the answers or results.
        request: Option<Arc<str>>,
    },
    /// Somebody continued a run that had failed.
    Retried {
        /// Names the request that asked for it.
        request: Option<Arc<str>>,
    },
    /// Saved context attributes changed; those not named stay.
    ContextChanged {
        /// The new values.
        attributes: Attributes,
    },
    /// Another process took the run over.
    EpochStarted {
        /// Its number.
        epoch: Epoch,
    },
    /// The run failed.
    Failed {
        /// How.
        failure: Failure,
        /// For people: safe to show.
        detail: Arc<str>,
    },
    /// The run was cancelled.
    Cancelled {
        /// By whom.
        actor: Actor,
        /// Why.
        reason: Option<Arc<str>>,
    },
    /// A segment of the run is over. The last event of each segment.
    Done {
        /// Why.
        stop: StopReason,
    },
}

/// How a run began.
#[derive(Clone, Debug)]
pub struct RunStarted {
    /// Its settings.
    pub settings: Arc<Settings>,
    /// Stored context attributes.
    pub context: Attributes,
    /// The agent's name, if it has one.
    pub agent: Option<Arc<str>>,
    /// The model's name, if it has one.
    pub model: Option<Arc<str>>,
    /// The conversation to start from, with the input.
    pub messages: Vec<Arc<Message>>,
    /// Who asked for it.
    pub actor: Actor,
    /// The session that it belongs to.
    pub session: Option<Arc<str>>,
    /// The trace of whoever started it, as W3C `traceparent`.
    pub trace: Option<Arc<str>>,
}

/// A reply of the model.
#[derive(Clone, Debug)]
pub struct MessageCompleted {
    /// The assistant's message, without the calls that were dropped.
    pub message: Arc<Message>,
    /// What is known of each call of the message, in its order.
    pub calls: Vec<CallOpening>,
    /// The calls that were dropped.
    pub ignored: Vec<CallRecord>,
    /// What it cost.
    pub usage: Usage,
    /// Why the model stopped.
    pub stop: ModelStop,
    /// How long the model took.
    pub latency_us: u64,
}

/// What is known of a call when the model asked for it.
#[derive(Clone, Debug)]
pub struct CallOpening {
    /// What is registered under its name.
    pub tool: Option<ToolFacts>,
    /// Settled at once when its arguments or its name cannot be used.
    pub settled: Option<Settlement>,
}

impl CallOpening {
    /// The state that a call begins in.
    pub fn state(&self) -> CallState {
        match &self.settled {
            Some(settlement) => CallState::Settled(settlement.clone()),
            None => CallState::Proposed,
        }
    }
}

/// A person's answer.
#[derive(Clone, Debug)]
pub struct CallAnswered {
    /// Which call.
    pub call: CallIndex,
    /// Who.
    pub actor: Actor,
    /// What they said.
    pub answer: Answer,
    /// What they were shown.
    pub digest: Option<Digest>,
    /// What policy said about edited arguments.
    pub decision: Option<Decision>,
    /// Why, if they said so. That of a refusal is in the answer.
    pub reason: Option<Arc<str>>,
}

impl CallAnswered {
    /// Why they said it, if they said so.
    pub fn why(&self) -> Option<&Arc<str>> {
        match &self.answer {
            Answer::Refuse { reason } => reason.as_ref().or(self.reason.as_ref()),
            Answer::Approve | Answer::ApproveEdited(_) | Answer::Supply(_) | Answer::Happened(_) => {
                self.reason.as_ref()
            }
        }
    }
}

named! {
    /// When a policy was asked.
    pub enum Stage {
        /// When the model asked for the call.
        Policy = "policy",
        /// When the call was about to run.
        Recheck = "recheck",
    }
}

named! {
    /// Whether a turn that ended is over.
    pub enum Completeness {
        /// Every call is settled.
        Complete = "complete",
        /// It goes on after a resume or a retry.
        Interrupted = "interrupted",
    }
}

impl Event {
    /// The name of the request that caused it, if one did and gave its name.
    pub fn request(&self) -> Option<&Arc<str>> {
        match self {
            Event::Resumed { request, .. } | Event::Retried { request } => request.as_ref(),
            _ => None,
        }
    }

    /// Its stable name.
    pub fn name(&self) -> &'static str {
        match self {
            Event::RunStarted(_) => "run_started",
            Event::Imported(_) => "imported",
            Event::TurnStarted { .. } => "turn_started",
            Event::MessageCompleted(_) => "message_completed",
            Event::CallDecided { .. } => "call_decided",
            Event::CallAnswered(_) => "call_answered",
            Event::GrantGiven { .. } => "grant_given",
            Event::GrantUsed { .. } => "grant_used",
            Event::GrantRevoked { .. } => "grant_revoked",
            Event::ToolChanged { .. } => "tool_changed",
            Event::CallExpired { .. } => "call_expired",
            Event::ToolStarted { .. } => "tool_started",
            Event::CallDeferred { .. } => "call_deferred",
            Event::TaskTaken { .. } => "task_taken",
            Event::ToolEnded { .. } => "tool_ended",
            Event::HookFailed { .. } => "hook_failed",
            Event::CallRequeued { .. } => "call_requeued",
            Event::CallDoubted { .. } => "call_doubted",
            Event::EvidenceGiven { .. } => "evidence_given",
            Event::TurnEnded { .. } => "turn_ended",
            Event::FinalAnswerAsked => "final_answer_asked",
            Event::AuthorizationRequired { .. } => "authorization_required",
            Event::ExecutionRequired { .. } => "execution_required",
            Event::Paused { .. } => "paused",
            Event::Resumed { .. } => "resumed",
            Event::Retried { .. } => "retried",
            Event::ContextChanged { .. } => "context_changed",
            Event::EpochStarted { .. } => "epoch_started",
            Event::Failed { .. } => "failed",
            Event::Cancelled { .. } => "cancelled",
            Event::Done { .. } => "done",
        }
    }
}
