//! Verifying a long audit log: every row, every seal, and every run that a seal names.

use std::time::Instant;

use cpu_time::ProcessTime;
use holdpoint_core::{Revision, RunId, Status};
use holdpoint_store::audit::{VerifyRequest, verify};
use holdpoint_store::{HeadUpdate, Store, Transition};
use serde_json::json;
use uuid::Uuid;

use super::cycles::at_once;
use super::database::Scratch;
use crate::parts::print;

/// How many audit rows each run has.
const ROWS_PER_RUN: usize = 20;
/// How many runs are written at once.
const WRITERS: usize = 64;
/// So long may a million rows take.
const MILLION_S_MAX: f64 = 10.0;

pub(super) async fn measure(scratch: &Scratch, rows: usize) -> anyhow::Result<()> {
    let store = holdpoint::open_store(&scratch.url()).await?;
    let started = Instant::now();
    at_once(WRITERS, rows.div_ceil(ROWS_PER_RUN), |_| {
        let store = store.clone();
        async move { write_run(&store).await }
    })
    .await?;
    let fill_s = started.elapsed().as_secs_f64();
    let started = Instant::now();
    while store.audit.seal(Some("bench")).await?.is_some() {}
    let seal_s = started.elapsed().as_secs_f64();
    scratch.settle().await?;

    let (started, cpu, mut told) = (Instant::now(), ProcessTime::now(), 0_u64);
    let seen = verify(&store, &VerifyRequest::default(), &mut |_| told += 1).await?;
    let (took_s, cpu_s) = (started.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64());
    anyhow::ensure!(seen.is_whole(), "what nobody changed is not whole: {:?}", seen.findings);
    let limit_s = MILLION_S_MAX * seen.rows as f64 / 1e6;
    print(&json!({
        "peer": "holdpoint", "bench": "d_verify", "store": scratch.kind(), "rows": seen.rows, "runs": seen.runs,
        "seals": seen.seals, "fill_s": fill_s, "seal_s": seal_s, "verify_s": took_s, "verify_cpu_s": cpu_s, "verify_s_max": limit_s,
        "rows_per_s": seen.rows as f64 / took_s, "progress_told": told, "holds": took_s <= limit_s,
    }));
    Ok(())
}

/// A run whose every step left something in the audit log.
async fn write_run(store: &Store) -> anyhow::Result<()> {
    let run = RunId::new(Uuid::now_v7().to_string());
    for step in 0..ROWS_PER_RUN {
        let is_last = step + 1 == ROWS_PER_RUN;
        let status = if is_last { Status::Finished } else { Status::Running };
        let head = HeadUpdate { tenant: Some("bench".into()), ..HeadUpdate::new(status) };
        let mut transition = Transition::new(vec![b"{}".to_vec()], head, store.runs.now());
        let entry = json!({
            "event": "call_decided", "turn": step, "index": 0, "call_id": format!("call_{step}"), "tool": "refund",
            "stage": "policy", "decision": "allow", "rule": "refunds up to 100",
            "reason": "small refunds are paid at once, larger ones are asked about",
        });
        let body = json!({ "v": 1, "at": "2026-11-16T08:00:00Z", "entries": [entry] });
        transition.audit = Some(body.to_string().into_bytes());
        store.runs.commit(&run, Revision(step as u64), transition).await?;
    }
    Ok(())
}
