//! A person answered.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::{Missing, Target};
use crate::{
    Actor, Answer, Asked, Attributes, Call, CallAnswered, CallId, CallIndex, CallState, Code, Decision, Digest,
    DoubtCause, Event, Outcome, PauseReason, Question, Rejection, Run, Source, Timestamp,
};

/// A person's answers.
#[derive(Clone, Debug)]
pub struct Answered {
    /// What is resumed.
    pub target: Target,
    /// Who.
    pub actor: Actor,
    /// Answers by shown call id.
    pub answers: Vec<(CallId, GivenAnswer)>,
    /// What to do about questions that are not mentioned.
    pub missing: Missing,
    /// Context attributes that replace stored ones of the same name.
    pub context: Attributes,
}

/// One answer.
#[derive(Clone, Debug)]
pub struct GivenAnswer {
    /// What they said.
    pub answer: Answer,
    /// What they were shown, if they say so.
    pub digest: Option<Digest>,
    /// What policy says about edited arguments.
    pub decision: Option<Decision>,
}

pub(super) fn decide(run: &Run, answered: Answered, now: Timestamp) -> Result<Vec<Event>, Rejection> {
    let brought = PauseReason::AwaitingToolConfirmation;
    run.expect_target(&answered.target, answered.missing, brought)?;
    let by_id = run.calls_by_id();
    let expired = run.expired(now);
    let mut fresh: HashMap<CallIndex, GivenAnswer> = HashMap::new();
    let mut order = Vec::new();
    let mut mentioned = expired.clone();
    for (id, given) in answered.answers {
        let reject = |code| Rejection::Call { call: id.clone(), code };
        let (index, call) = *by_id.get(&id).ok_or_else(|| reject(Code::UnknownToolCall))?;
        if expired.binary_search(&index).is_ok() {
            continue;
        }
        mentioned.push(index);
        if let Some(before) = fresh.get(&index) {
            if says_the_same(&before.answer, &given.answer) {
                continue;
            }
            return Err(reject(Code::ConflictingDecision));
        }
        match judge(call, &given, &answered.actor).map_err(reject)? {
            Verdict::Known => {}
            Verdict::New => {
                fresh.insert(index, given);
                order.push(index);
            }
        }
    }
    if answered.missing == Missing::Reject {
        mentioned.sort_unstable();
        run.expect_all_answers(&mentioned)?;
    }
    if fresh.is_empty() && expired.is_empty() {
        return Ok(Vec::new());
    }
    let reason = run.pause_reason().unwrap_or(brought);
    let mut events = vec![Event::Resumed { pause: run.pauses, reason }];
    events.extend(run.context_changed(answered.context));
    events.extend(expired.into_iter().map(|call| Event::CallExpired { call }));
    events.extend(order.into_iter().filter_map(|call| {
        let given = fresh.remove(&call)?;
        let GivenAnswer { answer, digest, decision } = given;
        let actor = answered.actor.clone();
        Some(Event::CallAnswered(Box::new(CallAnswered { call, actor, answer, digest, decision, at: now })))
    }));
    Ok(events)
}

enum Verdict {
    /// It was said before and changes nothing.
    Known,
    /// It is accepted.
    New,
}

fn judge(call: &Call, given: &GivenAnswer, actor: &Actor) -> Result<Verdict, Code> {
    match call.question() {
        Some(question) => judge_open(call, question, (given, actor)),
        None => judge_kept(call, given, actor),
    }
}

