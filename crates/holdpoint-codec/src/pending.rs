//! What a pause waits for: the questions that people must answer, or the calls whose results must come.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_core::{
    Actor, Arguments, Asked, Attempt, Call, CallId, CallIndex, CallState, Digest, Doubt, FourEyes, IdempotencyKey,
    Outcome, PauseReason, Question, QuestionAnswer, QuestionKind, RequestedName, Run, RunId, Source, Stated, Terms,
    Timestamp, ToolName, ToolResult, Turn,
};
use serde_json::Value;

use crate::Shown;
use crate::arguments::{arguments_summary, idempotency_key};
use crate::question_digest;
use crate::view::PendingView;
use crate::wire::{PendingWire, to_value};

/// One call that a pause waits for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Pending {
    /// Its place in the turn.
    pub index: CallIndex,
    /// The id that is shown.
    pub id: CallId,
    /// What the model wrote.
    pub name: RequestedName,
    /// The registered tool that would run.
    pub tool: ToolName,
    /// What it would run with.
    pub arguments: Arguments,
    /// Names and sizes of the arguments: safe to log.
    pub arguments_summary: String,
    /// Why a person is asked.
    pub reason: Option<Arc<str>>,
    /// The rule that says so.
    pub rule: Option<Arc<str>>,
    /// Roles of which whoever answers needs one. Empty: anyone may.
    pub approvers: BTreeSet<Arc<str>>,
    /// How many different people must approve.
    pub quorum: u32,
    /// Whether the one who started the run may answer.
    pub four_eyes: FourEyes,
    /// What is asked, if a person is.
    pub kind: Option<QuestionKind>,
    /// What an answer must name: the digest of the question. For a call that waits for its result, that of its arguments.
    pub digest: Digest,
    /// Whether another question about the call was asked before.
    pub again: bool,
    /// Answers short of the quorum, in order.
    pub answers: Vec<QuestionAnswer>,
    /// Past this moment it is too late for the answer or the result.
    pub deadline: Option<Timestamp>,
    /// What is known of the call, if nobody knows whether it took effect.
    pub doubt: Option<Doubt>,
    /// `native`, `mcp:SERVER`, `skills`, `http`, `command` or `worker`.
    pub tool_source: Arc<str>,
    /// The attempt that is awaited, or that would be next.
    pub attempt: Attempt,
    /// Equal over all attempts.
    pub idempotency_key: IdempotencyKey,
}

impl Pending {
    /// Covers the tool's name and the arguments: what receipts, grants and idempotency keys are bound to.
    pub fn arguments_digest(&self) -> Digest {
        self.arguments.digest()
    }

    /// Those who approved so far, in order.
    pub fn approvals(&self) -> impl Iterator<Item = &Actor> {
        let approved = self.answers.iter().filter(|answer| matches!(answer.stated, Stated::Approve));
        approved.map(|answer| &answer.actor)
    }

    /// Whether this person may answer the question about a run that somebody started.
    pub fn admits(&self, actor: &Actor, requester: &Actor) -> bool {
        let terms = Terms { approvers: self.approvers.clone(), four_eyes: self.four_eyes, ..Terms::default() };
        terms.admit(actor, requester)
    }

    /// Whether nobody knows if the call took effect.
    pub fn is_uncertain(&self) -> bool {
        self.doubt.is_some()
    }

    /// Its public form. Holds the raw arguments: data, not for logs.
    #[doc(hidden)]
    pub fn view(&self) -> PendingView {
        PendingWire::shown(self)
    }

    /// [`Pending::view`] as a bag of members.
    #[doc(hidden)]
    pub fn shown(&self) -> Shown {
        Shown::of(&self.view())
    }

    /// [`Pending::view`] as a value. An integer of more than 64 bits is only near to what it was.
    pub fn to_json(&self) -> Value {
        to_value(&self.view())
    }
}

/// What a paused run still waits for, in call order. Nothing for a run that is not paused.
pub fn pending(run: &Run) -> Vec<Pending> {
    run.pause_reason().map(|reason| pending_for(run, reason)).unwrap_or_default()
}

/// What a run waits for when it pauses for this reason.
pub(crate) fn pending_for(run: &Run, reason: PauseReason) -> Vec<Pending> {
    let turn = TurnCalls { run: run.id(), turn: run.turn(), calls: run.calls() };
    turn.listed(reason).filter(|(_, kept)| kept.is_missing()).map(|(pending, _)| pending).collect()
}

