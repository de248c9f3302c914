//! Records what happened. Cannot fail: whatever is in the log was decided by `handle` or `follow`.

use std::sync::Arc;

use crate::texts;
use crate::{
    Asked, Attempt, Call, CallIndex, CallState, Code, Completeness, Decision, Doubt, DoubtCause, Event, Evidence,
    Failure, Ground, LogEntry, Message, MessageCompleted, Outcome, Phase, Question, ResultOrder, Run, RunStarted,
    Settlement, Source, Stage, StopReason, Tally, Terms, Timestamp, ToolFacts, ToolMessage, ToolResult, Turn, Work,
};

mod answered;

use answered::{approve_standing, ask};

impl Run {
    /// Records one entry of the log.
    pub fn apply(&mut self, entry: &LogEntry) {
        self.revision.0 += 1;
        let at = entry.at;
        match &entry.event {
            Event::RunStarted(started) => self.apply_started(started, at),
            Event::Imported(snapshot) => self.restore(snapshot),
            Event::TurnStarted { turn } => self.apply_turn_started(*turn),
            Event::MessageCompleted(completed) => self.apply_message(completed),
            Event::CallDecided { call, stage: Stage::Policy, decision, .. } => self.apply_policy(*call, decision, at),
            Event::CallDecided { call, stage: Stage::Recheck, decision, .. } => self.apply_recheck(*call, decision, at),
            Event::CallAnswered(answered) => self.apply_answered(answered, at),
            Event::GrantGiven { .. } => self.grants = self.grants.saturating_add(1),
            Event::GrantUsed { call, actor, .. } => self.change(*call, |call| approve_standing(call, actor, at)),
            // Whoever keeps grants knows; the log remembers who did it.
            Event::GrantRevoked { .. } => {}
            Event::ToolChanged { call, tool } => self.apply_tool_changed(*call, tool),
            Event::CallExpired { call } => self.apply_expired(*call),
            Event::ToolStarted { call, attempt } => self.apply_tool_started(*call, *attempt, at),
            Event::CallDeferred { call, attempt, deadline } => self.apply_deferred(*call, *attempt, *deadline),
            Event::TaskTaken { call, attempt, worker, since, .. } => self.apply_taken(*call, *attempt, worker, *since),
            Event::ToolEnded { call, settlement } => self.apply_tool_ended(*call, settlement),
            Event::HookFailed { detail, .. } => self.stopping = Some(detail.clone()),
            Event::CallRequeued { call } => self.change(*call, |call| call.state = CallState::Ready),
            Event::CallDoubted { call, cause, asks, may_run } => {
                self.apply_doubted(*call, *cause, texts::doubt_reason(*cause, *may_run), asks.as_ref());
            }
            Event::EvidenceGiven { call, attempt, worker, result } => {
                let (worker, result) = (Arc::clone(worker), Arc::clone(result));
                self.apply_evidence(*call, Evidence { attempt: *attempt, worker, result, at });
            }
            Event::TurnEnded { completeness: Completeness::Interrupted, .. } => {}
            Event::TurnEnded { completeness: Completeness::Complete, .. } => self.apply_turn_complete(),
            Event::FinalAnswerAsked => self.apply_final_answer_asked(),
            Event::AuthorizationRequired { pause } | Event::ExecutionRequired { pause } => self.pauses = *pause,
            Event::Paused { reason } => self.phase = Phase::Paused(*reason),
            Event::Resumed { pause, .. } => {
                // Whatever pauses next, in this turn or a later one, came from this continuation.
                self.parent = Some(*pause);
                self.phase = Phase::Working(Work::Calls);
            }
            Event::Retried { .. } => self.apply_retried(),
            Event::ContextChanged { attributes } => self.context.extend(attributes.clone()),
            Event::EpochStarted { epoch } => self.epoch = *epoch,
            Event::Failed { failure, .. } => self.apply_failed(*failure),
            Event::Cancelled { .. } => self.apply_cancelled(),
            Event::Done { stop } => self.apply_done(stop),
        }
    }

