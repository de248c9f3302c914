//! `f`: the memory of a paused run, with ten thousand of them.

use holdpoint::Agent;
use holdpoint_policy::policy_fn;
use serde_json::json;

use super::agent;
use super::process::{Watch, resident_bytes};
use crate::parts::print;

const SCRIPT: &str = "m-turns1-k1";
const WARM_UP: usize = 100;
const RUNS: usize = 10_000;

pub(super) async fn measure(url: &str) -> anyhow::Result<()> {
    let asks = policy_fn(|_| holdpoint::Decision::confirm("a person must say yes"));
    let agent = agent(url, SCRIPT)?.policy(asks).build()?;
    pause(&agent, WARM_UP).await?;
    let before = resident_bytes()?;
    let watch = Watch::start();
    pause(&agent, RUNS).await?;
    let after = resident_bytes()?;
    print(&json!({
        "peer": "holdpoint", "bench": "f_paused_mem", "n": RUNS, "bytes_per_paused_run": (after - before) / RUNS as f64,
        "rss_before_mb": before / 1e6, "rss_after_mb": after / 1e6, "secs": watch.wall_ms() / 1e3,
    }));
    Ok(())
}

/// The store keeps them all.
async fn pause(agent: &Agent, runs: usize) -> anyhow::Result<()> {
    for _ in 0..runs {
        let paused = agent.chat("go").await?;
        anyhow::ensure!(paused.is_awaiting_confirmation(), "the run did not pause");
    }
    Ok(())
}
