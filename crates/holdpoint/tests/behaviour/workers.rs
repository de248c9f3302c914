//! Calls that are handed out, the workers that do them, and the keeper that takes their results.

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use common::{Counter, PATIENCE, by_name, echo, until};
use holdpoint::hooks::{HookError, around_fn};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::policy_fn;
use holdpoint::tools::{Tool, ToolCall, raw_tool};
use holdpoint::{
    Actor, Agent, AgentBuilder, Code, Decision, Decisions, Keeper, Repeat, RunResult, Status, TaskHolder, ToolResult,
    Worker, WorkerFault,
};
use holdpoint_core::ToolName;
use holdpoint_store::{
    Layer, LeaseRequest, LeasedTask, MemoryStore, Store, StoreError, TaskCompletion, TaskLease, TaskQueueLayer,
    TaskState,
};
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

const POLL: Duration = Duration::from_millis(20);

struct World {
    store: Store,
    model: ScriptedModel,
    stop: CancellationToken,
}

impl World {
    /// The model asks for these calls and then says `done`, however often it is asked.
    fn new(calls: &[(&str, &str, &str)]) -> Self {
        let mut script = vec![ScriptedReply::calls(calls)];
        script.extend((0..4).map(|_| ScriptedReply::text("done")));
        let store = MemoryStore::new().into();
        Self { store, model: ScriptedModel::new(script), stop: CancellationToken::new() }
    }

    fn builder(&self) -> AgentBuilder {
        Agent::builder()
            .shared_model(Arc::new(self.model.clone()))
            .policy(by_name())
            .store(self.store.clone())
            .lease(Duration::from_millis(200))
            .with_tool_concurrency("defer_all", None)
    }

    fn keep(&self, agent: &Agent) {
        let keeper = Keeper::new(agent.runner()).poll(POLL);
        tokio::spawn(keeper.run(self.stop.clone()));
    }

    fn work(&self, agent: &Agent, lease: Duration) {
        let worker = Worker::new(agent.runner()).name("w").lease(lease).poll(POLL);
        tokio::spawn(worker.run(self.stop.clone()));
    }

    /// Takes one task as a worker of any language would.
    async fn lease(&self, tool: &str, lease_ms: u64) -> Vec<LeasedTask> {
        let tools = vec![(Arc::from(""), ToolName::new(tool))];
        let request = LeaseRequest { worker: "hand".into(), tools, tenant: None, limit: 10, lease_ms };
        self.store.tasks.lease(&request).await.unwrap()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Counts when it is let go of.
struct Held(Counter);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.add();
    }
}

fn ended(result: &RunResult) -> bool {
    result.status() == Status::Finished
}

