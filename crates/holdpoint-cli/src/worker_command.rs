//! `holdpoint worker`: takes tasks from a store and does them.

use std::io;
use std::process::ExitCode;

use clap::Args;
use holdpoint::{Worker, open_store};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use crate::{problem, sample};

/// The most tasks that one worker does at once.
const CONCURRENCY_MAX: i64 = 256;
/// What is logged unless `HOLDPOINT_LOG` says otherwise.
const LOG_DEFAULT: &str = "warn";

/// Take deferred tool calls from a store and do them.
///
/// The worker has the tools of the sample agent. It takes a task only if it has its tool, keeps it from other workers
/// while it works, and hands the result to the run, which goes on by itself when its last result is in. Start as many
/// workers as you like, on as many machines as reach the store.
///
/// Ctrl-C or SIGTERM ends it gracefully: it takes nothing more, finishes what it has begun, and gives back the rest. A
/// worker that dies leaves its tasks to others; a call that may not be repeated becomes a question to a person.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WorkerArgs {
    /// Where the tasks are: `sqlite:PATH` or `postgres://USER@HOST/DATABASE`.
    #[arg(long, value_name = "URL")]
    store: String,
    /// Only tools whose name matches one of these globs; all tools without it.
    #[arg(long, value_name = "GLOB", num_args = 1..)]
    tools: Vec<String>,
    /// How many tasks it does at once.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=CONCURRENCY_MAX))]
    concurrency: u32,
    /// Its name, as people see it; made from the process if not given.
    #[arg(long)]
    name: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint worker --store sqlite:holdpoint.db
  holdpoint worker --store postgres://app@db/holdpoint --tools 'find_*' refund --concurrency 16

HOLDPOINT_LOG chooses what is logged to standard error, as in HOLDPOINT_LOG=info.";

/// 0 when it was told to end, 2 when it could not begin.
pub(crate) async fn run(args: WorkerArgs) -> ExitCode {
    if args.store == "memory" {
        return problem::needs_a_lasting_store();
    }
    log_to_stderr();
    let store = match open_store(&args.store).await {
        Ok(store) => store,
        Err(error) => return problem::cannot_open(&error),
    };
    let agent = match sample::agent(store) {
        Ok(agent) => agent,
        Err(error) => return problem::bad_config(&error),
    };
    let mut worker = Worker::new(agent.runner()).concurrency(args.concurrency as usize);
    for glob in &args.tools {
        worker = worker.tools(glob);
    }
    if let Some(name) = &args.name {
        worker = worker.name(name.as_str());
    }
    let shutdown = CancellationToken::new();
    let until_told = match ends(shutdown.clone()) {
        Ok(until_told) => until_told,
        Err(error) => return problem::bad_config(&error.into()),
    };
    eprintln!("starting a worker for the agent `{}`; Ctrl-C ends it", sample::NAME);
    let worked = worker.run(shutdown).await;
    until_told.abort();
    match worked {
        Ok(()) => {
            eprintln!("ended");
            ExitCode::SUCCESS
        }
        Err(error) => problem::bad_config(&error.into()),
    }
}

fn log_to_stderr() {
    let filter = EnvFilter::try_from_env("HOLDPOINT_LOG").unwrap_or_else(|_| EnvFilter::new(LOG_DEFAULT));
    // Somebody who set another subscriber before knows better.
    let _ = tracing_subscriber::fmt().with_writer(io::stderr).with_env_filter(filter).try_init();
}

/// Tells the worker to end when the process is told to.
#[cfg(unix)]
fn ends(shutdown: CancellationToken) -> io::Result<tokio::task::JoinHandle<()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        eprintln!("ending: finishing what was begun");
        shutdown.cancel();
    }))
}

/// Tells the worker to end when the process is told to.
#[cfg(not(unix))]
fn ends(shutdown: CancellationToken) -> io::Result<tokio::task::JoinHandle<()>> {
    Ok(tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            eprintln!("ending: finishing what was begun");
            shutdown.cancel();
        }
    }))
}
