//! A process that was suspended, or that hears late that a request of its own was accepted, starts no tool for a run or a
//! task that another process may have by now; and a result that was acknowledged is in the run.

mod clock_set_back;
mod outages;

use std::sync::Arc;
use std::time::Duration;

use crate::common;
use crate::interrupted::{AFTER_INTENT, At, Interrupted, Then};
use common::{Counter, by_name, echo, until};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::tools::{ToolCall, raw_tool};
use holdpoint::{
    Agent, AgentBuilder, Code, Decisions, Keeper, Results, RunId, RunRequest, RunResult, Status, TaskHolder,
    ToolResult, Worker,
};
use holdpoint_core::{ClockReading, ToolName};
use holdpoint_store::{
    Clock, LeaseRequest, LeasedTask, ManualClock, ManualLeaseClock, MemoryStore, Store, TaskHead, TaskState,
};
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

const LEASE: Duration = Duration::from_secs(30);
/// Longer than the lease.
const LONG_MS: u64 = 40_000;

/// Two processes on one store, whose clocks the test moves.
struct World {
    clock: Arc<ManualClock>,
    /// The clocks of the process that is suspended.
    own: Arc<ManualLeaseClock>,
    inner: Store,
    store: Arc<Interrupted>,
    model: ScriptedModel,
    effects: Counter,
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::default());
        let inner: Store = Store::from(MemoryStore::with_clock(Arc::clone(&clock) as Arc<dyn Clock>));
        let mut script = vec![ScriptedReply::call("c", "pay", "{}")];
        script.extend((0..4).map(|_| ScriptedReply::text("done")));
        Self {
            own: Arc::new(ManualLeaseClock::new(ClockReading { boot_us: 0, wall_us: 1_000_000_000 })),
            store: Interrupted::new(inner.clone()),
            inner,
            clock,
            model: ScriptedModel::new(script),
            effects: Counter::default(),
        }
    }

    fn builder(&self) -> AgentBuilder {
        let builder = Agent::builder().shared_model(Arc::new(self.model.clone())).policy(by_name()).lease(LEASE);
        builder.tool(echo("pay", &self.effects))
    }

    /// The process that is suspended: its clocks are the test's.
    fn suspended(&self) -> Agent {
        let clock = Arc::clone(&self.own);
        self.builder().store(self.store.store()).lease_clock(clock).build().unwrap()
    }

    /// The process that takes over.
    fn other(&self) -> Agent {
        self.builder().store(self.inner.clone()).build().unwrap()
    }

    /// Time passes everywhere while the process stands still.
    fn stand_still(&self) -> impl Fn(i64, i64) + Send + Sync + use<> {
        let (clock, own) = (Arc::clone(&self.clock), Arc::clone(&self.own));
        move |boot_ms, wall_ms| {
            clock.advance_ms(LONG_MS);
            own.advance(boot_ms, wall_ms);
        }
    }

    fn deferring(&self, store: Store) -> Agent {
        let clock = Arc::clone(&self.own);
        self.builder().store(store).lease_clock(clock).with_tool_concurrency("defer_all", None).build().unwrap()
    }
}

fn run_id() -> RunId {
    RunId::new("r")
}

fn request() -> RunRequest {
    RunRequest::new("go").with_run_id(run_id())
}

/// Another process takes the run over, a person says that the call did not happen, and it runs there to its end.
async fn taken_over_and_finished(other: &Agent) {
    let asked = other.runner().recover(&run_id()).await.unwrap();
    assert!(asked.pending()[0].is_uncertain());
    let done = other.resume(&asked, Decisions::new().allow("c").by("ana")).await.unwrap();
    assert_eq!(done.status(), Status::Finished);
}

/// What the clocks of a process show after a time in which it stood still.
const CLOCKS: [(&str, i64, i64); 4] = [
    ("a stopped process", 40_000, 40_000),
    ("a suspended machine whose wall clock is not set yet", 40_000, 0),
    ("a paused virtual machine whose wall clock is set", 0, 40_000),
    ("a wall clock that was set back", 0, -3_600_000),
];

#[tokio::test]
async fn a_tool_does_not_start_after_another_process_took_the_run_over() {
    for (name, boot_ms, wall_ms) in CLOCKS {
        let world = World::new();
        let (agent, other) = (world.suspended(), world.other());
        let stand_still = world.stand_still();
        let happens = async move {
            stand_still(boot_ms, wall_ms);
            taken_over_and_finished(&other).await;
        };
        world.store.once(AFTER_INTENT.at, AFTER_INTENT.skip, happens, Then::Answer);
        let error = agent.chat(request()).await.unwrap_err();
        assert_eq!((error.code(), world.effects.count()), (Code::LeaseLost, 1), "{name}");
    }
}

