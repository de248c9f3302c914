//! What a paused run holds in the memory store, by an allocator that counts.

use std::alloc::System;

use serde_json::json;
use stats_alloc::{Region, StatsAlloc};

use crate::parts::{Says, agent, print};

const RUNS: usize = 10_000;
/// The user's message and the assistant's call are what the run's messages amount to.
const MESSAGE_TEXT: &str = "please do the work that is described in the ticket";

pub(crate) async fn measure(allocator: &'static StatsAlloc<System>) -> anyhow::Result<()> {
    let agent = agent(1, Says::Confirm)?;
    let first = agent.chat(MESSAGE_TEXT).await?;
    anyhow::ensure!(first.is_awaiting_confirmation(), "the run did not pause");
    let message_bytes: usize = first.messages().iter().map(|message| message.text().len()).sum();
    drop(first);
    let region = Region::new(allocator);
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
