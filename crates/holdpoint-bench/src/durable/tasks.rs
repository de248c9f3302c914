//! Deferred calls through one process: started, handed out, leased, delivered, taken, and ended.

use std::time::{Duration, Instant};

use holdpoint::{Agent, Keeper, Worker};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::counting::{Counted, Counting};
use super::cycles::at_once;
use super::database::Scratch;
use super::statistics::{median, range};
use super::turns::{self, Shape};
use crate::parts::{Says, print};

/// The runs of one round, with one call each.
const RUNS: usize = 1_000;
/// How many are started at once, and how many tasks the worker does at once.
const CLIENTS: usize = 16;
/// No round takes longer.
const ROUND_MAX: Duration = Duration::from_secs(120);

pub(super) async fn measure(scratch: &Scratch, rounds: usize) -> anyhow::Result<()> {
    let store = Counting::new(holdpoint::open_store(&scratch.url()).await?);
    let agent = turns::builder(Shape::of(1), Says::Allow)?.store(store.store());
    let agent = agent.with_tool_concurrency("defer_all", None).build()?;
    let stop = CancellationToken::new();
    let keeper = tokio::spawn(Keeper::new(agent.runner()).run(stop.clone()));
    let worker = tokio::spawn(Worker::new(agent.runner()).concurrency(CLIENTS).run(stop.clone()));
    let mut rates = Vec::new();
    let mut counted = Counted::default();
    for _ in 0..rounds.max(1) + 1 {
        let before = store.counted();
        rates.push(round(&agent, &store).await?);
        counted = store.counted().since(before);
    }
    stop.cancel();
    keeper.await?;
    worker.await??;
    // The first one only warms up.
    rates.remove(0);
    let (min, max) = range(&rates);
    let per_task = |count: u64| count as f64 / RUNS as f64;
    print(&json!({
        "peer": "holdpoint", "bench": "d_tasks", "store": scratch.kind(), "conc": CLIENTS, "rounds": rates.len(),
        "tasks_per_s": median(&rates), "min": min, "max": max, "transitions_per_task": per_task(counted.commits),
        "leases_per_task": per_task(counted.leases), "deliveries_per_task": per_task(counted.deliveries),
        "loads_per_task": per_task(counted.loads), "looks_per_task": per_task(counted.looks),
    }));
    Ok(())
}

async fn round(agent: &Agent, store: &Counting) -> anyhow::Result<f64> {
    let wanted = store.counted().finished + RUNS as u64;
    let started = Instant::now();
    at_once(CLIENTS, RUNS, |_| {
        let agent = agent.clone();
        async move {
            let out = agent.chat("go").await?;
            anyhow::ensure!(out.is_awaiting_results(), "the call was not handed out");
            Ok(())
        }
    })
    .await?;
    let ended = tokio::time::timeout(ROUND_MAX, store.until_finished(wanted)).await;
    ended.map_err(|_| anyhow::anyhow!("{} runs did not end", wanted - store.counted().finished))?;
    Ok(RUNS as f64 / started.elapsed().as_secs_f64())
}
