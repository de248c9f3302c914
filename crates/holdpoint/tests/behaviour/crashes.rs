//! A process that dies at the worst moment: what another one makes of the run.

use crate::common;
use crate::interrupted::{AFTER_EFFECT, AFTER_INTENT, Interrupted, Moment};

use std::sync::Arc;

use common::{Counter, by_name, echo};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::{Agent, Code, Decisions, Repeat, RunId, RunRequest, Status, ToolResult};
use holdpoint_store::{FaultPoint, FaultyStore, MemoryStore, Store};

struct World {
    store: Store,
    model: ScriptedModel,
    counter: Counter,
    repeat: Repeat,
}

impl World {
    fn new(repeat: Repeat) -> Self {
        // A model may be asked again after a crash, so the script says its last word more than once.
        let done = || ScriptedReply::text("done");
        let script = vec![ScriptedReply::call("p", "pay", r#"{"amount": 5}"#), done(), done(), done()];
        let model = ScriptedModel::new(script);
        Self { store: Store::from(MemoryStore::new()), model, counter: Counter::default(), repeat }
    }

    fn process(&self) -> Agent {
        self.process_on(self.store.clone())
    }

    fn process_on(&self, store: Store) -> Agent {
        let builder = Agent::builder().shared_model(Arc::new(self.model.clone())).policy(by_name());
        builder.tool(echo("pay", &self.counter).repeat(self.repeat)).store(store).build().unwrap()
    }

    /// Dies there, then another process takes over.
    async fn crash(&self, death: Moment) -> (Agent, holdpoint::RunResult) {
        let store = Interrupted::new(self.store.clone());
        let first = self.process_on(store.store());
        let id = RunId::new("run-1");
        let lived = store.dies(death, first.chat(RunRequest::new("pay").with_run_id(id.clone()))).await;
        assert!(lived.is_none());
        let second = self.process();
        let result = second.runner().recover(&id).await.unwrap();
        (second, result)
    }
}

#[tokio::test]
async fn a_call_that_may_be_repeated_runs_again() {
    for repeat in [Repeat::Safe, Repeat::WithKey] {
        let world = World::new(repeat);
        let (_, result) = world.crash(AFTER_EFFECT).await;
        assert_eq!(result.text().as_deref(), Some("done"));
        assert_eq!(world.counter.count(), 2);
        assert_eq!(result.records()[0].attempts.0, 2);
    }
}

#[tokio::test]
async fn a_call_that_may_not_be_repeated_is_asked_about() {
    for death in [AFTER_INTENT, AFTER_EFFECT] {
        let world = World::new(Repeat::Never);
        let (agent, asked) = world.crash(death).await;
        let ran = world.counter.count();
        assert_eq!(asked.status(), Status::AwaitingToolConfirmation);
        assert!(asked.pending()[0].is_uncertain());
        assert_eq!(asked.records()[0].progress.as_str(), "uncertain");
        let done = agent.resume(&asked, Decisions::new().deny("p", "the bank shows it")).await.unwrap();
        assert_eq!(done.text().as_deref(), Some("done"));
        assert_eq!(world.counter.count(), ran, "nobody said that it may run again");
    }
}

#[tokio::test]
async fn a_person_can_say_that_it_did_not_happen_or_what_it_gave() {
    let world = World::new(Repeat::Never);
    let (agent, asked) = world.crash(AFTER_INTENT).await;
    agent.resume(&asked, [("p", true)]).await.unwrap();
    assert_eq!(world.counter.count(), 1);

    let world = World::new(Repeat::Never);
    let (agent, asked) = world.crash(AFTER_EFFECT).await;
    let wrong = Decisions::new().answer("p", ToolResult::success("x"));
    assert_eq!(agent.resume(&asked, wrong).await.unwrap_err().code(), Code::InvalidDecision);
    let happened = Decisions::new().happened("p", ToolResult::success("paid, says the bank"));
    let done = agent.resume(&asked, happened).await.unwrap();
    assert_eq!(done.new_messages()[0].text(), "paid, says the bank");
    assert_eq!(world.counter.count(), 1);
}

#[tokio::test]
async fn a_dead_process_that_comes_back_cannot_write_any_more() {
    let world = World::new(Repeat::Safe);
    let (agent, result) = world.crash(AFTER_EFFECT).await;
    let again = agent.runner().recover(result.run_id()).await.unwrap();
    assert_eq!(again.status(), Status::Finished);
    assert_eq!(world.counter.count(), 2);
}

#[tokio::test]
async fn whatever_commit_fails_the_run_can_be_taken_up_and_nothing_runs_twice() {
    for point in [FaultPoint::Before, FaultPoint::After] {
        for nth in 1..=5 {
            let mut world = World::new(Repeat::Never);
            let faulty = FaultyStore::new(world.store.clone());
            faulty.fail_commit(nth, point);
            let inner = std::mem::replace(&mut world.store, faulty.store());
            let id = RunId::new("run-1");
            let first = world.process().chat(RunRequest::new("pay").with_run_id(id.clone())).await;
            world.store = inner;
            let Err(error) = first else { continue };
            assert_eq!(error.code(), Code::StoreFailed, "{point:?} {nth}");
            let agent = world.process();
            match agent.runner().recover(&id).await {
                Ok(result) if result.is_awaiting_confirmation() => {
                    assert!(result.pending()[0].is_uncertain());
                }
                Ok(result) => assert_eq!(result.status(), Status::Finished, "{point:?} {nth}"),
                Err(error) => assert_eq!((nth, error.code()), (1, Code::ContinuationNotFound)),
            }
            assert!(world.counter.count() <= 1, "{point:?} {nth}");
        }
    }
}

#[tokio::test]
async fn a_run_costs_four_commits_with_a_call_and_two_without() {
    let world = World::new(Repeat::Never);
    let faulty = FaultyStore::new(world.store.clone());
    let world = World { store: faulty.store(), ..world };
    world.process().chat("pay").await.unwrap();
    assert_eq!(faulty.commits(), 4);
    let script = ScriptedModel::new(vec![ScriptedReply::text("hi")]);
    let agent = Agent::builder().model(script).store(faulty.store()).build().unwrap();
    agent.chat("hello").await.unwrap();
    assert_eq!(faulty.commits(), 6);
}
