//! Executors of one's own: they decide when and where; hooks, timeout and intent stay inside.

use crate::common;

use std::process::Stdio;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use common::{Counter, asking, echo};
use holdpoint::hooks::{HookError, around_fn};
use holdpoint::tools::{Batch, Execute, Invoke, Place, Tool, ToolCall, ToolError, raw_tool};
use holdpoint::{Code, Outcome, ToolResult};
use serde_json::json;
use tokio::io::AsyncWriteExt;

/// Runs the last call first.
struct Backwards;

#[async_trait]
impl Execute for Backwards {
    async fn execute(&self, batch: Batch) {
        for call in batch.calls().iter().rev() {
            batch.run(call.index).await;
        }
    }
}

/// Runs each call in a child process.
struct Children;

#[async_trait]
impl Execute for Children {
    async fn execute(&self, batch: Batch) {
        for call in batch.calls() {
            batch.run_in(call.index, Place::Custom(Arc::new(Child))).await;
        }
    }
}

struct Child;

#[async_trait]
impl Invoke for Child {
    async fn invoke(&self, _: Arc<dyn Tool>, call: ToolCall) -> Result<ToolResult, ToolError> {
        let mut child = tokio::process::Command::new("cat");
        let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(call.arguments().expose().as_bytes()).await?;
        }
        let output = child.wait_with_output().await?;
        Ok(ToolResult::success(String::from_utf8_lossy(&output.stdout).into_owned()))
    }
}

/// Forgets every second call.
struct Forgetful;

#[async_trait]
impl Execute for Forgetful {
    async fn execute(&self, batch: Batch) {
        for call in batch.calls().iter().step_by(2) {
            batch.run(call.index).await;
        }
    }
}

/// Panics after its first call.
struct Panicking;

#[async_trait]
impl Execute for Panicking {
    async fn execute(&self, batch: Batch) {
        batch.run(batch.calls()[0].index).await;
        panic!("oh no");
    }
}

