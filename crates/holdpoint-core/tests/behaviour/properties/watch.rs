//! Watches a run: each checker keeps its own books from the events alone, and compares.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use holdpoint_core::{
    Actor, Answer, Arguments, Call, CallAnswered, CallIndex, CallState, Decision, Digest, Effect, Event, FourEyes,
    Grant, GrantId, GrantScope, Input, LogEntry, Message, Outcome, PauseNumber, PauseReason, Phase, QuestionKind,
    Rejection, ResultOrder, Run, Stage, StopReason, Tally, Target, Terms, Timestamp, Turn, Work,
};

use super::inputs::OUTPUT;
use crate::mistakes::Machine;
use crate::support::{fingerprint, new_run};

type Key = (Turn, CallIndex);

/// The books.
#[derive(Clone)]
pub(crate) struct Watch {
    machine: Machine,
    log: Vec<LogEntry>,
    shadow: Run,
    /// What the run was after the last step.
    last: Arc<str>,
    settled: HashMap<Key, (Outcome, String)>,
    allowed: HashMap<Key, Digest>,
    approved: HashSet<(Key, Option<Arc<str>>, Digest)>,
    quorum: HashMap<Key, u32>,
    /// Calls that people approved and whose tool has changed since: policy's word is not enough for these.
    changed: HashSet<Key>,
    given: Vec<Arc<Grant>>,
    revoked: HashSet<GrantId>,
    used: HashSet<PauseNumber>,
    last_resumed: Option<PauseNumber>,
    final_asked: bool,
    /// Every effect that was owed at some time.
    pub(super) owed: HashSet<&'static str>,
    /// Every event and every cause of a doubt that there was.
    pub(super) happened: HashSet<&'static str>,
    /// Whether the books go back to the beginning of the run.
    complete: bool,
}

impl Watch {
    pub(crate) fn new() -> Self {
        Self::of(Run::step)
    }

    /// Watches what a machine makes of a run.
    pub(crate) fn of(machine: Machine) -> Self {
        Self {
            machine,
            log: Vec::new(),
            shadow: new_run("r"),
            last: fingerprint(&new_run("r")).into(),
            settled: HashMap::new(),
            allowed: HashMap::new(),
            approved: HashSet::new(),
            quorum: HashMap::new(),
            changed: HashSet::new(),
            given: Vec::new(),
            revoked: HashSet::new(),
            used: HashSet::new(),
            last_resumed: None,
            final_asked: false,
            owed: HashSet::new(),
            happened: HashSet::new(),
            complete: true,
        }
    }

    /// Watches a run from where it is. What was allowed before is not known, so that is not checked.
    pub(super) fn after(run: &Run) -> Self {
        let last_resumed = run.parent_continuation().map(|id| id.pause);
        Self { shadow: run.clone(), last: fingerprint(run).into(), last_resumed, complete: false, ..Self::new() }
    }

    /// What people said about calls that are yet to come and nobody took back, the newest first.
    pub(super) fn grants(&self) -> Vec<Arc<Grant>> {
        self.given.iter().rev().filter(|grant| !self.revoked.contains(&grant.id)).cloned().collect()
    }

    /// Tells the run something, and looks at what comes of it. Returns how many events there were.
    pub(crate) fn step(&mut self, run: &mut Run, input: Input, now: Timestamp) -> Result<usize, Rejection> {
        let turn = run.turn();
        let current = match &input {
            Input::Returned(returned) => run.call(returned.call).map(|call| (call.attempts, returned.attempt)),
            _ => None,
        };
        let named = match &input {
            Input::Answered(answered) => Some(answered.target.clone()),
            Input::Delivered(delivered) => Some(delivered.target.clone()),
            _ => None,
        };
        let usable = run.continuation();
        let events = match (self.machine)(run, input, now) {
            Ok(events) if !events.is_empty() => events,
            nothing => {
                assert_eq!(*self.last, *fingerprint(run), "what is rejected or leads to nothing changes nothing");
                return nothing.map(|_| 0);
            }
        };
        let count = events.len();
        if let Some((current, Some(returned))) = current {
            assert_eq!(current, returned, "I7");
        }
        if let Some(Target::Continuation(named)) = named {
            assert_eq!(Some(named), usable, "I13");
        }
        let is_end = |entry: &LogEntry| matches!(entry.event, Event::Done { .. });
        let ends = events.iter().filter(|entry| is_end(entry)).count();
        assert!(ends <= 1, "one end per segment");
        assert_eq!(ends == 1, events.last().is_some_and(is_end), "the end comes last");
        for entry in &events {
            assert_eq!(entry.at, now, "every event has the time of its step");
            self.book(&entry.event, now);
            self.shadow.apply(entry);
        }
        self.log.extend(events);
        self.last = fingerprint(run).into();
        assert_eq!(*fingerprint(&self.shadow), *self.last, "I6");
        assert!(turn.0 == 0 || run.turn() == turn || run.turn() == turn.next(), "turns are counted one by one");
        self.check(run);
        Ok(count)
    }

