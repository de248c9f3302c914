//! What people may say about a small run.

use std::sync::Arc;

use holdpoint_core::{
    Actor, Answer, Answered, Attributes, BatchId, CallIndex, Cancelled, ContinuationId, Decision, Delivered, Digest,
    GivenAnswer, Input, Missing, PauseNumber, Run, RunId, Target, Timestamp, ToolResult, Turn,
};

use crate::support::{actor, arguments, decision, remember};

/// Those who answer. The last one started the run.
pub(super) const PEOPLE: [&str; 3] = ["ana[finance]", "ben[finance]", "zoe"];

/// Past every deadline.
pub(super) const LATE_MS: u64 = 100;

/// What all calls have for arguments.
pub(super) const SHOWN: &str = "0";
/// What people make of them.
pub(super) const EDITED: &str = "9";

/// One move of somebody.
#[derive(Clone, Debug)]
pub(super) enum Move {
    /// A person answers.
    Answer(Said),
    /// Somebody outside brings a result, which nobody waits for.
    Result,
    /// Time passed.
    Timer,
    /// Somebody cancels.
    Cancel,
}

/// An answer, and to what.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) who: &'static str,
    pub(super) to: To,
    pub(super) missing: Missing,
    pub(super) answers: Vec<(Arc<str>, Say, Shown)>,
    pub(super) late: bool,
}

/// What an answer names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum To {
    /// The first pause.
    First,
    /// The pause that is open now.
    Current,
    /// A pause by its number.
    Pause(u32),
    Batch,
    /// The batch of a later turn.
    LaterBatch,
    /// Another run.
    Foreign,
}

/// What is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Say {
    Approve,
    /// And for calls that are yet to come.
    ApproveAlways,
    Refuse,
    Edit(Policy),
    Supply,
    Happened,
}

/// What policy says about what was edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    Allows,
    Denies,
    /// It asks the same people.
    AsksTheSame,
    /// It asks people who are not here.
    AsksOthers,
}

/// What they say that they were shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// They name no question.
    Untold,
    /// The question that is open now.
    Current,
    /// The first question about the call.
    First,
    /// No question that there ever was.
    Wrong,
}

impl Move {
    pub(super) fn at(&self) -> Timestamp {
        let late = match self {
            Move::Answer(said) => said.late,
            Move::Timer => true,
            Move::Result | Move::Cancel => false,
        };
        Timestamp(0).plus_ms(if late { LATE_MS } else { 0 })
    }

    /// The call that it is about, if it names the batch and is about one.
    pub(super) fn by_batch(&self) -> Option<&str> {
        match self {
            Move::Answer(Said { to: To::Batch, answers, late: false, .. }) if answers.len() == 1 => Some(&answers[0].0),
            Move::Answer(_) | Move::Result | Move::Timer | Move::Cancel => None,
        }
    }

    pub(super) fn input(&self, run: &Run, first: &[Option<Digest>]) -> Input {
        let said = match self {
            Move::Answer(said) => said,
            Move::Timer => return Input::Elapsed,
            Move::Cancel => return Input::Cancelled(Cancelled::default()),
            Move::Result => {
                let results = vec![("a".into(), Arc::new(ToolResult::success("x")))];
                let (target, missing) = (Target::Continuation(pause("r", 1)), Missing::Wait);
                return Input::Delivered(Box::new(Delivered {
                    target,
                    results,
                    missing,
                    context: Attributes::new(),
                    request: None,
                }));
            }
        };
        let target = match said.to {
            To::First => Target::Continuation(pause("r", 1)),
            To::Current => Target::Continuation(run.continuation().unwrap_or(pause("r", 1))),
            To::Pause(number) => Target::Continuation(pause("r", number)),
            To::Batch => Target::Batch(BatchId { run: RunId::new("r"), turn: Turn(1) }),
            To::LaterBatch => Target::Batch(BatchId { run: RunId::new("r"), turn: Turn(9) }),
            To::Foreign => Target::Continuation(pause("another", 1)),
        };
        let answers =
            said.answers.iter().map(|(id, say, shown)| (id.as_ref().into(), given(run, first, id, *say, *shown)));
        Input::Answered(Box::new(Answered {
            target,
            actor: person(said.who),
            answers: answers.collect(),
            missing: said.missing,
            context: Attributes::new(),
            request: None,
        }))
    }
}

pub(super) fn person(who: &str) -> Actor {
    actor(who)
}

fn pause(run: &str, number: u32) -> ContinuationId {
    ContinuationId { run: RunId::new(run), pause: PauseNumber(number) }
}

fn given(run: &Run, first: &[Option<Digest>], id: &str, say: Say, shown: Shown) -> GivenAnswer {
    let place = run.calls().iter().position(|call| call.id.as_str() == id);
    let call = place.map(|place| &run.calls()[place]);
    let same = call.map(|call| call.terms.clone()).unwrap_or_default();
    let (answer, policy) = match say {
        Say::Approve | Say::ApproveAlways => (Answer::Approve, None),
        Say::Refuse => (Answer::Refuse { reason: None }, None),
        Say::Supply => (Answer::Supply(Arc::new(ToolResult::success("x"))), None),
        Say::Happened => (Answer::Happened(Arc::new(ToolResult::success("y"))), None),
        Say::Edit(policy) => (Answer::ApproveEdited(arguments(id, EDITED)), Some(policy)),
    };
    let policy = policy.map(|policy| match policy {
        Policy::Allows => Decision::allow(),
        Policy::Denies => Decision::deny("not like this"),
        Policy::AsksTheSame => Decision::Confirm(holdpoint_core::Ground::default(), same),
        Policy::AsksOthers => decision("confirm by=board"),
    });
    let shown = match shown {
        Shown::Untold => None,
        Shown::Current => place.and_then(|place| run.question_digest(CallIndex::from_usize(place))),
        Shown::First => place.and_then(|place| first[place]),
        Shown::Wrong => Some(Digest([9; 32])),
    };
    let remember = (say == Say::ApproveAlways).then(|| remember("any"));
    GivenAnswer { decision: policy, remember, ..GivenAnswer::new(answer, shown) }
}

