//! Runs that go on although their process died, and the keeper that sees to it.

use crate::common;
use crate::interrupted::{AFTER_EFFECT, Interrupted};

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use common::{Counter, PATIENCE, by_name, echo};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::Rules;
use holdpoint::tools::{ToolCall, raw_tool};
use holdpoint::{Actor, Agent, AgentBuilder, Code, Keeper, Repeat, RunId, RunRequest, RunResult, Status};
use holdpoint_core::Revision;
use holdpoint_store::{CommitError, Layer, MemoryStore, RunLogLayer, Store, StoreError, StoreFault, Transition};
use serde_json::json;
use tokio_util::sync::{CancellationToken, DropGuard};

const POLL: Duration = Duration::from_millis(20);
const LEASE: Duration = Duration::from_millis(100);

fn builder(store: &Store, model: &ScriptedModel) -> AgentBuilder {
    Agent::builder().shared_model(Arc::new(model.clone())).policy(by_name()).store(store.clone()).lease(LEASE)
}

/// Asks for one call of `work` and then says `done`, however often it is asked.
fn script() -> ScriptedModel {
    let mut script = vec![ScriptedReply::call("w", "work", "{}")];
    script.extend((0..4).map(|_| ScriptedReply::text("done")));
    ScriptedModel::new(script)
}

fn memory() -> Store {
    Store::from(MemoryStore::new())
}

fn keep(agent: &Agent) -> DropGuard {
    let stop = CancellationToken::new();
    tokio::spawn(Keeper::new(agent.runner()).poll(POLL).run(stop.clone()));
    stop.drop_guard()
}

