//! `holdpoint runs`: what happened.

mod show;
mod tail;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use holdpoint_api::RunView;
use holdpoint_codec::view::{EventView, MessageView};
use holdpoint_core::Status;
use serde::Serialize;

use crate::backend::{BackendArgs, Filter, ItemArgs, ShowArgs};
use crate::failure::{Failure, Outcome};
use crate::person::PersonArgs;
use crate::print;

/// List runs, look at one, follow one, cancel one, export one.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    command: Option<RunsCommand>,
    #[command(flatten)]
    list: ListArgs,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint runs list --status awaiting_tool_confirmation
  holdpoint runs show 0199f0c1-2b3c-7d4e-8f50-1234567890ab
  holdpoint runs tail 0199f0c1-2b3c-7d4e-8f50-1234567890ab
  holdpoint runs export 0199f0c1-2b3c-7d4e-8f50-1234567890ab > run.json
  HOLDPOINT_TOKEN=… holdpoint runs list --server https://holdpoint.example.com";

// The help of a command is at its arguments.
#[derive(Clone, Debug, Subcommand)]
enum RunsCommand {
    List(ListArgs),
    /// Show where a run is, what it waits for, and its conversation.
    ///
    /// What models and tools wrote is shown as it is, except that characters which could deceive a reader are shown as their
    /// numbers. It may hold whatever the conversation holds: mind who looks on.
    #[command(after_help = SHOW_EXAMPLES)]
    Show(ShowArgs),
    Tail(tail::TailArgs),
    /// Cancel a run in any state. Tools that run are told; late results are refused.
    #[command(after_help = CANCEL_EXAMPLES)]
    Cancel {
        #[command(flatten)]
        item: ItemArgs,
        #[command(flatten)]
        person: PersonArgs,
    },
    /// Write everything about a run to standard output as one JSON object: the run, its messages and its events.
    ///
    /// It holds raw arguments and results: sensitive.
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(ItemArgs),
}

pub(crate) async fn run(args: RunsArgs) -> Outcome {
    match args.command.unwrap_or(RunsCommand::List(args.list)) {
        RunsCommand::List(args) => list(args).await,
        RunsCommand::Show(args) => show::run(args).await,
        RunsCommand::Tail(args) => tail::run(args).await,
        RunsCommand::Cancel { item, person } => cancel(&item, &person).await,
        RunsCommand::Export(item) => export(&item).await,
    }
}

/// List runs, the last created first.
#[derive(Args, Clone, Debug)]
#[command(after_help = LIST_EXAMPLES)]
struct ListArgs {
    #[command(flatten)]
    backend: BackendArgs,
    /// Only those that are there.
    #[arg(long, value_name = "STATUS", value_parser = PossibleValuesParser::new(Status::ALL.map(Status::as_str)))]
    status: Option<String>,
    #[command(flatten)]
    filter: Filter,
    /// One JSON object per run.
    #[arg(long)]
    json: bool,
}

const LIST_EXAMPLES: &str = "\
Examples:
  holdpoint runs list
  holdpoint runs list --status failed --agent support --limit 10
  holdpoint runs list --store postgres://app@db/holdpoint --tenant acme --json";

const COLUMNS: [(&str, &str); 5] =
    [("RUN", "id"), ("STATUS", "status"), ("AGENT", "agent"), ("TENANT", "tenant"), ("CREATED", "created_at")];

async fn list(args: ListArgs) -> Outcome {
    let backend = args.backend.open().await?;
    let filter = Filter { status: args.status, ..args.filter };
    filter.list(async |part| backend.runs(&filter, part).await, &COLUMNS, "no runs", args.json).await
}

const SHOW_EXAMPLES: &str = "\
Examples:
  holdpoint runs show 0199f0c1-2b3c-7d4e-8f50-1234567890ab
  holdpoint runs show 0199f0c1-2b3c-7d4e-8f50-1234567890ab --json | jq .pending";

const CANCEL_EXAMPLES: &str = "\
Examples:
  holdpoint runs cancel 0199f0c1-2b3c-7d4e-8f50-1234567890ab
  holdpoint runs cancel 0199f0c1-2b3c-7d4e-8f50-1234567890ab --as ana";

async fn cancel(item: &ItemArgs, person: &PersonArgs) -> Outcome {
    let backend = item.backend.open().await?;
    let before = backend.run(&item.id).await?.status.0;
    if is_over(before) {
        return Err(Failure::new(format!("the run is over: it is {}", before.as_str())));
    }
    let run = backend.cancel(&item.id, person).await?;
    eprintln!("the run is {}", run.status.0.as_str());
    Ok(ExitCode::SUCCESS)
}

fn is_over(status: Status) -> bool {
    matches!(status, Status::Finished | Status::Failed | Status::Cancelled)
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  holdpoint runs export 0199f0c1-2b3c-7d4e-8f50-1234567890ab > run.json
  holdpoint runs export 0199f0c1-2b3c-7d4e-8f50-1234567890ab | jq '.events[] | .event'";

/// What `runs export` writes.
#[derive(Serialize)]
struct ExportedRun {
    version: u32,
    run: RunView,
    messages: Vec<MessageView>,
    events: Vec<EventView>,
}

async fn export(item: &ItemArgs) -> Outcome {
    let ItemArgs { id, backend } = item;
    let backend = backend.open().await?;
    let mut events: Vec<EventView> = Vec::new();
    loop {
        let more = backend.events(id, events.last().map_or(0, |event| event.seq)).await?;
        if more.is_empty() {
            break;
        }
        events.extend(more);
    }
    let (run, messages) = (backend.run(id).await?, backend.messages(id).await?);
    let document = print::to_json(&ExportedRun { version: 1, run, messages, events });
    io::stdout().write_all(document.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