    fn apply_started(&mut self, started: &RunStarted, at: Timestamp) {
        self.settings = Arc::clone(&started.settings);
        self.context = started.context.clone();
        self.agent = started.agent.clone();
        self.model = started.model.clone();
        self.actor = started.actor.clone();
        self.session = started.session.clone();
        self.trace = started.trace.clone();
        self.created_at = at;
        self.messages = started.messages.clone();
        self.history_len = u32::try_from(started.messages.len()).unwrap_or(u32::MAX);
        self.phase = Phase::Between;
    }

    fn apply_turn_started(&mut self, turn: Turn) {
        self.keep_edits();
        let calls = std::mem::take(&mut self.calls);
        let settled = calls.iter().enumerate();
        self.past.extend(settled.map(|(index, call)| call.record(self.turn, CallIndex::from_usize(index))));
        self.past.append(&mut self.ignored);
        self.completion.clear();
        self.tally = Tally::default();
        self.turn = turn;
        self.phase = Phase::Working(Work::Model);
    }

    fn apply_message(&mut self, completed: &MessageCompleted) {
        self.messages.push(Arc::clone(&completed.message));
        self.model_calls += 1;
        self.usage.push(completed.usage);
        self.last_stop = completed.stop.clone();
        let calls = match &*completed.message {
            Message::Assistant(message) => &message.calls[..],
            Message::System(_) | Message::User(_) | Message::Tool(_) => &[],
        };
        self.calls_seen |= !calls.is_empty() || !completed.ignored.is_empty();
        self.ignored = completed.ignored.clone();
        self.calls = calls
            .iter()
            .zip(&completed.calls)
            .map(|(call, opening)| Call {
                id: call.id.clone(),
                provider_id: call.provider_id.clone(),
                name: call.name.clone(),
                tool: opening.tool.clone(),
                arguments: call.arguments.clone(),
                state: opening.state(),
                attempts: Attempt(0),
                asked: Asked::No,
                questions: 0,
                answered: None,
                deferred: false,
                terms: Terms::default(),
                policy: None,
                approvals: Vec::new(),
                rechecked: false,
                given: None,
            })
            .collect();
        self.tally = Tally::of(&self.calls);
        for (index, call) in self.calls.iter().enumerate() {
            if call.settlement().is_some() {
                self.completion.push(CallIndex::from_usize(index));
            }
        }
        self.phase = Phase::Working(Work::Calls);
    }

    fn apply_policy(&mut self, call: CallIndex, decision: &Decision, at: Timestamp) {
        self.change(call, |call| call.policy = decision.ground().policy.clone());
        match decision {
            Decision::Allow(_) => self.change(call, |call| call.state = CallState::Ready),
            Decision::Confirm(ground, terms) => self.change(call, |call| ask(call, ground, terms, at)),
            Decision::Deny(ground) => {
                let text = texts::denied_text(ground.reason.as_deref());
                self.settle(call, unexecuted(Outcome::Denied, text));
            }
        }
    }

    /// A policy that was asked again denied the call, or wants people to say more than they said.
    fn apply_recheck(&mut self, call: CallIndex, decision: &Decision, at: Timestamp) {
        match decision {
            Decision::Deny(ground) => self.revoke(call, ground),
            Decision::Confirm(ground, terms) => self.change(call, |call| {
                call.policy = ground.policy.clone();
                call.rechecked = false;
                call.deferred = false;
                ask(call, ground, terms, at);
            }),
            // The call starts, so the core never records it.
            Decision::Allow(_) => {}
        }
    }

    fn revoke(&mut self, call: CallIndex, ground: &Ground) {
        let text = texts::revoked_text(ground.reason.as_deref());
        let revoked = unexecuted(Outcome::Denied, text);
        self.settle(call, Settlement { code: Some(Code::PolicyRevoked), ..revoked });
    }