    /// The whole log gives the state, too.
    pub(crate) fn replay(&self, run: &Run) {
        let mut replayed = new_run("r");
        self.log.iter().for_each(|entry| replayed.apply(entry));
        assert_eq!(fingerprint(&replayed), fingerprint(run), "I6");
    }

    /// A paused run is taken elsewhere; nothing else can be.
    pub(super) fn move_to_another_store(&mut self, run: Run, now: Timestamp) -> Run {
        let Some(snapshot) = run.snapshot() else { return run };
        let mut moved = new_run("r");
        self.log.clear();
        self.shadow = moved.clone();
        self.last = fingerprint(&moved).into();
        self.step(&mut moved, Input::Imported(Arc::new(snapshot)), now).unwrap();
        let told = (moved.continuation(), moved.parent_continuation(), moved.tally(), moved.records());
        assert_eq!(told, (run.continuation(), run.parent_continuation(), run.tally(), run.records()));
        moved
    }

    /// Enters one event, seen against the state before it.
    fn book(&mut self, event: &Event, at: Timestamp) {
        self.happened.insert(event.name());
        let turn = self.shadow.turn();
        let digest = |call: CallIndex| self.shadow.call(call).and_then(|call| call.canonical()).map(Arguments::digest);
        match event {
            Event::CallDecided { call, stage: Stage::Policy, decision: Decision::Allow(_), .. } => {
                assert!(!self.changed.contains(&(turn, *call)), "I4: whoever approved is asked again");
                self.allowed.extend(digest(*call).map(|digest| ((turn, *call), digest)));
            }
            Event::CallDecided { call, stage: Stage::Policy, decision: Decision::Confirm(_, terms), .. } => {
                self.quorum.insert((turn, *call), terms.quorum);
                self.changed.remove(&(turn, *call));
            }
            Event::CallDecided { call, stage: Stage::Recheck, decision: Decision::Confirm(_, terms), .. } => {
                self.asked_anew((turn, *call), terms.quorum);
            }
            Event::GrantGiven { grant, .. } => self.given.push(Arc::clone(grant)),
            Event::GrantRevoked { grant, .. } => drop(self.revoked.insert(grant.clone())),
            Event::GrantUsed { call, grant, actor } => {
                self.judge_grant(*call, grant, actor, at);
                self.approved.extend(digest(*call).map(|digest| ((turn, *call), actor.id.clone(), digest)));
            }
            Event::ToolChanged { call, .. } => {
                let key = (turn, *call);
                self.allowed.remove(&key);
                if self.approved.iter().any(|(other, ..)| *other == key) {
                    self.changed.insert(key);
                }
                self.approved.retain(|(other, ..)| *other != key);
            }
            Event::CallDoubted { call, cause, .. } => {
                // What was said before it was started says nothing about starting it again.
                let quorum = self.shadow.call(*call).map_or(1, |call| call.terms.quorum);
                self.asked_anew((turn, *call), quorum);
                self.happened.insert(cause.as_str());
            }
            Event::TaskTaken { call, attempt, .. } => {
                let out = self.shadow.call(*call).map(|call| &call.state);
                assert!(matches!(out, Some(CallState::Deferred { attempt: out, .. }) if attempt >= out), "I7");
            }
            Event::ToolEnded { call, .. } => {
                let asked = self.shadow.call(*call).is_some_and(|call| call.question().is_some());
                assert!(!asked, "I7: what is asked about is settled by an answer only");
            }
            Event::EvidenceGiven { call, .. } => {
                assert!(self.shadow.call(*call).is_some_and(Call::is_uncertain), "evidence is for a doubt");
            }
            Event::CallRequeued { call } => {
                let facts = self.shadow.call(*call).and_then(|call| call.tool.as_ref());
                assert!(facts.is_some_and(|facts| facts.repeat.may_repeat()), "what may not be repeated is not");
            }
            Event::CallAnswered(answered) => self.book_answer(answered, (turn, answered.call)),
            Event::ToolStarted { call, .. } | Event::CallDeferred { call, .. } if self.complete => {
                let key = (turn, *call);
                let digest = digest(*call).expect("only calls with arguments run");
                let approvals = self.approved.iter().filter(|(other, _, what)| *other == key && *what == digest);
                let enough = self.quorum.get(&key).is_some_and(|quorum| approvals.count() >= *quorum as usize);
                assert!(self.allowed.get(&key) == Some(&digest) || enough, "I4");
                assert!(self.shadow.call(*call).is_some_and(|call| matches!(call.state, CallState::Ready)), "I4");
            }
            Event::Resumed { pause, .. } => {
                assert!(self.used.insert(*pause), "I13: a continuation works once");
                self.last_resumed = Some(*pause);
            }
            Event::FinalAnswerAsked => {
                assert!(!std::mem::replace(&mut self.final_asked, true), "once per run");
            }
            _ => {}
        }
    }