/// The calls of a turn, whether they come from a run or from a payload.
#[derive(Clone, Copy)]
pub(crate) struct TurnCalls<'a> {
    pub(crate) run: &'a RunId,
    pub(crate) turn: Turn,
    pub(crate) calls: &'a [Call],
}

/// What was already said about a call that a pause lists.
#[derive(Clone, Default)]
pub(crate) struct Kept {
    /// `allow`, `deny`, `answer` or `expired`.
    pub(crate) decision: Option<&'static str>,
    /// What a person or somebody outside gave.
    pub(crate) result: Option<Arc<ToolResult>>,
    listed_as: Listed,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Listed {
    #[default]
    Question,
    Execution,
}

impl Kept {
    fn is_missing(&self) -> bool {
        match self.listed_as {
            Listed::Question => self.decision.is_none(),
            Listed::Execution => self.result.is_none(),
        }
    }
}

impl<'a> TurnCalls<'a> {
    /// Every call that a pause of this kind is about, with what was already said about it.
    pub(crate) fn listed(self, reason: PauseReason) -> impl Iterator<Item = (Pending, Kept)> + 'a {
        let calls = self.calls.iter().enumerate();
        calls.filter_map(move |(index, call)| {
            let kept = match reason {
                PauseReason::AwaitingToolConfirmation => kept_decision(call)?,
                PauseReason::AwaitingToolResults => kept_result(call)?,
            };
            Some((self.pending(CallIndex::from_usize(index), call)?, kept))
        })
    }

    /// One of them, unless it was settled when the model asked for it.
    pub(crate) fn pending(self, index: CallIndex, call: &Call) -> Option<Pending> {
        // A call without a tool or without arguments was settled when the model asked for it.
        let (facts, arguments) = (call.tool.as_ref()?, call.canonical()?);
        let question = call.question();
        let attempt = match call.state {
            CallState::Deferred { attempt, .. } => attempt,
            CallState::Settled(_) => call.attempts.max(Attempt(1)),
            _ => call.attempts.next(),
        };
        Some(Pending {
            index,
            id: call.id.clone(),
            name: call.name.clone(),
            tool: facts.name.clone(),
            arguments: arguments.clone(),
            arguments_summary: arguments_summary(arguments),
            reason: question.and_then(|question| question.ground.reason.clone()),
            rule: question.and_then(|question| question.ground.rule.clone()),
            approvers: question.map(|question| question.terms.approvers.clone()).unwrap_or_default(),
            quorum: question.map_or(1, |question| question.terms.quorum),
            four_eyes: question.map(|question| question.terms.four_eyes).unwrap_or_default(),
            kind: question.map(Question::kind),
            digest: call
                .question_facts(self.run, self.turn, index)
                .map_or(arguments.digest(), |facts| question_digest(&facts)),
            again: question.is_some_and(|question| question.number > 1),
            answers: question.map(|question| question.answers.clone()).unwrap_or_default(),
            deadline: call.deadline(),
            doubt: question.and_then(|question| question.doubt.clone()),
            tool_source: Arc::clone(&facts.source),
            attempt,
            idempotency_key: idempotency_key(self.run, self.turn, index, arguments.digest()),
        })
    }
}

fn kept_decision(call: &Call) -> Option<Kept> {
    match (&call.state, call.asked) {
        (CallState::AwaitingApproval(_), _) => Some(Kept::default()),
        (CallState::Ready, Asked::Approved) => {
            let result = call.given.as_ref().and_then(|given| given.answer.clone());
            let decision = if result.is_some() { "answer" } else { "allow" };
            Some(Kept { decision: Some(decision), result, ..Kept::default() })
        }
        (CallState::Settled(settlement), Asked::Yes) => {
            let given = settlement.source == Some(Source::Person);
            let decision = match settlement.outcome {
                _ if given => "answer",
                Outcome::Expired => "expired",
                _ => "deny",
            };
            let result = given.then(|| Arc::clone(&settlement.result));
            Some(Kept { decision: Some(decision), result, ..Kept::default() })
        }
        _ => None,
    }
}

fn kept_result(call: &Call) -> Option<Kept> {
    let decision = (call.asked == Asked::Approved).then_some("allow");
    let result = match &call.state {
        CallState::Deferred { .. } => None,
        CallState::Settled(_) => Some(Arc::clone(call.delivered()?)),
        _ => return None,
    };
    Some(Kept { decision, result, listed_as: Listed::Execution })
}
