//! `g`: from the start of a process to its first request.

use std::process::Command;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::process::{least, median, most};
use crate::parts::print;

const ROUNDS: usize = 8;

/// The server says at `/stats`, beside the base URL, when the last request came in.
pub(super) fn measure(url: &str) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let stats = format!("{}/stats", url.trim_end_matches('/').trim_end_matches("/v1"));
    let http = reqwest::Client::builder().tls_certs_only([]).build()?;
    let (mut first, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let began_ns = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() as f64;
        let began = Instant::now();
        let status = Command::new(std::env::current_exe()?).args(["cold", "--base-url", url]).status()?;
        anyhow::ensure!(status.success(), "the cold run failed");
        whole.push(began.elapsed().as_secs_f64() * 1e3);
        let answer = runtime.block_on(async { http.get(&stats).send().await?.error_for_status()?.bytes().await });
        let answer: Value = serde_json::from_slice(&answer?)?;
        let last_ns = answer["last_ns"].as_f64();
        let last_ns = last_ns.ok_or_else(|| anyhow::anyhow!("the server does not say when the request came in"))?;
        first.push((last_ns - began_ns) / 1e6);
    }
    let (very_first, first) = (first[0], &first[1..]);
    print(&json!({
        "peer": "holdpoint", "bench": "g_cold", "first_request_ms": median(first), "min": least(first),
        "max": most(first), "whole_process_ms": median(&whole[1..]), "very_first": very_first,
    }));
    Ok(())
}
