//! What becomes of runs when the process that drives them is told to stop.

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::{Counter, PATIENCE, by_name, echo};
use holdpoint::model::{DeltaSink, Model, ModelError, ModelReply, ModelRequest, ScriptedModel, ScriptedReply};
use holdpoint::tools::{ToolCall, raw_tool};
use holdpoint::{Agent, AgentBuilder, Keeper, RunId, RunRequest, RunResult, Status};
use holdpoint_store::{MemoryStore, Store};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

const POLL: Duration = Duration::from_millis(20);
/// Longer than any test waits: a run that is taken over within it was given back.
const LEASE: Duration = Duration::from_secs(600);

fn memory() -> Store {
    Store::from(MemoryStore::new())
}

fn builder(store: &Store, model: &ScriptedModel) -> AgentBuilder {
    Agent::builder().shared_model(Arc::new(model.clone())).policy(by_name()).store(store.clone()).lease(LEASE)
}

/// Asks for these calls, and then says `done`.
fn script(calls: &[(&str, &str, &str)]) -> ScriptedModel {
    ScriptedModel::new(vec![ScriptedReply::calls(calls), ScriptedReply::text("done")])
}

/// A tool that counts and ends when the gate opens.
fn gated(counter: &Counter, gate: &watch::Sender<bool>) -> holdpoint::tools::MadeTool {
    let (counter, gate) = (counter.clone(), gate.subscribe());
    raw_tool("slow", "Ends when it is told", json!({"type": "object"}), move |_: ToolCall| {
        counter.add();
        let mut gate = gate.clone();
        async move {
            gate.wait_for(|open| *open).await.unwrap();
            "at last".to_owned()
        }
    })
}

