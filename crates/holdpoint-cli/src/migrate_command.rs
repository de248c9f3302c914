//! `holdpoint migrate`: brings the schema of a database up to date.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use holdpoint::{MigrateStore, StoreOptions, open_store_with};
use holdpoint_store::{StoreError, StoreFault};
use serde_json::json;

use crate::problem;
use crate::stores::StoreArgs;

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
pub(crate) async fn run(args: MigrateArgs) -> ExitCode {
    match migrate(&args).await {
        Ok(change) => {
            say(change, &args);
            ExitCode::SUCCESS
        }
        Err(code) => code,
    }
}

/// What became of the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// It was as this program needs it.
    None,
    /// There was no database, and now there is.
    Made,
    /// It was older.
    Brought {
        /// The version before.
        from: u32,
        /// The version now.
        to: u32,
    },
}

async fn migrate(args: &MigrateArgs) -> Result<Change, ExitCode> {
    let url = args.store.url()?;
    let look = StoreOptions { migrate: MigrateStore::Refuse, ..StoreOptions::default() };
    let change = match open_store_with(&url, look).await {
        Ok(_) => return Ok(Change::None),
        Err(StoreError::Fault { fault: StoreFault::SchemaOlder { found, known }, .. }) => {
            Change::Brought { from: found, to: known }
        }
        // A file that is not there is made. Where that cannot be, opening says so.
        Err(StoreError::Fault { fault: StoreFault::Missing, .. }) => Change::Made,
        Err(error) => return Err(problem::cannot_open(&error)),
    };
    match open_store_with(&url, StoreOptions::default()).await {
        Ok(_) => Ok(change),
        // It could be opened a moment ago: what failed is the change.
        Err(error) if matches!(change, Change::Brought { .. }) => Err(problem::failed(&error)),
        Err(error) => Err(problem::cannot_open(&error)),
    }
}

fn say(change: Change, args: &MigrateArgs) {
    let line = match (change, args.json) {
        (Change::None, false) => "the schema is up to date already".to_owned(),
        (Change::Made, false) => "the database was made, with the newest schema".to_owned(),
        (Change::Brought { from, to }, false) => format!("the schema was at version {from} and is at version {to} now"),
        (Change::None, true) => json!({ "change": "none" }).to_string(),
        (Change::Made, true) => json!({ "change": "made" }).to_string(),
        (Change::Brought { from, to }, true) => json!({ "change": "brought", "from": from, "to": to }).to_string(),
    };
    let _ = writeln!(io::stdout(), "{line}");
}