async fn until(agent: &Agent, run: &RunId, wanted: Status) -> RunResult {
    let waiting = async {
        loop {
            let result = agent.runner().result(run).await.unwrap();
            if result.status() == wanted {
                return result;
            }
            let _ = tokio::time::timeout(POLL, agent.runner().store().runs.changed(run, result.revision())).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("it happens in time")
}

#[tokio::test]
async fn a_run_whose_process_died_is_taken_over_when_its_lease_lapses() {
    for (repeat, status) in [(Repeat::Safe, Status::Finished), (Repeat::Never, Status::AwaitingToolConfirmation)] {
        let (store, model, counter) = (memory(), script(), Counter::default());
        let process =
            |store: &Store| builder(store, &model).tool(echo("work", &counter).repeat(repeat)).build().unwrap();
        let run = RunId::new("r");
        let dying = Interrupted::new(store.clone());
        let segment = process(&dying.store()).chat(RunRequest::new("go").with_run_id(run.clone()));
        assert!(dying.dies(AFTER_EFFECT, segment).await.is_none());
        let second = process(&store);
        let _keeper = keep(&second);
        let result = until(&second, &run, status).await;
        assert_eq!(counter.count(), if repeat == Repeat::Safe { 2 } else { 1 });
        assert_eq!(
            result.pending().iter().filter(|pending| pending.is_uncertain()).count(),
            usize::from(repeat == Repeat::Never)
        );
    }
}

#[tokio::test]
async fn a_run_that_takes_longer_than_its_lease_is_not_taken_over() {
    let (store, model, counter) = (memory(), script(), Counter::default());
    let counts = counter.clone();
    let slow = move || {
        let counts = counts.clone();
        raw_tool("work", "Takes several leases", json!({"type": "object"}), move |_: ToolCall| {
            counts.add();
            async move {
                // tidy: sleeps because a tool that takes longer than the lease is what it is about
                tokio::time::sleep(LEASE * 5).await;
                "at last".to_owned()
            }
        })
    };
    let first = builder(&store, &model).tool(slow()).build().unwrap();
    let second = builder(&store, &model).tool(slow()).build().unwrap();
    let _keeper = keep(&second);
    let done = first.chat("go").await.unwrap();
    assert_eq!(done.text().as_deref(), Some("done"));
    assert_eq!(counter.count(), 1);
}

#[tokio::test]
async fn a_run_can_be_cancelled_from_another_process_while_its_tool_or_its_model_works() {
    let (store, model, began) = (memory(), script(), Counter::default());
    let counts = began.clone();
    let hangs = raw_tool("work", "Never ends by itself", json!({"type": "object"}), move |_: ToolCall| {
        counts.add();
        std::future::pending::<String>()
    });
    let first = builder(&store, &model).tool(hangs).build().unwrap();
    let second = builder(&store, &model).tool(echo("work", &Counter::default())).build().unwrap();
    let run = RunId::new("r");
    let request = RunRequest::new("go").with_run_id(run.clone());
    let driving = tokio::spawn(async move { first.chat(request).await });
    began.begun().await;
    second.runner().cancel(&run, Actor::default()).await.unwrap();
    let result = tokio::time::timeout(PATIENCE, driving).await.expect("it is told").unwrap().unwrap();
    assert_eq!(result.status(), Status::Cancelled);
}

#[tokio::test]
async fn a_question_past_its_deadline_expires_by_itself_and_once() {
    let rules = r#"
        [[rule]]
        tool = "work"
        decide = "confirm"
        expires_in = "50ms"
    "#;
    let (store, model) = (memory(), script());
    let builder = builder(&store, &model).policy(Rules::parse(rules, "policy.toml").unwrap());
    let agent = builder.tool(echo("work", &Counter::default())).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    let _keepers = (keep(&agent), keep(&agent), keep(&agent));
    let done = until(&agent, paused.run_id(), Status::Finished).await;
    assert_eq!(done.records()[0].code, Some(Code::Expired));
    let events = agent.runner().events(paused.run_id(), Revision(0)).await.unwrap();
    let expired = events.iter().filter(|event| event.to_string().contains("expired")).count();
    assert!(expired >= 1);
    assert_eq!(model.requests(), 2, "one keeper alone goes on");
}

/// Is out of reach for some commits: before or after they took effect.
struct Unreachable {
    inner: Store,
    failures: AtomicU32,
    after: bool,
}

impl Layer for Unreachable {
    fn inner(&self) -> &Store {
        &self.inner
    }
}

#[async_trait::async_trait]
impl RunLogLayer for Unreachable {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        let fails = self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if fails && self.after {
            self.inner.runs.commit(run, at, transition).await?;
        } else if !fails {
            return self.inner.runs.commit(run, at, transition).await;
        }
        Err(StoreError::fault(StoreFault::Unavailable, "commit", "the connection broke").into())
    }
}

impl Unreachable {
    fn store(self: &Arc<Self>) -> Store {
        Store { runs: Arc::clone(self) as _, ..self.inner.clone() }
    }
}

#[tokio::test]
async fn a_store_that_is_out_of_reach_for_a_moment_loses_nothing_and_doubles_nothing() {
    for after in [false, true] {
        let inner = memory();
        let store: Store = Arc::new(Unreachable { inner, failures: AtomicU32::new(3), after }).store();
        let (model, counter) = (script(), Counter::default());
        let agent = builder(&store, &model).lease(Duration::from_secs(5)).tool(echo("work", &counter)).build().unwrap();
        let done = agent.chat("go").await.unwrap();
        assert_eq!(done.text().as_deref(), Some("done"));
        assert_eq!((counter.count(), model.requests()), (1, 2), "after the effect: {after}");
        let stored = agent.runner().result(done.run_id()).await.unwrap();
        assert_eq!(stored.revision(), done.revision());
    }
}

#[test]
fn a_lease_that_cannot_be_is_refused() {
    for lease in [Duration::ZERO, Duration::from_secs(3_000_000)] {
        let built = builder(&memory(), &script()).lease(lease).build();
        assert_eq!(built.unwrap_err().code(), Code::InvalidConfig);
    }
}
