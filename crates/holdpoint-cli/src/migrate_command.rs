//! `holdpoint migrate`: brings the schema of a database up to date.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use holdpoint::store::{StoreError, StoreFault};
use holdpoint::{MigrateStore, StoreOptions, open_store_with};
use serde_json::json;

use crate::problem;

/// Bring the schema of a database up to date.
///
/// Every command does this by itself when it opens a store. Use it where it should happen at a moment of your choice:
/// before new servers start, and with a user who may change tables. It happens under a lock, so that it is done once
/// whoever else begins, and only forward.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MigrateArgs {
    /// Which database: `sqlite:PATH` or `postgres://USER@HOST/DATABASE`.
    #[arg(long, value_name = "URL")]
    store: String,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint migrate --store sqlite:holdpoint.db
  holdpoint migrate --store postgres://owner@db/holdpoint --json";

/// 0 when the schema is up to date, 1 when bringing it there failed, 2 when the store could not be opened.
pub(crate) async fn run(args: MigrateArgs) -> ExitCode {
    if args.store == "memory" {
        return problem::needs_a_lasting_store();
    }
    match migrate(&args.store).await {
        Ok(change) => {
            say(change, &args);
            ExitCode::SUCCESS
        }
        Err(error) => problem::cannot_open(&error),
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

async fn migrate(url: &str) -> Result<Change, StoreError> {
    let look = StoreOptions { migrate: MigrateStore::Refuse, ..StoreOptions::default() };
    let change = match open_store_with(url, look).await {
        Ok(_) => return Ok(Change::None),
        Err(StoreError::Fault { fault: StoreFault::SchemaOlder { found, known }, .. }) => {
            Change::Brought { from: found, to: known }
        }
        // A file that is not there is made. Where that cannot be, opening says so.
        Err(StoreError::Fault { fault: StoreFault::Missing, .. }) => Change::Made,
        Err(error) => return Err(error),
    };
    open_store_with(url, StoreOptions::default()).await?;
    Ok(change)
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