#[tokio::test]
async fn a_tool_starts_after_a_long_stop_when_nobody_took_the_run() {
    for (name, boot_ms, wall_ms) in CLOCKS {
        let world = World::new();
        let agent = world.suspended();
        let stand_still = world.stand_still();
        let happens = async move { stand_still(boot_ms, wall_ms) };
        world.store.once(AFTER_INTENT.at, AFTER_INTENT.skip, happens, Then::Answer);
        let done = agent.chat(request()).await.unwrap();
        assert_eq!((done.status(), world.effects.count()), (Status::Finished, 1), "{name}");
    }
}

#[tokio::test]
async fn a_tool_does_not_start_when_the_acknowledgement_of_its_intent_comes_after_a_takeover() {
    for then in [Then::Answer, Then::LoseAnswer] {
        let world = World::new();
        let (agent, other, stand_still) = (world.suspended(), world.other(), world.stand_still());
        // The first commit starts the run, the second has the reply and the intent.
        let happens = async move {
            stand_still(40_000, 40_000);
            taken_over_and_finished(&other).await;
        };
        world.store.once(At::AfterCommit, 1, happens, then);
        let error = agent.chat(request()).await.unwrap_err();
        assert_eq!((error.code(), world.effects.count()), (Code::LeaseLost, 1), "{then:?}");
    }
}

#[tokio::test]
async fn an_intent_whose_acknowledgement_was_lost_starts_once_when_nobody_took_the_run() {
    let world = World::new();
    world.store.once(At::AfterCommit, 1, async {}, Then::LoseAnswer);
    let done = world.suspended().chat(request()).await.unwrap();
    assert_eq!((done.status(), world.effects.count()), (Status::Finished, 1));
}

#[tokio::test]
async fn a_tool_does_not_start_after_a_takeover_by_the_same_process() {
    let world = World::new();
    let agent = world.suspended();
    let (again, stand_still) = (agent.clone(), world.stand_still());
    let taking_over = async move {
        stand_still(40_000, 40_000);
        taken_over_and_finished(&again).await;
    };
    world.store.once(At::AfterCommit, 1, taking_over, Then::Answer);
    assert_eq!(agent.chat(request()).await.unwrap_err().code(), Code::LeaseLost);
    assert_eq!(world.effects.count(), 1);
}

/// The result of a tool that ran before its process lost the run is shown to the person who is asked.
#[tokio::test]
async fn a_result_that_comes_after_a_takeover_is_evidence() {
    let world = World::new();
    let (agent, other, stand_still) = (world.suspended(), world.other(), world.stand_still());
    let (taken, is_taken) = tokio::sync::oneshot::channel();
    let happens = async move {
        stand_still(40_000, 40_000);
        let asked = other.runner().recover(&run_id()).await.unwrap();
        assert!(asked.pending()[0].is_uncertain());
        let _ = taken.send(other);
    };
    // The third commit has the result.
    world.store.once(At::BeforeCommit, 2, happens, Then::Answer);
    assert_eq!(agent.chat(request()).await.unwrap_err().code(), Code::LeaseLost);
    let other = is_taken.await.unwrap();
    let has_evidence =
        |result: &RunResult| result.pending()[0].doubt.as_ref().is_some_and(|doubt| !doubt.evidence.is_empty());
    let asked = until(&other, &run_id(), has_evidence).await;
    let doubt = asked.pending()[0].doubt.clone().unwrap();
    assert_eq!((doubt.evidence.len(), doubt.evidence[0].result.text().as_str()), (1, "{}"));
    assert_eq!(world.effects.count(), 1);
}

/// Leases the one task as a worker of any language would.
async fn lease(store: &Store, lease_ms: u64) -> LeasedTask {
    let tools = vec![(Arc::from(""), ToolName::new("pay"))];
    let request = LeaseRequest { worker: "hand".into(), tools, tenant: None, limit: 10, lease_ms };
    store.tasks.lease(&request).await.unwrap().remove(0)
}

async fn task(store: &Store) -> Option<TaskHead> {
    store.tasks.list(&Default::default()).await.unwrap().items.into_iter().next()
}

