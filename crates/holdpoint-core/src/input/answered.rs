//! A person answered.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Missing, Target};
use crate::{
    Actor, Answer, Asked, Attributes, Call, CallAnswered, CallId, CallIndex, CallState, Code, Covers, Decision, Digest,
    DoubtCause, Event, Grant, GrantId, Limits, Outcome, PauseReason, Question, QuestionKind, Rejection, Remember, Run,
    Source, Stated, Terms, Timestamp,
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
    /// Names the request that brought them, so that the same request is recognised when it is sent again.
    pub request: Option<Arc<str>>,
}

/// One answer.
#[derive(Clone, Debug)]
pub struct GivenAnswer {
    /// What they said.
    pub answer: Answer,
    /// The digest of the question that they were shown.
    pub digest: Option<Digest>,
    /// What policy says now about the call as it would run. Required for edited arguments.
    pub decision: Option<Decision>,
    /// What they want to be taken as said for calls that are yet to come.
    pub remember: Option<Remember>,
    /// Why, if they say so. That of a refusal is in the answer: the model is told.
    pub reason: Option<Arc<str>>,
}

impl GivenAnswer {
    /// An answer about what was shown, and no more.
    pub fn new(answer: Answer, digest: Option<Digest>) -> Self {
        Self { answer, digest, decision: None, remember: None, reason: None }
    }
}

