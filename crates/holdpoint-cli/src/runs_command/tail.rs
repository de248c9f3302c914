//! `holdpoint runs tail`.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use holdpoint_codec::view::EventView;

use crate::backend::ItemArgs;
use crate::failure::Outcome;
use crate::print::{self, Fields};

/// Follow the events of a run until it ends; those that were before come first.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct TailArgs {
    #[command(flatten)]
    item: ItemArgs,
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

pub(super) async fn run(args: TailArgs) -> Outcome {
    let id = &args.item.id;
    let backend = args.item.backend.open().await?;
    let mut seen = args.after;
    loop {
        let events = backend.events(id, seen).await?;
        for event in &events {
            let line = if args.json { print::to_json(event) } else { summary(event) };
            if io::stdout().write_all(line.as_bytes()).is_err() {
                // The reader has stopped reading.
                return Ok(ExitCode::SUCCESS);
            }
            seen = event.seq;
        }
        if !events.is_empty() {
            continue;
        }
        let run = backend.run(id).await?;
        // Events that came between the two reads are still to be printed.
        if run.revision <= seen && (args.no_wait || super::is_over(run.status.0)) {
            return Ok(ExitCode::SUCCESS);
        }
        backend.changed(id, seen).await?;
    }
}

fn summary(event: &EventView) -> String {
    let fields = Fields::of(event);
    let about = |key: &&str| match fields.text(key) {
        text if text.is_empty() => None,
        text => Some(format!(" {key}={text}")),
    };
    let about: String =
        ["tool", "call_id", "outcome", "reason", "stop_reason", "actor"].iter().filter_map(about).collect();
    format!("{:>5}  {}{about}\n", event.seq, event.event.name())
}
