//! `e`: complete runs of five turns per second, 64 at once, in one process.

use serde_json::json;
use tokio::task::JoinSet;

use super::process::{Watch, least, median, most, peak_bytes};
use super::{agent, run};
use crate::parts::print;

const SCRIPT: &str = "m-turns5-k1";
const AT_ONCE: u32 = 64;
const RUNS_EACH: u32 = 30;
const ROUNDS: usize = 8;

pub(super) async fn measure(url: &str) -> anyhow::Result<()> {
    let agent = agent(url, SCRIPT)?.build()?;
    let runs = f64::from(AT_ONCE * RUNS_EACH);
    let (mut rates, mut cpu) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let watch = Watch::start();
        let mut under_way = JoinSet::new();
        for _ in 0..AT_ONCE {
            let agent = agent.clone();
            under_way.spawn(async move {
                for _ in 0..RUNS_EACH {
                    run(&agent).await?;
                }
                anyhow::Ok(())
            });
        }
        while let Some(done) = under_way.join_next().await {
            done??;
        }
        rates.push(runs * 1e3 / watch.wall_ms());
        cpu.push(watch.cpu_ms() / runs);
    }
    print(&json!({
        "peer": "holdpoint", "bench": "e_throughput64", "runs_per_s": median(&rates), "min": least(&rates),
        "max": most(&rates), "cpu_ms_per_run": median(&cpu), "peak_rss_mb": peak_bytes()? / 1e6,
    }));
    Ok(())
}
