//! Another runtime, measured in the same run by its own benchmark.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::parts::print;

/// How many times faster we must be.
const RATIO_MIN: f64 = 20.0;

/// The best cycles per second of another runtime, by how many went on at once.
pub(super) struct Beside {
    store: &'static str,
    rates: BTreeMap<u64, (String, f64)>,
}

impl Beside {
    /// Runs a command that prints lines of `d_durable`. Without one there is nothing to compare.
    pub(super) async fn run(command: Option<&str>, store: &'static str) -> anyhow::Result<Self> {
        let mut rates = BTreeMap::new();
        if let Some(command) = command {
            let output = Command::new("sh").args(["-c", command]).output().await?;
            anyhow::ensure!(output.status.success(), "the command of `--beside` failed");
            let said = String::from_utf8_lossy(&output.stdout);
            for line in said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
                print(&line);
                if line["bench"] == "d_durable" && line["store"] == store {
                    keep_best(&mut rates, &line);
                }
            }
            anyhow::ensure!(!rates.is_empty(), "the command of `--beside` printed no line of this store");
        }
        Ok(Self { store, rates })
    }

    /// Prints how ours compares, if there is something to compare with.
    pub(super) fn compare(&self, clients: usize, cycles_per_s: f64) {
        let Some((peer, theirs)) = self.rates.get(&(clients as u64)) else { return };
        let ratio = cycles_per_s / theirs;
        print(&json!({
            "peer": "holdpoint", "bench": "d_beside", "beside": peer, "store": self.store, "conc": clients,
            "cycles_per_s": cycles_per_s, "their_cycles_per_s": theirs, "ratio": ratio, "ratio_min": RATIO_MIN,
            "holds": ratio >= RATIO_MIN,
        }));
    }
}

fn keep_best(rates: &mut BTreeMap<u64, (String, f64)>, line: &Value) {
    let (Some(clients), Some(rate)) = (line["conc"].as_u64(), line["cycles_per_s"].as_f64()) else { return };
    let peer = line["peer"].as_str().unwrap_or("another").to_owned();
    let best = rates.entry(clients).or_insert((peer, rate));
    best.1 = best.1.max(rate);
}
