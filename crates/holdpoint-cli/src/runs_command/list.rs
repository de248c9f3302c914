//! `holdpoint runs list`.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;
use holdpoint::Status;
use holdpoint_codec::Shown;
use holdpoint_config::printable;

use crate::columns;
use crate::desk::{DeskArgs, Found, Wanted, text};

/// The most runs of one list, and how many it has unless told otherwise.
const LIMIT_MAX: i64 = 10_000;

/// List runs, the last created first.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct ListArgs {
    #[command(flatten)]
    desk: DeskArgs,
    /// Only runs that are there.
    #[arg(long, value_name = "STATUS", value_parser = PossibleValuesParser::new(Status::ALL.map(Status::as_str)))]
    status: Option<String>,
    /// Only runs of this agent.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only runs of this tenant.
    #[arg(long, value_name = "NAME", conflicts_with = "server")]
    tenant: Option<String>,
    /// How many at most.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=LIMIT_MAX))]
    limit: u32,
    /// One JSON object per run.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint runs list
  holdpoint runs list --status failed --agent support --limit 10
  holdpoint runs list --store postgres://app@db/holdpoint --tenant acme --json";

pub(super) async fn run(args: &ListArgs) -> Result<(), ExitCode> {
    let wanted = Wanted {
        status: args.status.clone(),
        agent: args.agent.clone(),
        tenant: args.tenant.clone(),
        run: None,
        limit: args.limit as usize,
    };
    let Found { items, more } = args.desk.open().await?.runs(&wanted).await?;
    let mut out = io::stdout().lock();
    if args.json {
        items.iter().for_each(|run| drop(writeln!(out, "{run}")));
        return Ok(());
    }
    let cell = |run: &Shown, key: &str| match &*text(run, key) {
        "" => "-".to_owned(),
        text => printable::line(text),
    };
    let row = |run: &Shown| ["id", "status", "agent", "tenant", "created_at"].map(|key| cell(run, key)).to_vec();
    let rows: Vec<Vec<String>> = items.iter().map(row).collect();
    let _ = write!(out, "{}", columns::aligned(&["RUN", "STATUS", "AGENT", "TENANT", "CREATED"], &rows));
    if items.is_empty() {
        eprintln!("no runs");
    } else if more {
        eprintln!("there are more: --limit");
    }
    Ok(())
}
