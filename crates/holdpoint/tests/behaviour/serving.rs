//! What a server needs of the library: sessions on any machine, runs that others go on with, live text, traces, counts.

use crate::common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Counter, PATIENCE, asking, by_name, echo};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::{
    Actor, Agent, Code, Decisions, DeltaHub, Keeper, RunId, RunRequest, RunResult, Status, StreamEvent, Worker,
};
use holdpoint_core::{Revision, ToolName};
use holdpoint_store::{MemoryStore, Scope, Store};
use tokio_util::sync::CancellationToken;

const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn acme() -> Actor {
    Actor { id: Some("zoe".into()), tenant: Some("acme".into()), ..Actor::default() }
}

fn say(text: &str, id: &str) -> RunRequest {
    RunRequest::new(text).with_run_id(RunId::new(id)).in_session("talk").by(acme()).alone()
}

fn agent(store: &Store, script: Vec<ScriptedReply>) -> Agent {
    let builder = Agent::builder().model(ScriptedModel::new(script)).policy(by_name()).store(store.clone());
    builder.system_prompt("be kind").tool(echo("ask_pay", &Counter::default())).build().unwrap()
}

fn memory() -> Store {
    Store::from(MemoryStore::new())
}

/// Waits until the run is over or paused.
async fn stopped(agent: &Agent, run: &RunId) -> RunResult {
    let waiting = async {
        loop {
            let result = agent.runner().result(run).await.unwrap();
            if result.status() != Status::Running {
                return result;
            }
            agent.runner().store().runs.changed(run, result.revision()).await.unwrap();
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("it stops in time")
}

#[tokio::test]
async fn a_session_goes_on_with_another_agent_of_the_same_store() {
    let store = memory();
    let first = agent(&store, vec![ScriptedReply::text("hello")]);
    assert!(first.runner().session_so_far(Some("acme"), "talk").await.unwrap().messages.is_empty());
    first.chat(say("hi", "r1")).await.unwrap();
    let second = agent(&store, vec![ScriptedReply::text("again")]);
    let history = second.runner().session_so_far(Some("acme"), "talk").await.unwrap().messages;
    let result = second.chat(say("and now?", "r2").after(history)).await.unwrap();
    let texts: Vec<String> = result.messages().iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["be kind", "hi", "hello", "and now?", "again"]);
    // Sessions of others have nothing to do with it.
    assert!(second.runner().session_so_far(None, "talk").await.unwrap().messages.is_empty());
    assert!(second.runner().session_so_far(Some("other"), "talk").await.unwrap().messages.is_empty());
}

#[tokio::test]
async fn a_session_has_one_open_run_at_a_time() {
    let store = memory();
    let one = agent(&store, vec![ScriptedReply::call("p", "ask_pay", "{}"), ScriptedReply::text("paid")]);
    let paused = one.chat(say("pay", "r1")).await.unwrap();
    let other = agent(&store, vec![ScriptedReply::text("never")]);
    assert_eq!(other.chat(say("more", "r2")).await.unwrap_err().code(), Code::RunPaused);
    assert_eq!(other.runner().session_so_far(Some("acme"), "talk").await.unwrap_err().code(), Code::RunPaused);
    one.runner().resume(&paused, Decisions::new().allow("p")).detach().await.unwrap();
    assert_eq!(other.chat(say("more", "r2")).await.unwrap_err().code(), Code::RunBusy);
    assert_eq!(other.runner().session_so_far(Some("acme"), "talk").await.unwrap_err().code(), Code::RunBusy);
    assert!(store.runs.head(&Scope::All, &RunId::new("r2")).await.unwrap().is_none());
    one.runner().recover(&RunId::new("r1")).await.unwrap();
    assert_eq!(other.chat(say("more", "r2")).await.unwrap().text().as_deref(), Some("never"));
}

#[tokio::test]
async fn what_was_submitted_or_answered_is_gone_on_with_by_a_keeper() {
    let store = memory();
    let agent = agent(&store, vec![ScriptedReply::call("p", "ask_pay", "{}"), ScriptedReply::text("paid")]);
    let run = RunId::new("r1");
    let submitted = agent.chat(say("pay", "r1")).detach().await.unwrap();
    assert_eq!((submitted.status(), submitted.turns()), (Status::Running, 1));
    let stop = CancellationToken::new();
    let keeper = tokio::spawn(Keeper::new(agent.runner()).poll(Duration::from_millis(20)).run(stop.clone()));
    let paused = stopped(&agent, &run).await;
    assert_eq!(paused.status(), Status::AwaitingToolConfirmation);
    let refused = agent.runner().resume(&paused, Decisions::new().allow("nobody")).detach().await.unwrap_err();
    assert_eq!(refused.code(), Code::UnknownToolCall);
    agent.runner().resume(&paused, Decisions::new().allow("p").by("ana")).detach().await.unwrap();
    assert_eq!(stopped(&agent, &run).await.text().as_deref(), Some("paid"));
    stop.cancel();
    keeper.await.unwrap();
}

#[tokio::test]
async fn what_the_model_says_is_heard_whoever_drives_the_run() {
    let (store, hub) = (memory(), DeltaHub::new());
    let agent = agent(&store, vec![ScriptedReply::text("hello there")]).with_deltas(hub.clone());
    let run = RunId::new("r1");
    let (mut one, mut two) = (hub.listen(&run), hub.listen(&run));
    let mut other = hub.listen(&RunId::new("another"));
    agent.chat(say("hi", "r1")).detach().await.unwrap();
    agent.runner().recover(&run).await.unwrap();
    let heard = |listener: &mut holdpoint::DeltaListener| {
        let mut text = String::new();
        while let Some(event) = listener.try_next() {
            assert!(!matches!(event, StreamEvent::Durable(_)));
            if let StreamEvent::TextDelta(delta) = event {
                text.push_str(&delta);
            }
        }
        text
    };
    assert_eq!([heard(&mut one), heard(&mut two)], ["hello there", "hello there"]);
    assert!(other.try_next().is_none());
    assert_eq!(hub.runs_heard(), 2);
    drop((one, two, other));
    assert_eq!(hub.runs_heard(), 0);
}

#[tokio::test]
async fn a_slow_listener_misses_the_oldest_and_stops_nobody() {
    let (store, hub) = (memory(), DeltaHub::new());
    let script = vec![ScriptedReply::text("word ".repeat(5_000))];
    let agent = agent(&store, script).with_deltas(hub.clone());
    let mut slow = hub.listen(&RunId::new("r1"));
    agent.chat(say("hi", "r1")).await.unwrap();
    let mut heard = 0;
    while slow.try_next().is_some() {
        heard += 1;
    }
    assert!(heard > 0 && heard <= 1_024, "{heard} pieces were kept");
}

#[tokio::test]
async fn every_segment_joins_the_trace_that_the_run_was_started_in() {
    let joined: Arc<Mutex<Vec<String>>> = Arc::default();
    let store = memory();
    let script = vec![ScriptedReply::call("p", "ask_pay", "{}"), ScriptedReply::text("paid")];
    let keep = Arc::clone(&joined);
    let agent = agent(&store, script).with_span_parent(Arc::new(move |_, trace| {
        keep.lock().unwrap().push(trace.to_owned());
    }));
    let paused = agent.chat(say("pay", "r1").with_trace(TRACE)).await.unwrap();
    agent.resume(&paused, Decisions::new().allow("p")).await.unwrap();
    assert_eq!(*joined.lock().unwrap(), [TRACE, TRACE]);
    // Not in what the model or whoever reads the conversation sees.
    let result = agent.runner().result(&RunId::new("r1")).await.unwrap();
    assert!(result.messages().iter().all(|message| !message.text().contains("4bf92f")));
    let events = agent.runner().events(&RunId::new("r1"), Revision(0)).await.unwrap();
    assert!(events.iter().all(|event| !event.to_string().contains("4bf92f")));
}

#[tokio::test]
async fn what_is_no_traceparent_is_left_out() {
    let joined: Arc<Mutex<u32>> = Arc::default();
    let keep = Arc::clone(&joined);
    let script = (0..5).map(|_| ScriptedReply::text("done")).collect();
    let agent = agent(&memory(), script).with_span_parent(Arc::new(move |_, _| *keep.lock().unwrap() += 1));
    let zero = "00-00000000000000000000000000000000-00f067aa0ba902b7-01";
    for (number, trace) in ["", "00-xyz", &TRACE.to_uppercase(), zero, &format!("{TRACE}-more")].iter().enumerate() {
        agent
            .chat(RunRequest::new("hi").with_run_id(RunId::new(format!("r{number}"))).with_trace(trace))
            .await
            .unwrap();
    }
    assert_eq!(*joined.lock().unwrap(), 0);
}

#[tokio::test]
async fn a_worker_joins_the_trace_and_is_seen() {
    let joined: Arc<Mutex<Vec<String>>> = Arc::default();
    let (store, counter, keep) = (memory(), Counter::default(), Arc::clone(&joined));
    let (builder, _) = asking(&[("a", "work", "{}")]);
    let builder = builder.tool(echo("work", &counter)).with_tool_concurrency("defer_all", None);
    let agent = builder.store(store.clone()).build().unwrap();
    let agent = agent.with_span_parent(Arc::new(move |span, trace| {
        let name = span.metadata().map_or("disabled", |metadata| metadata.name());
        keep.lock().unwrap().push(format!("{name} {trace}"));
    }));
    agent.chat(say("go", "r1").with_trace(TRACE)).await.unwrap();
    joined.lock().unwrap().clear();
    let stop = CancellationToken::new();
    let worker = Worker::new(agent.runner()).name("w1").poll(Duration::from_millis(20));
    let worker = tokio::spawn(worker.run(stop.clone()));
    counter.begun().await;
    assert!(joined.lock().unwrap().iter().all(|seen| seen.ends_with(TRACE)), "{joined:?}");
    assert_eq!(joined.lock().unwrap().len(), 1);
    let workers = store.state.workers(&Scope::All).await.unwrap();
    assert_eq!((workers.len(), &*workers[0].name, workers[0].tools[0].as_str()), (1, "w1", "work"));
    stop.cancel();
    worker.await.unwrap().unwrap();
}

#[tokio::test]
async fn calls_are_counted_by_registered_name() {
    let calls = [("a", "work", "{}"), ("b", "fails", "{}"), ("c", "work", "{}"), ("d", "deny_it", "{}")];
    let (builder, _) = asking(&calls);
    let fails = holdpoint::tools::raw_tool("fails", "Fails", serde_json::json!({"type": "object"}), |_| async {
        Err::<String, _>(holdpoint::tools::ToolError::new("no"))
    });
    let agent = builder.tool(echo("work", &Counter::default())).tool(fails).build().unwrap();
    agent.chat("go").await.unwrap();
    let stats = agent.runner().tool_stats();
    let work = &stats[&ToolName::new("work")];
    assert_eq!((work.calls, work.outcomes.get("succeeded")), (2, Some(&2)));
    assert_eq!(work.latency_steps.iter().sum::<u64>(), work.ran);
    assert!(work.ran == 0 || work.latency_ms(0.5).is_some());
    assert_eq!(stats[&ToolName::new("fails")].outcomes.get("failed"), Some(&1));
    assert!(!stats.contains_key(&ToolName::new("nobody")));
}
