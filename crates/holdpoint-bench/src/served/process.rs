//! What the system says of this process, and what numbers amount to.

use std::time::Instant;

use cpu_time::ProcessTime;

/// Wall and CPU time since.
pub(super) struct Watch {
    wall: Instant,
    cpu: ProcessTime,
}

impl Watch {
    pub(super) fn start() -> Self {
        Self { wall: Instant::now(), cpu: ProcessTime::now() }
    }

    pub(super) fn wall_ms(&self) -> f64 {
        self.wall.elapsed().as_secs_f64() * 1e3
    }

    pub(super) fn cpu_ms(&self) -> f64 {
        self.cpu.elapsed().as_secs_f64() * 1e3
    }
}

pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// The median of the differences, pair by pair: what disturbs a round disturbs both.
pub(super) fn median_difference(ours: &[f64], bare: &[f64]) -> f64 {
    median(&ours.iter().zip(bare).map(|(ours, bare)| ours - bare).collect::<Vec<_>>())
}

pub(super) fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

pub(super) fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// What the system counts as this process's memory now.
pub(super) fn resident_bytes() -> anyhow::Result<f64> {
    status("VmRSS:")
}

/// What it was at most.
pub(super) fn peak_bytes() -> anyhow::Result<f64> {
    status("VmHWM:")
}

fn status(name: &str) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let line = line.ok_or_else(|| anyhow::anyhow!("the system does not say {name}"))?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<f64>()? * 1024.0)
}