#[tokio::test]
async fn workers_do_what_was_handed_out_and_the_run_goes_on_by_itself() {
    let world = World::new(&[("a", "work", "{}"), ("b", "work", r#"{"n":2}"#)]);
    let counter = Counter::default();
    let agent = world.builder().tool(echo("work", &counter)).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    assert_eq!(paused.status(), Status::AwaitingToolResults);
    world.keep(&agent);
    world.work(&agent, Duration::from_secs(5));
    let done = until(&agent, paused.run_id(), ended).await;
    assert_eq!(done.text().as_deref(), Some("done"));
    assert_eq!(counter.count(), 2);
    assert!(world.store.tasks.list(&Default::default()).await.unwrap().items.is_empty());
    let records = done.records();
    assert!(records.iter().all(|record| record.attempts.0 == 1), "{records:?}");
}

#[tokio::test]
async fn a_worker_that_gives_a_task_back_rests_before_it_takes_one_again() {
    let world = World::new(&[("a", "work", "{}")]);
    let (counter, tries) = (Counter::default(), Counter::default());
    let tried = tries.clone();
    let hook = around_fn(move |_, _| {
        tried.add();
        Box::pin(async { Err(HookError::new("the pool is empty")) })
    });
    let agent = world.builder().tool(echo("work", &counter)).around(hook).build().unwrap();
    agent.chat("go").await.unwrap();
    let worker = Worker::new(agent.runner()).poll(Duration::from_millis(200));
    tokio::spawn(worker.run(world.stop.clone()));
    // tidy: sleeps because it counts how often something happens in a time
    tokio::time::sleep(Duration::from_millis(900)).await;
    assert!((2..=6).contains(&tries.count()), "it was taken {} times", tries.count());
    assert_eq!(counter.count(), 0);
}

#[tokio::test]
async fn results_in_any_order_wait_for_the_last_one() {
    let world = World::new(&[("a", "work", "{}"), ("b", "work", "{}"), ("c", "work", "{}")]);
    let agent = world.builder().tool(echo("work", &Counter::default())).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    world.keep(&agent);
    let tasks = world.lease("work", 5_000).await;
    assert_eq!(tasks.len(), 3);
    let queue = agent.runner().queue();
    for (delivered, task) in [2, 0, 1].into_iter().map(|index| &tasks[index]).enumerate() {
        let result = agent.runner().result(paused.run_id()).await.unwrap();
        assert_eq!(result.status(), Status::AwaitingToolResults, "after {delivered} results");
        let text = format!("result {}", task.lease.key.index);
        queue.complete(&TaskHolder::of(task, &"hand".into()), ToolResult::success(text)).await.unwrap();
    }
    let done = until(&agent, paused.run_id(), ended).await;
    let texts: Vec<String> = done.messages().iter().map(|message| message.text().to_string()).collect();
    assert_eq!(&texts[2..5], ["result 0", "result 1", "result 2"]);
    assert_eq!(world.model.requests(), 2, "the model waits for the last result");
}

#[tokio::test]
async fn a_worker_that_dies_with_a_call_that_may_not_be_repeated_leaves_a_question() {
    let world = World::new(&[("a", "pay", "{}")]);
    let agent = world.builder().tool(echo("pay", &Counter::default())).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    let dead = world.lease("pay", 10).await;
    world.keep(&agent);
    let asked = until(&agent, paused.run_id(), |run| run.status() == Status::AwaitingToolConfirmation).await;
    assert!(asked.pending()[0].is_uncertain());
    assert!(world.lease("pay", 10).await.is_empty(), "nobody else gets it");
    // The dead worker was only slow: its result is evidence, and is not merged.
    let queue = agent.runner().queue();
    let holder = TaskHolder::of(&dead[0], &"hand".into());
    let late = queue.complete(&holder, ToolResult::success("paid")).await.unwrap_err();
    assert_eq!(late.code(), Code::LeaseLost);
    let asked = agent.runner().result(paused.run_id()).await.unwrap();
    assert_eq!(asked.status(), Status::AwaitingToolConfirmation);
    let continuation = asked.continuation().unwrap();
    let happened = Decisions::new().decide("a", holdpoint::CallAnswer::Happened(Arc::new(ToolResult::success("paid"))));
    let done = agent.resume(&continuation, happened.by("ana")).await.unwrap();
    assert_eq!(done.text().as_deref(), Some("done"));
}

#[tokio::test]
async fn a_call_that_may_be_repeated_is_tried_again_and_then_asked_about() {
    let world = World::new(&[("a", "read", "{}")]);
    let counter = Counter::default();
    let read = echo("read", &counter).repeat(Repeat::Safe);
    let agent = world.builder().max_task_attempts(2).tool(read).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    world.lease("read", 10).await;
    world.keep(&agent);
    let again = tokio::time::timeout(PATIENCE, async {
        loop {
            let tasks = world.lease("read", 10).await;
            if !tasks.is_empty() {
                return tasks;
            }
            // tidy: sleeps because the task can be leased again after a time that the store counts
            tokio::time::sleep(POLL).await;
        }
    });
    assert_eq!(again.await.unwrap()[0].task.attempts.0, 2);
    let asked = until(&agent, paused.run_id(), |run| run.status() == Status::AwaitingToolConfirmation).await;
    assert!(asked.pending()[0].is_uncertain(), "it is out of attempts");
    // Requeued by a person, it has attempts again, and a worker does it.
    let again = agent.resume(asked.continuation().unwrap(), [("a", true)]).await.unwrap();
    assert_eq!(again.status(), Status::AwaitingToolResults);
    world.work(&agent, Duration::from_secs(5));
    let done = until(&agent, paused.run_id(), ended).await;
    assert_eq!((counter.count(), done.records()[0].attempts.0), (1, 3));
}

#[tokio::test]
async fn a_worker_that_had_not_started_gives_the_task_back() {
    let world = World::new(&[("a", "pay", "{}")]);
    let agent = world.builder().tool(echo("pay", &Counter::default())).build().unwrap();
    agent.chat("go").await.unwrap();
    let first = world.lease("pay", 5_000).await;
    agent.runner().queue().fail(&first[0].lease, WorkerFault::NotStarted).await.unwrap();
    let second = world.lease("pay", 5_000).await;
    assert_eq!(second[0].task.attempts.0, 1, "the attempt did not count");
    let stale = agent.runner().queue().fail(&first[0].lease, WorkerFault::NotStarted).await.unwrap_err();
    assert_eq!(stale.code(), Code::LeaseLost);
}

#[tokio::test]
async fn a_worker_that_failed_after_it_started_leaves_a_question() {
    let world = World::new(&[("a", "pay", "{}")]);
    let agent = world.builder().tool(echo("pay", &Counter::default())).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    let task = world.lease("pay", 5_000).await;
    agent.runner().queue().fail(&task[0].lease, WorkerFault::Started).await.unwrap();
    let asked = agent.runner().result(paused.run_id()).await.unwrap();
    assert_eq!(asked.status(), Status::AwaitingToolConfirmation);
    assert!(asked.pending()[0].is_uncertain());
}

#[tokio::test]
async fn cancelling_withdraws_tasks_and_stops_the_tool_of_a_worker() {
    let world = World::new(&[("a", "slow", "{}"), ("b", "other", "{}")]);
    let (stopped, told) = (Counter::default(), Counter::default());
    let (began, stops) = (stopped.clone(), told.clone());
    let slow = raw_tool("slow", "Waits to be stopped", json!({"type": "object"}), move |call: ToolCall| {
        began.add();
        // Whatever a tool holds is let go of when it is told to stop.
        let held = Held(stops.clone());
        async move {
            std::future::pending::<()>().await;
            drop((held, call));
            "never".to_owned()
        }
    });
    let agent = world.builder().tool(slow).tool(echo("other", &Counter::default())).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    let worker = Worker::new(agent.runner()).tools("slow").lease(Duration::from_millis(300)).poll(POLL);
    tokio::spawn(worker.run(world.stop.clone()));
    stopped.begun().await;
    let other = world.lease("other", 5_000).await;
    let cancelled = agent.runner().cancel(paused.run_id(), Actor::default()).await.unwrap();
    assert_eq!(cancelled.status(), Status::Cancelled);
    assert!(world.store.tasks.list(&Default::default()).await.unwrap().items.is_empty());
    let holder = TaskHolder::of(&other[0], &"hand".into());
    let late = agent.runner().queue().complete(&holder, ToolResult::success("late")).await.unwrap_err();
    assert_eq!(late.code(), Code::LeaseLost);
    told.begun().await;
}

#[tokio::test]
async fn a_worker_takes_only_what_it_has() {
    let world = World::new(&[("a", "known", "{}"), ("b", "unknown", "{}")]);
    let (known, unknown) = (Counter::default(), Counter::default());
    let agent = world.builder().tool(echo("known", &known)).tool(echo("unknown", &unknown)).build().unwrap();
    agent.chat("go").await.unwrap();
    let worker = Worker::new(agent.runner()).tools("kno*").poll(POLL);
    tokio::spawn(worker.run(world.stop.clone()));
    known.begun().await;
    let left = world.store.tasks.list(&Default::default()).await.unwrap().items;
    let waiting: Vec<_> = left.iter().filter(|task| matches!(task.state, TaskState::Waiting { .. })).collect();
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].tool.as_str(), "unknown");
    assert_eq!(unknown.count(), 0);
}

#[tokio::test]
async fn a_worker_without_a_tool_or_with_a_broken_pattern_says_so() {
    let world = World::new(&[]);
    let agent = world.builder().tool(echo("known", &Counter::default())).build().unwrap();
    for pattern in ["nothing-like-it", "{broken"] {
        let worker = Worker::new(agent.runner()).tools(pattern);
        let error = worker.run(world.stop.clone()).await.unwrap_err();
        assert_eq!(error.code(), Code::InvalidConfig, "{pattern}");
    }
}

#[tokio::test]
async fn policy_is_asked_again_when_a_worker_takes_the_call() {
    let world = World::new(&[("a", "work", "{}")]);
    let counter = Counter::default();
    let agent = world.builder().tool(echo("work", &counter)).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    let stricter = policy_fn(|_| Decision::deny("not any more"));
    let later = world.builder().policy(stricter).tool(echo("work", &counter)).build().unwrap();
    world.keep(&later);
    world.work(&later, Duration::from_secs(5));
    let done = until(&later, paused.run_id(), ended).await;
    assert_eq!(counter.count(), 0);
    assert_eq!(done.records()[0].code, Some(Code::PolicyRevoked));
}

#[tokio::test]
async fn a_task_that_nobody_does_in_time_expires() {
    let world = World::new(&[("a", "work", "{}")]);
    let builder = world.builder().task_deadline_ms(50);
    let agent = builder.tool(echo("work", &Counter::default())).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    world.keep(&agent);
    let done = until(&agent, paused.run_id(), ended).await;
    assert_eq!(done.records()[0].code, Some(Code::Expired));
    assert!(world.store.tasks.list(&Default::default()).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn a_worker_that_is_told_to_stop_ends_what_it_does_and_takes_nothing_more() {
    let world = World::new(&[("a", "slow", "{}"), ("b", "slow", "{}")]);
    let (counter, go) = (Counter::default(), Arc::new(Notify::new()));
    let (counts, may_end) = (counter.clone(), Arc::clone(&go));
    let slow = raw_tool("slow", "Takes a while", json!({"type": "object"}), move |_: ToolCall| {
        counts.add();
        let may_end = Arc::clone(&may_end);
        async move {
            may_end.notified().await;
            "slowly done".to_owned()
        }
    });
    let agent = world.builder().tool(slow).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    let stop = CancellationToken::new();
    let worker = tokio::spawn(Worker::new(agent.runner()).concurrency(1).poll(POLL).run(stop.clone()));
    counter.begun().await;
    stop.cancel();
    go.notify_one();
    tokio::time::timeout(PATIENCE, worker).await.unwrap().unwrap().unwrap();
    assert_eq!(world.store.tasks.completed(paused.run_id()).await.unwrap().len(), 1);
    let tasks = world.store.tasks.list(&Default::default()).await.unwrap().items;
    let waiting = tasks.iter().filter(|task| matches!(task.state, TaskState::Waiting { .. })).count();
    assert_eq!((waiting, counter.count()), (1, 1));
}

/// Counts the results that workers stored.
struct TellsOfResults {
    inner: Store,
    stored: Counter,
}

impl Layer for TellsOfResults {
    fn inner(&self) -> &Store {
        &self.inner
    }
}

#[async_trait]
impl TaskQueueLayer for TellsOfResults {
    async fn complete(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError> {
        let completion = self.inner.tasks.complete(lease, result).await?;
        self.stored.add();
        Ok(completion)
    }
}

#[tokio::test]
async fn what_runs_here_is_not_held_up_and_nothing_is_lost_when_both_end_at_once() {
    let mut world = World::new(&[("a", "remote", "{}"), ("b", "local", "{}")]);
    let tells = Arc::new(TellsOfResults { inner: world.store.clone(), stored: Counter::default() });
    world.store = Store { tasks: Arc::clone(&tells) as _, ..world.store.clone() };
    let stored = tells.stored.clone();
    let local = raw_tool("local", "Takes longer than the other", json!({"type": "object"}), move |_: ToolCall| {
        let stored = stored.clone();
        async move {
            stored.begun().await;
            "here".to_owned()
        }
    });
    let remote: Arc<dyn Tool> = Arc::new(echo("remote", &Counter::default()));
    let builder = world.builder().with_tool_concurrency("inline", None).route("remote", "defer_all");
    let agent = builder.tool(local).tools([remote]).build().unwrap();
    world.keep(&agent);
    world.work(&agent, Duration::from_secs(5));
    // The worker is done while the other call still runs here: its result waits for the run to pause.
    let first = agent.chat("go").await.unwrap();
    let done = until(&agent, first.run_id(), ended).await;
    assert_eq!(done.text().as_deref(), Some("done"));
    assert_eq!(world.model.requests(), 2);
}
