//! Counts instructions of a run under callgrind: the same on a noisy machine.

use std::process::Command;

use serde_json::json;

use crate::parts::print;

/// Two lengths, so that start-up and warm-up fall out of the difference.
const RUNS: [u64; 2] = [200, 1_200];

pub(crate) fn measure() -> anyhow::Result<()> {
    for calls in [0, 1] {
        let counts = RUNS.map(|runs| count(calls, runs));
        let [fewer, more] = counts;
        let per_run = (more? - fewer?) / (RUNS[1] - RUNS[0]);
        print(&json!({"bench": "instructions", "calls": calls, "instructions_per_run": per_run}));
    }
    Ok(())
}

fn count(calls: u64, runs: u64) -> anyhow::Result<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args(["spin", "--calls", &calls.to_string(), "--iterations", &runs.to_string()])
        .output()
        .map_err(|error| anyhow::anyhow!("valgrind is needed to count instructions: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected :")).map(|(_, number)| number.trim());
    let collected = collected.ok_or_else(|| anyhow::anyhow!("callgrind counted nothing"))?;
    Ok(collected.parse()?)
}