/// Another process looks after the store, and brings the run to its end.
async fn ends_elsewhere(agent: &Agent, run: &RunId) -> RunResult {
    let stop = CancellationToken::new();
    tokio::spawn(Keeper::new(agent.runner()).poll(POLL).run(stop.clone()));
    let _stop = stop.drop_guard();
    let waiting = async {
        loop {
            let result = agent.runner().result(run).await.unwrap();
            if result.status() == Status::Finished {
                return result;
            }
            let _ = tokio::time::timeout(POLL, agent.runner().store().runs.changed(run, result.revision())).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("the run was given back")
}

#[tokio::test]
async fn a_tool_that_runs_is_waited_for_and_nothing_begins_after_it() {
    let store = memory();
    let model = script(&[("a", "slow", "{}"), ("b", "next", "{}")]);
    let (slow, next, gate) = (Counter::default(), Counter::default(), watch::Sender::new(false));
    let process = || {
        let tools = builder(&store, &model).tool(gated(&slow, &gate)).tool(echo("next", &next));
        tools.with_tool_concurrency("inline", None).build().unwrap()
    };
    let (first, stop) = (process(), CancellationToken::new());
    let first = first.with_stopping(stop.clone());
    let run = RunId::new("r");
    let request = RunRequest::new("go").with_run_id(run.clone());
    let driving = tokio::spawn(async move { first.chat(request).await });
    slow.begun().await;
    stop.cancel();
    gate.send_replace(true);
    let left = tokio::time::timeout(PATIENCE, driving).await.expect("it lets go").unwrap().unwrap();
    assert_eq!(left.status(), Status::Running);
    assert_eq!((slow.count(), next.count()), (1, 0));
    let done = ends_elsewhere(&process(), &run).await;
    assert_eq!(done.text().as_deref(), Some("done"));
    assert_eq!((slow.count(), next.count()), (1, 1), "what was done is not done again");
}

#[tokio::test]
async fn no_turn_begins_once_the_process_stops() {
    let (store, model, counter) = (memory(), script(&[("a", "work", "{}")]), Counter::default());
    let stop = CancellationToken::new();
    let (stops, counts) = (stop.clone(), counter.clone());
    let stopping = raw_tool("work", "Is told while it works", json!({"type": "object"}), move |_: ToolCall| {
        counts.add();
        stops.cancel();
        async { "done".to_owned() }
    });
    let first = builder(&store, &model).tool(stopping).build().unwrap().with_stopping(stop);
    let run = RunId::new("r");
    let left = first.chat(RunRequest::new("go").with_run_id(run.clone())).await.unwrap();
    assert_eq!(left.status(), Status::Running);
    assert_eq!(model.requests(), 1, "the model is not asked again here");
    let second = builder(&store, &model).tool(echo("work", &counter)).build().unwrap();
    let done = ends_elsewhere(&second, &run).await;
    assert_eq!(done.text().as_deref(), Some("done"));
    assert_eq!((counter.count(), model.requests()), (1, 2));
}

#[tokio::test]
async fn a_run_that_is_started_while_the_process_stops_is_kept_for_others() {
    let (store, model, counter) = (memory(), script(&[("a", "work", "{}")]), Counter::default());
    let process = || builder(&store, &model).tool(echo("work", &counter)).build().unwrap();
    let stop = CancellationToken::new();
    stop.cancel();
    let run = RunId::new("r");
    let request = RunRequest::new("go").with_run_id(run.clone());
    let left = process().with_stopping(stop).chat(request).await.unwrap();
    assert_eq!((left.status(), model.requests()), (Status::Running, 0));
    assert_eq!(ends_elsewhere(&process(), &run).await.text().as_deref(), Some("done"));
}

#[tokio::test]
async fn a_keeper_that_is_told_to_stop_lets_go_of_what_it_drives() {
    let store = memory();
    let model = script(&[("a", "slow", "{}"), ("b", "next", "{}")]);
    let (slow, next, gate) = (Counter::default(), Counter::default(), watch::Sender::new(false));
    let process = || {
        let tools = builder(&store, &model).tool(gated(&slow, &gate)).tool(echo("next", &next));
        tools.with_tool_concurrency("inline", None).build().unwrap()
    };
    let first = process();
    let run = RunId::new("r");
    first.chat(RunRequest::new("go").with_run_id(run.clone())).detach().await.unwrap();
    let stop = CancellationToken::new();
    let keeping = tokio::spawn(Keeper::new(first.runner()).poll(POLL).run(stop.clone()));
    slow.begun().await;
    stop.cancel();
    gate.send_replace(true);
    tokio::time::timeout(PATIENCE, keeping).await.expect("it ends").unwrap();
    assert_eq!((slow.count(), next.count()), (1, 0));
    assert_eq!(ends_elsewhere(&process(), &run).await.text().as_deref(), Some("done"));
    assert_eq!((slow.count(), next.count()), (1, 1));
}

#[tokio::test]
async fn a_call_that_waits_in_its_hooks_is_left_to_others() {
    let (store, model, counter) = (memory(), script(&[("a", "work", "{}")]), Counter::default());
    let (waits, stop) = (Counter::default(), CancellationToken::new());
    let arrived = waits.clone();
    let hook = holdpoint::hooks::around_fn(move |_, _| {
        arrived.add();
        Box::pin(std::future::pending())
    });
    let first = builder(&store, &model).tool(echo("work", &counter)).around(hook).build().unwrap();
    let first = first.with_stopping(stop.clone());
    let run = RunId::new("r");
    let request = RunRequest::new("go").with_run_id(run.clone());
    let driving = tokio::spawn(async move { first.chat(request).await });
    waits.begun().await;
    stop.cancel();
    let left = tokio::time::timeout(PATIENCE, driving).await.expect("it lets go").unwrap().unwrap();
    assert_eq!((left.status(), counter.count()), (Status::Running, 0));
    let second = builder(&store, &model).tool(echo("work", &counter)).build().unwrap();
    assert_eq!(ends_elsewhere(&second, &run).await.text().as_deref(), Some("done"));
    assert_eq!(counter.count(), 1);
}

/// A model that never ends its reply.
struct Silent(Counter);

#[async_trait::async_trait]
impl Model for Silent {
    async fn reply(&self, _: &ModelRequest<'_>, _: &dyn DeltaSink) -> Result<Option<ModelReply>, ModelError> {
        self.0.add();
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_does_not_answer_keeps_no_process_from_stopping() {
    let (store, asked, stop) = (memory(), Counter::default(), CancellationToken::new());
    let silent = Agent::builder().shared_model(Arc::new(Silent(asked.clone()))).policy(by_name()).lease(LEASE);
    let first = silent.store(store.clone()).build().unwrap().with_stopping(stop.clone());
    let run = RunId::new("r");
    let request = RunRequest::new("go").with_run_id(run.clone());
    let driving = tokio::spawn(async move { first.chat(request).await });
    asked.begun().await;
    stop.cancel();
    let left = tokio::time::timeout(PATIENCE, driving).await.expect("it lets go").unwrap().unwrap();
    assert_eq!(left.status(), Status::Running);
    let model = ScriptedModel::new(vec![ScriptedReply::text("done")]);
    let second = builder(&store, &model).build().unwrap();
    assert_eq!(ends_elsewhere(&second, &run).await.text().as_deref(), Some("done"));
}
