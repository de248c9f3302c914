//! `holdpoint approvals`: the inbox in the terminal.

mod answer;
mod list;
mod show;

use std::process::ExitCode;

use clap::{Args, Subcommand};

/// See what waits for a person, and answer it.
///
/// An approval has the name of its call: the run, the turn and its place. What is allowed runs exactly as it was shown:
/// the answer is bound to the digest of it. The run goes on wherever a server looks after it.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    command: Option<ApprovalsCommand>,
    #[command(flatten)]
    list: list::ListArgs,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint approvals list
  holdpoint approvals show 0199f0c1-2b3c-7d4e-8f50-1234567890ab.b1.c0
  holdpoint approvals allow 0199f0c1-2b3c-7d4e-8f50-1234567890ab.b1.c0 --reason \"checked with the bank\" --role finance
  holdpoint approvals deny 0199f0c1-2b3c-7d4e-8f50-1234567890ab.b1.c0 --reason \"not this order\"
  HOLDPOINT_TOKEN=… holdpoint approvals list --server https://holdpoint.example.com";

// What each command does is said at its arguments, where the help takes it from.
#[derive(Clone, Debug, Subcommand)]
enum ApprovalsCommand {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Allow(answer::AllowArgs),
    Deny(answer::DenyArgs),
}

/// Runs the command.
pub(crate) async fn run(args: ApprovalsArgs) -> ExitCode {
    let done = match args.command {
        None => list::run(&args.list).await,
        Some(ApprovalsCommand::List(args)) => list::run(&args).await,
        Some(ApprovalsCommand::Show(args)) => show::run(&args).await,
        Some(ApprovalsCommand::Allow(args)) => answer::allow(&args).await,
        Some(ApprovalsCommand::Deny(args)) => answer::deny(&args).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(code) => code,
    }
}
