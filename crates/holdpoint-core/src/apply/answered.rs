//! Records questions to people and their answers.

use std::sync::Arc;

use super::unexecuted;
use crate::texts;
use crate::{
    Actor, Answer, Arguments, Asked, Call, CallAnswered, CallArguments, CallIndex, CallState, Decision, Given, Ground,
    Outcome, Question, QuestionAnswer, QuestionKind, Run, Settlement, Source, Stated, Terms, Timestamp,
};

impl Run {
    pub(super) fn apply_answered(&mut self, answered: &CallAnswered, at: Timestamp) {
        let index = answered.call;
        let question = self.question_digest(index);
        self.change(index, |call| call.answered = question);
        match &answered.answer {
            Answer::ApproveEdited(arguments) => self.apply_edited(answered, arguments, at),
            Answer::Refuse { reason } => {
                let text = match self.call(index).and_then(Call::question).map(Question::kind) {
                    Some(QuestionKind::Input) => texts::declined_text,
                    Some(QuestionKind::Doubt) => texts::given_up_text,
                    Some(QuestionKind::Permission) | None => texts::refused_text,
                };
                self.settle(index, unexecuted(Outcome::Refused, text(reason.as_deref())));
            }
            Answer::Approve => self.apply_stated(answered, Stated::Approve, at),
            Answer::Supply(result) => self.apply_stated(answered, Stated::Supply(Arc::clone(result)), at),
            Answer::Happened(result) => self.apply_stated(answered, Stated::Happened(Arc::clone(result)), at),
        }
    }

    /// One more person says something that as many people as must have to say alike.
    fn apply_stated(&mut self, answered: &CallAnswered, stated: Stated, at: Timestamp) {
        let index = answered.call;
        match &answered.decision {
            Some(Decision::Deny(ground)) => return self.revoke(index, ground),
            Some(Decision::Confirm(ground, terms)) if self.is_stricter(index, terms) => {
                return self.change(index, |call| ask_on_other_terms(call, ground, terms, at));
            }
            Some(Decision::Allow(_) | Decision::Confirm(..)) | None => {}
        }
        self.change(index, |call| {
            count(call, answered, stated.clone(), at);
        });
        let Some(question) = self.call(index).and_then(Call::question).filter(|question| question.has_quorum(&stated))
        else {
            return;
        };
        let asks = question.doubt.as_ref().and_then(|doubt| doubt.asks.clone());
        match (stated, asks) {
            // What people say to a tool that asked goes to the tool.
            (Stated::Approve, Some(asks)) => self.give(index, Given { asks, answer: None }),
            (Stated::Supply(answer), Some(asks)) => self.give(index, Given { asks, answer: Some(answer) }),
            (Stated::Approve, None) => self.change(index, ready),
            (Stated::Supply(result), None) | (Stated::Happened(result), _) => {
                let (outcome, code) = Outcome::of_result(&result);
                self.settle(index, Settlement { outcome, code, source: Some(Source::Person), result, latency_us: 0 });
            }
        }
    }

    fn is_stricter(&self, index: CallIndex, terms: &Terms) -> bool {
        let question = self.call(index).and_then(Call::question);
        question.is_some_and(|question| terms.stricter_than(&question.terms))
    }

    fn give(&mut self, index: CallIndex, given: Given) {
        self.change(index, |call| {
            call.given = Some(Arc::new(given));
            ready(call);
        });
    }

