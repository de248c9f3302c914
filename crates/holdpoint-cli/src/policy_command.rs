//! `holdpoint policy`: checks policies, explains decisions, and tries a policy on what was recorded.

mod check;
mod explain;
mod replay;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use holdpoint_policy::RulesError;
use serde_json::{Value, json};

use crate::problem::BAD_USAGE;

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

// What each command does is said at its arguments, where the help takes it from.
#[derive(Clone, Debug, Subcommand)]
enum PolicyCommand {
    Check(check::CheckArgs),
    Explain(explain::ExplainArgs),
    Replay(replay::ReplayArgs),
}

pub(crate) fn run(args: PolicyArgs) -> ExitCode {
    match args.command {
        PolicyCommand::Check(args) => check::run(&args),
        PolicyCommand::Explain(args) => explain::run(&args),
        PolicyCommand::Replay(args) => crate::waiting_for(replay::run(args)),
    }
}

/// Says why a policy cannot be used.
fn not_a_policy(error: &RulesError) -> ExitCode {
    eprint!("{}", told(error));
    ExitCode::from(BAD_USAGE)
}

/// A code to search for, a sentence to read, the cause and what to do next.
fn told(error: &RulesError) -> String {
    let mut text = format!("error[{}]: {error}\n", error.code().as_str());
    if let Some(cause) = std::error::Error::source(error) {
        text.push_str(&format!("cause: {cause}\n"));
    }
    if let Some(hint) = error.hint() {
        text.push_str(&format!("hint: {hint}\n"));
    }
    text
}

/// The same for programs.
fn error_json(error: &RulesError) -> Value {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    json!({
        "code": error.code().as_str(),
        "line": error.line(),
        "message": error.to_string(),
        "cause": cause,
        "hint": error.hint(),
    })
}

/// Says what is wrong with what was asked for.
fn bad_usage(message: &str, hint: &str) -> ExitCode {
    eprintln!("error: {message}");
    eprintln!("hint: {hint}");
    ExitCode::from(BAD_USAGE)
}
