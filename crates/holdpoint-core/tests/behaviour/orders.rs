//! Whatever people say, late, twice, against each other, about another run or about nothing, in whatever order: the run
//! stays consistent, and is where the rules say.
//!
//! Each order is played on the run, with every checker of `properties` watching, and on [`rules::Book`], which is the page
//! about answers written down a second time. Both must agree on what is accepted, why it is not, and where every call is.

mod mistakes;
mod moves;
mod rules;

use holdpoint_core::{
    Authorized, Began, Call, CallIndex, CallState, Digest, Effect, Input, ModelStop, Outcome, Replied, Reply, Returned,
    Run, Siblings, Source, Timestamp, ToolResult, Usage,
};
use proptest::prelude::*;

use crate::mistakes::Machine;
use crate::properties::watch::Watch;
use crate::support::{Stage, new_run, plans, settlement};
use moves::{Move, moves, sharp_moves};
use rules::{Book, Standing, Verdict};

/// A small run: whether a question holds its siblings, and the calls of the first turn.
#[derive(Clone, Copy)]
struct Scene {
    siblings: Siblings,
    calls: &'static str,
}

const SCENES: [Scene; 10] = [
    Scene { siblings: Siblings::Hold, calls: "a(confirm)" },
    Scene { siblings: Siblings::Hold, calls: "a(confirm quorum=2)" },
    Scene { siblings: Siblings::Hold, calls: "a(confirm by=finance quorum=2 within=100)" },
    Scene { siblings: Siblings::Hold, calls: "a(confirm four_eyes within=100)" },
    Scene { siblings: Siblings::Hold, calls: "a(confirm four_eyes by=finance quorum=2)" },
    Scene { siblings: Siblings::Hold, calls: "a(confirm within=100), b" },
    Scene { siblings: Siblings::Run, calls: "a(confirm within=100), b" },
    Scene { siblings: Siblings::Hold, calls: "a(confirm quorum=2), b(confirm by=finance)" },
    Scene { siblings: Siblings::Run, calls: "a(confirm by=finance), b(confirm four_eyes within=100), c(deny)" },
    Scene { siblings: Siblings::Hold, calls: "a(confirm), b(confirm quorum=2), c(confirm by=finance within=100)" },
];

/// How many of the scenes are small enough for every three moves.
const SMALL: usize = 5;

/// A run in the middle of an order, the checkers, and what the rules make of the same.
#[derive(Clone)]
struct Play {
    run: Run,
    watch: Watch,
    book: Book,
    now: Timestamp,
    /// The digests of the first question about each call.
    first: Vec<Option<Digest>>,
}

impl Play {
    /// The run at its first pause.
    fn open(scene: Scene) -> Self {
        Self::open_on(Run::step, scene)
    }

    /// The same on a machine of its own.
    fn open_on(machine: Machine, scene: Scene) -> Self {
        let plans = plans(scene.calls);
        let mut play = Self {
            run: new_run("r"),
            watch: Watch::of(machine),
            book: Book::open(&plans),
            now: Timestamp(0),
            first: Vec::new(),
        };
        let mut stage = Stage::new();
        stage.given("requester zoe");
        stage.settings.siblings = scene.siblings;
        play.must(stage.started());
        let calls = plans.iter().map(|plan| plan.call.clone()).collect();
        let reply = Reply {
            text: "".into(),
            thinking: None,
            calls,
            usage: Usage::default(),
            stop: ModelStop::ToolUse,
            provider_state: None,
        };
        play.must(Input::Replied(Box::new(Replied { reply: Some(reply), latency_us: 0 })));
        let decisions = plans.iter().enumerate();
        let decisions = decisions.map(|(index, plan)| (CallIndex::from_usize(index), plan.decision.clone())).collect();
        play.must(Input::Authorized(Authorized::new(decisions)));
        play.execute();
        assert!(play.run.continuation().is_some(), "it is paused");
        play.first = (0..plans.len()).map(|index| play.run.question_digest(CallIndex::from_usize(index))).collect();
        play
    }

    fn must(&mut self, input: Input) {
        let name = input.name();
        let fed = self.watch.step(&mut self.run, input, self.now);
        assert!(fed.is_ok_and(|events| events > 0), "{name}");
    }

    /// Plays a move on both. Returns whether it changed anything.
    fn play(&mut self, next: &Move) -> bool {
        self.now = self.now.max(next.at());
        let verdict = self.book.hear(next, self.now);
        let input = next.input(&self.run, &self.first);
        let fed = self.watch.step(&mut self.run, input, self.now);
        let seen = match fed {
            Ok(0) => Verdict::Nothing,
            Ok(_) => Verdict::Changes,
            Err(rejection) => Verdict::Rejected(rejection.code()),
        };
        assert_eq!(seen, verdict, "{next:?}");
        self.compare();
        seen == Verdict::Changes
    }

    /// Every call is where the rules say, and the run waits exactly as long as a question is open.
    fn compare(&self) {
        assert_eq!(self.run.continuation().map(|id| id.pause.0), self.book.pause());
        for (call, standing) in self.run.calls().iter().zip(self.book.standings()) {
            match (standing, &call.state) {
                (Standing::Open { text, by, .. }, CallState::AwaitingApproval(question)) => {
                    assert_eq!(*text, exposed(call));
                    assert!(question.approvals().map(|actor| actor.id.as_deref()).eq(by.iter().map(|id| Some(*id))));
                }
                (Standing::Approved { text, by, .. }, CallState::Ready) => {
                    assert_eq!(*text, exposed(call));
                    assert!(call.approvals.iter().map(|actor| actor.id.as_deref()).eq(by.iter().map(|id| Some(*id))));
                }
                (Standing::Settled { outcome, .. }, CallState::Settled(settlement)) => {
                    assert_eq!(*outcome, settlement.outcome);
                }
                (Standing::Unasked, CallState::Ready | CallState::Settled(_)) => {}
                (standing, state) => panic!("{}: {standing:?}, and it is {state:?}", call.id),
            }
        }
    }

