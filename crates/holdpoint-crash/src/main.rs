//! Kills processes at the worst moments, and proves with an external ledger that nothing was lost or done twice.

mod agents;
mod broken;
mod campaign;
mod check;
mod dice;
mod ledger;
mod link;
mod model;
mod parking;
mod plan;
mod records;
mod roles;
mod tools;
mod torture;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tracing_subscriber::EnvFilter;

use crate::campaign::{Campaign, Party};
use crate::roles::Role;
use crate::torture::Torture;

/// Kills processes at the worst moments, and proves that nothing was lost or done twice.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Starts a server loop and two workers, kills them again and again, and checks what they leave.
    Torture(Torture),
    /// Runs directed cases: suspended processes, held and cut links, completes that race with lapses, late answers.
    Campaign(Campaign),
    /// The server loop.
    #[command(hide = true)]
    Serve(Role),
    /// A worker.
    #[command(hide = true)]
    Work(Role),
    /// A process of one case.
    #[command(hide = true)]
    Party(Party),
}

fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).init();
    let ended = match Arguments::parse().command {
        Command::Torture(torture) => run(torture.run()),
        Command::Campaign(campaign) => run(campaign.run()),
        Command::Serve(role) => run(async { roles::serve(&role).await.map(|()| ExitCode::SUCCESS) }),
        Command::Work(role) => run(async { roles::work(&role).await.map(|()| ExitCode::SUCCESS) }),
        Command::Party(party) => run(async { party.run().await.map(|()| ExitCode::SUCCESS) }),
    };
    ended.unwrap_or_else(|error| {
        // Nobody may be there to read it.
        let _ = writeln!(std::io::stderr(), "{error:#}");
        ExitCode::from(2)
    })
}

fn run(work: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build()?;
    let ended = runtime.block_on(work);
    // Nothing that still runs may keep the process.
    runtime.shutdown_background();
    ended
}
