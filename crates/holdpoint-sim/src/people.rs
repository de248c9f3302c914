//! People who answer and workers who deliver: in time or late, rightly or wrongly, some of it or all of it.

use std::sync::Arc;

use holdpoint_core::{
    Actor, Answer, Answered, BatchId, Call, CallId, CallIndex, CallState, ContinuationId, Delivered, Digest,
    GivenAnswer, Input, Missing, PauseNumber, Run, RunId, Target, ToolResult, Turn,
};

use crate::checks::Seen;
use crate::disk::Slot;
use crate::script;
use crate::storage::Place;
use crate::tools;
use crate::world::World;

impl World {
    /// What somebody says who looks at a run now.
    pub(crate) fn anyones_answers(&mut self, run: &Run) -> Input {
        let actor = tools::person(self.random.below(6));
        let mut answers = Vec::new();
        for (index, call) in run.calls().iter().enumerate() {
            let chance = if call.question().is_some() { 80 } else { 4 };
            if self.random.percent(chance) {
                let shown = run.question_digest(CallIndex::from_usize(index));
                let given = self.given(call, shown);
                if self.random.percent(4) {
                    let again = if self.random.percent(50) { given.clone() } else { self.given(call, shown) };
                    answers.push((call.id.clone(), again));
                }
                answers.push((call.id.clone(), given));
            }
        }
        if self.random.percent(3) {
            let given = GivenAnswer::new(Answer::Approve, None);
            answers.push((CallId::new("nobody_asked"), given));
        }
        let (target, missing) = self.target(run);
        let context = script::context(&mut self.random);
        Input::Answered(Box::new(Answered { target, actor, answers, missing, context, request: None }))
    }

    fn given(&mut self, call: &Call, shown: Option<Digest>) -> GivenAnswer {
        let is_doubt = call.is_uncertain();
        let weights = if is_doubt { [45, 2, 15, 2, 36] } else { [52, 20, 14, 12, 2] };
        let mut decision = None;
        let answer = match self.random.weighted(&weights) {
            0 => {
                // Policy is asked once more when an answer arrives, unless it is not to be.
                let terms = call.question().map(|question| question.terms.clone()).unwrap_or_default();
                decision = self.random.percent(80).then(|| tools::decide_answered(&mut self.random, &terms));
                Answer::Approve
            }
            1 => {
                let tool = call.tool.as_ref().map_or(call.name.as_str(), |facts| facts.name.as_str());
                let serial = self.next_serial();
                let terms = call.question().map(|question| question.terms.clone()).unwrap_or_default();
                if call.tool.is_some() {
                    self.checks.see(&Seen::PolicyAsked { name: tool }, &self.disk);
                }
                decision = Some(tools::decide_edited(&mut self.random, &terms));
                Answer::ApproveEdited(tools::arguments(tool, serial))
            }
            2 => Answer::Refuse { reason: self.random.percent(50).then(|| "no".into()) },
            3 => Answer::Supply(self.any_result()),
            _ => Answer::Happened(self.any_result()),
        };
        let digest = match self.random.weighted(&[88, 6, 6]) {
            0 => shown,
            1 => None,
            _ => Some(Digest([7; 32])),
        };
        let approves = matches!(answer, Answer::Approve | Answer::ApproveEdited(_)) && !is_doubt;
        let is_remembered = self.random.percent(match (approves, self.is_routine) {
            (true, true) => 85,
            (true, false) => 40,
            (false, _) => 3,
        });
        let remember = is_remembered.then(|| tools::remember(&mut self.random, self.now));
        GivenAnswer { decision, remember, ..GivenAnswer::new(answer, digest) }
    }

    fn any_result(&mut self) -> Arc<ToolResult> {
        let serial = self.next_serial();
        Arc::new(tools::result(&mut self.random, serial))
    }

