//! Results of workers while the store is out of reach, and results that come twice.

use super::*;

/// More tries than anybody waits for, each of which fails.
const OUTAGE_TRIES: usize = 24;

fn cut_off(world: &World) {
    for _ in 0..OUTAGE_TRIES {
        world.store.once(At::BeforeDeliver, 0, async {}, Then::LoseAnswer);
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_keeps_its_task_and_its_result_while_the_store_is_out_of_reach() {
    let world = World::new();
    let agent = world.deferring(world.store.store());
    agent.chat(request()).await.unwrap();
    cut_off(&world);
    let stop = CancellationToken::new();
    let worker = Worker::new(agent.runner()).lease(Duration::from_secs(600)).run(stop.clone());
    let worker = tokio::spawn(worker);
    tokio::time::sleep(Duration::from_secs(60)).await;
    keep_until_settled(&agent).await;
    stop.cancel();
    worker.await.unwrap().unwrap();
    let done = agent.runner().result(&run_id()).await.unwrap();
    assert_eq!((done.status(), done.records()[0].progress.as_str()), (Status::Finished, "succeeded"));
    assert_eq!(world.effects.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_result_is_delivered_in_the_background_after_its_worker_was_told_to_try_again() {
    let world = World::new();
    let agent = world.deferring(world.store.store());
    agent.chat(request()).await.unwrap();
    let holder = TaskHolder::of(&lease(&world.inner, 600_000).await, &Arc::from("hand"));
    cut_off(&world);
    let told = agent.runner().queue().complete(&holder, ToolResult::success("paid")).await.unwrap_err();
    assert_eq!(told.code(), Code::StoreUnavailable);
    keep_until_settled(&agent).await;
    let done = agent.runner().result(&run_id()).await.unwrap();
    assert_eq!((done.status(), done.records()[0].progress.as_str()), (Status::Finished, "succeeded"));
    assert!(done.messages().iter().any(|message| message.text() == "paid"));
}

#[tokio::test]
async fn a_second_result_under_one_lease_is_accepted_only_if_it_is_the_first() {
    let world = World::new();
    let agent = world.deferring(world.inner.clone());
    agent.chat(request()).await.unwrap();
    let holder = TaskHolder::of(&lease(&world.inner, 60_000).await, &Arc::from("hand"));
    let queue = agent.runner().queue();
    for collected in [false, true] {
        queue.complete(&holder, ToolResult::success("paid")).await.unwrap();
        let other = queue.complete(&holder, ToolResult::success("not paid")).await.unwrap_err();
        assert_eq!(other.code(), Code::LeaseLost, "collected: {collected}");
        keep_until_settled(&agent).await;
    }
    let done = agent.runner().result(&run_id()).await.unwrap();
    assert!(done.messages().iter().any(|message| message.text() == "paid"));
}

#[tokio::test(start_paused = true)]
async fn a_result_outlives_the_worker_that_was_told_to_stop() {
    let world = World::new();
    let agent = world.deferring(world.store.store());
    agent.chat(request()).await.unwrap();
    cut_off(&world);
    let stop = CancellationToken::new();
    let worker = Worker::new(agent.runner()).lease(Duration::from_secs(600)).grace(Duration::from_secs(1));
    let worker = tokio::spawn(worker.run(stop.clone()));
    tokio::time::sleep(Duration::from_secs(5)).await;
    stop.cancel();
    worker.await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    keep_until_settled(&agent).await;
    let done = agent.runner().result(&run_id()).await.unwrap();
    assert_eq!((done.status(), done.records()[0].progress.as_str()), (Status::Finished, "succeeded"));
    assert_eq!(world.effects.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_late_result_of_a_call_that_is_over_is_not_waited_with() {
    let world = World::new();
    let agent = world.deferring(world.inner.clone());
    agent.chat(request()).await.unwrap();
    let holder = TaskHolder::of(&lease(&world.inner, 60_000).await, &Arc::from("hand"));
    let queue = agent.runner().queue();
    queue.complete(&holder, ToolResult::success("paid")).await.unwrap();
    keep_until_settled(&agent).await;
    let begun = tokio::time::Instant::now();
    let late = queue.complete(&holder, ToolResult::success("not paid")).await.unwrap_err();
    assert_eq!((late.code(), begun.elapsed()), (Code::LeaseLost, Duration::ZERO));
}
