//! What durability costs: cycles per second beside bare commits of the same database, bytes stored, memory of paused
//! runs, and the queue. Every line names its fields as the benchmarks of other runtimes do, where they have them.

mod bare;
mod beside;
mod counting;
mod cycles;
pub(crate) mod database;
mod growth;
mod lease;
pub(crate) mod statistics;
mod tasks;
pub(crate) mod turns;
mod verify;

use std::process::Command;
use std::time::Duration;

use clap::{Args, ValueEnum};

use database::{Place, Scratch};

/// How and where to measure durability.
#[derive(Clone, Debug, Args)]
pub(crate) struct DurableArguments {
    /// For `d` and `server`: `postgres://USER@HOST/DATABASE` (databases are made on that server, and dropped) or
    /// `sqlite:PATH` (files are made beside that path, and removed).
    #[arg(long)]
    pub(crate) store: Option<String>,
    /// For `d`: only one part of it.
    #[arg(long, value_enum)]
    part: Option<Part>,
    /// For `d` and `server`: how often each is measured; the bare one and ours in turns, and the median counts.
    #[arg(long, default_value_t = 5)]
    pub(crate) rounds: usize,
    /// For `d`: about how long each measurement of a rate takes.
    #[arg(long, default_value_t = 2)]
    seconds: u64,
    /// For `d`: how many tasks wait in the larger queue.
    #[arg(long, default_value_t = 1_000_000)]
    waiting: usize,
    /// For `d`: how many audit rows are verified.
    #[arg(long, default_value_t = 1_000_000)]
    audit_rows: usize,
    /// For `d`: a shell command that prints `d_durable` lines of another runtime. It is run in between, and its cycles per
    /// second are set beside ours.
    #[arg(long)]
    beside: Option<String>,
}

/// A part of the measurements of durability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Pauses and resumes per second, beside bare commits.
    Cycles,
    /// Bytes stored by long runs.
    Growth,
    /// Memory of paused runs.
    Paused,
    /// Taking a task from a short and from a long queue.
    Lease,
    /// Deferred calls through one worker.
    Tasks,
    /// Verifying a long audit log.
    Verify,
}

impl DurableArguments {
    fn wants(&self, part: Part) -> bool {
        self.part.is_none_or(|only| only == part)
    }

    fn time(&self) -> Duration {
        Duration::from_secs(self.seconds.max(1))
    }
}

/// Measures on as many threads as there are cores, as a server would run.
pub(crate) fn measure(arguments: &DurableArguments) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure_parts(arguments))
}

async fn measure_parts(arguments: &DurableArguments) -> anyhow::Result<()> {
    let url = arguments.store.as_deref();
    let url = url.ok_or_else(|| anyhow::anyhow!("`d` needs `--store sqlite:PATH` or `--store postgres://…`"))?;
    let place = Place::at(url)?;
    if arguments.wants(Part::Cycles) {
        let scratch = place.scratch().await?;
        let measured = cycles::measure(&scratch, arguments).await;
        finish(scratch, measured).await?;
    }
    if arguments.wants(Part::Growth) {
        growth::measure(&place).await?;
    }
    if arguments.wants(Part::Paused) {
        let scratch = place.scratch().await?;
        let measured = measure_paused(&scratch);
        finish(scratch, measured).await?;
    }
    if arguments.wants(Part::Tasks) {
        let scratch = place.scratch().await?;
        let measured = tasks::measure(&scratch, arguments.rounds).await;
        finish(scratch, measured).await?;
    }
    if arguments.wants(Part::Lease) {
        lease::measure(&place, arguments.waiting).await?;
    }
    if arguments.wants(Part::Verify) {
        let scratch = place.scratch().await?;
        let measured = verify::measure(&scratch, arguments.audit_rows).await;
        finish(scratch, measured).await?;
    }
    Ok(())
}

/// Removes the database whatever came of the measurement.
pub(crate) async fn finish<T>(scratch: Scratch, measured: anyhow::Result<T>) -> anyhow::Result<T> {
    let closed = scratch.close().await;
    let measured = measured?;
    closed?;
    Ok(measured)
}

/// The program beside this one, whose allocator counts.
fn measure_paused(scratch: &Scratch) -> anyhow::Result<()> {
    let program = std::env::current_exe()?.with_file_name("holdpoint-bench-memory");
    let status = Command::new(&program).env("HOLDPOINT_BENCH_STORE", scratch.url()).status();
    let status =
        status.map_err(|error| anyhow::anyhow!("holdpoint-bench-memory must be built beside this: {error}"))?;
    anyhow::ensure!(status.success(), "holdpoint-bench-memory failed");
    Ok(())
}
