//! What a paused run holds in the memory store, by an allocator that counts. A program of its own, since counting
//! slows everything else down.
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

#[path = "../parts.rs"]
#[allow(dead_code, reason = "the other program uses the rest")]
mod parts;

use std::alloc::System;

use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use parts::{Says, agent, print};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const RUNS: usize = 10_000;
/// The user's message and the assistant's call are what the run's messages amount to.
const MESSAGE_TEXT: &str = "please do the work that is described in the ticket";

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure())
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
    let change = region.change();
    let held = change.bytes_allocated as f64 - change.bytes_deallocated as f64;
    let per_run = held / RUNS as f64;
    print(&json!({
        "bench": "memory", "paused_runs": RUNS, "bytes_per_paused_run": per_run,
        "message_bytes": message_bytes, "beyond_messages": per_run - message_bytes as f64, "beyond_messages_max": 1000,
        "holds": per_run - (message_bytes as f64) < 1000.0,
    }));
    Ok(())
}