    /// What was said about the call was said about another tool.
    fn apply_tool_changed(&mut self, call: CallIndex, tool: &ToolFacts) {
        self.change(call, |call| {
            call.tool = Some(tool.clone());
            call.rechecked = false;
            call.deferred = false;
            call.state = CallState::Proposed;
        });
    }

    fn apply_tool_started(&mut self, call: CallIndex, attempt: Attempt, at: Timestamp) {
        self.tool_executions += 1;
        self.change(call, |call| {
            call.attempts = attempt;
            call.rechecked = true;
            call.state = CallState::Running { attempt, started_at: at, worker: None };
        });
    }

    fn apply_deferred(&mut self, call: CallIndex, attempt: Attempt, deadline: Option<Timestamp>) {
        self.change(call, |call| {
            call.attempts = attempt;
            call.rechecked = true;
            call.deferred = true;
            call.state = CallState::Deferred { attempt, deadline };
        });
    }

    /// A lease is an intent: from here on the call is one that was started, by somebody else.
    fn apply_taken(&mut self, call: CallIndex, attempt: Attempt, worker: &Arc<str>, since: Timestamp) {
        let Some(CallState::Deferred { attempt: first, .. }) = self.call(call).map(|call| &call.state) else { return };
        // Workers that had it before and lost it left no event. Whether this one ran a tool, its result says.
        self.tool_executions = self.tool_executions.saturating_add(attempt.0.saturating_sub(first.0));
        self.change(call, |call| {
            call.attempts = attempt;
            call.state = CallState::Running { attempt, started_at: since, worker: Some(Arc::clone(worker)) };
        });
    }

    fn apply_expired(&mut self, call: CallIndex) {
        let text = match self.call(call).map(|call| &call.state) {
            Some(CallState::Deferred { .. }) => texts::undone_text(),
            Some(CallState::Running { .. }) => texts::unfinished_text(),
            _ => texts::expired_text(),
        };
        self.count_lost(call);
        self.settle(call, unexecuted(Outcome::Expired, text));
    }

    fn apply_tool_ended(&mut self, call: CallIndex, settlement: &Settlement) {
        let outside = match settlement.source {
            Some(Source::External) => true,
            // What was started here was counted then.
            Some(Source::Tool) => self.is_taken(call),
            Some(Source::Cache | Source::DryRun | Source::Hook | Source::Person) | None => false,
        };
        self.tool_executions += u32::from(outside);
        self.settle(call, settlement.clone());
    }

    fn is_taken(&self, call: CallIndex) -> bool {
        matches!(self.call(call).map(|call| &call.state), Some(CallState::Running { worker: Some(_), .. }))
    }

    /// What a worker had and brings no result of may have run.
    fn count_lost(&mut self, call: CallIndex) {
        self.tool_executions += u32::from(self.is_taken(call));
    }

    fn apply_doubted(&mut self, call: CallIndex, cause: DoubtCause, reason: String, asks: Option<&Arc<ToolResult>>) {
        self.count_lost(call);
        self.change(call, |call| {
            let CallState::Running { attempt, started_at, worker } = &call.state else { return };
            let (attempt, started_at, worker) = (*attempt, *started_at, worker.clone());
            call.asked = Asked::Yes;
            // Recovery uses the recorded word of policy. A person who lets it run again, perhaps days later, starts it
            // anew, and policy is asked anew.
            call.rechecked = false;
            // Whoever lets it run again lets it begin anew.
            call.given = None;
            call.questions += 1;
            call.state = CallState::AwaitingApproval(Question {
                number: call.questions,
                ground: Ground::reason(reason),
                // Who could let it run, and how many had to, hold for what became of it as well.
                terms: Terms { expires_in_ms: None, ..call.terms.clone() },
                deadline: None,
                answers: Vec::new(),
                doubt: Some(Doubt { started_at, cause, worker, attempt, evidence: Vec::new(), asks: asks.cloned() }),
            });
        });
    }

