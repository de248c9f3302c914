//! `holdpoint approvals`: the inbox in the terminal.

mod answer;

use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use holdpoint_api::ApprovalView;
use holdpoint_core::QuestionKind;
use holdpoint_store::QuestionStatus;

use crate::backend::{BackendArgs, Filter, ShowArgs};
use crate::failure::Outcome;
use crate::print::{self, Details, Fields};

/// See what waits for a person, and answer it.
///
/// Approval ids look like `RUN.bTURN.cINDEX`. An allowed call runs exactly as it was shown: the answer is bound to the digest
/// of it. The run continues on any server of the store.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    command: Option<ApprovalsCommand>,
    #[command(flatten)]
    list: ListArgs,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint approvals list
  holdpoint approvals show 0199f0c1-2b3c-7d4e-8f50-1234567890ab.b1.c0
  holdpoint approvals allow 0199f0c1-2b3c-7d4e-8f50-1234567890ab.b1.c0 --reason \"checked with the bank\" --role finance
  holdpoint approvals deny 0199f0c1-2b3c-7d4e-8f50-1234567890ab.b1.c0 --reason \"not this order\"
  HOLDPOINT_TOKEN=… holdpoint approvals list --server https://holdpoint.example.com";

// The help of a command is at its arguments.
#[derive(Clone, Debug, Subcommand)]
enum ApprovalsCommand {
    List(ListArgs),
    /// Show an approval: the tool that would run, with which arguments, why a person is asked, and who may answer.
    ///
    /// Characters that could deceive a reader are shown as their numbers.
    #[command(after_help = SHOW_EXAMPLES)]
    Show(ShowArgs),
    Allow(answer::AllowArgs),
    Deny(answer::DenyArgs),
}

pub(crate) async fn run(args: ApprovalsArgs) -> Outcome {
    match args.command.unwrap_or(ApprovalsCommand::List(args.list)) {
        ApprovalsCommand::List(args) => list(args).await,
        ApprovalsCommand::Show(args) => show(args).await,
        ApprovalsCommand::Allow(args) => answer::allow(args).await,
        ApprovalsCommand::Deny(args) => answer::deny(args).await,
    }
}

/// List what waits for a person: the earliest deadline first, and what has none after that.
#[derive(Args, Clone, Debug)]
#[command(after_help = LIST_EXAMPLES)]
struct ListArgs {
    #[command(flatten)]
    backend: BackendArgs,
    /// Those that wait, or those that are over.
    #[arg(long, value_name = "STATUS", default_value = "pending",
        value_parser = PossibleValuesParser::new(QuestionStatus::ALL.map(QuestionStatus::as_str)))]
    status: String,
    /// Only those of this run.
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    #[command(flatten)]
    filter: Filter,
    /// One JSON object per approval, with the arguments.
    #[arg(long)]
    json: bool,
}

const LIST_EXAMPLES: &str = "\
Examples:
  holdpoint approvals list
  holdpoint approvals list --status answered --agent support
  holdpoint approvals list --store postgres://app@db/holdpoint --tenant acme --json";

const COLUMNS: [(&str, &str); 5] =
    [("APPROVAL", "id"), ("TOOL", "tool"), ("AGENT", "agent"), ("UNTIL", "deadline"), ("WHY", "reason")];

async fn list(args: ListArgs) -> Outcome {
    let backend = args.backend.open().await?;
    let none = format!("nothing is {}", args.status);
    let filter = Filter { status: Some(args.status), run: args.run, ..args.filter };
    filter.list(async |part| backend.approvals(&filter, part).await, &COLUMNS, &none, args.json).await
}

const SHOW_EXAMPLES: &str = "\
Examples:
  holdpoint approvals show 0199f0c1-2b3c-7d4e-8f50-1234567890ab.b1.c0
  holdpoint approvals show 0199f0c1-2b3c-7d4e-8f50-1234567890ab.b1.c0 --json | jq .arguments";

async fn show(args: ShowArgs) -> Outcome {
    let approval = args.item.backend.open().await?.approval(&args.item.id).await?;
    print::text(if args.json { print::to_json(&approval) } else { details(&approval) });
    Ok(ExitCode::SUCCESS)
}

/// What a person must see before they answer.
fn details(approval: &ApprovalView) -> String {
    let fields = Fields::of(approval);
    let mut details = Details::default();
    details.fields(&fields, &[("approval", "id"), ("status", "status"), ("agent", "agent"), ("tool", "tool")]);
    details.line("arguments", approval.arguments.as_str());
    details.fields(&fields, &[("digest", "digest")]);
    match approval.kind.0 {
        QuestionKind::Permission => {}
        QuestionKind::Doubt => {
            details
                .line("doubt", "it is unknown whether it took effect; to allow it says that it did not, and runs it");
        }
        QuestionKind::Input => {
            let asks = approval.doubt.as_ref().and_then(|doubt| doubt.asks.as_ref());
            details.line("asks", asks.map_or("", |asks| &asks.message));
        }
    }
    details.fields(&fields, &[("why", "reason"), ("rule", "rule"), ("asked", "created_at"), ("until", "deadline")]);
    details.fields(&fields, &[("for", "approvers"), ("approved", "approvals")]);
    if approval.quorum > 1 {
        details.line("needs", &format!("{} people", approval.quorum));
    }
    details.0
}