    fn target(&mut self, run: &Run) -> (Target, Missing) {
        let missing = if self.random.percent(65) { Missing::Wait } else { Missing::Reject };
        let id = run.id().clone();
        let current = run.continuation().map_or(1, |id| id.pause.0);
        let pause = |number: u32| Target::Continuation(ContinuationId { run: id.clone(), pause: PauseNumber(number) });
        let target = match self.random.weighted(&[60, 25, 6, 3, 3, 3]) {
            0 => pause(current),
            1 => return (Target::Batch(run.batch()), if self.random.percent(92) { Missing::Wait } else { missing }),
            2 => pause(current.saturating_sub(1)),
            3 => pause(current + 1),
            4 => Target::Batch(BatchId { run: id.clone(), turn: Turn(run.turn().0.saturating_sub(1)) }),
            _ => Target::Continuation(ContinuationId { run: RunId::new("another"), pause: PauseNumber(current) }),
        };
        (target, missing)
    }

    /// What a worker brings who looks at a run now.
    pub(crate) fn anyones_results(&mut self, slot: Slot, run: &Run) -> Input {
        let mut results = Vec::new();
        for (index, call) in run.calls().iter().enumerate() {
            let is_awaited = matches!(call.state, CallState::Deferred { .. });
            let chance = if is_awaited {
                75
            } else if call.deferred {
                15
            } else {
                2
            };
            if self.random.percent(chance) {
                let result = self.worked(Place { slot, turn: run.turn(), call: CallIndex::from_usize(index) });
                results.push((call.id.clone(), result));
            }
        }
        if self.random.percent(3) {
            results.push((CallId::new("nobody_asked"), self.any_result()));
        }
        let (target, missing) = self.target(run);
        let context = script::context(&mut self.random);
        Input::Delivered(Box::new(Delivered { target, results, missing, context, request: None }))
    }

    /// A worker that is asked again mostly brings the same.
    fn worked(&mut self, place: Place) -> Arc<ToolResult> {
        if self.random.percent(8) {
            return self.any_result();
        }
        if let Some(known) = self.worked.get(&place) {
            return Arc::clone(known);
        }
        let result = self.any_result();
        self.worked.insert(place, Arc::clone(&result));
        result
    }

    /// Answers of somebody who may give them, on what is there now.
    pub(crate) fn proper_answers(&mut self, run: &Run) -> Option<Input> {
        let first = self.random.below(6);
        for place in first..first + 6 {
            let actor = tools::person(place);
            let open = run.calls().iter().enumerate().filter(|(_, call)| may_answer(call, &actor, run.actor()));
            let answers: Vec<_> = open
                .map(|(index, call)| {
                    let digest = run.question_digest(CallIndex::from_usize(index));
                    (call.id.clone(), GivenAnswer::new(Answer::Approve, digest))
                })
                .collect();
            if !answers.is_empty() {
                let target = Target::Continuation(run.continuation()?);
                let context = holdpoint_core::Attributes::new();
                let answered = Answered { target, actor, answers, missing: Missing::Wait, context, request: None };
                return Some(Input::Answered(Box::new(answered)));
            }
        }
        None
    }

    /// Every result that is awaited.
    pub(crate) fn proper_results(&mut self, slot: Slot, run: &Run) -> Option<Input> {
        let mut results = Vec::new();
        for (index, call) in run.calls().iter().enumerate() {
            if matches!(call.state, CallState::Deferred { .. }) {
                results.push((
                    call.id.clone(),
                    self.worked(Place { slot, turn: run.turn(), call: CallIndex::from_usize(index) }),
                ));
            }
        }
        let target = Target::Continuation(run.continuation()?);
        let context = holdpoint_core::Attributes::new();
        Some(Input::Delivered(Box::new(Delivered {
            target,
            results,
            missing: Missing::Reject,
            context,
            request: None,
        })))
    }
}

fn may_answer(call: &Call, actor: &Actor, requester: &Actor) -> bool {
    let Some(question) = call.question() else { return false };
    question.terms.admit(actor, requester) && !question.approvals().any(|before| before.id == actor.id)
}
