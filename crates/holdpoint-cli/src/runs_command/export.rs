//! `holdpoint runs export`.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use holdpoint_codec::Shown;

use crate::desk::DeskArgs;
use crate::problem;

/// The version of the document.
const VERSION: u32 = 1;

/// Write everything about a run to standard output as one JSON object: the run, its messages and its events.
///
/// It holds raw arguments and results: sensitive.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct ExportArgs {
    /// The run.
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    desk: DeskArgs,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint runs export 0199f0c1-2b3c-7d4e-8f50-1234567890ab > run.json
  holdpoint runs export 0199f0c1-2b3c-7d4e-8f50-1234567890ab | jq '.events[] | .event'";

pub(super) async fn run(args: &ExportArgs) -> Result<(), ExitCode> {
    let desk = args.desk.open().await?;
    let mut events: Vec<Shown> = Vec::new();
    loop {
        let seen = events.last().and_then(|event| event.value("seq").as_u64()).unwrap_or(0);
        let more = desk.events(&args.id, seen).await?;
        if more.is_empty() {
            break;
        }
        events.extend(more);
    }
    let document = Shown::default()
        .with("version", &VERSION)
        .with("run", &desk.run(&args.id).await?)
        .with("messages", &desk.messages(&args.id).await?)
        .with("events", &events);
    let failed = |error: io::Error| problem::failure(&format!("the output failed: {}", error.kind()), None);
    writeln!(io::stdout(), "{document}").map_err(failed)
}
