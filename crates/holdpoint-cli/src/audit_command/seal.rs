//! `holdpoint audit seal`: seals what moved.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use holdpoint_store::{Seal, SealMark, Store, StoreError};
use serde_json::json;

use super::counted;
use crate::problem;
use crate::stores::StoreArgs;

/// Seal the runs of each tenant that moved since its last seal.
///
/// A keeper does this by itself, every minute. Use it where there is none, or to have a seal now: before a backup, or to
/// keep it elsewhere.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct SealArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// Only runs of this tenant.
    #[arg(long)]
    tenant: Option<String>,
    /// One JSON object for each tenant that was sealed.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint audit seal
  holdpoint audit seal --store sqlite:holdpoint.db
  holdpoint audit seal --store postgres://app@db/holdpoint --tenant acme --json

What it prints last of a tenant is what `audit verify --expect` takes.";

pub(super) async fn run(args: SealArgs) -> ExitCode {
    let store = match args.store.open().await {
        Ok(store) => store,
        Err(code) => return code,
    };
    match seal(&store, &args).await {
        Ok(0) if !args.json => {
            let _ = writeln!(io::stdout(), "nothing moved since the last seal");
            ExitCode::SUCCESS
        }
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => problem::failed(&error),
    }
}

/// Seals each tenant until nothing is left, and says how many there were.
async fn seal(store: &Store, args: &SealArgs) -> Result<u64, StoreError> {
    let tenants: Vec<Option<Arc<str>>> = match &args.tenant {
        Some(tenant) => vec![Some(tenant.as_str().into())],
        None => store.audit.unsealed().await?.into_iter().map(|moved| moved.tenant).collect(),
    };
    let mut sealed = 0;
    for tenant in tenants {
        let (mut runs, mut newest) = (0, None);
        // What moves meanwhile may be sealed as well; what is too much for one seal is in the next.
        while let Some(Seal { number, link, runs: named, .. }) = store.audit.seal(tenant.as_deref()).await? {
            runs += named.len() as u64;
            let is_last = named.len() < holdpoint_store::DUE_LIMIT_MAX;
            newest = Some(SealMark { tenant: tenant.clone(), number, link });
            if is_last {
                break;
            }
        }
        if let Some(mark) = newest {
            say(&mark, runs, args.json);
            sealed += 1;
        }
    }
    Ok(sealed)
}

fn say(mark: &SealMark, runs: u64, as_json: bool) {
    let line = if as_json {
        json!({
            "tenant": mark.tenant.as_deref(), "runs": runs, "number": mark.number, "link": mark.link.to_string(),
            "expect": mark.to_string(),
        })
        .to_string()
    } else {
        format!("{} sealed, newest seal {mark}", counted(runs, "run"))
    };
    let _ = writeln!(io::stdout(), "{line}");
}
