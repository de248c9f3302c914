//! A run from its request to its answer, beside a bare handler that commits once to the same store.

use std::time::Instant;

use cpu_time::ProcessTime;
use holdpoint_server::{ServedAgent, Server};
use serde_json::json;

use super::bare;
use super::front::{Front, Load, limits};
use super::writes::Writes;
use crate::durable::database::{Place, Scratch};
use crate::durable::finish;
use crate::durable::statistics::median;
use crate::durable::turns::{self, Shape};
use crate::parts::{Says, print};

/// How many requests are under way at once, and how many runs each of them makes in a round.
const LOADS: [Load; 2] = [Load { clients: 1, each: 200 }, Load { clients: 16, each: 50 }];
/// How many of them come before anything is measured.
const WARM_UP: Load = Load { clients: 4, each: 25 };
/// The CPU time of the whole process per run, its client included, in milliseconds.
const CPU_MS_MAX: f64 = 1.0;
/// The turns with a call before the final text, and the commits that may take.
const COMMITS_MAX: [(usize, f64); 2] = [(0, 2.0), (1, 4.0)];

/// What one round measured, per run.
struct Round {
    wall_ms: f64,
    cpu_ms: f64,
    commits: f64,
    others: f64,
}

pub(super) async fn measure(place: &Place, rounds: usize) -> anyhow::Result<()> {
    for (calls, commits_max) in COMMITS_MAX {
        let scratch = place.scratch().await?;
        let case = Case { scratch: &scratch, calls, commits_max };
        let measured = case.measure(rounds).await;
        finish(scratch, measured).await?;
    }
    Ok(())
}

struct Case<'a> {
    scratch: &'a Scratch,
    calls: usize,
    commits_max: f64,
}

impl Case<'_> {
    async fn measure(&self, rounds: usize) -> anyhow::Result<()> {
        let store = Writes::new(holdpoint::open_store(&self.scratch.url()).await?);
        let shared = store.store();
        let agent = turns::agent(Shape::of(self.calls), Says::Allow, shared.clone())?;
        let server = Server::builder(shared.clone()).agent(ServedAgent::new(agent)).limits(limits()).build()?;
        let ours = Front::of_server(server).await?;
        let bare = Front::of_routes(bare::router(shared)).await?;
        ours.post("bench", WARM_UP).await?;
        bare.post("bench", WARM_UP).await?;
        for load in LOADS {
            let (mut measured, mut beside) = (Vec::new(), Vec::new());
            for _ in 0..rounds {
                beside.push(round(&bare, &store, load).await?);
                measured.push(round(&ours, &store, load).await?);
            }
            self.report(load.clients, &measured, &beside);
        }
        bare.end().await?;
        ours.end().await
    }

    fn report(&self, at_once: usize, ours: &[Round], bare: &[Round]) {
        let of = |rounds: &[Round], pick: fn(&Round) -> f64| median(&rounds.iter().map(pick).collect::<Vec<_>>());
        let (cpu_ms, commits) = (of(ours, |round| round.cpu_ms), of(ours, |round| round.commits));
        print(&json!({
            "peer": "holdpoint", "bench": "server_run", "store": self.scratch.kind(), "calls": self.calls, "at_once": at_once,
            "rounds": ours.len(), "wall_ms_per_run": of(ours, |round| round.wall_ms),
            "bare_wall_ms": of(bare, |round| round.wall_ms), "cpu_ms_per_run": cpu_ms, "cpu_ms_max": CPU_MS_MAX,
            "bare_cpu_ms": of(bare, |round| round.cpu_ms), "commits_per_run": commits, "commits_max": self.commits_max,
            "other_writes_per_run": of(ours, |round| round.others), "bare_commits": of(bare, |round| round.commits),
            "holds": cpu_ms <= CPU_MS_MAX && commits <= self.commits_max,
        }));
    }
}

async fn round(front: &Front, store: &Writes, load: Load) -> anyhow::Result<Round> {
    let before = store.written();
    let (wall, cpu) = (Instant::now(), ProcessTime::now());
    front.post("bench", load).await?;
    let (wall, cpu, after) = (wall.elapsed(), cpu.elapsed(), store.written());
    let runs = (load.clients * load.each) as f64;
    Ok(Round {
        wall_ms: wall.as_secs_f64() * 1e3 / runs,
        cpu_ms: cpu.as_secs_f64() * 1e3 / runs,
        commits: (after.commits - before.commits) as f64 / runs,
        others: (after.others - before.others) as f64 / runs,
    })
}
