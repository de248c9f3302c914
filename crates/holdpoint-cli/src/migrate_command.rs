//! `holdpoint migrate`: brings the schema of a database up to date.

use std::process::ExitCode;

use clap::Args;
use holdpoint::{StoreOptions, open_store_with};
use holdpoint_store::{Migrate, StoreError, StoreFault};
use serde_json::json;

use crate::failure::{Failure, Outcome};
use crate::print;
use crate::stores::{self, StoreArgs};

/// Bring the schema of a database up to date.
///
/// `serve`, `worker` and `run` do this by themselves when they open a store; what only looks refuses an older one. Use it where it should happen at a moment of your choice:
/// before new servers start, and with a user who may change tables. It happens under a lock, so that it is done once
/// whoever else begins, and only forward.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MigrateArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint migrate
  holdpoint migrate --store sqlite:holdpoint.db
  holdpoint migrate --store postgres://owner@db/holdpoint --json";

/// 0 when the schema is up to date, 1 when bringing it there failed, 2 when the store could not be opened.
pub(crate) async fn run(args: MigrateArgs) -> Outcome {
    let url = args.store.url()?;
    let as_it_is = StoreOptions::default().migrate(Migrate::Refuse);
    let (text, json) = match open_store_with(&url, as_it_is).await {
        Ok(_) => ("the schema is up to date already".to_owned(), json!({ "change": "none" })),
        Err(StoreError::Fault { fault: StoreFault::SchemaOlder { found, known }, .. }) => {
            // The store could be opened just now: a failure is one of the migration.
            open_store_with(&url, StoreOptions::default()).await?;
            let text = format!("the schema was at version {found} and is at version {known} now");
            (text, json!({ "change": "brought", "from": found, "to": known }))
        }
        Err(StoreError::Fault { fault: StoreFault::Missing, .. }) => {
            stores::open(&url).await?;
            ("the database was made, with the newest schema".to_owned(), json!({ "change": "made" }))
        }
        Err(error) => return Err(Failure::from(error).before_start()),
    };
    print::text(if args.json { print::to_json(&json) } else { text + "\n" });
    Ok(ExitCode::SUCCESS)
}
