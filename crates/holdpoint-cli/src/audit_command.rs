//! `holdpoint audit`: proves that the audit log is as it was written, seals it, and takes it out.

mod export;
mod seal;
mod verify;

use std::process::ExitCode;

use clap::{Args, Subcommand};

/// Prove that the audit log is as it was written, seal it, or export it.
///
/// Who decided, answered and did what is in a log that is chained within each run, in the same commit as the thing itself.
/// Seals chain the ends of the runs of a tenant. What is changed, removed or reordered afterwards is found.
#[derive(Args, Clone, Debug)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    command: AuditCommand,
}

// What each command does is said at its arguments, where the help takes it from.
#[derive(Clone, Debug, Subcommand)]
enum AuditCommand {
    Verify(verify::VerifyArgs),
    Export(export::ExportArgs),
    Seal(seal::SealArgs),
}

/// Runs the command.
pub(crate) async fn run(args: AuditArgs) -> ExitCode {
    match args.command {
        AuditCommand::Verify(args) => verify::run(args).await,
        AuditCommand::Export(args) => export::run(args).await,
        AuditCommand::Seal(args) => seal::run(args).await,
    }
}

/// As in `1 run` and `2 runs`.
fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
