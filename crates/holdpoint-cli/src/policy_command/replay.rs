//! `holdpoint policy replay`: what another policy would have made of recorded runs.

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use holdpoint::internal::RecordedRuns;
use holdpoint_core::Decision;
use holdpoint_policy::{Change, Decide, RulesFile, replay};
use holdpoint_store::{LIST_LIMIT_MAX, RunFilter};
use serde_json::json;

use crate::failure::Outcome;
use crate::print::{self, Progress};
use crate::since::Since;
use crate::stores::TenantArgs;

/// Decide recorded calls again with another policy, and show which decisions change.
///
/// Nothing runs and nothing is changed. Each call is decided with what the first decision was taken on: its arguments,
/// who asked, and the calls before it. A call whose arguments a person changed is decided as the model asked for it, and
/// again as the person left it. A change is another decision, or other people to ask; another rule or reason is none.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct ReplayArgs {
    /// The policy file to try. With `mode = "log_only"`, the rules of the file itself are tried.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    runs: TenantArgs,
    /// Only decisions since then: so long ago, as in `30d`, or a moment, as in `2026-01-31T12:00:00Z`.
    #[arg(long, value_name = "DURATION|TIME")]
    since: Option<Since>,
    /// Only runs of this agent.
    #[arg(long)]
    agent: Option<String>,
    /// One JSON object per call that changes, then one that counts.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint policy replay new.toml --since 30d
  holdpoint policy replay new.toml --store sqlite:holdpoint.db
  holdpoint policy replay new.toml --store sqlite:holdpoint.db --since 30d --tenant acme
  holdpoint policy replay new.toml --store postgres://app@db/holdpoint --since 2026-01-31T12:00:00Z --json

Exit codes: 0 it is done, whatever changes; 1 the store failed; 2 the policy or the store cannot be used.";

/// Wide enough for the run ids that are made here; a longer one moves its own line.
const HEADING: &str = "run                                   call        tool                  was → becomes";

/// 0 when it is done, 1 when the store failed on the way, 2 when it could not begin.
pub(super) async fn run(args: ReplayArgs) -> Outcome {
    let file = RulesFile::load(&args.file)?;
    let store = args.runs.open().await?;
    let agent = args.agent.as_deref().map(Into::into);
    let filter = RunFilter { tenant: args.runs.tenant(), agent, limit: Some(LIST_LIMIT_MAX), ..RunFilter::default() };
    let since = args.since.map(|since| since.moment(store.runs.now()));
    let mut recorded = RecordedRuns::new(store, filter);
    if let Some(since) = since {
        recorded = recorded.since(since);
    }
    let progress = Progress::new();
    let (mut runs, mut calls, mut changed) = (0, 0, 0);
    while let Some(run) = recorded.next().await? {
        runs += 1;
        calls += run.calls.len();
        let mut seen = HashSet::new();
        for call in run.calls {
            // The second time that a run decides about a call, it is about what a person made of it.
            let asked = if seen.insert(call.call.clone()) { Asked::ByTheModel } else { Asked::Edited };
            for change in replay(file.written(), [call]).changes {
                if changed == 0 && !args.json {
                    print::line(HEADING);
                }
                print::line(if args.json { json_line(&change, asked) } else { row(&change, asked) });
                changed += 1;
            }
        }
        progress.show(format_args!("{runs} runs"));
    }
    drop(progress);
    if args.json {
        print::json(&json!({ "runs": runs, "calls": calls, "changed": changed }));
    } else {
        eprintln!("{changed} of {calls} decisions in {runs} runs change");
    }
    Ok(ExitCode::SUCCESS)
}

/// With which arguments a call was decided about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    ByTheModel,
    Edited,
}

fn json_line(change: &Change, asked: Asked) -> String {
    let mut change = change.to_json();
    change["edited"] = (asked == Asked::Edited).into();
    change.to_string()
}

fn row(change: &Change, asked: Asked) -> String {
    let edited = match asked {
        Asked::ByTheModel => "",
        Asked::Edited => " edited",
    };
    let call = format!("{}.{}{edited}", change.call.turn.0, change.call.index.0 + 1);
    let (run, tool) = (change.call.run.as_str(), change.tool.as_str());
    let becomes = change.becomes.as_ref().map_or_else(|error| format!("deny ({error})"), decision);
    format!("{run:<36}  {call:<10}  {tool:<20}  {} → {becomes}", decision(&change.was))
}

fn decision(decided: &Decision) -> String {
    let mut text = Decide::of(decided).as_str().to_owned();
    if let Decision::Confirm(_, terms) = decided {
        let roles: Vec<&str> = terms.approvers.iter().map(|role| &**role).collect();
        if !roles.is_empty() {
            text = format!("{text} by {}", roles.join(" or "));
        }
        if terms.quorum > 1 {
            text = format!("{text}, {} people", terms.quorum);
        }
    }
    match &decided.ground().rule {
        Some(rule) => format!("{text} ({rule})"),
        None => text,
    }
}