fn one(who: &'static str, to: To, id: &str, say: Say, shown: Shown) -> Move {
    said(who, to, vec![(id.into(), say, shown)])
}

fn said(who: &'static str, to: To, answers: Vec<(Arc<str>, Say, Shown)>) -> Move {
    Move::Answer(Said { who, to, missing: Missing::Wait, answers, late: false })
}

fn late(next: Move) -> Move {
    match next {
        Move::Answer(said) => Move::Answer(Said { late: true, ..said }),
        other => other,
    }
}

fn whole(next: Move) -> Move {
    match next {
        Move::Answer(said) => Move::Answer(Said { missing: Missing::Reject, ..said }),
        other => other,
    }
}

/// Everything that three people could say about a run, and what happens without them.
pub(super) fn moves(run: &Run) -> Vec<Move> {
    let ids: Vec<&str> = run.calls().iter().map(|call| call.id.as_str()).collect();
    let asked = run.calls().iter().filter(|call| call.question().is_some());
    let asked: Vec<&str> = asked.map(|call| call.id.as_str()).collect();
    let mut all = vec![Move::Timer, Move::Cancel, Move::Result];
    for who in PEOPLE {
        for id in &asked {
            all.extend(about(who, id));
        }
        for id in ids.iter().filter(|id| !asked.contains(id)).chain(&["ghost"]) {
            all.push(one(who, To::Batch, id, Say::Approve, Shown::Untold));
        }
        let everything = |say| asked.iter().map(|id| (Arc::from(*id), say, Shown::Current)).collect::<Vec<_>>();
        all.push(whole(said(who, To::First, everything(Say::Approve))));
        all.push(whole(said(who, To::Current, everything(Say::Approve))));
        all.push(said(who, To::Current, everything(Say::Refuse)));
    }
    let first = asked[0];
    for to in [To::Foreign, To::LaterBatch, To::Pause(0), To::Pause(2), To::Pause(9)] {
        all.push(one(PEOPLE[0], to, first, Say::Approve, Shown::First));
    }
    for policy in [Policy::Allows, Policy::Denies, Policy::AsksOthers] {
        all.push(one(PEOPLE[0], To::Batch, first, Say::Edit(policy), Shown::Current));
    }
    let twice = |one, other| vec![(first.into(), one, Shown::Current), (first.into(), other, Shown::Current)];
    all.push(said(PEOPLE[1], To::Batch, twice(Say::Approve, Say::Refuse)));
    all.push(said(PEOPLE[1], To::Batch, twice(Say::Refuse, Say::Refuse)));
    all.push(one(PEOPLE[0], To::Batch, first, Say::Approve, Shown::Current));
    all.push(one(PEOPLE[0], To::Batch, first, Say::Refuse, Shown::Wrong));
    all.push(one(PEOPLE[0], To::Batch, first, Say::Happened, Shown::Untold));
    if let Some(second) = asked.get(1) {
        let mixed = vec![(first.into(), Say::Approve, Shown::First), ((*second).into(), Say::Refuse, Shown::Untold)];
        all.push(said(PEOPLE[0], To::Batch, mixed.clone()));
        all.push(late(said(PEOPLE[1], To::First, mixed)));
    }
    all
}

/// What one person could say about one question.
fn about(who: &'static str, id: &str) -> Vec<Move> {
    let by_batch = |say, shown| one(who, To::Batch, id, say, shown);
    vec![
        by_batch(Say::Approve, Shown::First),
        by_batch(Say::Approve, Shown::Wrong),
        by_batch(Say::ApproveAlways, Shown::Current),
        by_batch(Say::Refuse, Shown::Untold),
        by_batch(Say::Edit(Policy::AsksTheSame), Shown::Current),
        by_batch(Say::Supply, Shown::Current),
        one(who, To::First, id, Say::Approve, Shown::First),
        one(who, To::First, id, Say::Approve, Shown::Untold),
        whole(one(who, To::First, id, Say::Refuse, Shown::Untold)),
        late(by_batch(Say::Approve, Shown::First)),
        late(one(who, To::First, id, Say::Refuse, Shown::Untold)),
    ]
}

/// Few enough for every three of them.
pub(super) fn sharp_moves(run: &Run) -> Vec<Move> {
    let id = run.calls()[0].id.as_str();
    let mut all = vec![Move::Timer, Move::Cancel];
    for who in PEOPLE {
        all.push(one(who, To::Batch, id, Say::Approve, Shown::First));
        all.push(one(who, To::Current, id, Say::Refuse, Shown::Untold));
        all.push(one(who, To::Batch, id, Say::Edit(Policy::AsksTheSame), Shown::Current));
        all.push(late(one(who, To::First, id, Say::Approve, Shown::First)));
    }
    all.push(one(PEOPLE[0], To::Batch, id, Say::Approve, Shown::Current));
    all.push(one(PEOPLE[1], To::Batch, id, Say::Supply, Shown::Current));
    all
}
