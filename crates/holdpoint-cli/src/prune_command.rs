//! `holdpoint prune`: removes runs that are over.

use std::process::ExitCode;

use clap::Args;
use holdpoint_config::Millis;
use holdpoint_core::Status;
use holdpoint_store::{LIST_LIMIT_MAX, PRUNE_LIMIT_MAX, PruneRequest, RunFilter, RunLog, StoreError};
use serde_json::json;

use crate::failure::Outcome;
use crate::print::{self, Progress, counted};
use crate::since;
use crate::stores::TenantArgs;

/// Remove runs that are over and that nobody needs any more.
///
/// Only runs that finished, failed or were cancelled are removed, with their events and their audit log. A run that waits
/// for a person or a worker is never removed, however old it is.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PruneArgs {
    #[command(flatten)]
    runs: TenantArgs,
    /// Only runs that moved last before so long: a whole number and `s`, `m`, `h` or `d`.
    #[arg(long, value_name = "DURATION")]
    older_than: Millis,
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
pub(crate) async fn run(args: PruneArgs) -> Outcome {
    let store = args.runs.open().await?.runs;
    let before = since::before(store.now(), args.older_than);
    let request = PruneRequest { before, tenant: args.runs.tenant(), limit: PRUNE_LIMIT_MAX };
    let runs = if args.dry_run { count(&*store, request).await? } else { remove(&*store, request).await? };
    if args.json {
        print::json(&json!({ "runs": runs, "dry_run": args.dry_run }));
    } else {
        let removed = if args.dry_run { "would be removed" } else { "removed" };
        print::line(format!("{} {removed}", counted(runs, "run")));
    }
    Ok(ExitCode::SUCCESS)
}

/// Removes a bounded number at a time, so that no lock is held for long. What is removed is never found again, and what is
/// added meanwhile is too young, so it comes to its end.
async fn remove(store: &dyn RunLog, request: PruneRequest) -> Result<u64, StoreError> {
    let progress = Progress::new();
    let mut removed = 0;
    loop {
        match store.prune(&request).await?.len() {
            0 => return Ok(removed),
            runs => removed += runs as u64,
        }
        progress.show(format_args!("removed {removed}"));
    }
}

/// Counts what [`remove`] would remove.
async fn count(store: &dyn RunLog, request: PruneRequest) -> Result<u64, StoreError> {
    let progress = Progress::new();
    let mut found = 0;
    for status in [Status::Finished, Status::Failed, Status::Cancelled] {
        let tenant = request.tenant.clone();
        let limit = Some(LIST_LIMIT_MAX);
        let mut filter = RunFilter { status: Some(status), tenant, limit, ..RunFilter::default() };
        loop {
            let page = store.list(&filter).await?;
            found += page.items.iter().filter(|head| head.updated_at < request.before).count() as u64;
            progress.show(format_args!("found {found}"));
            filter.cursor = page.next;
            if filter.cursor.is_none() {
                break;
            }
        }
    }
    Ok(found)
}
