//! What the checkers make of a log. Written from the meaning of the events, not from the core's state, so that a
//! mistake there is not repeated here.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_core::{
    Actor, Answer, CallAnswered, CallId, CallIndex, Completeness, Decision, Digest, Event, FourEyes, Message,
    MessageCompleted, PauseReason, ResultOrder, RunStarted, Settings, Settlement, Siblings, Source, Stage, Stated,
    StopReason, Terms, Timestamp, ToolFacts, ToolName, ToolResult, Usage,
};

/// A run as its log tells it.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) standing: Standing,
    /// What the latest pause waits for.
    pub(crate) pause: Option<PauseReason>,
    pub(crate) epoch: u32,
    pub(crate) turn: u32,
    pub(crate) calls: Vec<CallHistory>,
    /// The settled calls of the turn, in the order in which they were.
    pub(crate) completion: Vec<usize>,
    /// The calls of the turn before, and their order.
    pub(crate) previous: Vec<CallHistory>,
    pub(crate) previous_completion: Vec<usize>,
    pub(crate) in_completion_order: bool,
    pub(crate) holds_siblings: bool,
    pub(crate) settings: Option<Arc<Settings>>,
    /// Who started it.
    pub(crate) requester: Actor,
    pub(crate) session: Option<Arc<str>>,
    pub(crate) usage: Usage,
    pub(crate) model_calls: u32,
    pub(crate) tool_executions: u32,
    pub(crate) revision: u64,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Standing {
    #[default]
    New,
    /// A segment goes on.
    Moving,
    Paused,
    Failed,
    Ended,
}

/// A call of the current turn.
#[derive(Clone, Debug)]
pub(crate) struct CallHistory {
    pub(crate) id: CallId,
    pub(crate) tool: Option<ToolName>,
    pub(crate) definition: Option<Arc<str>>,
    pub(crate) digest: Option<Digest>,
    pub(crate) question: Option<OpenQuestion>,
    /// The arguments with which it may run.
    pub(crate) permitted: BTreeSet<Digest>,
    /// The terms of the latest question whether it may run.
    terms: Terms,
    /// Whether people let it run, and whether they must do so once more because its tool has changed since.
    is_approved: bool,
    needs_people: bool,
    /// Whether whoever had it found another tool and did not start it.
    pub(crate) is_handed_back: bool,
    pub(crate) attempts: u32,
    pub(crate) is_deferred: bool,
    /// Whether a worker had it, of which the log says the end next.
    pub(crate) is_taken: bool,
    task_deadline: Option<Timestamp>,
    /// Whether a person said, of the latest doubt, that it may run again.
    pub(crate) may_repeat: bool,
    /// Whether a question was ever asked about it.
    pub(crate) was_asked: bool,
    pub(crate) settled: Option<Settled>,
}

/// A question that is not answered yet.
#[derive(Clone, Debug)]
pub(crate) struct OpenQuestion {
    terms: Terms,
    pub(crate) deadline: Option<Timestamp>,
    stated: Vec<(Actor, Stated)>,
    pub(crate) is_doubt: bool,
    /// Whether the tool itself asks: what a person supplies goes to the tool, not to the model.
    is_the_tools: bool,
}

/// How and when a call was settled.
#[derive(Clone, Debug)]
pub(crate) struct Settled {
    /// What the model gets, where the event says it.
    pub(crate) result: Option<Arc<ToolResult>>,
    pub(crate) revision: u64,
}

