//! Order, barriers, limits, routes and stops, in simulated time.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdpoint_core::{CallIndex, Code, ExecutorChoice, Parallel, Route};
use tokio::time::Instant;

use crate::testing::{Recorder, batch, choice, waits, wakes_itself};
use crate::{Batch, ChoiceError, Execute, Executors, Place, Ran, RunOne};

async fn run(tools: &[&str], seconds: &[u64], choice: &ExecutorChoice) -> Vec<String> {
    run_with(&Executors::new(), tools, Recorder::new(seconds), choice).await
}

async fn run_with(executors: &Executors, tools: &[&str], recorder: Recorder, choice: &ExecutorChoice) -> Vec<String> {
    let recorder = Arc::new(recorder);
    let executor = executors.choose(choice).expect("a choice that can be");
    executor.execute(batch(tools, choice, recorder.clone())).await;
    recorder.lines()
}

fn routed(otherwise: &str, routes: &[(&str, &str)]) -> ExecutorChoice {
    let routes =
        routes.iter().map(|(pattern, executor)| Route { pattern: (*pattern).into(), executor: (*executor).into() });
    ExecutorChoice { routes: routes.collect(), ..choice(otherwise, Parallel::All, Some(4)) }
}

#[tokio::test(start_paused = true)]
async fn three_tools_of_two_three_and_one_seconds_take_three_side_by_side() {
    let begun = Instant::now();
    let lines = run(&["a", "b", "c"], &[2, 3, 1], &choice("async", Parallel::All, None)).await;
    assert_eq!(begun.elapsed(), Duration::from_secs(3));
    assert_eq!(lines, ["0 start 0", "0 start 1", "0 start 2", "1 end 2", "2 end 0", "3 end 1"]);
}

#[tokio::test(start_paused = true)]
async fn three_tools_of_two_three_and_one_seconds_take_six_inline() {
    for name in ["inline", "sequential"] {
        let begun = Instant::now();
        let lines = run(&["a+", "b+", "c+"], &[2, 3, 1], &choice(name, Parallel::All, None)).await;
        assert_eq!(begun.elapsed(), Duration::from_secs(6));
        assert_eq!(lines, ["0 start 0", "2 end 0", "2 start 1", "5 end 1", "5 start 2", "6 end 2"]);
    }
}