/// Looks after the store until the run waits for a person or is over.
async fn keep_until_settled(agent: &Agent) {
    let stop = CancellationToken::new();
    let keeper = tokio::spawn(Keeper::new(agent.runner()).poll(Duration::from_millis(10)).run(stop.clone()));
    let is_settled =
        |result: &RunResult| matches!(result.status(), Status::AwaitingToolConfirmation | Status::Finished);
    until(agent, &run_id(), is_settled).await;
    stop.cancel();
    keeper.await.unwrap();
}

#[tokio::test]
async fn a_worker_that_learns_late_of_its_lease_starts_nothing() {
    let world = World::new();
    let agent = world.deferring(world.store.store());
    let other = world.deferring(world.inner.clone());
    agent.chat(request()).await.unwrap();
    let (stand_still, stop) = (world.stand_still(), CancellationToken::new());
    let (ended, is_ended) = tokio::sync::oneshot::channel();
    let happens = async move {
        stand_still(40_000, 40_000);
        keep_until_settled(&other).await;
        let asked = other.runner().result(&run_id()).await.unwrap();
        assert!(asked.pending()[0].is_uncertain());
        let _ = ended.send(());
    };
    world.store.once(At::AfterLease, 0, happens, Then::Answer);
    let worker = Worker::new(agent.runner()).poll(Duration::from_millis(10)).run(stop.clone());
    let worker = tokio::spawn(worker);
    is_ended.await.unwrap();
    stop.cancel();
    worker.await.unwrap().unwrap();
    assert_eq!(world.effects.count(), 0);
}

/// A lease ends with the deadline of its task, also for a worker that asked for a longer one.
#[tokio::test]
async fn a_worker_that_was_suspended_beyond_the_deadline_of_its_task_starts_nothing() {
    let world = World::new();
    let build = |store: Store| {
        let builder = world.builder().store(store).lease_clock(Arc::clone(&world.own) as _);
        builder.with_tool_concurrency("defer_all", None).task_deadline_ms(10_000).build().unwrap()
    };
    let (agent, other) = (build(world.store.store()), build(world.inner.clone()));
    agent.chat(request()).await.unwrap();
    let (clock, own, stop) = (Arc::clone(&world.clock), Arc::clone(&world.own), CancellationToken::new());
    let (ended, is_ended) = tokio::sync::oneshot::channel();
    let happens = async move {
        clock.advance_ms(12_000);
        own.advance(12_000, 12_000);
        keep_until_settled(&other).await;
        let _ = ended.send(());
    };
    world.store.once(At::AfterLease, 0, happens, Then::Answer);
    let worker = Worker::new(agent.runner()).lease(LEASE).poll(Duration::from_millis(10)).run(stop.clone());
    let worker = tokio::spawn(worker);
    is_ended.await.unwrap();
    stop.cancel();
    worker.await.unwrap().unwrap();
    assert_eq!(world.effects.count(), 0);
}

/// The keeper has read that a lease lapsed. Before it says so, the worker completes or sends a heartbeat: that wins.
#[tokio::test]
async fn a_result_or_a_heartbeat_that_comes_before_the_doubt_wins() {
    for completes in [true, false] {
        let world = World::new();
        let agent = world.deferring(world.store.store());
        agent.chat(request()).await.unwrap();
        let leased = lease(&world.inner, 1_000).await;
        world.clock.advance_ms(1_001);
        let holder = TaskHolder::of(&leased, &Arc::from("hand"));
        let (inner, queue) = (world.inner.clone(), world.deferring(world.inner.clone()).runner().queue());
        let happens = async move {
            if completes {
                queue.complete(&holder, ToolResult::success("paid")).await.unwrap();
            } else {
                inner.tasks.heartbeat(std::slice::from_ref(&holder.lease), 60_000).await.unwrap();
            }
        };
        world.store.once(At::BeforeCommit, 0, happens, Then::Answer);
        let stop = CancellationToken::new();
        let keeper = Keeper::new(agent.runner()).poll(Duration::from_millis(10)).run(stop.clone());
        let keeper = tokio::spawn(keeper);
        if completes {
            let done = until(&agent, &run_id(), |result| result.status() == Status::Finished).await;
            assert!(done.messages().iter().any(|message| message.text() == "paid"));
        } else {
            // Once the keeper has tried and looked again, nothing has changed.
            let looked_again = async {
                let mut runs = world.inner.runs.watch(holdpoint_store::Topic::Runs);
                let _ = tokio::time::timeout(Duration::from_millis(200), runs.changed()).await;
            };
            looked_again.await;
            let state = task(&world.inner).await.unwrap().state;
            assert!(matches!(state, TaskState::Leased { .. }), "{state:?}");
            let result = agent.runner().result(&run_id()).await.unwrap();
            assert_eq!(result.status(), Status::AwaitingToolResults);
        }
        stop.cancel();
        keeper.await.unwrap();
    }
}