impl History {
    pub(crate) fn record(&mut self, event: &Event, at: Timestamp) {
        self.revision += 1;
        self.tool_executions += u32::from(self.is_execution(event));
        for (call, result) in self.settled_by(event) {
            let revision = self.revision;
            let Some(history) = self.calls.get_mut(call) else { continue };
            history.question = None;
            history.is_deferred = false;
            history.is_taken = false;
            history.settled.get_or_insert(Settled { result, revision });
            self.completion.push(call);
        }
        match event {
            Event::RunStarted(started) => self.record_started(started),
            Event::TurnStarted { turn } => {
                self.turn = turn.0;
                self.previous = std::mem::take(&mut self.calls);
                self.previous_completion = std::mem::take(&mut self.completion);
            }
            Event::MessageCompleted(completed) => self.record_message(completed),
            Event::CallDecided { call, stage: Stage::Policy, decision, .. } => {
                self.change(call.as_usize(), |call| call.decided(decision, at));
            }
            Event::CallDecided { call, stage: Stage::Recheck, decision, .. } => {
                self.change(call.as_usize(), |call| call.rechecked(decision, at));
            }
            Event::CallAnswered(answered) => self.change(answered.call.as_usize(), |call| call.answered(answered, at)),
            Event::GrantUsed { call, actor, .. } => {
                self.change(call.as_usize(), |call| call.stated(actor, &Stated::Approve));
            }
            Event::ToolChanged { call, tool } => self.change(call.as_usize(), |call| call.tool_changed(tool)),
            Event::ToolStarted { call, attempt, .. } => {
                self.tool_executions += 1;
                self.change(call.as_usize(), |call| {
                    call.attempts = attempt.0;
                    call.is_handed_back = false;
                    call.may_repeat = false;
                });
            }
            Event::CallDeferred { call, attempt, deadline } => self.change(call.as_usize(), |call| {
                call.attempts = attempt.0;
                call.is_deferred = true;
                call.is_handed_back = false;
                call.may_repeat = false;
                call.task_deadline = *deadline;
            }),
            Event::TaskTaken { call, attempt, .. } => self.record_taken(call.as_usize(), attempt.0),
            Event::CallDoubted { call, asks, .. } => {
                self.change(call.as_usize(), |call| call.doubted(asks.is_some()));
            }
            Event::Paused { reason } => {
                self.standing = Standing::Paused;
                self.pause = Some(*reason);
            }
            Event::Resumed { .. } | Event::Retried { .. } => self.standing = Standing::Moving,
            Event::EpochStarted { epoch } => self.epoch = epoch.0,
            Event::Failed { failure, .. } => {
                use holdpoint_core::Failure::{Error, ProviderError};
                self.model_calls += u32::from(matches!(failure, ProviderError | Error));
                self.standing = Standing::Failed;
            }
            Event::Done { stop } => self.record_finished(stop),
            _ => {}
        }
    }

    fn record_taken(&mut self, call: usize, attempt: u32) {
        let before = self.calls.get(call).map_or(0, |call| call.attempts);
        // Those who had it in between were silent.
        self.tool_executions += attempt - before;
        self.change(call, |call| {
            call.attempts = attempt;
            call.is_taken = true;
        });
    }

    /// Whether a tool ran outside, or may have.
    fn is_execution(&self, event: &Event) -> bool {
        let taken = |call: &CallIndex| self.calls.get(call.as_usize()).is_some_and(|call| call.is_taken);
        match event {
            Event::ToolEnded { settlement: Settlement { source: Some(Source::External), .. }, .. } => true,
            Event::CallDoubted { call, .. } | Event::CallExpired { call } => taken(call),
            _ => false,
        }
    }

