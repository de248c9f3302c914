//! `b`: sixteen calls of 50 ms in one turn.

use holdpoint::Agent;
use serde_json::json;

use super::process::{Watch, least, median, most};
use super::{agent, run};
use crate::parts::print;

const SCRIPT: &str = "m-turns1-k16-ms50";
const CALLS: u32 = 16;
const ROUNDS: usize = 7;
/// One after another they take 800 ms.
const CONCURRENT_MS_MAX: f64 = 200.0;

pub(super) async fn measure(url: &str) -> anyhow::Result<()> {
    let default = agent(url, SCRIPT)?.build()?;
    let concurrent = agent(url, SCRIPT)?.with_tool_concurrency("concurrent", CALLS).build()?;
    for (variant, agent) in [("default", default), ("concurrent(16)", concurrent)] {
        measure_one(variant, &agent).await?;
    }
    Ok(())
}

async fn measure_one(variant: &str, agent: &Agent) -> anyhow::Result<()> {
    run(agent).await?;
    let (mut wall, mut cpu) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let watch = Watch::start();
        run(agent).await?;
        wall.push(watch.wall_ms());
        cpu.push(watch.cpu_ms());
    }
    print(&json!({
        "peer": "holdpoint", "bench": "b_parallel16x50ms", "variant": variant, "wall_ms": median(&wall),
        "min": least(&wall), "max": most(&wall), "cpu_ms": median(&cpu),
        "concurrent": median(&wall) < CONCURRENT_MS_MAX,
    }));
    Ok(())
}
