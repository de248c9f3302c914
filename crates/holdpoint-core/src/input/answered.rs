//! A person answered.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Missing, Target};
use crate::planted::{self, Bug};
use crate::{
    Actor, Answer, Asked, Attributes, Call, CallAnswered, CallId, CallIndex, CallState, Code, Decision, Digest,
    DoubtCause, Event, Grant, Outcome, PauseReason, Question, Rejection, Remember, Run, Source, Terms, Timestamp,
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
        run.expect_seen(call, &given, &answered.target)?;
        let before = Asking { run, call, actor: &answered.actor, now };
        match before.judge(&given).map_err(reject)? {
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
    let mut grants = run.grants;
    for index in order {
        let Some(given) = fresh.remove(&index) else { continue };
        let grant = run.granted(index, (&given, &answered.actor), (grants, now));
        let GivenAnswer { answer, digest, decision, reason, .. } = given;
        let (actor, at) = (answered.actor.clone(), now);
        let said = CallAnswered { call: index, actor, answer, digest, decision, reason, at };
        events.push(Event::CallAnswered(Box::new(said)));
        if let Some(grant) = grant {
            grants = grants.saturating_add(1);
            events.push(Event::GrantGiven { call: index, grant });
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

/// One call, the one who answers about it, and when.
struct Asking<'a> {
    run: &'a Run,
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
        let call = self.call;
        // What was tried as often as it may be needs its result, whether it took effect or not.
        let exhausted = question.doubt.as_ref().is_some_and(|doubt| doubt.cause == DoubtCause::OutOfAttempts);
        let asks = call.asks().is_some();
        let fits = match (&given.answer, question.doubt.is_some()) {
            (Answer::Approve | Answer::Refuse { .. }, _) => true,
            // Policy must have been asked about what would run instead.
            (Answer::ApproveEdited(_), doubted) => !doubted && given.decision.is_some(),
            // A result in the tool's place is one person's word: it cannot stand in for several.
            (Answer::Supply(_), doubted) => (!doubted || exhausted || asks) && question.terms.quorum <= 1,
            (Answer::Happened(_), doubted) => doubted,
        };
        if !fits || !self.may_remember(question, given) {
            return Err(Code::InvalidDecision);
        }
        self.expect_admitted(&question.terms)?;
        let before = question.approvals.iter().position(|before| before.id == self.actor.id);
        let approved_before = before.is_some();
        // A grant is about many calls: it does not keep its giver from saying no to this one.
        let bound = before.is_some_and(|place| place >= question.standing as usize);
        // Whoever repeats an edit was shown the old digest; their arguments are compared instead.
        if approved_before && matches!(&given.answer, Answer::ApproveEdited(edited) if call.canonical() == Some(edited))
        {
            return Ok(Verdict::Known);
        }
        expect_digest(call, given)?;
        match (&given.answer, approved_before) {
            (Answer::Approve, true) => Ok(Verdict::Known),
            (Answer::Refuse { .. } | Answer::Supply(_), true) if bound => Err(Code::ConflictingDecision),
            _ => Ok(Verdict::New),
        }
    }

    /// Only an approval says something about calls that are yet to come, and only where that could ever be used.
    fn may_remember(&self, question: &Question, given: &GivenAnswer) -> bool {
        let Some(remember) = &given.remember else { return true };
        let approves = matches!(given.answer, Answer::Approve | Answer::ApproveEdited(_));
        approves && question.doubt.is_none() && remember.is_usable(self.run, self.now)
    }

    fn expect_admitted(&self, terms: &Terms) -> Result<(), Code> {
        let admitted = terms.admit(self.actor, &self.run.actor) || planted::active(Bug::AnyoneAnswers);
        if admitted { Ok(()) } else { Err(Code::NotAnApprover) }
    }

    fn judge_kept(&self, given: &GivenAnswer) -> Result<Verdict, Code> {
        let call = self.call;
        if call.asked == Asked::No {
            return Err(Code::UnknownToolCall);
        }
        // Whoever may not answer does not learn what was answered either.
        self.expect_admitted(&call.terms)?;
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
                    Answer::Approve if call.given.is_some() => call.given.as_ref().is_some_and(|said| said.is(None)),
                    Answer::Supply(answer) => call.given.as_ref().is_some_and(|said| said.is(Some(answer))),
                    Answer::Approve => true,
                    Answer::ApproveEdited(edited) => call.canonical() == Some(edited),
                    Answer::Refuse { .. } | Answer::Happened(_) => false,
                }
            }
        };
        if same { Ok(Verdict::Known) } else { Err(Code::ConflictingDecision) }
    }
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
    /// A question that was asked again has the digest of the one before it. An approval that names only the batch may
    /// have been meant for that one.
    fn expect_seen(&self, call: &Call, given: &GivenAnswer, target: &Target) -> Result<(), Rejection> {
        let again = call.question().is_some_and(|question| question.again);
        let approves = matches!(given.answer, Answer::Approve | Answer::ApproveEdited(_));
        match target {
            Target::Batch(_) if again && approves => Err(Rejection::StaleContinuation { current: self.continuation() }),
            Target::Batch(_) | Target::Continuation(_) => Ok(()),
        }
    }

    /// What an approval says about calls that are yet to come. Nothing, if it does not count.
    fn granted(
        &self,
        index: CallIndex,
        (given, actor): (&GivenAnswer, &Actor),
        (before, now): (u32, Timestamp),
    ) -> Option<Arc<Grant>> {
        let remember = given.remember.as_ref()?;
        let call = self.call(index)?;
        let (arguments, counts) = match (&given.answer, &given.decision) {
            (Answer::ApproveEdited(edited), Some(Decision::Allow(_))) => (edited, true),
            (Answer::ApproveEdited(edited), Some(Decision::Confirm(_, terms))) => {
                (edited, terms.asks_the_same(&call.terms))
            }
            (Answer::ApproveEdited(_), Some(Decision::Deny(_)) | None) => return None,
            (Answer::Approve, _) => (call.canonical()?, true),
            (Answer::Refuse { .. } | Answer::Supply(_) | Answer::Happened(_), _) => return None,
        };
        let facts = call.tool.as_ref()?;
        counts.then(|| Arc::new(remember.grant(self, (facts, arguments.digest()), (actor, before, now))))
    }

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
