//! Open event streams: what they take of memory, and whether anything is done while nothing happens. The server that is asked
//! did not start the runs: another one drives them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::front::posted;
use super::program::{Home, Program};
use crate::durable::database::{Place, Scratch};
use crate::durable::finish;
use crate::durable::statistics::median;
use crate::parts::print;

/// How many requests that start runs are under way at once.
const AT_ONCE: usize = 16;
/// Streams that are opened and closed before memory is looked at.
const WARM_UP: usize = 100;
/// How long a stream may take to say what happened so far.
const OPEN_MAX: Duration = Duration::from_secs(60);
/// How long nothing happens: long enough for every stream to say that it is still there.
const IDLE: Duration = Duration::from_secs(20);
/// How long after the last stream was opened that begins.
const SETTLE: Duration = Duration::from_secs(2);
const GROWTH_MB_MAX: f64 = 64.0;
/// The share of one core that open streams may take while nothing happens. Each says every 15 seconds that it is there.
const IDLE_CPU_PERCENT_MAX: f64 = 5.0;
/// The requests to the store per stream and second that would be polling.
const STORE_CALLS_MAX: f64 = 0.01;

/// What to measure.
pub(super) struct Plan {
    pub(super) program: PathBuf,
    pub(super) streams: usize,
    pub(super) rounds: usize,
}

/// What the runs do meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// They wait for a person.
    Paused,
    /// Another server waits for their tools.
    RunningElsewhere,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Paused => "paused",
            Kind::RunningElsewhere => "running_elsewhere",
        }
    }
}

/// What one round measured.
struct Round {
    before_mb: f64,
    growth_mb: f64,
    idle: Idle,
    idle_before: Idle,
}

/// What a server does while nothing happens.
struct Idle {
    cpu_percent: f64,
    store_calls_per_s: f64,
}

pub(super) async fn measure(place: &Place, plan: &Plan) -> anyhow::Result<()> {
    let silent = TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("http://{}/", silent.local_addr()?);
    let keeping = tokio::spawn(keep_silent(silent));
    for kind in [Kind::Paused, Kind::RunningElsewhere] {
        let scratch = place.scratch().await?;
        let measured = measure_kind(&scratch, &address, plan, kind).await;
        finish(scratch, measured).await?;
    }
    keeping.abort();
    Ok(())
}

/// Takes every connection and says nothing.
async fn keep_silent(listener: TcpListener) {
    let mut open = Vec::new();
    while let Ok((connection, _)) = listener.accept().await {
        open.push(connection);
    }
}

async fn measure_kind(scratch: &Scratch, silent: &str, plan: &Plan, kind: Kind) -> anyhow::Result<()> {
    let home = Home::new(&plan.program, &scratch.url(), silent)?;
    let driver = home.start().await?;
    let runs = begin_runs(&driver, kind, plan.streams).await?;
    let mut rounds = Vec::new();
    for _ in 0..plan.rounds {
        let server = home.start().await?;
        rounds.push(round(&server, &runs).await?);
        server.kill().await?;
    }
    driver.kill().await?;
    report(scratch.kind(), kind, runs.len(), &rounds);
    Ok(())
}

/// Starts runs and waits until each is where it is to be.
pub(super) async fn begin_runs(server: &Program, kind: Kind, count: usize) -> anyhow::Result<Vec<String>> {
    let (agent, wait, status) = match kind {
        Kind::Paused => ("asks", "?wait_ms=30000", "awaiting_tool_confirmation"),
        Kind::RunningElsewhere => ("hangs", "", "running"),
    };
    let url = format!("{}/v1/runs{wait}", server.url);
    let next = Arc::new(AtomicUsize::new(0));
    let mut under_way = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (client, url, next) = (server.client.clone(), url.clone(), Arc::clone(&next));
        under_way.spawn(async move {
            let mut runs = Vec::new();
            while next.fetch_add(1, Ordering::Relaxed) < count {
                let run = posted(&client, &url, &json!({ "agent": agent, "input": "go" })).await?;
                anyhow::ensure!(run["status"] == status, "a run is `{}`", run["status"]);
                runs.push(run["id"].as_str().unwrap_or_default().to_owned());
            }
            anyhow::Ok(runs)
        });
    }
    let mut runs = Vec::new();
    while let Some(done) = under_way.join_next().await {
        runs.extend(done??);
    }
    Ok(runs)
}