    /// A grant counts only for what its giver said, and only where they could answer.
    fn judge_grant(&self, index: CallIndex, id: &GrantId, actor: &Actor, at: Timestamp) {
        let grant = self.given.iter().find(|grant| grant.id == *id).expect("I4: it was given");
        assert!(!self.revoked.contains(id), "I4: it was taken back");
        assert!(grant.until.is_none_or(|until| at < until), "I4: it is over");
        assert_eq!(grant.actor, *actor, "I4: its giver approves and nobody else");
        let call = self.shadow.call(index).unwrap();
        let facts = call.tool.as_ref().unwrap();
        assert_eq!((&grant.tool, &grant.definition), (&facts.name, &facts.definition), "I4: it is about another tool");
        let digest = call.canonical().map(Arguments::digest);
        assert!(grant.digest.is_none() || grant.digest == digest, "I4: it is about other arguments");
        match &grant.scope {
            GrantScope::Run(run) => assert_eq!(run, self.shadow.id(), "I4"),
            GrantScope::Session(session) => assert_eq!(Some(session), self.shadow.session(), "I4"),
            GrantScope::Tenant => assert_eq!(grant.tenant, self.shadow.actor().tenant, "I4"),
        }
        let question = call.question().expect("I4: a grant answers a question and nothing else");
        assert!(question.doubt.is_none(), "I4: a grant answers no doubt");
        assert!(may_answer(&question.terms, actor, self.shadow.actor()), "I4: its giver may not answer");
    }

    /// Whatever was said so far about a call was said to another question.
    fn asked_anew(&mut self, key: Key, quorum: u32) {
        self.allowed.remove(&key);
        self.approved.retain(|(other, ..)| *other != key);
        self.quorum.insert(key, quorum);
    }

    fn book_answer(&mut self, answered: &CallAnswered, key: Key) {
        let question = self.shadow.call(answered.call).and_then(Call::question).expect("only questions are answered");
        assert!(may_answer(&question.terms, &answered.actor, self.shadow.actor()), "I4: they may not answer");
        let refuses = matches!(answered.answer, Answer::Refuse { .. }) && question.kind() == QuestionKind::Permission;
        let named = answered.digest == self.shadow.question_digest(answered.call);
        assert!(named || (refuses && answered.digest.is_none()), "I16: they answered another question");
        let actor = answered.actor.id.clone();
        match &answered.answer {
            Answer::Approve => match &answered.decision {
                Some(Decision::Deny(_)) => {}
                Some(Decision::Confirm(_, terms)) if terms.stricter_than(&question.terms) => {
                    self.asked_anew(key, terms.quorum);
                }
                Some(Decision::Allow(_) | Decision::Confirm(..)) | None => {
                    let shown = self.shadow.call(answered.call).and_then(|call| call.canonical());
                    self.approved.extend(shown.map(|shown| (key, actor, shown.digest())));
                }
            },
            Answer::ApproveEdited(edited) => {
                match &answered.decision {
                    Some(Decision::Allow(_)) => drop(self.allowed.insert(key, edited.digest())),
                    Some(Decision::Confirm(_, terms)) => drop(self.quorum.insert(key, terms.quorum)),
                    Some(Decision::Deny(_)) | None => {}
                }
                self.approved.insert((key, actor, edited.digest()));
            }
            Answer::Refuse { .. } | Answer::Supply(_) | Answer::Happened(_) => {}
        }
    }