    /// Runs what may run. The checkers see to it that nothing else does.
    fn execute(&mut self) {
        while let Some(Effect::Execute { calls }) = self.run.owed().pop() {
            for call in calls {
                self.must(Input::Began(Began { call, recheck: None, after: None }));
                let attempt = self.run.call(call).map(|call| call.attempts);
                let settlement = settlement(ToolResult::success("ran"), Source::Tool);
                self.must(Input::Returned(Box::new(Returned { call, attempt, settlement })));
            }
        }
    }

    /// What the order led to: each call that enough people approved runs, once, and no other; the log amounts to the run.
    fn finish(mut self) {
        let waits = self.book.pause().is_some();
        self.execute();
        self.watch.replay(&self.run);
        let records = self.run.records();
        assert_eq!(records.len(), self.book.standings().len(), "one record for each call");
        for (record, standing) in records.iter().zip(self.book.standings()) {
            let ran = record.attempts.0;
            match standing {
                Standing::Approved { .. } if waits => assert_eq!(ran, 0, "a question holds what people approved"),
                Standing::Approved { .. } => {
                    assert_eq!((ran, record.progress.as_str()), (1, Outcome::Succeeded.as_str()));
                }
                Standing::Open { .. } | Standing::Settled { .. } => assert_eq!(ran, 0, "nobody let it run"),
                Standing::Unasked => {}
            }
        }
    }
}

fn exposed(call: &Call) -> &str {
    call.canonical().map_or("", |arguments| arguments.expose())
}

/// Plays every order of so many moves, each prefix once.
fn every_order(play: &Play, moves: &[Move], depth: u32) -> u64 {
    let mut played = 0;
    for next in moves {
        let mut branch = play.clone();
        let changed = branch.play(next);
        played += 1;
        if changed {
            branch.clone().finish();
            // Saying it again never does anything again.
            let mut again = branch.clone();
            assert!(!again.play(next), "{next:?} works twice");
        }
        if depth > 1 {
            played += every_order(&branch, moves, depth - 1);
        }
    }
    played
}

#[test]
fn every_two_answers_in_every_order_leave_the_run_where_the_rules_say() {
    let mut played = 0;
    for scene in SCENES {
        let play = Play::open(scene);
        played += every_order(&play, &moves(&play.run), 2);
    }
    assert!(played > 30_000, "only {played} orders");
}

#[test]
fn every_three_answers_in_every_order_leave_a_small_run_where_the_rules_say() {
    let mut played = 0;
    for scene in &SCENES[..SMALL] {
        let play = Play::open(*scene);
        played += every_order(&play, &sharp_moves(&play.run), 3);
    }
    assert!(played > 10_000, "only {played} orders");
}

#[test]
fn answers_about_different_calls_lead_to_the_same_in_both_orders() {
    for scene in SCENES {
        let play = Play::open(scene);
        let moves = moves(&play.run);
        for one in moves.iter().filter(|one| one.by_batch().is_some()) {
            for other in moves.iter().filter(|other| other.by_batch().is_some_and(|call| one.by_batch() != Some(call)))
            {
                let orders = [[one, other], [other, one]].map(|order| {
                    let mut branch = play.clone();
                    let changed = order.map(|next| branch.play(next));
                    (changed, branch.book.standings().to_vec())
                });
                let [(forth, here), (mut back, there)] = orders;
                back.reverse();
                // What comes after the last answer finds nobody who waits, so a pair counts where both could be said.
                if forth == back {
                    assert_eq!(here, there, "{one:?} {other:?}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn longer_talks_leave_the_run_where_the_rules_say(
        scene in 0..SCENES.len(),
        picks in proptest::collection::vec(any::<prop::sample::Index>(), 0..25),
    ) {
        let mut play = Play::open(SCENES[scene]);
        let moves = moves(&play.run);
        for pick in picks {
            play.play(pick.get(&moves));
        }
        play.finish();
    }
}

#[test]
fn the_moves_reach_every_verdict() {
    use holdpoint_core::Code;
    let mut seen = std::collections::BTreeSet::new();
    for scene in SCENES {
        let play = Play::open(scene);
        for next in moves(&play.run) {
            let mut branch = play.clone();
            branch.play(&next);
            for after in moves(&play.run) {
                let mut book = branch.book.clone();
                if let Verdict::Rejected(code) = book.hear(&after, branch.now.max(after.at())) {
                    seen.insert(code.as_str());
                }
            }
        }
    }
    for code in [
        Code::UnknownToolCall,
        Code::MissingDecision,
        Code::InvalidDecision,
        Code::ConflictingDecision,
        Code::NotAnApprover,
        Code::DigestMismatch,
        Code::WrongPause,
        Code::StaleContinuation,
        Code::ContinuationNotFound,
        Code::RunCancelled,
    ] {
        assert!(seen.contains(code.as_str()), "no move leads to {code}: {seen:?}");
    }
}
