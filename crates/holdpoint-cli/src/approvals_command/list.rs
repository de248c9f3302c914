//! `holdpoint approvals list`.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;
use holdpoint_codec::Shown;
use holdpoint_config::printable;
use holdpoint_store::QuestionStatus;

use crate::columns;
use crate::desk::{DeskArgs, Found, Wanted, text};

/// The most questions of one list.
const LIMIT_MAX: i64 = 10_000;
/// How much of a cell a line shows.
const CELL_CHARS_MAX: usize = 80;

/// List what waits for a person: the earliest deadline first, and what has none after that.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct ListArgs {
    #[command(flatten)]
    desk: DeskArgs,
    /// Those that wait, or those that are over.
    #[arg(long, value_name = "STATUS", default_value = "pending",
        value_parser = PossibleValuesParser::new(QuestionStatus::ALL.map(QuestionStatus::as_str)))]
    status: String,
    /// Only those of this agent.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only those of this tenant.
    #[arg(long, value_name = "NAME", conflicts_with = "server")]
    tenant: Option<String>,
    /// Only those of this run.
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// How many at most.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=LIMIT_MAX))]
    limit: u32,
    /// One JSON object per question, with the arguments.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint approvals list
  holdpoint approvals list --status answered --agent support
  holdpoint approvals list --store postgres://app@db/holdpoint --tenant acme --json";

pub(super) async fn run(args: &ListArgs) -> Result<(), ExitCode> {
    let wanted = Wanted {
        status: Some(args.status.clone()),
        agent: args.agent.clone(),
        tenant: args.tenant.clone(),
        run: args.run.clone(),
        limit: args.limit as usize,
    };
    let Found { items, more } = args.desk.open().await?.questions(&wanted).await?;
    let mut out = io::stdout().lock();
    if args.json {
        items.iter().for_each(|question| drop(writeln!(out, "{question}")));
        return Ok(());
    }
    let rows: Vec<Vec<String>> = items.iter().map(row).collect();
    let _ = write!(out, "{}", columns::aligned(&["APPROVAL", "TOOL", "AGENT", "UNTIL", "WHY"], &rows));
    if items.is_empty() {
        eprintln!("nothing is {}", args.status);
    } else if more {
        eprintln!("there are more: --limit");
    }
    Ok(())
}

fn row(question: &Shown) -> Vec<String> {
    let cell = |key: &str| match &*text(question, key) {
        "" => "-".to_owned(),
        text => printable::line(text).chars().take(CELL_CHARS_MAX).collect(),
    };
    ["id", "tool", "agent", "deadline", "reason"].map(cell).to_vec()
}
