//! One turn with many calls: the cost per call must not grow with their number.

use serde_json::json;

use crate::parts::print;
use crate::turn::cpu_per_run;

pub(crate) async fn measure() -> anyhow::Result<()> {
    let mut per_call_at_100 = 0.0;
    for calls in [1_usize, 10, 100, 1000] {
        let iterations = u32::try_from(20_000 / calls.max(10))?;
        let cpu_us = cpu_per_run(calls, iterations).await?;
        let per_call = cpu_us / calls as f64;
        if calls == 100 {
            per_call_at_100 = per_call;
        }
        let ratio = if calls == 1000 { Some(per_call / per_call_at_100) } else { None };
        print(&json!({
            "bench": "calls", "calls": calls, "iterations": iterations, "cpu_us_per_run": cpu_us,
            "cpu_us_per_call": per_call, "per_call_at_1000_over_100": ratio,
            "holds": ratio.map(|ratio| ratio < 1.5),
        }));
    }
    Ok(())
}