fn judge_open(call: &Call, question: &Question, (given, actor): (&GivenAnswer, &Actor)) -> Result<Verdict, Code> {
    // What was tried as often as it may be needs its result, whether it took effect or not.
    let exhausted = question.doubt.as_ref().is_some_and(|doubt| doubt.cause == DoubtCause::OutOfAttempts);
    let fits = match (&given.answer, question.doubt.is_some()) {
        (Answer::Approve | Answer::Refuse { .. }, _) => true,
        // Policy must have been asked about what would run instead.
        (Answer::ApproveEdited(_), doubted) => !doubted && given.decision.is_some(),
        // A result in the tool's place is one person's word: it cannot stand in for several.
        (Answer::Supply(_), doubted) => (!doubted || exhausted) && question.terms.quorum <= 1,
        (Answer::Happened(_), doubted) => doubted,
    };
    if !fits {
        return Err(Code::InvalidDecision);
    }
    expect_role(&question.terms.approvers, actor)?;
    let approved_before = question.approvals.iter().any(|before| before.id == actor.id);
    // Whoever repeats an edit was shown the old digest; their arguments are compared instead.
    if approved_before && matches!(&given.answer, Answer::ApproveEdited(edited) if call.canonical() == Some(edited)) {
        return Ok(Verdict::Known);
    }
    expect_digest(call, given)?;
    match (&given.answer, approved_before) {
        (Answer::Approve, true) => Ok(Verdict::Known),
        (Answer::Refuse { .. } | Answer::Supply(_), true) => Err(Code::ConflictingDecision),
        _ => Ok(Verdict::New),
    }
}

fn expect_role(needed: &BTreeSet<Arc<str>>, actor: &Actor) -> Result<(), Code> {
    let may_answer = needed.is_empty() || !needed.is_disjoint(&actor.roles);
    if may_answer { Ok(()) } else { Err(Code::NotAnApprover) }
}

fn judge_kept(call: &Call, given: &GivenAnswer, actor: &Actor) -> Result<Verdict, Code> {
    if call.asked == Asked::No {
        return Err(Code::UnknownToolCall);
    }
    // Whoever may not answer does not learn what was answered either.
    expect_role(&call.approvers, actor)?;
    let same = match (&call.state, call.asked) {
        (CallState::Settled(kept), Asked::Yes) => match (&given.answer, kept.outcome) {
            (_, Outcome::Expired | Outcome::Cancelled) => return Err(Code::UnknownToolCall),
            (Answer::Refuse { .. }, Outcome::Refused) => true,
            (Answer::ApproveEdited(edited), Outcome::Denied) => call.canonical() == Some(edited),
            (Answer::Supply(result) | Answer::Happened(result), _) => {
                kept.source == Some(Source::Person) && kept.result.same_as(result)
            }
            _ => false,
        },
        (_, Asked::No | Asked::Approved | Asked::Yes) => {
            expect_digest_of_approval(call, given)?;
            match &given.answer {
                Answer::Approve => true,
                Answer::ApproveEdited(edited) => call.canonical() == Some(edited),
                Answer::Refuse { .. } | Answer::Supply(_) | Answer::Happened(_) => false,
            }
        }
    };
    if same { Ok(Verdict::Known) } else { Err(Code::ConflictingDecision) }
}

fn expect_digest(call: &Call, given: &GivenAnswer) -> Result<(), Code> {
    match (given.digest, call.canonical()) {
        (Some(shown), Some(arguments)) if shown != arguments.digest() => Err(Code::DigestMismatch),
        _ => Ok(()),
    }
}

/// Whoever repeats an edit was shown the old digest; their arguments are compared instead.
fn expect_digest_of_approval(call: &Call, given: &GivenAnswer) -> Result<(), Code> {
    match given.answer {
        Answer::Approve => expect_digest(call, given),
        _ => Ok(()),
    }
}

fn says_the_same(one: &Answer, other: &Answer) -> bool {
    match (one, other) {
        (Answer::Approve, Answer::Approve) | (Answer::Refuse { .. }, Answer::Refuse { .. }) => true,
        (Answer::ApproveEdited(one), Answer::ApproveEdited(other)) => one == other,
        (Answer::Supply(one), Answer::Supply(other)) | (Answer::Happened(one), Answer::Happened(other)) => {
            one.same_as(other)
        }
        _ => false,
    }
}

impl Run {
    /// `mentioned` is sorted.
    fn expect_all_answers(&self, mentioned: &[CallIndex]) -> Result<(), Rejection> {
        let calls = self.calls.iter().enumerate().map(|(index, call)| (CallIndex::from_usize(index), call));
        let open = calls.filter(|(_, call)| call.question().is_some());
        let missing = open.filter(|(index, _)| mentioned.binary_search(index).is_err());
        let missing: Vec<CallId> = missing.map(|(_, call)| call.id.clone()).collect();
        if missing.is_empty() {
            Ok(())
        } else {
            Err(Rejection::Missing { calls: missing, code: Code::MissingDecision })
        }
    }
}