/// The acknowledgement of a result was lost, and the run has collected it: sent again, it is acknowledged.
#[tokio::test]
async fn a_result_that_the_run_has_collected_is_acknowledged_again() {
    let world = World::new();
    let agent = world.deferring(world.store.store());
    agent.chat(request()).await.unwrap();
    let holder = TaskHolder::of(&lease(&world.inner, 60_000).await, &Arc::from("hand"));
    let other = world.deferring(world.inner.clone());
    let happens = async move { keep_until_settled(&other).await };
    world.store.once(At::AfterDeliver, 0, happens, Then::LoseAnswer);
    agent.runner().queue().complete(&holder, ToolResult::success("paid")).await.unwrap();
    agent.runner().queue().complete(&holder, ToolResult::success("paid")).await.unwrap();
    let done = agent.runner().result(&run_id()).await.unwrap();
    assert_eq!(done.status(), Status::Finished);
    assert!(done.messages().iter().any(|message| message.text() == "paid"));
}

/// The result never reached the store, and the lease lapsed meanwhile: the worker is told so, and the person who is asked
/// sees the result.
#[tokio::test]
async fn a_result_that_comes_after_the_doubt_is_evidence_and_not_acknowledged() {
    let world = World::new();
    let agent = world.deferring(world.store.store());
    agent.chat(request()).await.unwrap();
    let holder = TaskHolder::of(&lease(&world.inner, 1_000).await, &Arc::from("hand"));
    let (other, clock) = (world.deferring(world.inner.clone()), Arc::clone(&world.clock));
    let happens = async move {
        clock.advance_ms(1_001);
        keep_until_settled(&other).await;
    };
    world.store.once(At::BeforeDeliver, 0, happens, Then::LoseAnswer);
    let error = agent.runner().queue().complete(&holder, ToolResult::success("paid")).await.unwrap_err();
    assert_eq!(error.code(), Code::LeaseLost);
    let asked = agent.runner().result(&run_id()).await.unwrap();
    let doubt = asked.pending()[0].doubt.clone().unwrap();
    assert_eq!((doubt.evidence.len(), doubt.evidence[0].result.text().as_str()), (1, "paid"));
}

/// A worker's result was acknowledged and waits for the run. Then the application supplies one, or cancels the run: the
/// worker's result is the one that is recorded.
#[tokio::test]
async fn an_acknowledged_result_survives_a_supplied_one_and_a_cancellation() {
    for cancels in [false, true] {
        let world = World::new();
        let agent = world.deferring(world.inner.clone());
        let paused = agent.chat(request()).await.unwrap();
        let holder = TaskHolder::of(&lease(&world.inner, 60_000).await, &Arc::from("hand"));
        agent.runner().queue().complete(&holder, ToolResult::success("paid")).await.unwrap();
        let result = if cancels {
            agent.runner().cancel(&run_id(), holdpoint::Actor::default()).await.unwrap();
            agent.runner().result(&run_id()).await.unwrap()
        } else {
            let other = Results::new().result("c", ToolResult::success("something else"));
            let error = agent.resume_with_tool_results(&paused, other).await.unwrap_err();
            assert_eq!(error.code(), Code::StaleContinuation);
            agent.runner().result(&run_id()).await.unwrap()
        };
        let record = &result.records()[0];
        assert_eq!((record.progress.as_str(), record.attempts.0), ("succeeded", 1), "cancelled: {cancels}");
    }
}

/// The worker completes its task after the cancellation has looked for results and before it is durable.
#[tokio::test]
async fn a_result_that_arrives_during_a_cancellation_is_recorded() {
    let world = World::new();
    let agent = world.deferring(world.store.store());
    agent.chat(request()).await.unwrap();
    let holder = TaskHolder::of(&lease(&world.inner, 60_000).await, &Arc::from("hand"));
    let queue = world.deferring(world.inner.clone()).runner().queue();
    let happens = async move { queue.complete(&holder, ToolResult::success("paid")).await.unwrap() };
    world.store.once(At::BeforeCommit, 0, happens, Then::Answer);
    let cancelled = agent.runner().cancel(&run_id(), holdpoint::Actor::default()).await.unwrap();
    assert_eq!(cancelled.status(), Status::Cancelled);
    assert_eq!(cancelled.records()[0].progress.as_str(), "succeeded");
    assert!(cancelled.messages().iter().any(|message| message.text() == "paid"));
}