    fn apply_edited(&mut self, answered: &CallAnswered, arguments: &Arguments, at: Timestamp) {
        let index = answered.call;
        self.change(index, |call| {
            let before = call.canonical().map(Arguments::digest);
            call.arguments = CallArguments::Canonical(arguments.clone());
            if let Some(decision) = &answered.decision {
                call.policy = decision.ground().policy.clone();
            }
            // An approval counts for what it was given for, and for nothing else (I4).
            if before != Some(arguments.digest()) {
                renew_question(call);
            }
        });
        match &answered.decision {
            Some(Decision::Deny(ground)) => {
                let text = texts::denied_text(ground.reason.as_deref());
                self.settle(index, unexecuted(Outcome::Denied, text));
            }
            Some(Decision::Allow(_)) => self.change(index, |call| {
                count(call, answered, Stated::Approve, at);
                ready(call);
            }),
            Some(Decision::Confirm(ground, terms)) => self.change(index, |call| {
                let CallState::AwaitingApproval(question) = &mut call.state else { return };
                if terms.asks_the_same(&question.terms) {
                    question.ground = ground.clone();
                    question.terms.quorum = terms.quorum;
                    // The rule for what is shown now may leave less time, and never leaves more.
                    let deadline = terms.expires_in_ms.map(|ms| at.plus_ms(ms));
                    question.deadline = question.deadline.into_iter().chain(deadline).min();
                    call.terms = question.terms.clone();
                    approve(call, answered, at);
                } else {
                    ask_on_other_terms(call, ground, terms, at);
                }
            }),
            None => self.change(index, |call| approve(call, answered, at)),
        }
    }
}

/// Asks people whether a call may run.
pub(super) fn ask(call: &mut Call, ground: &Ground, terms: &Terms, at: Timestamp) {
    call.questions += 1;
    call.approvals.clear();
    call.asked = Asked::Yes;
    call.terms = terms.clone();
    call.state = CallState::AwaitingApproval(Question {
        number: call.questions,
        ground: ground.clone(),
        terms: terms.clone(),
        deadline: terms.expires_in_ms.map(|ms| at.plus_ms(ms)),
        answers: Vec::new(),
        doubt: None,
    });
}

/// The open question shows something else: it is another one, and nobody has answered it.
fn renew_question(call: &mut Call) {
    let CallState::AwaitingApproval(question) = &mut call.state else { return };
    call.questions += 1;
    question.number = call.questions;
    question.answers.clear();
}

/// Asks what is asked already on the terms that policy has by now.
fn ask_on_other_terms(call: &mut Call, ground: &Ground, terms: &Terms, at: Timestamp) {
    renew_question(call);
    call.terms = terms.clone();
    let CallState::AwaitingApproval(question) = &mut call.state else { return };
    question.terms = terms.clone();
    if question.doubt.is_none() {
        question.ground = ground.clone();
        question.deadline = terms.expires_in_ms.map(|ms| at.plus_ms(ms));
    }
}

/// A grant counts as the approval of the person who gave it.
pub(super) fn approve_standing(call: &mut Call, actor: &Actor, at: Timestamp) {
    let said = QuestionAnswer { actor: actor.clone(), stated: Stated::Approve, standing: true, at, reason: None };
    count_one(call, said);
    make_ready(call);
}

/// One more person approves what is shown.
fn approve(call: &mut Call, answered: &CallAnswered, at: Timestamp) {
    count(call, answered, Stated::Approve, at);
    make_ready(call);
}

/// The call may run once enough people approved it.
fn make_ready(call: &mut Call) {
    if call.question().is_some_and(|question| question.has_quorum(&Stated::Approve)) {
        ready(call);
    }
}

fn count(call: &mut Call, answered: &CallAnswered, stated: Stated, at: Timestamp) {
    let (actor, reason) = (answered.actor.clone(), answered.reason.clone());
    count_one(call, QuestionAnswer { actor, stated, standing: false, at, reason });
}

/// One person counts once: what they say now takes the place of what they, or a grant for them, said before.
fn count_one(call: &mut Call, said: QuestionAnswer) {
    let CallState::AwaitingApproval(question) = &mut call.state else { return };
    match question.answers.iter_mut().find(|before| before.actor.id == said.actor.id) {
        Some(before) => *before = said,
        None => question.answers.push(said),
    }
}

fn ready(call: &mut Call) {
    if let CallState::AwaitingApproval(question) = &mut call.state {
        // People who let a call run that was in doubt join those who approved it before.
        let approved = std::mem::take(&mut question.answers).into_iter();
        for QuestionAnswer { actor, .. } in approved.filter(|answer| matches!(answer.stated, Stated::Approve)) {
            if call.approvals.iter().all(|before| before.id != actor.id) {
                call.approvals.push(actor);
            }
        }
    }
    call.asked = Asked::Approved;
    call.state = CallState::Ready;
}