fn two_calls(executor: Arc<dyn Execute>) -> (holdpoint::Agent, Counter) {
    let counter = Counter::default();
    let (builder, _) = asking(&[("a", "work", r#"{"n": 1}"#), ("b", "work", r#"{"n": 2}"#)]);
    let builder = builder.tool(echo("work", &counter)).register_executor("mine", executor);
    (builder.with_tool_concurrency("mine", None).build().unwrap(), counter)
}

#[tokio::test]
async fn a_registered_executor_decides_when() {
    let started = Arc::new(Mutex::new(Vec::new()));
    let (builder, _) = asking(&[("a", "work", "{}"), ("b", "work", "{}")]);
    let log = Arc::clone(&started);
    let builder = builder.tool(echo("work", &Counter::default())).register_executor("backwards", Arc::new(Backwards));
    let builder = builder.on_tool_call(move |call| log.lock().unwrap().push(call.call.id.to_string()));
    let agent = builder.with_tool_concurrency("backwards", None).build().unwrap();
    let result = agent.chat("go").await.unwrap();
    assert_eq!(*started.lock().unwrap(), ["b", "a"]);
    let ids: Vec<_> = result.records().iter().map(|record| record.id.to_string()).collect();
    assert_eq!(ids, ["a", "b"]);
}

#[tokio::test]
async fn each_call_can_run_in_a_child_process() {
    let (agent, counter) = two_calls(Arc::new(Children));
    let result = agent.chat("go").await.unwrap();
    assert_eq!(common::lines(&result)[1..3], [r#"tool: {"n":1}"#, r#"tool: {"n":2}"#]);
    assert_eq!(counter.count(), 0, "the child ran it, not this process");
    assert_eq!(result.tool_executions(), 2);
}

#[tokio::test]
async fn a_call_that_an_executor_forgets_is_failed_not_lost() {
    let (agent, counter) = two_calls(Arc::new(Forgetful));
    let result = agent.chat("go").await.unwrap();
    assert_eq!(result.records()[1].code, Some(Code::ExecutorFailed));
    assert_eq!((counter.count(), result.text().as_deref()), (1, Some("done")));
}

#[tokio::test]
async fn an_executor_that_panics_does_not_end_the_run() {
    let (agent, counter) = two_calls(Arc::new(Panicking));
    let result = agent.chat("go").await.unwrap();
    assert_eq!(result.records()[0].progress, holdpoint_core::Progress::Settled(Outcome::Succeeded));
    assert_eq!(result.records()[1].code, Some(Code::ExecutorFailed));
    assert_eq!(counter.count(), 1);
}

#[tokio::test]
async fn a_hook_that_fails_stops_the_run_and_a_retry_goes_on_without_repeating_anything() {
    let counter = Counter::default();
    let broken = Arc::new(Mutex::new(true));
    let (builder, model) = asking(&[("a", "work", "{}"), ("b", "fragile", "{}")]);
    let flag = Arc::clone(&broken);
    let hook = around_fn(move |call, next| {
        let fails = call.definition().name.as_str() == "fragile" && *flag.lock().unwrap();
        Box::pin(async move { if fails { Err(HookError::new("the pool is empty")) } else { next.run().await } })
    });
    let builder = builder.tool(echo("work", &counter)).tool(echo("fragile", &counter));
    let agent = builder.around(hook).build().unwrap();
    let failed = agent.chat("go").await.unwrap();
    assert_eq!(failed.stop_reason().unwrap().as_str(), "hook_failed");
    assert_eq!((counter.count(), model.requests()), (1, 1));
    *broken.lock().unwrap() = false;
    let done = agent.runner().retry(failed.run_id()).await.unwrap();
    assert_eq!(done.text().as_deref(), Some("done"));
    assert_eq!((counter.count(), model.requests()), (2, 2));
}

#[tokio::test]
async fn a_hook_that_fails_after_its_tool_ran_keeps_the_tools_result() {
    let counter = Counter::default();
    let broken = Arc::new(Mutex::new(true));
    let (builder, _) = asking(&[("a", "work", "{}")]);
    let flag = Arc::clone(&broken);
    let hook = around_fn(move |_, next| {
        let flag = Arc::clone(&flag);
        Box::pin(async move {
            let settlement = next.run().await?;
            if *flag.lock().unwrap() { Err(HookError::new("the metrics are gone")) } else { Ok(settlement) }
        })
    });
    let agent = builder.tool(echo("work", &counter)).around(hook).build().unwrap();
    let failed = agent.chat("go").await.unwrap();
    assert_eq!(failed.stop_reason().unwrap().as_str(), "hook_failed");
    *broken.lock().unwrap() = false;
    let done = agent.runner().retry(failed.run_id()).await.unwrap();
    assert_eq!((done.text().as_deref(), counter.count()), (Some("done"), 1));
}

fn twice() -> Arc<dyn holdpoint::hooks::Around> {
    around_fn(|_, next| {
        Box::pin(async move {
            next.run().await?;
            next.run().await
        })
    })
}

#[tokio::test]
async fn a_hook_may_run_again_what_may_be_repeated_and_each_time_is_an_attempt() {
    let counter = Counter::default();
    let (builder, _) = asking(&[("a", "work", "{}"), ("b", "work", "{}")]);
    let agent = builder.tool(echo("work", &counter).repeat(holdpoint::Repeat::Safe)).around(twice()).build().unwrap();
    let result = agent.chat("go").await.unwrap();
    assert_eq!((counter.count(), result.tool_executions()), (4, 4));
    assert_eq!(result.records()[0].attempts.0, 2);
    let events = agent.runner().events(result.run_id(), holdpoint_core::Revision(0)).await.unwrap();
    let started = events.iter().filter(|event| event["event"] == "tool_started").count();
    assert_eq!(started, 4, "every attempt has its intent");
}

#[tokio::test]
async fn a_hook_that_runs_again_what_may_not_be_repeated_has_failed() {
    let counter = Counter::default();
    let (builder, _) = asking(&[("a", "work", "{}")]);
    let agent = builder.tool(echo("work", &counter)).around(twice()).build().unwrap();
    let result = agent.chat("go").await.unwrap();
    assert_eq!((result.stop_reason().unwrap().as_str(), counter.count()), ("hook_failed", 1));
    assert_eq!(result.records()[0].progress.as_str(), "succeeded");
}

#[tokio::test]
async fn a_hook_may_answer_in_the_tools_place() {
    let counter = Counter::default();
    let (builder, _) = asking(&[("a", "work", "{}")]);
    let hook = around_fn(|call, _| {
        let answer = call.answered(holdpoint::Source::DryRun, ToolResult::success("would have run"));
        Box::pin(async move { Ok(answer) })
    });
    let result = builder.tool(echo("work", &counter)).around(hook).build().unwrap().chat("go").await.unwrap();
    assert_eq!((counter.count(), result.tool_executions()), (0, 0));
    assert_eq!(result.records()[0].source, Some(holdpoint::Source::DryRun));
}

#[tokio::test]
async fn a_tool_that_is_gone_when_its_call_is_approved_is_not_found() {
    let store = holdpoint_store::Store::from(holdpoint_store::MemoryStore::new());
    let (builder, model) = asking(&[("a", "ask_pay", "{}")]);
    let agent = builder.tool(echo("ask_pay", &Counter::default())).store(store.clone()).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    let without = holdpoint::Agent::builder().model(model).policy(common::by_name()).store(store).build().unwrap();
    let done = without.resume(&paused, [("a", true)]).await.unwrap();
    assert_eq!(done.records()[0].code, Some(Code::ToolNotFound));
}

#[tokio::test]
async fn a_blocking_tool_that_hangs_does_not_hold_up_the_run() {
    let (builder, _) = asking(&[("a", "hang", "{}")]);
    let hang = holdpoint::tools::raw_blocking_tool("hang", "Never returns", json!({"type": "object"}), |_| {
        loop {
            std::thread::park();
        }
        #[allow(unreachable_code)]
        "never"
    });
    let agent = builder.tool(hang).tool_timeout_ms(20).build().unwrap();
    let result = agent.chat("go").await.unwrap();
    assert_eq!(result.records()[0].progress.as_str(), "timed_out");
    assert!(result.new_messages()[1].text().contains("may have taken effect"));
}

#[tokio::test]
async fn tools_see_their_context_and_a_stable_key() {
    let keys = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&keys);
    let tool = raw_tool("work", "Looks around", json!({"type": "object"}), move |call: ToolCall| {
        seen.lock().unwrap().push(call.idempotency_key().to_string());
        async move { call.context().attribute("user_id").cloned().unwrap_or_default() }
    });
    let (builder, _) = asking(&[("a", "work", "{}"), ("b", "work", "{}")]);
    let context = holdpoint::Context::new().with("user_id", 7);
    let result = builder.tool(tool).build().unwrap().chat("go").with_context(context).await.unwrap();
    assert_eq!(common::lines(&result)[1], "tool: 7");
    let keys = keys.lock().unwrap();
    assert_eq!(keys.len(), 2);
    assert_ne!(keys[0], keys[1]);
}

/// Lets go of its batch and does something else before it ends.
struct Lingering;

#[async_trait]
impl Execute for Lingering {
    async fn execute(&self, batch: Batch) {
        batch.run(batch.calls()[0].index).await;
        batch.run(batch.calls()[1].index).await;
        drop(batch);
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn an_executor_may_let_go_of_its_batch_before_it_ends() {
    let (agent, counter) = two_calls(Arc::new(Lingering));
    let result = tokio::time::timeout(std::time::Duration::from_secs(10), agent.chat("go")).await.expect("it ends");
    assert_eq!((result.unwrap().text().as_deref(), counter.count()), (Some("done"), 2));
}

/// Does everything twice, in both ways.
struct Insisting;

#[async_trait]
impl Execute for Insisting {
    async fn execute(&self, batch: Batch) {
        let (first, second) = (batch.calls()[0].index, batch.calls()[1].index);
        batch.run(first).await;
        batch.defer(first).await;
        batch.defer(second).await;
        batch.defer(second).await;
        batch.run(second).await;
        batch.run(first).await;
    }
}

#[tokio::test]
async fn an_executor_that_insists_runs_nothing_twice() {
    let (agent, counter) = two_calls(Arc::new(Insisting));
    let paused = agent.chat("go").await.unwrap();
    assert_eq!((paused.pending_executions().len(), counter.count()), (1, 1));
    let done = agent.resume_with_tool_results(&paused, [("b", ToolResult::success("x"))]).await.unwrap();
    assert_eq!(done.text().as_deref(), Some("done"));
}

#[tokio::test]
async fn a_hook_that_gives_up_waiting_answers_for_a_tool_that_never_started() {
    let counter = Counter::default();
    let (builder, _) = asking(&[("a", "work", "{}")]);
    let hook = around_fn(|call, next| {
        Box::pin(async move {
            let given_up = call.refused(Code::CircuitOpen, "not now");
            tokio::select! {
                biased;
                settlement = next.run() => settlement,
                // It asked for its intent, and does not wait until that is durable.
                () = std::future::ready(()) => Ok(given_up),
            }
        })
    });
    let builder = builder.tool(echo("work", &counter)).around(hook);
    let result = builder.build().unwrap().chat("go").await.unwrap();
    assert_eq!(result.records()[0].code, Some(Code::CircuitOpen));
    assert_eq!((result.text().as_deref(), counter.count()), (Some("done"), 0));
}

#[tokio::test(start_paused = true)]
async fn results_reach_the_model_as_they_came_when_that_is_wanted() {
    let sleeping = |name: &str, seconds| {
        raw_tool(name, "Sleeps", json!({"type": "object"}), move |call: ToolCall| async move {
            tokio::time::sleep(std::time::Duration::from_secs(seconds)).await;
            call.id().to_string()
        })
    };
    let (builder, _) = asking(&[("slow", "slow", "{}"), ("denied", "deny_it", "{}"), ("fast", "fast", "{}")]);
    let builder =
        builder.tool(sleeping("slow", 2)).tool(sleeping("fast", 1)).tool(echo("deny_it", &Counter::default()));
    let builder = builder.with_tool_concurrency("async", 4).parallel(holdpoint::Parallel::All);
    let agent = builder.result_order(holdpoint_core::ResultOrder::Completion).build().unwrap();
    let result = agent.chat("go").await.unwrap();
    let texts = common::lines(&result);
    assert!(texts[1].contains("never") && texts[2] == "tool: fast" && texts[3] == "tool: slow", "{texts:?}");
}

#[tokio::test]
async fn a_halt_ends_the_run_once_every_call_of_the_turn_is_settled() {
    let counter = Counter::default();
    let halting = |name: &str| {
        let said = name.to_owned();
        raw_tool(name, "Halts", json!({"type": "object"}), move |_: ToolCall| {
            let said = said.clone();
            async move { ToolResult::halt(said) }
        })
    };
    let (builder, model) = asking(&[("a", "stop_one", "{}"), ("b", "work", "{}"), ("c", "stop_two", "{}")]);
    let agent =
        builder.tool(halting("stop_one")).tool(halting("stop_two")).tool(echo("work", &counter)).build().unwrap();
    let result = agent.chat("go").await.unwrap();
    assert_eq!(result.stop_reason(), Some(holdpoint::StopReason::Halted));
    assert_eq!((result.text().as_deref(), counter.count(), model.requests()), (Some("stop_two"), 1, 1));
    assert_eq!(common::lines(&result)[1], "tool: stop_one");
}

#[tokio::test]
async fn one_call_at_a_time_means_the_others_are_ignored() {
    let counter = Counter::default();
    let (builder, _) = asking(&[("a", "work", "{}"), ("b", "work", "{}")]);
    let builder = builder.parallel_tool_calls(holdpoint_core::ParallelToolCalls::One);
    let result = builder.tool(echo("work", &counter)).build().unwrap().chat("go").await.unwrap();
    let progress: Vec<&str> = result.records().iter().map(|record| record.progress.as_str()).collect();
    assert_eq!((progress, counter.count()), (vec!["succeeded", "ignored"], 1));
}

#[tokio::test]
async fn each_message_is_counted_once_and_tools_are_counted_too() {
    let counted = Arc::new(Mutex::new(Vec::<String>::new()));
    let log = Arc::clone(&counted);
    let (builder, _) = asking(&[("a", "work", r#"{"n":1}"#)]);
    let builder = builder.tool(echo("work", &Counter::default())).context_window(10_000, 10);
    let agent = builder.token_counter(Arc::new(move |text| {
        log.lock().unwrap().push(text.to_owned());
        1
    }));
    agent.build().unwrap().chat("only once").await.unwrap();
    let counted = counted.lock().unwrap();
    let times = |text: &str| counted.iter().filter(|counted| *counted == text).count();
    assert_eq!((times("only once"), times("Gives its arguments back")), (1, 2));
    assert_eq!(times(r#"{"n":1}"#), 2, "as arguments and as the result");
}