pub(super) fn decide(run: &Run, answered: Answered, now: Timestamp) -> Result<Vec<Event>, Rejection> {
    let brought = PauseReason::AwaitingToolConfirmation;
    run.expect_target(&answered.target, answered.missing, brought)?;
    let by_id = run.calls_by_id();
    let expired = run.expired(now);
    let mut fresh: Vec<(Asking<'_>, GivenAnswer)> = Vec::new();
    let mut places: HashMap<CallIndex, usize> = HashMap::new();
    let mut mentioned = expired.clone();
    for (id, given) in answered.answers {
        let reject = |code| Rejection::Call { call: id.clone(), code };
        let (index, call) = *by_id.get(&id).ok_or_else(|| reject(Code::UnknownToolCall))?;
        if expired.binary_search(&index).is_ok() {
            continue;
        }
        mentioned.push(index);
        let asking = Asking { run, index, call, actor: &answered.actor, now };
        let verdict = asking.judge(&given).map_err(reject)?;
        match (places.get(&index).map(|place| &fresh[*place].1), verdict) {
            (Some(before), _) if says_the_same(&before.answer, &given.answer) => {}
            (Some(_), _) => return Err(reject(Code::ConflictingDecision)),
            (None, Verdict::Known) => {}
            (None, Verdict::New) => {
                places.insert(index, fresh.len());
                fresh.push((asking, given));
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
    let mut events = vec![Event::Resumed { pause: run.pauses, reason, request: answered.request }];
    events.extend(run.context_changed(answered.context));
    events.extend(expired.into_iter().map(|call| Event::CallExpired { call }));
    let mut grants = run.grants;
    for (asking, given) in fresh {
        let (call, next) = (asking.index, grants.saturating_add(1));
        let grant = asking.granted(&given, next);
        let GivenAnswer { answer, digest, decision, reason, .. } = given;
        let actor = answered.actor.clone();
        events.push(Event::CallAnswered(Box::new(CallAnswered { call, actor, answer, digest, decision, reason })));
        if let Some(grant) = grant {
            grants = next;
            events.push(Event::GrantGiven { call, grant });
        }
    }
    Ok(events)
}

enum Verdict {
    /// It was said before and changes nothing.
    Known,
    /// It is accepted.
    New,
}

/// One call, the person who answers about it, and when.
struct Asking<'a> {
    run: &'a Run,
    index: CallIndex,
    call: &'a Call,
    actor: &'a Actor,
    now: Timestamp,
}

impl Asking<'_> {
    fn judge(&self, given: &GivenAnswer) -> Result<Verdict, Code> {
        match self.call.question() {
            Some(question) => self.judge_open(question, given),
            None => self.judge_kept(given),
        }
    }

    fn judge_open(&self, question: &Question, given: &GivenAnswer) -> Result<Verdict, Code> {
        if !fits(question, given) || !self.may_remember(question, given) {
            return Err(Code::InvalidDecision);
        }
        self.expect_admitted(&question.terms)?;
        let before = question.answer_of(self.actor);
        // The same edit again names the question that it changed; its arguments are compared instead.
        if let (Answer::ApproveEdited(edited), Some(_)) = (&given.answer, before)
            && self.call.canonical() == Some(edited)
        {
            return Ok(Verdict::Known);
        }
        self.expect_digest(question, given)?;
        let Some(before) = before else {
            let full = question.answers.len() >= Limits::QUESTION_ANSWERS_MAX;
            return if full { Err(Code::InvalidDecision) } else { Ok(Verdict::New) };
        };
        match Stated::of(&given.answer) {
            Some(stated) if stated.same_as(&before.stated) => Ok(Verdict::Known),
            // A grant is about many calls: it does not keep the person who gave it from saying something else about this one.
            Some(_) if before.standing => Ok(Verdict::New),
            // People who know different things about what happened must be able to agree.
            Some(_) if question.doubt.is_some() => Ok(Verdict::New),
            Some(_) => Err(Code::ConflictingDecision),
            None => match &given.answer {
                // An edit makes another question, which everybody may answer.
                Answer::ApproveEdited(_) => Ok(Verdict::New),
                Answer::Refuse { .. } if before.standing => Ok(Verdict::New),
                Answer::Refuse { .. } | Answer::Approve | Answer::Supply(_) | Answer::Happened(_) => {
                    Err(Code::ConflictingDecision)
                }
            },
        }
    }

    /// An answer counts for the question whose digest it names. Only the refusal of a permission needs no digest: whatever
    /// was shown, the call does not run.
    fn expect_digest(&self, question: &Question, given: &GivenAnswer) -> Result<(), Code> {
        let refuses = matches!(given.answer, Answer::Refuse { .. }) && question.kind() == QuestionKind::Permission;
        match given.digest {
            None if refuses => Ok(()),
            Some(named) if self.run.digest_of_question(self.index, self.call) == Some(named) => Ok(()),
            Some(_) | None => Err(Code::DigestMismatch),
        }
    }

    /// Only an approval says something about calls that are yet to come, and only where that could ever be used.
    fn may_remember(&self, question: &Question, given: &GivenAnswer) -> bool {
        let Some(remember) = &given.remember else { return true };
        let approves = matches!(given.answer, Answer::Approve | Answer::ApproveEdited(_));
        approves && question.doubt.is_none() && remember.is_usable(self.run, self.now)
    }

    fn expect_admitted(&self, terms: &Terms) -> Result<(), Code> {
        if terms.admit(self.actor, &self.run.actor) { Ok(()) } else { Err(Code::NotAnApprover) }
    }

    fn judge_kept(&self, given: &GivenAnswer) -> Result<Verdict, Code> {
        let call = self.call;
        if call.asked == Asked::No {
            return Err(Code::UnknownToolCall);
        }
        // A person who may not answer does not learn what was answered either.
        self.expect_admitted(&call.terms)?;
        let same = match (&call.state, call.asked) {
            (CallState::Settled(kept), Asked::Yes) => match (&given.answer, kept.outcome) {
                (_, Outcome::Expired | Outcome::Cancelled) => return Err(Code::UnknownToolCall),
                (Answer::Refuse { .. }, outcome) => outcome == Outcome::Refused,
                (Answer::ApproveEdited(edited), outcome) => {
                    outcome == Outcome::Denied && call.canonical() == Some(edited)
                }
                (Answer::Supply(result) | Answer::Happened(result), _) => {
                    kept.source == Some(Source::Person) && kept.result.same_as(result)
                }
                (Answer::Approve, _) => kept.code == Some(Code::PolicyRevoked),
            },
            (_, Asked::No | Asked::Approved | Asked::Yes) => match (&given.answer, &call.given) {
                (Answer::Approve, None) => true,
                (Answer::Approve, Some(given)) => given.is(None),
                (Answer::Supply(answer), given) => given.as_ref().is_some_and(|given| given.is(Some(answer))),
                (Answer::ApproveEdited(edited), _) => call.canonical() == Some(edited),
                (Answer::Refuse { .. } | Answer::Happened(_), _) => false,
            },
        };
        if !same {
            return Err(Code::ConflictingDecision);
        }
        // It changes nothing; still, nobody is told that an answer to another question was accepted.
        match given.digest {
            Some(named) if call.answered.is_some_and(|answered| answered != named) => Err(Code::DigestMismatch),
            Some(_) | None => Ok(Verdict::Known),
        }
    }

    /// The grant that an approval gives. Nothing if the approval does not count.
    fn granted(&self, given: &GivenAnswer, number: u32) -> Option<Arc<Grant>> {
        let (run, call) = (self.run, self.call);
        let remember = given.remember.as_ref()?;
        let (arguments, counts) = match (&given.answer, &given.decision) {
            (Answer::ApproveEdited(edited), Some(Decision::Allow(_))) => (edited, true),
            (Answer::ApproveEdited(edited), Some(Decision::Confirm(_, terms))) => {
                (edited, terms.asks_the_same(&call.terms))
            }
            (Answer::Approve, Some(Decision::Confirm(_, terms))) => {
                (call.canonical()?, !terms.stricter_than(&call.question()?.terms))
            }
            (Answer::Approve, Some(Decision::Allow(_)) | None) => (call.canonical()?, true),
            (Answer::ApproveEdited(_), Some(Decision::Deny(_)) | None) => return None,
            (Answer::Approve, Some(Decision::Deny(_))) => return None,
            (Answer::Refuse { .. } | Answer::Supply(_) | Answer::Happened(_), _) => return None,
        };
        let tool = call.tool.as_ref().filter(|_| counts)?;
        Some(Arc::new(Grant {
            id: GrantId::of(&run.id, number),
            agent: run.agent.clone(),
            tool: tool.name.clone(),
            definition: tool.definition.clone(),
            digest: match remember.covers {
                Covers::TheseArguments => Some(arguments.digest()),
                Covers::AnyArguments => None,
            },
            scope: remember.scope(run),
            until: remember.until,
            actor: self.actor.clone(),
            tenant: run.actor.tenant.clone(),
            at: self.now,
        }))
    }
}

/// Whether this can be said to such a question.
fn fits(question: &Question, given: &GivenAnswer) -> bool {
    let exhausted = question.doubt.as_ref().is_some_and(|doubt| doubt.cause == DoubtCause::OutOfAttempts);
    match (&given.answer, question.kind()) {
        (Answer::Approve | Answer::Refuse { .. }, _) => true,
        // Policy must have been asked about what would run instead.
        (Answer::ApproveEdited(_), QuestionKind::Permission) => given.decision.is_some(),
        (Answer::ApproveEdited(_), QuestionKind::Doubt | QuestionKind::Input) => false,
        // A result in the tool's place is one person's word: it cannot stand in for several.
        (Answer::Supply(_), QuestionKind::Permission) => question.terms.quorum <= 1,
        // What was tried as often as it may be needs its result, whether it took effect or not.
        (Answer::Supply(_), QuestionKind::Doubt) => exhausted,
        (Answer::Supply(_), QuestionKind::Input) => true,
        (Answer::Happened(_), QuestionKind::Permission) => false,
        (Answer::Happened(_), QuestionKind::Doubt | QuestionKind::Input) => true,
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
