//! `holdpoint policy`: checks policies, explains decisions, and tries a policy on what was recorded.

mod check;
mod explain;
mod replay;

use clap::{Args, Subcommand};

use crate::failure::Outcome;

/// Check policies, explain what they decide, and try them on recorded runs.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    command: PolicyCommand,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint policy check policy.toml
  holdpoint policy explain policy.toml --tool refund --arguments '{\"amount\": 250}'
  holdpoint policy replay new.toml --store sqlite:holdpoint.db --since 30d";

// The help of a command is at its arguments.
#[derive(Clone, Debug, Subcommand)]
enum PolicyCommand {
    Check(check::CheckArgs),
    Explain(explain::ExplainArgs),
    Replay(replay::ReplayArgs),
}

pub(crate) fn run(args: PolicyArgs) -> Outcome {
    match args.command {
        PolicyCommand::Check(args) => check::run(&args),
        PolicyCommand::Explain(args) => explain::run(&args),
        PolicyCommand::Replay(args) => crate::waiting_for(replay::run(args)),
    }
}
