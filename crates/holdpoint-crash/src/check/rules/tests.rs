#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

use super::*;
use crate::ledger::{About, Fact};
use crate::plan::kind_of;
use crate::tools::Receipt;

/// A call with what the log and the ledger say of it.
struct World {
    tool: &'static str,
    steps: Vec<Step>,
    records: Records,
    status: Status,
}

/// A number that people approve as it is.
const NUMBER: u64 = 3;

impl World {
    fn new(tool: &'static str) -> Self {
        let mut world = Self { tool, steps: Vec::new(), records: Records::default(), status: Status::Finished };
        world.steps.push(Step::Permitted(world.digest()));
        world
    }

    fn place() -> Place {
        Place { run: "r".to_owned(), turn: 1, index: 0 }
    }

    fn planned(&self) -> PlannedCall {
        PlannedCall { kind: kind_of(self.tool).unwrap(), number: NUMBER }
    }

    fn digest(&self) -> Digest {
        let text = parse_arguments(Some(&self.planned().arguments())).unwrap();
        arguments_for(self.tool, &text).digest()
    }

    fn log(mut self, steps: &[Step]) -> Self {
        self.steps.extend_from_slice(steps);
        self
    }

    fn started(self, attempt: u32) -> Self {
        let digest = self.digest();
        self.log(&[Step::Started { attempt, digest }])
    }

    fn succeeded(self, execution: &str, attempt: u32) -> Self {
        let receipt = Some(Receipt { execution: execution.to_owned(), attempt });
        self.log(&[Step::Settled { outcome: Outcome::Succeeded, source: Some(Source::Tool), receipt }])
    }

    fn fact(mut self, fact: Fact) -> Self {
        self.records.take(fact);
        self
    }

    fn begun(self, execution: &str, attempt: u32) -> Self {
        let digest = self.digest();
        let place = Self::place();
        let key = idempotency_key(&RunId::new("r"), Turn(1), CallIndex(0), digest);
        let about = About {
            tool: self.tool.to_owned(),
            attempt,
            execution: execution.to_owned(),
            key: key.to_string(),
            digest: digest.to_string(),
            process: execution.split('#').next().unwrap().to_owned(),
            place,
        };
        self.fact(Fact::About(about))
    }

    fn effect(self, execution: &str) -> Self {
        self.fact(Fact::Effect { execution: execution.to_owned() })
    }

    fn looked(self, attempt: u32) -> Self {
        self.fact(Fact::Looked { place: Self::place(), attempt, effect: None })
    }

    fn judge(&self) -> (u64, Vec<String>) {
        let call =
            CallHistory { tool: self.tool.into(), repeat: self.planned().kind.repeat, steps: self.steps.clone() };
        let place = Self::place();
        check(&Case {
            place: &place,
            call: &call,
            planned: self.planned(),
            status: self.status,
            executions: self.records.of(&place),
            records: &self.records,
        })
    }

    fn is_fine(&self) {
        assert_eq!(self.judge().1, Vec::<String>::new());
    }

    fn is_wrong(&self, problem: &str) {
        let (_, problems) = self.judge();
        assert!(problems.iter().any(|told| told.contains(problem)), "{problems:?}");
    }
}

#[test]
fn a_call_that_ran_once_is_fine() {
    World::new("note_never").started(1).begun("a#0", 1).effect("a#0").succeeded("a#0", 1).is_fine();
}

#[test]
fn a_call_that_ran_without_an_intent_is_found() {
    let world = World::new("note_never").started(1).begun("a#0", 1).effect("a#0").succeeded("a#0", 1);
    world.begun("b#0", 2).is_wrong("attempt 2 ran, and the log has no intent for it");
}

#[test]
fn two_executions_of_one_attempt_are_found() {
    let world = World::new("note_safe").started(1).begun("a#0", 1).begun("b#0", 1).effect("b#0").succeeded("b#0", 1);
    world.is_wrong("attempt 1 ran twice");
}

#[test]
fn a_second_start_without_a_question_is_found() {
    let world = World::new("note_never").started(1).started(2).begun("a#0", 2).effect("a#0").succeeded("a#0", 2);
    world.is_wrong("attempt 2 was started while attempt 1 was in doubt");
    world.is_wrong("attempt 1 was in doubt, and nobody was asked");
}

#[test]
fn a_second_start_after_a_question_is_fine() {
    let world = World::new("note_never").started(1).begun("a#0", 1).looked(1);
    let world = world.log(&[Step::Doubted, Step::AllowedAgain]).started(2);
    world.begun("b#0", 2).effect("b#0").succeeded("b#0", 2).is_fine();
}

#[test]
fn an_effect_that_comes_late_is_fine_only_if_its_process_was_stopped_when_the_person_looked() {
    let begin = || World::new("note_never").started(1).begun("a#0", 1);
    let end = |world: World| {
        let world = world.log(&[Step::Doubted, Step::AllowedAgain]).started(2).begun("b#0", 2).effect("b#0");
        world.succeeded("b#0", 2)
    };
    let stopped = || Fact::Stopped { process: "a".to_owned() };
    let continued = || Fact::Continued { process: "a".to_owned() };
    let late = end(begin().fact(stopped()).looked(1).fact(continued()).effect("a#0"));
    assert_eq!(late.judge(), (1, Vec::new()));
    end(begin().looked(1).effect("a#0")).is_wrong("had an effect in attempt 1 and again later");
    let awake = begin().fact(stopped()).fact(continued()).looked(1).effect("a#0");
    end(awake).is_wrong("had an effect in attempt 1 and again later");
    let seen = begin().fact(stopped()).effect("a#0").looked(1).fact(continued());
    end(seen).is_wrong("had an effect in attempt 1 and again later");
}

#[test]
fn a_result_of_another_attempt_is_found() {
    let world = World::new("note_safe").started(1).log(&[Step::Requeued]).started(2);
    let world = world.begun("a#0", 1).effect("a#0").begun("b#0", 2).succeeded("a#0", 1);
    world.is_wrong("the result of attempt 1 was taken for attempt 2");
}

#[test]
fn a_result_without_an_effect_is_found() {
    let world = World::new("note_safe").started(1).begun("a#0", 1).succeeded("a#0", 1);
    world.is_wrong("which had no effect here");
}

#[test]
fn an_approved_call_that_is_lost_is_found() {
    World::new("ask_never").is_wrong("was never settled");
}

#[test]
fn a_call_that_ran_although_nobody_permitted_it_is_found() {
    let mut world = World::new("forbidden").begun("a#0", 1);
    world.steps = vec![Step::Settled { outcome: Outcome::Denied, source: None, receipt: None }];
    world.is_wrong("ran, and nobody permitted that");
    world.is_wrong("ran although it was denied");
}

#[test]
fn what_happens_after_the_end_is_found() {
    let world = World::new("note_safe").started(1).begun("a#0", 1).effect("a#0").succeeded("a#0", 1);
    world.started(2).is_wrong("after it was settled");
}
