//! `a`: wall and CPU per turn over twenty turns, less a bare client that does the same requests.

use serde_json::json;

use super::bare::{Bare, go};
use super::process::{Watch, least, median, median_difference, most};
use super::{agent, run};
use crate::parts::print;

const SCRIPT: &str = "m-turns20-k1";
/// Requests of one run: twenty turns and the final text.
const REQUESTS: f64 = 21.0;
const RUNS: u32 = 20;
const ROUNDS: usize = 9;

pub(super) async fn measure(url: &str) -> anyhow::Result<()> {
    let agent = agent(url, SCRIPT)?.build()?;
    let bare = Bare::new(url)?;
    for _ in 0..RUNS {
        run(&agent).await?;
        bare.run(SCRIPT, &go()).await?;
    }
    let (mut wall, mut cpu, mut bare_wall, mut bare_cpu) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let requests = REQUESTS * f64::from(RUNS);
    for _ in 0..ROUNDS {
        let watch = Watch::start();
        for _ in 0..RUNS {
            bare.run(SCRIPT, &go()).await?;
        }
        bare_wall.push(watch.wall_ms() / requests);
        bare_cpu.push(watch.cpu_ms() / requests);
        let watch = Watch::start();
        for _ in 0..RUNS {
            run(&agent).await?;
        }
        wall.push(watch.wall_ms() / requests);
        cpu.push(watch.cpu_ms() / requests);
    }
    print(&json!({
        "peer": "holdpoint", "bench": "a_overhead", "wall_ms_per_turn": median(&wall), "cpu_ms_per_turn": median(&cpu),
        "raw_reqwest_wall": median(&bare_wall), "raw_reqwest_cpu": median(&bare_cpu),
        "net_wall": median_difference(&wall, &bare_wall), "net_cpu": median_difference(&cpu, &bare_cpu),
        "min_wall": least(&wall), "max_wall": most(&wall),
    }));
    Ok(())
}