    fn check(&mut self, run: &Run) {
        assert_eq!(run.tally(), Tally::of(run.calls()));
        self.owed.extend(run.owed().iter().map(effect_name));
        self.settled_never_changes(run);
        every_wait_has_somebody_behind_it(run);
        results_are_in_order(run);
        let ids: HashSet<_> = run.calls().iter().map(|call| &call.id).collect();
        assert_eq!(ids.len(), run.calls().len(), "shown ids are unique");
        assert!(run.turn().0 <= run.settings().max_turns);
        if *run.phase() != Phase::Ended(StopReason::Halted) {
            assert!(!run.text().is_some_and(|text| text.contains(OUTPUT)), "the text is never a tool's output");
        }
        if run.pause_reason().is_some() {
            assert_eq!(run.parent_continuation().map(|id| id.pause), self.last_resumed);
        }
        if matches!(run.phase(), Phase::Ended(_)) {
            assert!(run.calls().iter().all(|call| call.settlement().is_some()), "nothing is left open");
        }
    }

    fn settled_never_changes(&mut self, run: &Run) {
        for (index, call) in run.calls().iter().enumerate() {
            let key = (run.turn(), CallIndex::from_usize(index));
            let now = call.settlement().map(|settlement| (settlement.outcome, settlement.result.text()));
            match (self.settled.get(&key), now) {
                (Some(before), now) => assert_eq!(Some(before), now.as_ref(), "I3"),
                (None, Some(now)) => drop(self.settled.insert(key, now)),
                (None, None) => {}
            }
        }
        for record in run.records() {
            if let Some((outcome, _)) = self.settled.get(&(record.turn, record.index)) {
                assert_eq!(record.progress, holdpoint_core::Progress::Settled(*outcome), "I3");
            }
        }
    }
}

/// Whether somebody may answer a question of a run that somebody else, or they themselves, started.
fn may_answer(terms: &Terms, actor: &Actor, requester: &Actor) -> bool {
    let role = terms.approvers.is_empty() || terms.approvers.iter().any(|role| actor.roles.contains(role));
    let barred = actor.id.is_none() || actor.id == requester.id;
    role && !(terms.four_eyes == FourEyes::On && barred)
}

/// I12.
fn every_wait_has_somebody_behind_it(run: &Run) {
    let tally = run.tally();
    match run.phase() {
        Phase::New | Phase::Between => panic!("a step does not end between turns"),
        Phase::Working(Work::Model) | Phase::Failed(..) | Phase::Ended(_) => assert!(!run.owed().is_empty()),
        Phase::Working(Work::Calls) => {
            let owed = run.owed();
            assert!(!owed.is_empty() || tally.running > 0, "nobody works: {run:#?}");
        }
        Phase::Paused(reason) => {
            assert_eq!((tally.running, tally.proposed), (0, 0));
            match reason {
                PauseReason::AwaitingToolConfirmation => assert!(tally.asked > 0),
                PauseReason::AwaitingToolResults => assert!(tally.asked == 0 && tally.deferred > 0),
            }
        }
    }
}

/// I9: after each message with calls come their results, in its order, before anything else.
fn results_are_in_order(run: &Run) {
    let mut messages = run.messages().iter().peekable();
    while let Some(message) = messages.next() {
        let Message::Assistant(asked) = &**message else { continue };
        let mut answered = Vec::new();
        while let Some(Message::Tool(tool)) = messages.peek().map(|message| &***message) {
            answered.push(&tool.call);
            messages.next();
        }
        if answered.is_empty() && messages.peek().is_none() {
            return;
        }
        let mut asked: Vec<_> = asked.calls.iter().map(|call| &call.id).collect();
        if run.settings().result_order == ResultOrder::Completion {
            asked.sort();
            answered.sort();
        }
        assert_eq!(asked, answered, "I9");
    }
}

fn effect_name(effect: &Effect) -> &'static str {
    match effect {
        Effect::CallModel { .. } => "call model",
        Effect::Authorize { .. } => "authorize",
        Effect::Execute { .. } => "execute",
        Effect::SetTimer { .. } => "timer",
        Effect::Pause { .. } => "pause",
        Effect::Finish { .. } => "finish",
    }
}