/// A database that becomes read-only for a moment, as in a planned switchover, turns no result into a question.
#[tokio::test]
async fn results_survive_a_store_that_is_read_only_for_a_moment() {
    let world = World::new();
    // The third commit has the result.
    for _ in 0..3 {
        world.store.once(At::BeforeCommit, 2, async {}, Then::ReadOnly);
    }
    let done = world.suspended().chat(request()).await.unwrap();
    assert_eq!((done.status(), world.effects.count()), (Status::Finished, 1));
    assert_eq!(done.records()[0].progress.as_str(), "succeeded");

    let world = World::new();
    let agent = world.deferring(world.store.store());
    agent.chat(request()).await.unwrap();
    let holder = TaskHolder::of(&lease(&world.inner, 60_000).await, &Arc::from("hand"));
    for _ in 0..3 {
        world.store.once(At::BeforeDeliver, 0, async {}, Then::ReadOnly);
    }
    agent.runner().queue().complete(&holder, ToolResult::success("paid")).await.unwrap();
    keep_until_settled(&agent).await;
    let done = agent.runner().result(&run_id()).await.unwrap();
    assert_eq!((done.status(), done.records()[0].progress.as_str()), (Status::Finished, "succeeded"));
}

/// A process that was suspended between its claim and its takeover leaves the run to the process that claimed it since.
#[tokio::test]
async fn a_run_that_another_process_claimed_since_is_not_taken_over() {
    let world = World::new();
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let waiting = {
        let (started, go, effects) = (Arc::clone(&started), Arc::clone(&go), world.effects.clone());
        raw_tool("pay", "Pays when it is let go", json!({"type": "object"}), move |_: ToolCall| {
            let (started, go) = (Arc::clone(&started), Arc::clone(&go));
            effects.add();
            async move {
                started.notify_one();
                go.notified().await;
                "paid"
            }
        })
    };
    let build = |store: Store| {
        let builder = Agent::builder().shared_model(Arc::new(world.model.clone())).policy(by_name()).lease(LEASE);
        builder.tool(waiting.clone()).store(store).build().unwrap()
    };
    let (dying, other) = (Interrupted::new(world.inner.clone()), build(world.inner.clone()));
    let dead = build(dying.store());
    assert!(dying.dies(AFTER_INTENT, dead.chat(request())).await.is_none());
    world.clock.advance_ms(LONG_MS);

    let driven = other.clone();
    let (stand_still, is_driven) = (world.stand_still(), Arc::new(Notify::new()));
    let heard = Arc::clone(&is_driven);
    let happens = async move {
        stand_still(40_000, 40_000);
        let stop = CancellationToken::new();
        let keeper = tokio::spawn(Keeper::new(driven.runner()).poll(Duration::from_millis(10)).run(stop.clone()));
        let is_asked = |result: &RunResult| result.status() == Status::AwaitingToolConfirmation;
        let asked = until(&driven, &run_id(), is_asked).await;
        stop.cancel();
        keeper.await.unwrap();
        tokio::spawn(async move { driven.resume(&asked, Decisions::new().allow("c").by("ana")).await });
        started.notified().await;
        heard.notify_one();
    };
    world.store.once(At::AfterClaim, 0, happens, Then::Answer);
    let late = build(world.store.store());
    let stop = CancellationToken::new();
    let keeper = tokio::spawn(Keeper::new(late.runner()).poll(Duration::from_millis(10)).run(stop.clone()));
    is_driven.notified().await;
    // tidy: sleeps because nothing tells that something does not happen.
    tokio::time::sleep(Duration::from_millis(200)).await;
    stop.cancel();
    keeper.await.unwrap();
    let now = other.runner().result(&run_id()).await.unwrap();
    assert_eq!(now.status(), Status::Running, "the call still runs, and nobody is asked about it");
    go.notify_one();
    let done = until(&other, &run_id(), |result: &RunResult| result.status() == Status::Finished).await;
    assert_eq!((done.records()[0].progress.as_str(), world.effects.count()), ("succeeded", 1));
}
