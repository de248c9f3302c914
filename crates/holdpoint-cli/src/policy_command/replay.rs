//! `holdpoint policy replay`: what another policy would have made of recorded runs.

use std::collections::HashSet;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use holdpoint::{Error, RecordedRuns};
use holdpoint_config::Millis;
use holdpoint_core::{Decision, Timestamp};
use holdpoint_policy::{Change, Decide, PolicyError, Rules, RulesFile, replay};
use holdpoint_store::{LIST_LIMIT_MAX, RunFilter, Store};
use serde_json::json;

use crate::problem;
use crate::stores::StoreArgs;

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
    store: StoreArgs,
    /// Only decisions since then: so long ago, as in `30d`, or a moment, as in `2026-01-31T12:00:00Z`.
    #[arg(long, value_name = "DURATION|TIME", value_parser = Since::parse)]
    since: Option<Since>,
    /// Only runs of this tenant.
    #[arg(long)]
    tenant: Option<String>,
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

/// From when on.
#[derive(Clone, Copy, Debug)]
enum Since {
    Ago { ms: u64 },
    Moment(Timestamp),
}

impl Since {
    fn parse(text: &str) -> Result<Self, String> {
        if let Ok(Millis(ms)) = text.parse() {
            return Ok(Self::Ago { ms });
        }
        let moment: jiff::Timestamp = text.parse().map_err(|_| {
            "hint: write a whole number and `s`, `m`, `h` or `d`, as in `30d`, or a moment, as in `2026-01-31T12:00:00Z`"
        })?;
        Ok(Self::Moment(Timestamp(moment.as_microsecond())))
    }

    fn moment(self, now: Timestamp) -> Timestamp {
        match self {
            Since::Ago { ms } => {
                let back_us = i64::try_from(ms.saturating_mul(1_000)).unwrap_or(i64::MAX);
                Timestamp(now.0.saturating_sub(back_us))
            }
            Since::Moment(moment) => moment,
        }
    }
}

/// 0 when it is done, 1 when the store failed on the way, 2 when it could not begin.
pub(super) async fn run(args: ReplayArgs) -> ExitCode {
    let file = match RulesFile::load(&args.file) {
        Ok(file) => file,
        Err(error) => return super::not_a_policy(&error),
    };
    let store = match args.store.open().await {
        Ok(store) => store,
        Err(code) => return code,
    };
    match replay_all(file.written(), store, &args).await {
        Ok(totals) => {
            totals.tell(&args);
            ExitCode::SUCCESS
        }
        Err(Error::Store(error)) => problem::failed(&error),
        Err(error) => {
            eprintln!("error[{}]: {error}", error.code().as_str());
            ExitCode::FAILURE
        }
    }
}

async fn replay_all(rules: &Rules, store: Store, args: &ReplayArgs) -> Result<Totals, Error> {
    let text = |text: &Option<String>| text.as_deref().map(Arc::from);
    let filter = RunFilter {
        tenant: text(&args.tenant),
        agent: text(&args.agent),
        limit: Some(LIST_LIMIT_MAX),
        ..RunFilter::default()
    };
    let since = args.since.map(|since| since.moment(store.runs.now()));
    let mut runs = RecordedRuns::new(store, filter);
    if let Some(since) = since {
        runs = runs.since(since);
    }
    let mut totals = Totals { watched: io::stderr().is_terminal(), ..Totals::default() };
    while let Some(run) = runs.next().await? {
        totals.runs += 1;
        let mut seen = HashSet::new();
        for call in run.calls {
            totals.calls += 1;
            // The second time that a run decides about a call, it is about what a person made of it.
            let asked = if seen.insert(call.call.clone()) { Asked::ByTheModel } else { Asked::Edited };
            for change in replay(rules, [call]).changes {
                totals.changed(&change, asked, args);
            }
        }
        totals.show();
    }
    Ok(totals)
}

/// With which arguments a call was decided about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    ByTheModel,
    Edited,
}

/// What was looked at.
#[derive(Default)]
struct Totals {
    runs: u64,
    calls: u64,
    changed: u64,
    watched: bool,
}

impl Totals {
    fn changed(&mut self, change: &Change, asked: Asked, args: &ReplayArgs) {
        if args.json {
            let mut change = change.to_json();
            change["edited"] = (asked == Asked::Edited).into();
            print_line(&change.to_string());
        } else {
            if self.changed == 0 {
                print_line(HEADING);
            }
            print_line(&row(change, asked));
        }
        self.changed += 1;
    }

    fn show(&self) {
        if self.watched {
            let _ = write!(io::stderr(), "\r{} runs\r", self.runs);
        }
    }

    fn tell(&self, args: &ReplayArgs) {
        let Totals { runs, calls, changed, .. } = self;
        if args.json {
            print_line(&json!({ "runs": runs, "calls": calls, "changed": changed }).to_string());
        } else {
            eprintln!("{changed} of {calls} decisions in {runs} runs change");
        }
    }
}

/// Whoever reads may stop reading; the exit code still counts.
fn print_line(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// Wide enough for the run ids that are made here; a longer one moves its own line.
const HEADING: &str = "run                                   call        tool                  was → becomes";

fn row(change: &Change, asked: Asked) -> String {
    let edited = match asked {
        Asked::ByTheModel => "",
        Asked::Edited => " edited",
    };
    let call = format!("{}.{}{edited}", change.call.turn.0, change.call.index.0 + 1);
    let (run, tool) = (change.call.run.as_str(), change.tool.as_str());
    format!("{run:<36}  {call:<10}  {tool:<20}  {} → {}", decision(&change.was), becomes(&change.becomes))
}

fn becomes(becomes: &Result<Decision, PolicyError>) -> String {
    match becomes {
        Ok(decided) => decision(decided),
        Err(error) => format!("deny ({error})"),
    }
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
