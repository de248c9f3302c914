//! `holdpoint runs cancel`.

use std::process::ExitCode;

use clap::Args;
use holdpoint_config::printable;

use crate::desk::{DeskArgs, text};
use crate::person::PersonArgs;

/// Cancel a run in any state. Tools that run are told; late results are refused.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct CancelArgs {
    /// The run.
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    desk: DeskArgs,
    #[command(flatten)]
    person: PersonArgs,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint runs cancel 0199f0c1-2b3c-7d4e-8f50-1234567890ab
  holdpoint runs cancel 0199f0c1-2b3c-7d4e-8f50-1234567890ab --as ana";

pub(super) async fn run(args: &CancelArgs) -> Result<(), ExitCode> {
    let run = args.desk.open().await?.cancel(&args.id, &args.person).await?;
    eprintln!("the run is {}", printable::line(&text(&run, "status")));
    Ok(())
}
