//! `holdpoint worker`: takes tasks from a store and does them.

use std::fmt::Display;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use holdpoint::{ReceiptKeys, Worker};
use tokio_util::sync::CancellationToken;

use crate::assemble::{Ready, Shared};
use crate::failure::{Failure, Outcome};
use crate::log::{self, LogForm};
use crate::setup::Setup;
use crate::signals;
use crate::stores::{self, StoreArgs};

/// The most tasks that one worker does at once.
const CONCURRENCY_MAX: i64 = 256;
/// The longest lease of a task: an hour.
const LEASE_MS_MAX: u64 = 60 * 60 * 1000;

/// Take deferred tool calls from a store and do them.
///
/// The worker has the tools of the configured agents, or of the sample agent. It takes a task only if it has its tool, keeps
/// it from other workers while it works, and hands the result to the run, which goes on by itself when its last result is
/// in. Start as many workers as you like, on as many machines as reach the store.
///
/// Ctrl-C or SIGTERM ends it gracefully: it takes nothing more, finishes what it has begun, and gives back the rest. A
/// worker that dies leaves its tasks to others; a call that may not be repeated becomes a question to a person.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WorkerArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// Only tools whose name matches one of these globs; all tools without it.
    #[arg(long, value_name = "GLOB", num_args = 1..)]
    tools: Vec<String>,
    /// How many tasks it does at once.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=CONCURRENCY_MAX))]
    concurrency: u32,
    /// How long others leave its tasks alone when they hear nothing of it, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 30_000, value_parser = clap::value_parser!(u64).range(100..=LEASE_MS_MAX))]
    lease_ms: u64,
    /// Its name, as people see it; made from the process if not given.
    #[arg(long)]
    name: Option<String>,
    /// Do only calls with a receipt that one of these public keys signed: a file with what `GET /v1/keys` says.
    #[arg(long, value_name = "FILE")]
    verify: Option<PathBuf>,
    /// How the log looks.
    #[arg(long, value_enum, default_value_t)]
    log: LogForm,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint worker
  holdpoint worker --config holdpoint.toml --tools 'search_*'
  holdpoint worker --store sqlite:holdpoint.db
  holdpoint worker --store postgres://app@db/holdpoint --tools 'find_*' refund --concurrency 16
  holdpoint worker --verify keys.json

HOLDPOINT_LOG chooses what is logged to standard error, as in HOLDPOINT_LOG=info.";

/// 0 when it was told to end, 2 when it could not begin.
pub(crate) async fn run(args: WorkerArgs) -> Outcome {
    let setup = Setup::find(&args.store.config)?;
    let url = stores::lasting(setup.store_url(args.store.store.as_deref()))?;
    let otlp = log::with_traces(args.log, &setup.server())?;
    let store = stores::open(&url).await?;
    let mut agents = setup.agents(&Shared { store, receipt_key: None }, None).await?;
    if let Some(otlp) = &otlp {
        agents.iter_mut().for_each(|ready| ready.agent = ready.agent.with_span_parent(otlp.span_parent()));
    }
    let worked = work(&args, &agents).await;
    log::end(otlp).await;
    worked.map_err(Failure::before_start)?;
    eprintln!("ended");
    Ok(ExitCode::SUCCESS)
}

async fn work(args: &WorkerArgs, agents: &[Ready]) -> Outcome<()> {
    let [first, others @ ..] = agents else { return Ok(()) };
    let mut worker = Worker::new(first.agent.runner()).concurrency(args.concurrency as usize);
    worker = worker.lease(Duration::from_millis(args.lease_ms));
    worker = others.iter().fold(worker, |worker, other| worker.and(other.agent.runner()));
    worker = args.tools.iter().fold(worker, |worker, glob| worker.tools(glob));
    if let Some(name) = &args.name {
        worker = worker.name(name.as_str());
    }
    if let Some(file) = &args.verify {
        let cannot =
            |cause: &dyn Display| Failure::new(format!("the keys in `{}` cannot be read: {cause}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|error| cannot(&error.kind()))?;
        worker = worker.verify(ReceiptKeys::from_json(&text).map_err(|error| cannot(&error))?);
    }
    let shutdown = CancellationToken::new();
    let until_told = signals::ends(shutdown.clone())?;
    let names: Vec<_> = agents.iter().map(|ready| format!("`{}`", ready.name)).collect();
    let noun = if names.len() == 1 { "agent" } else { "agents" };
    eprintln!("starting a worker for the {noun} {}; Ctrl-C ends it", names.join(", "));
    let worked = worker.run(shutdown).await;
    until_told.abort();
    Ok(worked?)
}
