//! `holdpoint runs`: what happened.

mod cancel;
mod export;
mod list;
mod show;
mod tail;

use std::process::ExitCode;

use clap::{Args, Subcommand};

/// List runs, look at one, follow one, cancel one, export one.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    command: Option<RunsCommand>,
    #[command(flatten)]
    list: list::ListArgs,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint runs list --status awaiting_tool_confirmation
  holdpoint runs show 0199f0c1-2b3c-7d4e-8f50-1234567890ab
  holdpoint runs tail 0199f0c1-2b3c-7d4e-8f50-1234567890ab
  holdpoint runs export 0199f0c1-2b3c-7d4e-8f50-1234567890ab > run.json
  HOLDPOINT_TOKEN=… holdpoint runs list --server https://holdpoint.example.com";

// What each command does is said at its arguments, where the help takes it from.
#[derive(Clone, Debug, Subcommand)]
enum RunsCommand {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Tail(tail::TailArgs),
    Cancel(cancel::CancelArgs),
    Export(export::ExportArgs),
}

/// Runs the command.
pub(crate) async fn run(args: RunsArgs) -> ExitCode {
    let done = match args.command {
        None => list::run(&args.list).await,
        Some(RunsCommand::List(args)) => list::run(&args).await,
        Some(RunsCommand::Show(args)) => show::run(&args).await,
        Some(RunsCommand::Tail(args)) => tail::run(&args).await,
        Some(RunsCommand::Cancel(args)) => cancel::run(&args).await,
        Some(RunsCommand::Export(args)) => export::run(&args).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(code) => code,
    }
}
