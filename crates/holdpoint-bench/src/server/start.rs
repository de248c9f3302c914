//! How soon the program is ready on a database that is there already, and how large it is.

use std::path::Path;

use serde_json::json;

use super::program::Home;
use super::streams::{Kind, begin_runs};
use crate::durable::database::{Place, Scratch};
use crate::durable::finish;
use crate::durable::statistics::{median, range};
use crate::parts::print;

/// How many runs wait for people in the database.
const RUNS: usize = 1_000;
const READY_MS_MAX: f64 = 300.0;
const SIZE_MB_MAX: f64 = 60.0;

pub(super) async fn measure(place: &Place, program: &Path, rounds: usize) -> anyhow::Result<()> {
    let scratch = place.scratch().await?;
    let measured = measure_on(&scratch, program, rounds).await;
    finish(scratch, measured).await
}

async fn measure_on(scratch: &Scratch, program: &Path, rounds: usize) -> anyhow::Result<()> {
    let home = Home::new(program, &scratch.url(), "http://127.0.0.1:9/")?;
    let first = home.start().await?;
    begin_runs(&first, Kind::Paused, RUNS).await?;
    first.kill().await?;
    let mut ready_ms = Vec::new();
    // The first round warms the file cache.
    for round in 0..=rounds {
        let started = home.start().await?;
        if round > 0 {
            ready_ms.push(started.ready_after.as_secs_f64() * 1e3);
        }
        started.kill().await?;
    }
    let (min, max) = range(&ready_ms);
    print(&json!({
        "peer": "holdpoint", "bench": "server_start", "store": scratch.kind(), "paused_runs": RUNS, "rounds": ready_ms.len(),
        "ready_ms": median(&ready_ms), "min": min, "max": max, "ready_ms_max": READY_MS_MAX,
        "holds": median(&ready_ms) < READY_MS_MAX,
    }));
    Ok(())
}

pub(super) fn measure_size(program: &Path) -> anyhow::Result<()> {
    let size_mb = std::fs::metadata(program)?.len() as f64 / 1e6;
    print(&json!({
        "peer": "holdpoint", "bench": "server_size", "size_mb": size_mb, "size_mb_max": SIZE_MB_MAX,
        "holds": size_mb < SIZE_MB_MAX,
    }));
    Ok(())
}
