//! Taking a task from a short and from a long queue: what waits must not matter.

use std::sync::Arc;
use std::time::Instant;

use holdpoint_core::{Attempt, CallIndex, Repeat, Revision, RunId, Status, ToolName, Turn};
use holdpoint_store::{HeadUpdate, LeaseRequest, Store, TaskChange, TaskOpening, Transition};
use serde_json::json;
use uuid::Uuid;

use super::cycles::at_once;
use super::database::{Place, Scratch};
use super::finish;
use super::statistics::median;
use crate::parts::print;

/// How many tasks wait in the short queue.
const FEW: usize = 1_000;
/// How many tasks each run of a queue has.
const TASKS_PER_RUN: usize = 1_000;
/// How many runs are made at once.
const FILLERS: usize = 4;
/// How many tasks of each queue are of the rare tool.
const RARE: usize = 300;
/// What a worker needs to know of a call.
const BODY_BYTES: usize = 400;
/// The leases before any counts.
const WARM_UP: usize = 20;
/// The leases that count.
const LEASES: usize = 200;
/// How many tools a worker with many of them has beside the one of most tasks.
const OTHER_TOOLS: usize = 50;
/// The long queue may cost so many times the short one.
const RATIO_MAX: f64 = 2.0;

struct Queue {
    scratch: Scratch,
    store: Store,
}

pub(super) async fn measure(place: &Place, many: usize) -> anyhow::Result<()> {
    let few = place.scratch().await?;
    let long = match place.scratch().await {
        Ok(long) => long,
        Err(error) => return finish(few, Err(error)).await,
    };
    let few = Queue { store: holdpoint::open_store(&few.url()).await?, scratch: few };
    let long = Queue { store: holdpoint::open_store(&long.url()).await?, scratch: long };
    let measured = measure_both(&few, &long, many).await;
    let Queue { scratch: few, store } = few;
    drop(store);
    let Queue { scratch: long, store } = long;
    drop(store);
    let measured = finish(few, measured).await;
    finish(long, measured).await
}

async fn measure_both(few: &Queue, long: &Queue, many: usize) -> anyhow::Result<()> {
    few.fill(FEW).await?;
    let started = Instant::now();
    long.fill(many).await?;
    let fill_s = started.elapsed().as_secs_f64();
    let others = || (0..OTHER_TOOLS).map(|tool| format!("other_{tool}"));
    let workers = [
        ("common", vec!["common".to_owned()]),
        ("rare", vec!["rare".to_owned()]),
        ("many_tools", others().chain(["common".to_owned()]).collect()),
        ("nothing_to_do", others().collect()),
    ];
    for (worker, tools) in workers {
        let request = LeaseRequest {
            worker: worker.into(),
            tools: tools.into_iter().map(|tool| (agent(), ToolName::new(tool))).collect(),
            tenant: None,
            limit: 1,
            lease_ms: 60_000,
        };
        let mut few_us = Vec::new();
        let mut long_us = Vec::new();
        for lease in 0..WARM_UP + LEASES {
            let times = (few.lease(&request).await?, long.lease(&request).await?);
            if lease >= WARM_UP {
                few_us.push(times.0);
                long_us.push(times.1);
            }
        }
        let ratio = median(&long_us) / median(&few_us);
        print(&json!({
            "peer": "holdpoint", "bench": "d_lease", "store": few.scratch.kind(), "worker": worker,
            "waiting_few": FEW, "waiting_many": many, "fill_s": fill_s, "leases": LEASES,
            "lease_us_few": median(&few_us), "lease_us_many": median(&long_us), "ratio": ratio, "ratio_max": RATIO_MAX,
            "holds": ratio <= RATIO_MAX,
        }));
    }
    Ok(())
}

fn agent() -> Arc<str> {
    "bench".into()
}

impl Queue {
    /// Opens so many tasks, and lets the database come to rest.
    async fn fill(&self, waiting: usize) -> anyhow::Result<()> {
        let every = (waiting / RARE).max(1);
        at_once(FILLERS, waiting.div_ceil(TASKS_PER_RUN), |run| {
            let store = self.store.clone();
            async move {
                let first = run * TASKS_PER_RUN;
                let last = waiting.min(first + TASKS_PER_RUN);
                let tools = (first..last).map(|task| if task % every == 0 { "rare" } else { "common" });
                open_tasks(&store, tools).await
            }
        })
        .await?;
        self.scratch.settle().await
    }

    /// How long one lease takes, in microseconds.
    async fn lease(&self, request: &LeaseRequest) -> anyhow::Result<f64> {
        let started = Instant::now();
        let tasks = self.store.tasks.lease(request).await?;
        let took = started.elapsed();
        let wanted = usize::from(&*request.worker != "nothing_to_do");
        anyhow::ensure!(tasks.len() == wanted, "a lease brought {} tasks", tasks.len());
        Ok(took.as_secs_f64() * 1e6)
    }
}

async fn open_tasks(store: &Store, tools: impl Iterator<Item = &'static str>) -> anyhow::Result<()> {
    let open = |(index, tool): (usize, &'static str)| {
        TaskChange::Open(Box::new(TaskOpening {
            turn: Turn(1),
            index: CallIndex::from_usize(index),
            tool: ToolName::new(tool),
            attempts: Attempt(0),
            attempts_max: Attempt(3),
            repeat: Repeat::Never,
            deadline: None,
            body: vec![b'x'; BODY_BYTES],
        }))
    };
    let head = HeadUpdate { agent: Some(agent()), ..HeadUpdate::new(Status::AwaitingToolResults) };
    let mut transition = Transition::new(vec![b"{}".to_vec()], head, store.runs.now());
    transition.tasks = tools.enumerate().map(open).collect();
    let run = RunId::new(Uuid::now_v7().to_string());
    store.runs.commit(&run, Revision(0), transition).await?;
    Ok(())
}
