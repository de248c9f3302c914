//! What a paused run holds in this process, by an allocator that counts: in the memory store, or, when
//! `HOLDPOINT_BENCH_STORE` names a durable one, in that. A program of its own, since counting slows everything else
//! down.
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

#[path = "../parts.rs"]
#[allow(dead_code, reason = "the other program uses the rest")]
mod parts;

use std::alloc::System;
use std::time::{Duration, Instant};

use holdpoint::Agent;
use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tokio::task::JoinSet;

use parts::{Says, agent, builder_of, print};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const RUNS: usize = 10_000;
/// The user's message and the assistant's call are what the run's messages amount to.
const MESSAGE_TEXT: &str = "please do the work that is described in the ticket";
/// The store to measure with. Not an argument: an address may hold a password.
const STORE: &str = "HOLDPOINT_BENCH_STORE";
/// How many runs pause at once in a durable store.
const CLIENTS: usize = 16;
/// The runs before anything is counted: pools and the database's own caches fill, whose size does not depend on the runs.
const WARM_UP: usize = 10_000;
/// What may be held for each run that is paused in a durable store: nothing but what happens to be about.
const DURABLE_BYTES_MAX: f64 = 16.0;
/// What the system may count for each: SQLite is written in C, so that the counting allocator does not see it.
const DURABLE_RSS_BYTES_MAX: f64 = 100.0;
/// How long the store may take to put away what it used.
const REST: Duration = Duration::from_secs(1);

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match std::env::var(STORE) {
        Ok(url) => runtime.block_on(measure_durable(&url)),
        Err(_) => runtime.block_on(measure()),
    }
}

async fn measure() -> anyhow::Result<()> {
    let agent = agent(1, Says::Confirm)?;
    let first = agent.chat(MESSAGE_TEXT).await?;
    anyhow::ensure!(first.is_awaiting_confirmation(), "the run did not pause");
    let message_bytes: usize = first.messages().iter().map(|message| message.text().len()).sum();
    drop(first);
    let region = Region::new(ALLOCATOR);
    for _ in 0..RUNS {
        let result = agent.chat(MESSAGE_TEXT).await?;
        anyhow::ensure!(result.is_awaiting_confirmation(), "the run did not pause");
    }
    let per_run = held(&region) / RUNS as f64;
    print(&json!({
        "bench": "memory", "paused_runs": RUNS, "bytes_per_paused_run": per_run,
        "message_bytes": message_bytes, "beyond_messages": per_run - message_bytes as f64, "beyond_messages_max": 1000,
        "holds": per_run - (message_bytes as f64) < 1000.0,
    }));
    Ok(())
}

async fn measure_durable(url: &str) -> anyhow::Result<()> {
    let store = holdpoint::open_store(url).await?;
    let agent = builder_of(1, 1, Says::Confirm)?.store(store).build()?;
    pause(&agent, WARM_UP).await?;
    tokio::time::sleep(REST).await;
    let rss_before = resident_bytes();
    let region = Region::new(ALLOCATOR);
    let started = Instant::now();
    pause(&agent, RUNS).await?;
    let secs = started.elapsed().as_secs_f64();
    tokio::time::sleep(REST).await;
    let per_run = held(&region) / RUNS as f64;
    let rss_after = resident_bytes();
    let rss_per_run = rss_before.zip(rss_after).map(|(before, after)| (after - before) / RUNS as f64);
    print(&json!({
        "peer": "holdpoint", "bench": "d_paused_mem", "store": url.split(':').next(), "n": RUNS,
        "bytes_per_paused_run": per_run, "bytes_per_paused_run_max": DURABLE_BYTES_MAX,
        "rss_bytes_per_paused_run": rss_per_run, "rss_bytes_per_paused_run_max": DURABLE_RSS_BYTES_MAX,
        "rss_before_mb": rss_before.map(|bytes| bytes / 1e6),
        "rss_after_mb": rss_after.map(|bytes| bytes / 1e6), "secs": secs,
        "holds": per_run <= DURABLE_BYTES_MAX && rss_per_run.is_none_or(|bytes| bytes <= DURABLE_RSS_BYTES_MAX),
    }));
    Ok(())
}

async fn pause(agent: &Agent, runs: usize) -> anyhow::Result<()> {
    let mut under_way = JoinSet::new();
    for run in 0..runs + CLIENTS {
        if run < runs {
            let agent = agent.clone();
            under_way.spawn(async move {
                Ok::<_, anyhow::Error>(agent.chat(MESSAGE_TEXT).await?.is_awaiting_confirmation())
            });
        }
        if run + 1 >= CLIENTS
            && let Some(paused) = under_way.join_next().await
        {
            anyhow::ensure!(paused??, "the run did not pause");
        }
    }
    Ok(())
}

/// The bytes that were allocated since and not given back.
fn held(region: &Region<'_, System>) -> f64 {
    let change = region.change();
    change.bytes_allocated as f64 - change.bytes_deallocated as f64
}

/// What the system counts, where it says.
fn resident_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<f64>().ok()? * 1024.0)
}