    /// The calls that an event settles, with the result where the event holds it.
    pub(crate) fn settled_by(&self, event: &Event) -> Vec<(usize, Option<Arc<ToolResult>>)> {
        match event {
            Event::ToolEnded { call, settlement } => vec![(call.as_usize(), Some(Arc::clone(&settlement.result)))],
            Event::CallDecided { call, decision: Decision::Deny(_), .. } | Event::CallExpired { call } => {
                vec![(call.as_usize(), None)]
            }
            Event::CallAnswered(answered) => match (&answered.answer, &answered.decision) {
                (Answer::Refuse { .. }, _) | (_, Some(Decision::Deny(_))) => vec![(answered.call.as_usize(), None)],
                (Answer::Supply(_), _) if self.is_asked_by_tool(answered.call) => Vec::new(),
                (Answer::Supply(result) | Answer::Happened(result), _) if self.completes_quorum(answered) => {
                    vec![(answered.call.as_usize(), Some(Arc::clone(result)))]
                }
                _ => Vec::new(),
            },
            Event::Cancelled { .. } => {
                let calls = self.calls.iter().enumerate();
                calls.filter(|(_, call)| call.settled.is_none()).map(|(place, _)| (place, None)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether enough people have said what this answer says, once it counts.
    fn completes_quorum(&self, answered: &CallAnswered) -> bool {
        let question = self.calls.get(answered.call.as_usize()).and_then(|call| call.question.as_ref());
        let Some((question, stated)) = question.zip(Stated::of(&answered.answer)) else { return false };
        let mut with = question.clone();
        with.stated.push((answered.actor.clone(), stated.clone()));
        with.has_quorum(&stated)
    }

    fn is_asked_by_tool(&self, call: CallIndex) -> bool {
        let question = self.calls.get(call.as_usize()).and_then(|call| call.question.as_ref());
        question.is_some_and(|question| question.is_the_tools)
    }

    fn record_started(&mut self, started: &RunStarted) {
        self.standing = Standing::Moving;
        self.in_completion_order = started.settings.result_order == ResultOrder::Completion;
        self.holds_siblings = started.settings.siblings == Siblings::Hold;
        self.settings = Some(Arc::clone(&started.settings));
        self.requester = started.actor.clone();
        self.session = started.session.clone();
    }

    fn record_message(&mut self, completed: &MessageCompleted) {
        self.model_calls += 1;
        self.usage = self.usage + completed.usage;
        let Message::Assistant(message) = &*completed.message else { return };
        for (place, (call, opening)) in message.calls.iter().zip(&completed.calls).enumerate() {
            let settled = opening
                .settled
                .as_ref()
                .map(|settlement| Settled { result: Some(Arc::clone(&settlement.result)), revision: self.revision });
            if settled.is_some() {
                self.completion.push(place);
            }
            self.calls.push(CallHistory {
                id: call.id.clone(),
                tool: opening.tool.as_ref().map(|facts| facts.name.clone()),
                definition: opening.tool.as_ref().and_then(|facts| facts.definition.clone()),
                digest: call.arguments.canonical().map(holdpoint_core::Arguments::digest),
                question: None,
                permitted: BTreeSet::new(),
                terms: Terms::default(),
                is_approved: false,
                needs_people: false,
                is_handed_back: false,
                attempts: 0,
                is_deferred: false,
                is_taken: false,
                task_deadline: None,
                may_repeat: false,
                was_asked: false,
                settled,
            });
        }
    }

    fn record_finished(&mut self, stop: &StopReason) {
        match stop {
            StopReason::AwaitingToolConfirmation | StopReason::AwaitingToolResults | StopReason::Failed(_) => {}
            _ => self.standing = Standing::Ended,
        }
    }

    fn change(&mut self, call: usize, change: impl FnOnce(&mut CallHistory)) {
        if let Some(call) = self.calls.get_mut(call) {
            change(call);
        }
    }

    /// What it is in the store that the run is exported to.
    pub(crate) fn exported(&self) -> Self {
        let mut exported = Self { revision: 0, epoch: 0, ..self.clone() };
        for settled in exported.calls.iter_mut().filter_map(|call| call.settled.as_mut()) {
            settled.revision = 0;
        }
        exported
    }

    /// Whether a turn that ended is over, and with it its calls.
    pub(crate) fn ends_turn(event: &Event) -> bool {
        matches!(event, Event::TurnEnded { completeness: Completeness::Complete, .. })
    }
}

impl CallHistory {
    fn decided(&mut self, decision: &Decision, at: Timestamp) {
        match decision {
            // Policy's word is not enough where people had to say yes to the tool as it was.
            Decision::Allow(_) if self.needs_people => {}
            Decision::Allow(_) => self.permitted.extend(self.digest),
            Decision::Confirm(_, terms) => {
                self.was_asked = true;
                self.needs_people = false;
                self.terms = terms.clone();
                let deadline = terms.expires_in_ms.map(|ms| at.plus_ms(ms));
                self.question = Some(OpenQuestion {
                    terms: terms.clone(),
                    deadline,
                    stated: Vec::new(),
                    is_doubt: false,
                    is_the_tools: false,
                });
            }
            Decision::Deny(_) => {}
        }
    }

    /// Policy was asked again before it started, and did not let it start.
    fn rechecked(&mut self, decision: &Decision, at: Timestamp) {
        if let Decision::Confirm(..) = decision {
            self.is_handed_back |= self.is_deferred;
            self.is_deferred = false;
            self.permitted.clear();
            self.decided(decision, at);
        }
    }

    /// Whether somebody outside must do it, and nobody brought anything.
    pub(crate) fn is_out(&self) -> bool {
        self.is_deferred && !self.is_taken && self.settled.is_none() && self.question.is_none()
    }

    /// Whether a person is asked what became of it.
    pub(crate) fn is_doubted(&self) -> bool {
        self.question.as_ref().is_some_and(|question| question.is_doubt)
    }

    /// When the answer or the result is too late.
    pub(crate) fn deadline(&self) -> Option<Timestamp> {
        match &self.question {
            Some(question) => question.deadline,
            None if self.is_deferred => self.task_deadline,
            None => None,
        }
    }

    fn doubted(&mut self, is_the_tools: bool) {
        self.may_repeat = false;
        self.is_deferred = false;
        self.is_taken = false;
        self.was_asked = true;
        let terms = Terms { expires_in_ms: None, ..self.terms.clone() };
        self.question = Some(OpenQuestion { terms, deadline: None, stated: Vec::new(), is_doubt: true, is_the_tools });
    }

    /// What was said about it was said about another tool.
    fn tool_changed(&mut self, tool: &ToolFacts) {
        self.definition = tool.definition.clone();
        self.permitted.clear();
        self.needs_people |= self.is_approved;
        self.is_handed_back |= self.is_deferred;
        self.is_deferred = false;
        self.question = None;
    }

    /// One more person says something about what is shown.
    fn stated(&mut self, actor: &Actor, stated: &Stated) {
        let Some(question) = &mut self.question else { return };
        // A person who speaks for themselves takes the place of what a grant said for them.
        question.stated.retain(|(before, _)| before.id != actor.id);
        question.stated.push((actor.clone(), stated.clone()));
        let lets_run = matches!(stated, Stated::Approve) || question.is_the_tools;
        if lets_run && question.has_quorum(stated) {
            self.permitted.extend(self.digest);
            self.may_repeat |= question.is_doubt;
            self.is_approved = true;
            self.question = None;
        }
    }

    fn answered(&mut self, answered: &CallAnswered, at: Timestamp) {
        let Some(question) = &mut self.question else { return };
        match (&answered.answer, &answered.decision) {
            (Answer::Approve | Answer::Supply(_), Some(Decision::Deny(_))) => return,
            (Answer::Approve | Answer::Supply(_), Some(Decision::Confirm(_, terms)))
                if terms.stricter_than(&question.terms) =>
            {
                // The answer does not count, and others must say more.
                question.stated.clear();
                question.terms = terms.clone();
                self.terms = terms.clone();
                if !question.is_doubt {
                    question.deadline = terms.expires_in_ms.map(|ms| at.plus_ms(ms));
                }
                return;
            }
            (Answer::ApproveEdited(arguments), decision) => {
                if self.digest != Some(arguments.digest()) {
                    question.stated.clear();
                }
                self.digest = Some(arguments.digest());
                match decision {
                    Some(Decision::Allow(_)) => {
                        self.permitted.insert(arguments.digest());
                        self.is_approved = true;
                        self.question = None;
                        return;
                    }
                    // Others must look at it: a new question.
                    Some(other @ Decision::Confirm(_, terms)) if question.asks_others(terms) => {
                        return self.decided(other, at);
                    }
                    Some(Decision::Confirm(_, terms)) => {
                        question.terms.quorum = terms.quorum;
                        self.terms.quorum = terms.quorum;
                        let sooner = terms.expires_in_ms.map(|ms| at.plus_ms(ms));
                        question.deadline = question.deadline.into_iter().chain(sooner).min();
                    }
                    Some(Decision::Deny(_)) | None => {}
                }
                return self.stated(&answered.actor, &Stated::Approve);
            }
            _ => {}
        }
        if let Some(stated) = Stated::of(&answered.answer) {
            self.stated(&answered.actor, &stated);
        }
    }
}

impl OpenQuestion {
    /// Different people, each with a right role, as many as needed.
    fn has_quorum(&self, stated: &Stated) -> bool {
        let may = |actor: &Actor| self.terms.approvers.is_empty() || !self.terms.approvers.is_disjoint(&actor.roles);
        let alike = self.stated.iter().filter(|(actor, said)| may(actor) && said.same_as(stated));
        let different: BTreeSet<_> = alike.map(|(actor, _)| actor.id.clone()).collect();
        different.len() >= self.terms.quorum.max(1) as usize
    }

    fn asks_others(&self, terms: &Terms) -> bool {
        self.terms.approvers != terms.approvers || self.terms.four_eyes != terms.four_eyes
    }

    /// Whether somebody may answer, in a run that somebody started.
    pub(crate) fn is_for(&self, actor: &Actor, requester: &Actor) -> bool {
        let needed = &self.terms.approvers;
        let has_role = needed.is_empty() || actor.roles.iter().any(|role| needed.contains(role));
        let barred = match self.terms.four_eyes {
            FourEyes::Off => false,
            FourEyes::On => actor.id.is_none() || actor.id == requester.id,
        };
        has_role && !barred
    }
}
