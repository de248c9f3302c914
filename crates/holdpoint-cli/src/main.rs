//! The `holdpoint` command: the only place where parts are chosen, and the only one that prints.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

mod accepted_tools;
mod approvals_command;
mod assemble;
mod audit_command;
mod backend;
mod check_command;
mod config;
mod context;
mod failure;
mod init_command;
mod key_file;
mod log;
mod migrate_command;
mod openapi_command;
mod person;
mod policy_command;
mod print;
mod prune_command;
mod run_command;
mod runs_command;
mod sample;
mod serve_command;
mod setup;
mod signals;
mod since;
mod stores;
mod test_command;
mod tools_command;
mod worker_command;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use failure::{Failure, Outcome};

/// Runs the tool calls of LLM agents: decides, waits, runs, remembers.
#[derive(Debug, Parser)]
#[command(name = "holdpoint", version, about, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

const EXAMPLES: &str = "\
Without a command it is `holdpoint serve`: with `holdpoint.toml` of this folder, or with a sample agent that needs neither a
key nor a network.

Examples:
  holdpoint                                       start the server
  holdpoint run --agent sample                    meet the sample agent in the terminal
  holdpoint init support                          write a configuration of your own
  holdpoint check                                 whether it can be used
  holdpoint approvals list                        what waits for a person
  holdpoint runs list                             what happened
  holdpoint test scenarios                        check every scenario of a folder
  holdpoint policy check policy.toml              what a policy says, and its own examples
  holdpoint audit verify --store sqlite:holdpoint.db

Exit codes: 0 it worked, 1 it failed, 2 bad usage, bad configuration, or a store that cannot be opened.";

// The help of a command is at its arguments.
#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve_command::ServeArgs),
    Worker(worker_command::WorkerArgs),
    Run(run_command::RunArgs),
    Approvals(approvals_command::ApprovalsArgs),
    Runs(runs_command::RunsArgs),
    Init(init_command::InitArgs),
    Check(check_command::CheckArgs),
    Tools(tools_command::ToolsArgs),
    Test(test_command::TestArgs),
    Policy(policy_command::PolicyArgs),
    Audit(audit_command::AuditArgs),
    Prune(prune_command::PruneArgs),
    Migrate(migrate_command::MigrateArgs),
    Openapi(openapi_command::OpenapiArgs),
}

/// How long threads are waited for at the end.
const END_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(1);

/// The first argument of a launcher of programs: see [`holdpoint_programs::launch`].
const LAUNCH: &str = "__launch";

fn main() -> ExitCode {
    let mut given = std::env::args_os().skip(1);
    if given.next().is_some_and(|first| first == LAUNCH) {
        return holdpoint_programs::launch(given);
    }
    // The image that runs, also after the file was replaced.
    holdpoint_programs::use_launcher("/proc/self/exe".into(), LAUNCH);
    let arguments = Arguments::parse();
    let command = arguments.command.unwrap_or_else(|| Command::Serve(serve_command::ServeArgs::default()));
    command.run().unwrap_or_else(|failure| failure.tell())
}

impl Command {
    fn run(self) -> Outcome {
        match self {
            Command::Serve(args) => waiting_for(serve_command::run(args)),
            Command::Worker(args) => waiting_for(worker_command::run(args)),
            Command::Run(args) => waiting_for(run_command::run(args)),
            Command::Approvals(args) => waiting_for(approvals_command::run(args)),
            Command::Runs(args) => waiting_for(runs_command::run(args)),
            Command::Init(args) => init_command::run(&args),
            Command::Check(args) => Ok(check_command::run(&args)),
            Command::Tools(args) => waiting_for(tools_command::run(args)),
            Command::Test(args) => test_command::run(args),
            Command::Policy(args) => policy_command::run(args),
            Command::Audit(args) => waiting_for(audit_command::run(args)),
            Command::Prune(args) => waiting_for(prune_command::run(args)),
            Command::Migrate(args) => waiting_for(migrate_command::run(args)),
            Command::Openapi(args) => openapi_command::run(args),
        }
    }
}

fn waiting_for(command: impl Future<Output = Outcome>) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(format!("no runtime could be started: {error}")))?;
    let done = runtime.block_on(command);
    // What hangs in a thread, such as a lookup of a name, must not hold up the end.
    runtime.shutdown_timeout(END_TIMEOUT);
    done
}
