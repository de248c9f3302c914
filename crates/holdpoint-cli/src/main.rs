//! The `holdpoint` command: the only place where parts are chosen, and the only one that prints.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

mod sample;
mod test_command;

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
  holdpoint                      meet the sample agent
  holdpoint test scenarios       check every scenario of a folder
  holdpoint test a.yaml --json   one JSON object per file";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run scenario files: agents and policies checked with a scripted model, offline.
    Test(test_command::TestArgs),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.command {
        Some(Command::Test(args)) => test_command::run(args),
        None => sample::run(),
    }
}
