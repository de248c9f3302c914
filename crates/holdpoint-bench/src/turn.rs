//! The CPU time of one turn with one tool that does nothing.

use cpu_time::ProcessTime;
use serde_json::json;

use crate::parts::{Says, agent, print};

const ROUNDS: u32 = 10;

/// A run has two turns: one with the call, one with the final text. The cost of the run without a call is measured
/// beside it, so that the difference is the turn with the call alone.
pub(crate) async fn measure(iterations: u32) -> anyhow::Result<()> {
    let with_call = cpu_per_run(1, iterations).await?;
    let without = cpu_per_run(0, iterations).await?;
    let turn = with_call - without;
    print(&json!({
        "bench": "turn", "iterations": iterations, "cpu_us_per_run_with_one_call": with_call,
        "cpu_us_per_run_without_calls": without, "cpu_us_per_turn": turn, "cpu_us_per_turn_max": 20.0,
        "holds": turn < 20.0,
    }));
    Ok(())
}

/// Runs without measuring.
pub(crate) async fn spin(calls: usize, iterations: u32) -> anyhow::Result<()> {
    let agent = agent(calls, Says::Allow)?;
    for _ in 0..iterations {
        agent.chat("go").await?;
    }
    Ok(())
}

pub(crate) async fn cpu_per_run(calls: usize, iterations: u32) -> anyhow::Result<f64> {
    let agent = agent(calls, Says::Allow)?;
    for _ in 0..iterations / 10 + 1 {
        agent.chat("go").await?;
    }
    // The fastest of several rounds: what disturbs a round only makes it slower.
    let mut best = f64::INFINITY;
    let per_round = (iterations / ROUNDS).max(1);
    for _ in 0..ROUNDS {
        let before = ProcessTime::now();
        for _ in 0..per_round {
            let result = agent.chat("go").await?;
            anyhow::ensure!(result.text().is_some(), "the run did not finish");
        }
        best = best.min(before.elapsed().as_secs_f64() * 1e6 / f64::from(per_round));
    }
    Ok(best)
}
