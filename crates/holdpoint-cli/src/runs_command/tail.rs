//! `holdpoint runs tail`.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use holdpoint_codec::Shown;
use holdpoint_config::printable;

use crate::desk::{DeskArgs, text};

/// Follow the events of a run until it ends; those that were before come first.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct TailArgs {
    /// The run.
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    desk: DeskArgs,
    /// Only events after this number.
    #[arg(long, value_name = "N", default_value_t = 0)]
    after: u64,
    /// End when there are no more events for now.
    #[arg(long)]
    no_wait: bool,
    /// One JSON object per event: what the event stream of the API sends.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint runs tail 0199f0c1-2b3c-7d4e-8f50-1234567890ab
  holdpoint runs tail 0199f0c1-2b3c-7d4e-8f50-1234567890ab --after 12 --no-wait --json";

pub(super) async fn run(args: &TailArgs) -> Result<(), ExitCode> {
    let desk = args.desk.open().await?;
    let mut seen = args.after;
    loop {
        let events = desk.events(&args.id, seen).await?;
        for event in &events {
            if tell(event, args.json).is_err() {
                // Nobody reads any more.
                return Ok(());
            }
            seen = event.value("seq").as_u64().unwrap_or(seen);
        }
        if !events.is_empty() {
            continue;
        }
        let run = desk.run(&args.id).await?;
        // What came between the two looks is still to be told.
        let told = run.value("revision").as_u64().is_none_or(|revision| revision <= seen);
        if told && (args.no_wait || matches!(&*text(&run, "status"), "finished" | "failed" | "cancelled")) {
            return Ok(());
        }
        desk.changed(&args.id, seen).await?;
    }
}

fn tell(event: &Shown, json: bool) -> io::Result<()> {
    if json {
        return writeln!(io::stdout(), "{event}");
    }
    let seq = event.value("seq").as_u64().unwrap_or_default();
    let name = text(event, "event");
    let about = ["tool", "call_id", "outcome", "reason", "stop_reason", "actor"]
        .iter()
        .filter_map(|key| {
            let value = event.value(key);
            let shown = value.as_str().or_else(|| value["id"].as_str())?;
            Some(format!(" {key}={}", printable::line(shown)))
        })
        .collect::<String>();
    writeln!(io::stdout(), "{seq:>5}  {name}{about}")
}
