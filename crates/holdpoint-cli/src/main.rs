//! The `holdpoint` command: the only place where parts are chosen, and the only one that prints.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

mod audit_command;
mod duration;
mod migrate_command;
mod policy_command;
mod problem;
mod prune_command;
mod sample;
mod test_command;
mod worker_command;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Runs the tool calls of LLM agents: decides, waits, runs, remembers.
#[derive(Debug, Parser)]
#[command(name = "holdpoint", version, about, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

const EXAMPLES: &str = "\
Without a command, a sample agent runs in the terminal and asks before it pays money back.

Examples:
  holdpoint                                       meet the sample agent
  holdpoint test scenarios                        check every scenario of a folder
  holdpoint test a.yaml --store sqlite:test.db    the same on a durable store
  holdpoint worker --store sqlite:holdpoint.db    do deferred tool calls
  holdpoint policy check policy.toml              what a policy says, and its own examples
  holdpoint prune --store sqlite:holdpoint.db --older-than 30d
  holdpoint audit verify --store sqlite:holdpoint.db

Exit codes: 0 it worked, 1 it failed, 2 bad usage, bad configuration, or a store that cannot be opened.";

// What each command does is said at its arguments, where the help takes it from.
#[derive(Debug, Subcommand)]
enum Command {
    Test(test_command::TestArgs),
    Worker(worker_command::WorkerArgs),
    Migrate(migrate_command::MigrateArgs),
    Prune(prune_command::PruneArgs),
    Audit(audit_command::AuditArgs),
    Policy(policy_command::PolicyArgs),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.command {
        Some(Command::Test(args)) => test_command::run(args),
        Some(Command::Worker(args)) => waiting_for(worker_command::run(args)),
        Some(Command::Migrate(args)) => waiting_for(migrate_command::run(args)),
        Some(Command::Prune(args)) => waiting_for(prune_command::run(args)),
        Some(Command::Audit(args)) => waiting_for(audit_command::run(args)),
        Some(Command::Policy(args)) => policy_command::run(args),
        None => sample::run(),
    }
}

fn waiting_for(command: impl Future<Output = ExitCode>) -> ExitCode {
    match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(command),
        Err(error) => {
            eprintln!("error: no runtime could be started: {error}");
            ExitCode::FAILURE
        }
    }
}