#[tokio::test(start_paused = true)]
async fn only_marked_tools_run_beside_others_by_default() {
    let lines = run(&["a", "b"], &[1, 1], &choice("concurrent", Parallel::Marked, None)).await;
    assert_eq!(lines, ["0 start 0", "1 end 0", "1 start 1", "2 end 1"]);
    let lines = run(&["a+", "b+"], &[1, 1], &choice("concurrent", Parallel::Marked, None)).await;
    assert_eq!(lines, ["0 start 0", "0 start 1", "1 end 0", "1 end 1"]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_may_not_run_beside_others_is_a_barrier_at_its_position() {
    let tools = ["a+", "b+", "wall-", "c+", "d+"];
    let lines = run(&tools, &[2, 1, 1, 1, 1], &choice("concurrent", Parallel::All, None)).await;
    let expected = [
        "0 start 0",
        "0 start 1",
        "1 end 1",
        "2 end 0",
        "2 start 2",
        "3 end 2",
        "3 start 3",
        "3 start 4",
        "4 end 3",
        "4 end 4",
    ];
    assert_eq!(lines, expected);
}

#[tokio::test(start_paused = true)]
async fn mcp_tools_must_be_marked_even_when_all_may_run_beside_others() {
    let lines = run(&["a@mcp:files", "b@mcp:files"], &[1, 1], &choice("concurrent", Parallel::All, None)).await;
    assert_eq!(lines, ["0 start 0", "1 end 0", "1 start 1", "2 end 1"]);
    let lines = run(&["a+@mcp:files", "b+@mcp:files"], &[1, 1], &choice("concurrent", Parallel::All, None)).await;
    assert_eq!(lines, ["0 start 0", "0 start 1", "1 end 0", "1 end 1"]);
}

#[tokio::test(start_paused = true)]
async fn no_more_than_the_limit_run_at_once() {
    let lines = run(&["a", "b", "c", "d"], &[3, 1, 1, 1], &choice("concurrent", Parallel::All, Some(2))).await;
    let expected = ["0 start 0", "0 start 1", "1 end 1", "1 start 2", "2 end 2", "2 start 3", "3 end 0", "3 end 3"];
    assert_eq!(lines, expected);
}

#[tokio::test(start_paused = true)]
async fn the_thread_executor_schedules_the_same_on_its_pool() {
    let lines = run(&["a", "b", "wall-"], &[2, 1, 1], &choice("threads", Parallel::All, Some(4))).await;
    assert_eq!(lines, ["0 thread 0", "0 thread 1", "1 end 1", "2 end 0", "2 thread 2", "3 end 2"]);
}

#[tokio::test(start_paused = true)]
async fn defer_all_defers_everything_at_once() {
    let lines = run(&["a", "b-"], &[1, 1], &choice("defer_all", Parallel::Marked, Some(1))).await;
    assert_eq!(lines, ["0 defer 0", "0 defer 1"]);
}

#[tokio::test(start_paused = true)]
async fn a_deferred_call_holds_nobody_up_and_passes_barriers() {
    let choice = routed("inline", &[("far_*", "defer_all")]);
    let lines = run(&["a", "far_b", "c", "far_d"], &[1, 0, 1, 0], &choice).await;
    assert_eq!(lines, ["0 defer 1", "0 defer 3", "0 start 0", "1 end 0", "1 start 2", "2 end 2"]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_only_workers_do_is_deferred_by_every_executor() {
    let tools = ["a", "declared@worker", "b"];
    for (name, started) in [("inline", "start"), ("concurrent", "start"), ("threads", "thread")] {
        let mut lines = run(&tools, &[1, 1, 1], &choice(name, Parallel::Marked, Some(4))).await;
        assert!(lines.contains(&"1 defer 1".to_owned()), "{name}: {lines:?}");
        lines.retain(|line| line.contains(started));
        assert_eq!(lines, [format!("0 {started} 0"), format!("1 {started} 2")], "{name}");
    }
    let lines = run(&["declared@worker"], &[1], &routed("inline", &[("*", "inline")])).await;
    assert_eq!(lines, ["0 defer 0"]);
    let mut executors = Executors::new();
    executors.register("backwards", Arc::new(Backwards)).expect("a new name");
    let lines =
        run_with(&executors, &tools, Recorder::new(&[1; 3]), &choice("backwards", Parallel::Marked, None)).await;
    assert_eq!(lines, ["0 start 2", "1 end 2", "1 defer 1", "1 start 0", "2 end 0"]);
}

#[tokio::test(start_paused = true)]
async fn the_first_route_that_matches_wins() {
    let choice = routed("inline", &[("read_secret", "inline"), ("read_*", "threads"), ("*", "concurrent")]);
    let lines = run(&["read_a", "read_secret", "other"], &[1, 1, 1], &choice).await;
    assert_eq!(lines, ["0 thread 0", "1 end 0", "1 start 1", "2 end 1", "2 start 2", "3 end 2"]);
}

#[tokio::test(start_paused = true)]
async fn routes_to_tasks_and_threads_share_one_group_and_one_limit() {
    let mut choice = routed("inline", &[("cpu_*", "threads"), ("*", "async")]);
    choice.max_concurrency = Some(2);
    let lines = run(&["cpu_a", "b", "c"], &[1, 3, 1], &choice).await;
    assert_eq!(lines, ["0 thread 0", "0 start 1", "1 end 0", "1 start 2", "2 end 2", "3 end 1"]);
}

#[tokio::test(start_paused = true)]
async fn without_a_matching_route_the_named_executor_is_used() {
    let lines = run(&["a", "b"], &[1, 1], &routed("concurrent", &[("x", "inline")])).await;
    assert_eq!(lines, ["0 start 0", "0 start 1", "1 end 0", "1 end 1"]);
}

#[tokio::test(start_paused = true)]
async fn after_a_stop_nothing_more_starts_and_what_started_ends() {
    let recorder = Recorder::new(&[3, 1, 1, 1]).stopping_at(1);
    let choice = choice("concurrent", Parallel::All, Some(2));
    let lines = run_with(&Executors::new(), &["a", "b", "c", "d"], recorder, &choice).await;
    assert_eq!(lines, ["0 start 0", "0 start 1", "1 end 1", "3 end 0"]);
}

#[tokio::test(start_paused = true)]
async fn a_stop_passes_over_barriers_and_inline_calls() {
    for name in ["inline", "concurrent"] {
        let recorder = Recorder::new(&[1, 1]).stopping_at(0);
        let choice = choice(name, Parallel::Marked, None);
        let lines = run_with(&Executors::new(), &["a", "b"], recorder, &choice).await;
        assert_eq!(lines, ["0 start 0", "1 end 0"]);
    }
}

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

#[tokio::test(start_paused = true)]
async fn a_custom_executor_is_chosen_by_its_name_and_decides_the_order() {
    let mut executors = Executors::new();
    executors.register("backwards", Arc::new(Backwards)).unwrap();
    let choice = choice("backwards", Parallel::Marked, Some(4));
    let lines = run_with(&executors, &["a", "b"], Recorder::new(&[1, 1]), &choice).await;
    assert_eq!(lines, ["0 start 1", "1 end 1", "1 start 0", "2 end 0"]);
}

#[tokio::test(start_paused = true)]
async fn neighbours_routed_to_a_custom_executor_form_a_batch_between_barriers() {
    let mut executors = Executors::new();
    executors.register("backwards", Arc::new(Backwards)).unwrap();
    let choice = routed("concurrent", &[("z_*", "backwards")]);
    let lines = run_with(&executors, &["a", "z_b", "z_c", "d"], Recorder::new(&[1, 1, 1, 1]), &choice).await;
    let expected = ["0 start 0", "1 end 0", "1 start 2", "2 end 2", "2 start 1", "3 end 1", "3 start 3", "4 end 3"];
    assert_eq!(lines, expected);
}

#[tokio::test(start_paused = true)]
async fn a_careless_custom_executor_starts_nothing_after_a_stop_either() {
    let mut executors = Executors::new();
    executors.register("backwards", Arc::new(Backwards)).unwrap();
    let recorder = Recorder::new(&[1, 1, 1]).stopping_at(2);
    let choice = routed("inline", &[("z_*", "backwards")]);
    let lines = run_with(&executors, &["z_a", "z_b", "z_c"], recorder, &choice).await;
    assert_eq!(lines, ["0 start 2", "1 end 2"]);
}

/// Wakes itself on its first poll, as a future that yields does.
struct Yields(Recorder);

#[async_trait]
impl RunOne for Yields {
    async fn run(&self, call: CallIndex, _: Place) -> Ran {
        self.0.note("start", call);
        wakes_itself().await;
        self.0.note("end", call);
        Ran::Done
    }

    async fn defer(&self, call: CallIndex) {
        self.0.note("defer", call);
    }
}

#[tokio::test(start_paused = true)]
async fn all_that_may_start_together_starts_in_the_first_poll() {
    let tools: Vec<String> = (0..100).map(|n| if n % 2 == 0 { format!("a{n}") } else { format!("far{n}") }).collect();
    let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
    let choice = ExecutorChoice { max_concurrency: None, ..routed("concurrent", &[("far*", "defer_all")]) };
    let recorder = Arc::new(Yields(Recorder::new(&[])));
    let executor = Executors::new().choose(&choice).unwrap();
    let mut work = executor.execute(batch(&tools, &choice, recorder.clone()));
    assert!(waits(&mut work).await);
    let lines = recorder.0.lines();
    assert_eq!(lines.iter().filter(|line| line.contains("defer")).count(), 50);
    assert_eq!(lines.iter().filter(|line| line.contains("start")).count(), 50);
}

#[test]
fn an_unknown_name_is_refused_with_the_known_ones() {
    let mut executors = Executors::new();
    executors.register("mine", Arc::new(Backwards)).unwrap();
    for choice in [choice("fibers", Parallel::Marked, Some(4)), routed("inline", &[("*", "fibers")])] {
        let error = executors.choose(&choice).err().expect("an error");
        assert_eq!(error.code(), Code::UnknownExecutor);
        let ChoiceError::UnknownExecutor { name, known } = &error else { panic!("{error}") };
        assert_eq!(&**name, "fibers");
        let known: Vec<&str> = known.iter().map(|name| &**name).collect();
        assert_eq!(known, ["async", "concurrent", "defer_all", "inline", "mine", "sequential", "threads"]);
        assert!(error.to_string().contains("`mine`"), "{error}");
    }
}

#[test]
fn limits_and_patterns_that_cannot_be_are_refused() {
    let executors = Executors::new();
    let refused = |choice: &ExecutorChoice| executors.choose(choice).err().expect("an error");
    assert_eq!(refused(&choice("concurrent", Parallel::All, Some(0))), ChoiceError::NoConcurrency);
    assert_eq!(refused(&choice("threads", Parallel::All, None)), ChoiceError::UnlimitedThreads);
    let unlimited = ExecutorChoice { max_concurrency: None, ..routed("async", &[("*", "threads")]) };
    assert_eq!(refused(&unlimited), ChoiceError::UnlimitedThreads);
    assert_eq!(refused(&routed("inline", &[("[", "async")])), ChoiceError::BadPattern { pattern: "[".into() });
    assert!(executors.choose(&choice("concurrent", Parallel::All, None)).is_ok());
}

#[test]
fn built_in_names_cannot_be_taken() {
    let mut executors = Executors::new();
    for name in Executors::BUILT_IN.into_iter().chain([""]) {
        let error = executors.register(name, Arc::new(Backwards)).unwrap_err();
        assert_eq!(error, ChoiceError::ReservedName { name: name.into() });
        assert_eq!(error.code(), Code::InvalidConfig);
    }
}