    fn apply_evidence(&mut self, call: CallIndex, evidence: Evidence) {
        self.change(call, |call| {
            if let CallState::AwaitingApproval(Question { doubt: Some(doubt), .. }) = &mut call.state {
                doubt.evidence.push(evidence);
            }
        });
    }

    fn apply_turn_complete(&mut self) {
        let request_order = 0..self.calls.len();
        let in_order = self.settings.result_order == ResultOrder::Request;
        let order: Vec<usize> = if in_order {
            request_order.collect()
        } else {
            self.completion.iter().map(|index| index.as_usize()).collect()
        };
        for call in order.into_iter().filter_map(|index| self.calls.get(index)) {
            if let Some(settlement) = call.settlement() {
                self.messages.push(Arc::new(Message::Tool(ToolMessage {
                    call: call.id.clone(),
                    provider_id: call.provider_id.clone(),
                    result: Arc::clone(&settlement.result),
                })));
            }
        }
        self.phase = Phase::Between;
    }

    fn apply_final_answer_asked(&mut self) {
        self.final_asked = true;
        if let Some(text) = &self.settings.final_answer.ask {
            self.messages.push(Arc::new(Message::user(Arc::clone(text))));
        }
    }

    fn apply_retried(&mut self) {
        self.stopping = None;
        if let Phase::Failed(_, work) = self.phase {
            self.phase = Phase::Working(work);
        }
    }

    fn apply_failed(&mut self, failure: Failure) {
        match failure {
            Failure::ProviderError | Failure::Error => {
                self.model_calls += 1;
                self.phase = Phase::Failed(failure, Work::Model);
            }
            Failure::ContextWindowExceeded => self.phase = Phase::Failed(failure, Work::Model),
            Failure::HookFailed => self.phase = Phase::Failed(failure, Work::Calls),
        }
    }

    fn apply_cancelled(&mut self) {
        for index in 0..self.calls.len() {
            if self.calls[index].settlement().is_none() {
                let cancelled = unexecuted(Outcome::Cancelled, texts::cancelled_text());
                self.settle(CallIndex::from_usize(index), cancelled);
            }
        }
    }

    fn apply_done(&mut self, stop: &StopReason) {
        match stop {
            // The events before it moved the run there.
            StopReason::AwaitingToolConfirmation | StopReason::AwaitingToolResults | StopReason::Failed(_) => {}
            StopReason::Model(_) | StopReason::MaxTurns | StopReason::Halted | StopReason::Cancelled => {
                self.phase = Phase::Ended(stop.clone());
            }
        }
        // The calls of a finished turn are kept until the next reply, for the text of a halt and for late resumes.
    }

    fn settle(&mut self, index: CallIndex, settlement: Settlement) {
        let was_settled = self.calls.get(index.as_usize()).is_some_and(|call| call.settlement().is_some());
        self.change(index, |call| call.state = CallState::Settled(settlement));
        if !was_settled {
            self.completion.push(index);
        }
    }

    /// The one place where a call changes: it keeps the tally.
    fn change(&mut self, index: CallIndex, change: impl FnOnce(&mut Call)) {
        let Some(call) = self.calls.get_mut(index.as_usize()) else { return };
        *self.tally.slot(call) -= 1;
        change(call);
        *self.tally.slot(call) += 1;
    }
}

fn unexecuted(outcome: Outcome, text: String) -> Settlement {
    let code = match outcome {
        Outcome::Denied => Some(Code::Denied),
        Outcome::Refused => Some(Code::Refused),
        Outcome::Expired => Some(Code::Expired),
        Outcome::Cancelled => Some(Code::RunCancelled),
        Outcome::Succeeded | Outcome::Failed | Outcome::TimedOut | Outcome::Halted | Outcome::Ignored => None,
    };
    Settlement { outcome, code, source: None, result: Arc::new(ToolResult::error(text)), latency_us: 0 }
}
