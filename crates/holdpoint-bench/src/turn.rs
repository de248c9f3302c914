//! The CPU time of one turn with one tool that does nothing.

use cpu_time::ProcessTime;
use holdpoint::Agent;
use serde_json::json;

use crate::parts::{Says, agent, agent_of, print};

const ROUNDS: u32 = 10;

/// Twenty turns with one call each, then a final text: the cost of one of them.
const TURNS: u32 = 20;

pub(crate) async fn measure(iterations: u32) -> anyhow::Result<()> {
    let runs = (iterations / TURNS).max(ROUNDS);
    let long = cpu_of(&agent_of(TURNS as usize, 1, Says::Allow)?, runs).await?;
    let short = cpu_per_run(0, iterations).await?;
    let turn = long / f64::from(TURNS);
    print(&json!({
        "bench": "turn", "turns": TURNS, "runs": runs, "cpu_us_per_run_without_calls": short, "cpu_us_per_turn": turn,
        "cpu_us_per_turn_max": 20.0, "holds": turn < 20.0,
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
    cpu_of(&agent(calls, Says::Allow)?, iterations).await
}

/// The fastest of several rounds: what disturbs a round only makes it slower.
async fn cpu_of(agent: &Agent, runs: u32) -> anyhow::Result<f64> {
    for _ in 0..runs / 10 + 1 {
        agent.chat("go").await?;
    }
    let mut best = f64::INFINITY;
    let per_round = (runs / ROUNDS).max(1);
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
