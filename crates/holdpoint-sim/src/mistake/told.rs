//! What the machine is told instead of what happened.

use std::sync::Arc;

use holdpoint_core::{
    Answer, Answered, Authorized, Call, CallIndex, CallLease, CallState, Decision, Fence, Grant, Input, Repeat, Run,
    Settings, Siblings, Source, Target, TaskLate, TaskReturned, TasksReturned, Terms, Timestamp,
};

use super::Mistake;
use crate::driver::settlement;
use crate::tools;

/// An input, and when it is said to have come.
pub(crate) struct Told {
    pub(crate) input: Input,
    pub(crate) now: Timestamp,
}

/// Changes an input as a mistake does.
pub(crate) fn told(mistake: Mistake, run: &Run, mut input: Input, now: Timestamp) -> Told {
    let mut at = now;
    match (mistake, &mut input) {
        (Mistake::IgnoresHold, Input::Started(started)) => {
            started.settings = Arc::new(Settings { siblings: Siblings::Run, ..(*started.settings).clone() });
        }
        (Mistake::TurnTooMany, Input::Started(started)) => {
            let max_turns = started.settings.max_turns + 1;
            started.settings = Arc::new(Settings { max_turns, ..(*started.settings).clone() });
        }
        (Mistake::RepeatsNever, Input::Replied(replied)) => {
            let calls = replied.reply.iter_mut().flat_map(|reply| &mut reply.calls);
            calls.filter_map(|call| call.tool.as_mut()).for_each(|tool| tool.repeat = Repeat::Safe);
        }
        (Mistake::RunsWhileAsked, Input::Authorized(authorized)) => allow_confirmed(authorized),
        (Mistake::GrantOutlivesTool, Input::Authorized(authorized)) => renew_grants(run, authorized),
        (Mistake::AcceptsOldAttempt, Input::Returned(returned)) => {
            if let Some(CallState::Running { attempt, .. }) = run.call(returned.call).map(|call| &call.state) {
                returned.attempt = returned.attempt.map(|_| *attempt);
            }
        }
        (Mistake::AcceptsOldAttempt, Input::TaskLate(late)) => input = returned_by_next_worker(late),
        (Mistake::AnswersAnyQuestion, Input::Answered(answered)) => name_open_questions(run, answered),
        (Mistake::EditKeepsApprovals, Input::Answered(answered)) => allow_edits(run, answered),
        (Mistake::AnyoneAnswers, Input::Answered(answered)) => answer_as_approver(run, answered),
        (Mistake::AnswersTooLate, Input::Answered(_)) => {
            let first = run.calls().iter().filter_map(|call| call.question()?.deadline).min();
            at = first.map_or(now, |deadline| now.min(Timestamp(deadline.0 - 1)));
        }
        (Mistake::ContinuationTwice, Input::Answered(answered)) => name_current(run, &mut answered.target),
        (Mistake::ContinuationTwice, Input::Delivered(delivered)) => name_current(run, &mut delivered.target),
        _ => {}
    }
    Told { input, now: at }
}

/// The result of a worker that lost its task, as if the worker that leased it next had brought it.
fn returned_by_next_worker(late: &TaskLate) -> Input {
    let (attempt, worker) = (late.attempt.next(), Arc::clone(&late.worker));
    let (fence, since) = (Fence(0), Timestamp(1));
    let lease = CallLease { turn: late.turn, call: late.call, attempt, fence, worker, since };
    let settlement = settlement((*late.result).clone(), Source::External);
    Input::TasksReturned(Box::new(TasksReturned { tasks: vec![TaskReturned { lease, settlement }] }))
}

fn allow_confirmed(authorized: &mut Authorized) {
    for (_, decision) in &mut authorized.decisions {
        if let Decision::Confirm(ground, _) = decision {
            *decision = Decision::Allow(ground.clone());
        }
    }
}

/// Grants, as if each were given for the tool as it is now.
fn renew_grants(run: &Run, authorized: &mut Authorized) {
    for grant in &mut authorized.grants {
        let called = run.calls().iter().filter_map(|call| call.tool.as_ref()).find(|facts| facts.name == grant.tool);
        if let Some(facts) = called {
            *grant = Arc::new(Grant { definition: facts.definition.clone(), ..(**grant).clone() });
        }
    }
}

/// Answers, as if each named the question that is open now.
fn name_open_questions(run: &Run, answered: &mut Answered) {
    for (id, given) in &mut answered.answers {
        let index = run.calls().iter().position(|call| call.id == *id).map(CallIndex::from_usize);
        given.digest = index.and_then(|index| run.question_digest(index)).or(given.digest);
    }
}

/// Edits of what others approved, as if policy let what was edited run.
fn allow_edits(run: &Run, answered: &mut Answered) {
    for (id, given) in &mut answered.answers {
        let question = run.calls().iter().find(|call| call.id == *id).and_then(Call::question);
        let is_approved = question.is_some_and(|question| question.approvals().next().is_some());
        if let (Answer::ApproveEdited(_), Some(Decision::Confirm(ground, _)), true) =
            (&given.answer, &given.decision, is_approved)
        {
            given.decision = Some(Decision::Allow(ground.clone()));
        }
    }
}

/// Answers, as if a person gave them who may answer everything.
fn answer_as_approver(run: &Run, answered: &mut Answered) {
    let open: Vec<&Terms> = run.calls().iter().filter_map(|call| Some(&call.question()?.terms)).collect();
    let mut people = (0..tools::PEOPLE.len()).map(tools::person);
    let approver = people.find(|person| open.iter().all(|terms| terms.admit(person, run.actor())));
    answered.actor = approver.unwrap_or_else(|| answered.actor.clone());
}

fn name_current(run: &Run, target: &mut Target) {
    if let (Target::Continuation(named), Some(current)) = (&mut *target, run.continuation())
        && named.run == current.run
        && named.pause < current.pause
    {
        *named = current;
    }
}