async fn round(server: &Program, runs: &[String]) -> anyhow::Result<Round> {
    let warm = &runs[..runs.len().min(WARM_UP)];
    drop(open(server, warm).await?);
    let idle_before = idle(server).await?;
    let before_mb = server.resident_mb()?;
    let streams = open(server, runs).await?;
    tokio::time::sleep(SETTLE).await;
    let idle = idle(server).await?;
    let growth_mb = server.resident_mb()? - before_mb;
    let still = streams.open.load(Ordering::Relaxed);
    anyhow::ensure!(still == runs.len(), "only {still} of {} streams are open", runs.len());
    Ok(Round { before_mb, growth_mb, idle, idle_before })
}

/// Streams that somebody reads.
struct Streams {
    open: Arc<AtomicUsize>,
    _reading: JoinSet<()>,
}

/// Opens a stream per run, and waits until each said what happened so far.
async fn open(server: &Program, runs: &[String]) -> anyhow::Result<Streams> {
    let (open, told) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut reading = JoinSet::new();
    for run in runs {
        let mut stream = TcpStream::connect(server.address()).await?;
        let request = format!(
            "GET /v1/runs/{run}/events HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\n\r\n",
            server.address()
        );
        stream.write_all(request.as_bytes()).await?;
        let (open, told) = (Arc::clone(&open), Arc::clone(&told));
        open.fetch_add(1, Ordering::Relaxed);
        reading.spawn(async move {
            let (mut piece, mut first) = (vec![0; 4096], true);
            while let Ok(count) = stream.read(&mut piece).await
                && count > 0
            {
                // Events have data; what only keeps the connection alive has none.
                if first && piece[..count].windows(5).any(|bytes| bytes == b"data:") {
                    first = false;
                    told.fetch_add(1, Ordering::Relaxed);
                }
            }
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
    let began = Instant::now();
    while told.load(Ordering::Relaxed) < runs.len() {
        let count = told.load(Ordering::Relaxed);
        anyhow::ensure!(began.elapsed() < OPEN_MAX, "only {count} of {} streams said something", runs.len());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(Streams { open, _reading: reading })
}

async fn idle(server: &Program) -> anyhow::Result<Idle> {
    let (calls, cpu, began) = (server.store_calls().await?, server.cpu_seconds()?, Instant::now());
    tokio::time::sleep(IDLE).await;
    let seconds = began.elapsed().as_secs_f64();
    let cpu = server.cpu_seconds()? - cpu;
    let calls = server.store_calls().await? - calls;
    Ok(Idle { cpu_percent: cpu * 100.0 / seconds, store_calls_per_s: calls / seconds })
}

fn report(store: &str, kind: Kind, streams: usize, rounds: &[Round]) {
    let of = |pick: fn(&Round) -> f64| median(&rounds.iter().map(pick).collect::<Vec<_>>());
    let growth_mb = of(|round| round.growth_mb);
    let cpu = of(|round| round.idle.cpu_percent);
    let added = of(|round| round.idle.store_calls_per_s - round.idle_before.store_calls_per_s);
    let calls_max = STORE_CALLS_MAX * streams as f64;
    print(&json!({
        "peer": "holdpoint", "bench": "server_streams", "store": store, "of": kind.name(), "streams": streams,
        "rounds": rounds.len(), "rss_before_mb": of(|round| round.before_mb), "growth_mb": growth_mb,
        "growth_mb_max": GROWTH_MB_MAX, "idle_cpu_percent": cpu, "idle_cpu_percent_max": IDLE_CPU_PERCENT_MAX,
        "idle_cpu_percent_without": of(|round| round.idle_before.cpu_percent), "added_store_calls_per_s": added,
        "added_store_calls_per_s_max": calls_max,
        "holds": growth_mb < GROWTH_MB_MAX && cpu < IDLE_CPU_PERCENT_MAX && added < calls_max,
    }));
}
