//! `holdpoint prune`: removes runs that are over.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use holdpoint::Status;
use holdpoint_config::Millis;
use holdpoint_core::Timestamp;
use holdpoint_store::{LIST_LIMIT_MAX, PRUNE_LIMIT_MAX, PruneRequest, RunFilter, Store, StoreError};
use serde_json::json;

use crate::problem;
use crate::stores::StoreArgs;

/// Remove runs that are over and that nobody needs any more.
///
/// Only runs that finished, failed or were cancelled are removed, with their events and their audit log. A run that waits
/// for a person or a worker is never removed, however old it is.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PruneArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// Only runs that moved last before so long: a whole number and `s`, `m`, `h` or `d`.
    #[arg(long, value_name = "DURATION")]
    older_than: Millis,
    /// Only runs of this tenant.
    #[arg(long)]
    tenant: Option<String>,
    /// Say how many would be removed, and remove none.
    #[arg(long)]
    dry_run: bool,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint prune --older-than 30d
  holdpoint prune --store sqlite:holdpoint.db --older-than 30d --dry-run
  holdpoint prune --store sqlite:holdpoint.db --older-than 30d
  holdpoint prune --store postgres://app@db/holdpoint --older-than 12h --tenant acme --json";

/// 0 when it is done, 1 when the store failed on the way, 2 when it could not be opened.
pub(crate) async fn run(args: PruneArgs) -> ExitCode {
    let store = match args.store.open().await {
        Ok(store) => store,
        Err(code) => return code,
    };
    let chosen =
        Chosen { before: before(store.runs.now(), args.older_than.0), tenant: args.tenant.as_deref().map(Arc::from) };
    let counted = if args.dry_run { count(&store, &chosen).await } else { remove(&store, &chosen).await };
    match counted {
        Ok(runs) => {
            say(runs, &args);
            ExitCode::SUCCESS
        }
        Err(error) => problem::failed(&error),
    }
}

/// Which runs are meant.
struct Chosen {
    before: Timestamp,
    tenant: Option<Arc<str>>,
}

fn before(now: Timestamp, older_than_ms: u64) -> Timestamp {
    let back_us = i64::try_from(older_than_ms.saturating_mul(1_000)).unwrap_or(i64::MAX);
    Timestamp(now.0.saturating_sub(back_us))
}

/// Removes a bounded number at a time, so that no lock is held for long. What is removed is never found again, and what is
/// added meanwhile is too young, so it comes to its end.
async fn remove(store: &Store, chosen: &Chosen) -> Result<u64, StoreError> {
    let request = PruneRequest { before: chosen.before, tenant: chosen.tenant.clone(), limit: PRUNE_LIMIT_MAX };
    let mut progress = Progress::new("removed");
    loop {
        let removed = store.runs.prune(&request).await?.len();
        if removed == 0 {
            return Ok(progress.end());
        }
        progress.add(removed as u64);
    }
}

/// Counts what [`remove`] would remove.
async fn count(store: &Store, chosen: &Chosen) -> Result<u64, StoreError> {
    let mut progress = Progress::new("found");
    for status in [Status::Finished, Status::Failed, Status::Cancelled] {
        let mut filter = RunFilter {
            status: Some(status),
            tenant: chosen.tenant.clone(),
            limit: Some(LIST_LIMIT_MAX),
            ..RunFilter::default()
        };
        loop {
            let page = store.runs.list(&filter).await?;
            let old = page.items.iter().filter(|head| head.updated_at < chosen.before);
            progress.add(old.count() as u64);
            match page.next {
                Some(next) => filter.cursor = Some(next),
                None => break,
            }
        }
    }
    Ok(progress.end())
}

fn say(runs: u64, args: &PruneArgs) {
    let line = if args.json {
        json!({ "runs": runs, "dry_run": args.dry_run }).to_string()
    } else {
        let noun = if runs == 1 { "run" } else { "runs" };
        format!("{runs} {noun} {}", if args.dry_run { "would be removed" } else { "removed" })
    };
    let _ = writeln!(io::stdout(), "{line}");
}

/// A line that counts, where somebody watches.
struct Progress {
    verb: &'static str,
    runs: u64,
    watched: bool,
}

impl Progress {
    fn new(verb: &'static str) -> Self {
        Self { verb, runs: 0, watched: io::stderr().is_terminal() }
    }

    fn add(&mut self, runs: u64) {
        self.runs += runs;
        if self.watched && runs > 0 {
            let _ = write!(io::stderr(), "\r{} {}", self.verb, self.runs);
        }
    }

    fn end(self) -> u64 {
        if self.watched && self.runs > 0 {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
        self.runs
    }
}
