//! Full cycles: a run pauses for a person, is resumed by the name of its continuation alone, runs its tool, and ends.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use holdpoint::{Agent, Decisions};
use holdpoint_core::ContinuationId;
use serde_json::json;
use tokio::task::JoinSet;

use super::DurableArguments;
use super::bare::{Bare, BareRates};
use super::beside::Beside;
use super::counting::{Counted, Counting};
use super::database::Scratch;
use super::statistics::{median, range};
use super::turns::{self, Shape};
use crate::parts::{Says, print};

/// How many runs go on at once.
const CLIENTS: [usize; 3] = [1, 16, 64];
/// The most runs of one round.
const RUNS_MAX: usize = 50_000;
/// The runs of each client before anything is measured.
const WARM_UP: usize = 10;

/// The least share of the bare rate that our transitions must reach.
fn ratio_min(store: &str, clients: usize) -> Option<f64> {
    match (store, clients) {
        ("postgres", 16) => Some(0.4),
        ("postgres", 64) => Some(0.6),
        ("sqlite", 16) => Some(1.0),
        _ => None,
    }
}

struct Bench {
    agent: Agent,
    store: Arc<Counting>,
}

/// What one round measured.
struct Round {
    pauses_per_s: f64,
    cycles_per_s: f64,
    transitions_per_s: f64,
    cpu_us_per_transition: f64,
    cycles: f64,
    counted: Counted,
    bare: BareRates,
}

pub(super) async fn measure(scratch: &Scratch, arguments: &DurableArguments) -> anyhow::Result<()> {
    let bare = Bare::prepare(scratch).await?;
    let store = Counting::new(holdpoint::open_store(&scratch.url()).await?);
    let agent = turns::agent(Shape::of(1), Says::Confirm, store.store())?;
    let bench = Arc::new(Bench { agent, store });
    let beside = Beside::run(arguments.beside.as_deref(), scratch.kind()).await?;
    for clients in CLIENTS {
        let pilot = Instant::now();
        bench.cycle(clients, clients * WARM_UP).await?;
        let rate = (clients * WARM_UP) as f64 / pilot.elapsed().as_secs_f64();
        let runs = ((rate * arguments.time().as_secs_f64()) as usize).clamp(clients * WARM_UP, RUNS_MAX);
        let mut rounds = Vec::new();
        for _ in 0..arguments.rounds.max(1) {
            rounds.push(bench.round(clients, runs, bare.measure(clients, arguments.time()).await?).await?);
        }
        report(scratch.kind(), clients, &rounds);
        beside.compare(clients, median_of(&rounds, |round| round.cycles_per_s));
    }
    Ok(())
}

impl Bench {
    async fn round(self: &Arc<Self>, clients: usize, runs: usize, bare: BareRates) -> anyhow::Result<Round> {
        let before = self.store.counted();
        let cpu = ProcessTime::now();
        let (pausing, all) = self.cycle(clients, runs).await?;
        let cpu = cpu.elapsed();
        let counted = self.store.counted().since(before);
        let transitions = counted.commits as f64;
        Ok(Round {
            pauses_per_s: runs as f64 / pausing.as_secs_f64(),
            cycles_per_s: runs as f64 / all.as_secs_f64(),
            transitions_per_s: transitions / all.as_secs_f64(),
            cpu_us_per_transition: cpu.as_secs_f64() * 1e6 / transitions,
            cycles: runs as f64,
            counted,
            bare,
        })
    }

    /// All runs pause, then all are resumed: how long the first took, and how long both.
    async fn cycle(self: &Arc<Self>, clients: usize, runs: usize) -> anyhow::Result<(Duration, Duration)> {
        let started = Instant::now();
        let paused = at_once(clients, runs, |_| {
            let bench = Arc::clone(self);
            async move { bench.pause().await }
        });
        let paused: Arc<[ContinuationId]> = paused.await?.into();
        let pausing = started.elapsed();
        let resumed = at_once(clients, runs, |index| {
            let (bench, from) = (Arc::clone(self), paused[index].clone());
            async move { bench.resume(from).await }
        });
        resumed.await?;
        Ok((pausing, started.elapsed()))
    }

    async fn pause(&self) -> anyhow::Result<ContinuationId> {
        let paused = self.agent.chat("go").await?;
        let continuation = paused.continuation().ok_or_else(|| anyhow::anyhow!("the run did not pause"))?;
        Ok(continuation.id().clone())
    }

    async fn resume(&self, from: ContinuationId) -> anyhow::Result<()> {
        let result = self.agent.resume(from, Decisions::new().allow("call_0").by("ops")).await?;
        anyhow::ensure!(result.text().as_deref() == Some("done after 1"), "the run did not finish");
        Ok(())
    }
}

/// Does something so many times, so many of them at once. What comes of it is in the order of its coming.
pub(super) async fn at_once<T, F, D>(clients: usize, times: usize, job: D) -> anyhow::Result<Vec<T>>
where
    T: Send + 'static,
    F: Future<Output = anyhow::Result<T>> + Send + 'static,
    D: Fn(usize) -> F,
{
    let mut left = 0..times;
    let mut under_way: JoinSet<anyhow::Result<T>> = JoinSet::new();
    let mut done = Vec::with_capacity(times);
    loop {
        while under_way.len() < clients
            && let Some(index) = left.next()
        {
            under_way.spawn(job(index));
        }
        match under_way.join_next().await {
            Some(one) => done.push(one??),
            None => return Ok(done),
        }
    }
}

fn median_of(rounds: &[Round], field: impl Fn(&Round) -> f64) -> f64 {
    median(&rounds.iter().map(field).collect::<Vec<_>>())
}

fn report(store: &str, clients: usize, rounds: &[Round]) {
    let of = |field: fn(&Round) -> f64| median_of(rounds, field);
    let pgbench = |round: &Round| round.bare.pgbench.unwrap_or(f64::NAN);
    let pauses: Vec<f64> = rounds.iter().map(|round| round.pauses_per_s).collect();
    let (min, max) = range(&pauses);
    let ratio_to_bare = of(|round| round.transitions_per_s / round.bare.own);
    let ratio_to_pgbench = median_of(rounds, |round| round.transitions_per_s / pgbench(round));
    let ratio = if ratio_to_pgbench.is_nan() { ratio_to_bare } else { ratio_to_pgbench };
    let least = ratio_min(store, clients);
    print(&json!({
        "peer": "holdpoint", "bench": "d_durable", "store": store, "durability": "default", "conc": clients,
        "pauses_per_s": of(|round| round.pauses_per_s), "cycles_per_s": of(|round| round.cycles_per_s),
        "min": min, "max": max, "rounds": rounds.len(),
        "transitions_per_cycle": of(|round| round.counted.commits as f64 / round.cycles),
        "loads_per_cycle": of(|round| round.counted.loads as f64 / round.cycles),
        "transitions_per_s": of(|round| round.transitions_per_s),
        "cpu_us_per_transition": of(|round| round.cpu_us_per_transition),
        "bare_commits_per_s": of(|round| round.bare.own), "pgbench_commits_per_s": median_of(rounds, pgbench),
        "ratio_to_bare": ratio_to_bare, "ratio_to_pgbench": ratio_to_pgbench, "ratio": ratio,
        "ratio_min": least, "holds": least.map(|least| ratio >= least),
    }));
}
