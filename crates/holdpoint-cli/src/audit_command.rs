//! `holdpoint audit`: proves that the audit log is as it was written, seals it, and exports it.

mod export;
mod verify;

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use holdpoint_store::{AuditScope, DUE_LIMIT_MAX, SealMark};
use serde_json::{Value, json};

use crate::failure::Outcome;
use crate::print::{self, counted};
use crate::stores::TenantArgs;

/// Prove that the audit log is as it was written, seal it, or export it.
///
/// Who decided, answered and did what is in a log that is chained within each run, in the same commit as the thing itself.
/// Seals chain the ends of the runs of a tenant. What is changed, removed or reordered afterwards is found.
#[derive(Args, Clone, Debug)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    command: AuditCommand,
}

// The help of a command is at its arguments.
#[derive(Clone, Debug, Subcommand)]
enum AuditCommand {
    Verify(verify::VerifyArgs),
    Export(export::ExportArgs),
    Seal(SealArgs),
}

pub(crate) async fn run(args: AuditArgs) -> Outcome {
    match args.command {
        AuditCommand::Verify(args) => verify::run(args).await,
        AuditCommand::Export(args) => export::run(args).await,
        AuditCommand::Seal(args) => seal(args).await,
    }
}

fn scope(args: &TenantArgs) -> AuditScope {
    args.tenant().map_or(AuditScope::All, |tenant| AuditScope::Tenant(Some(tenant)))
}

/// Seal the runs of each tenant that moved since its last seal.
///
/// A keeper does this by itself, every minute. Use it where there is none, or to have a seal now: before a backup, or to
/// keep it elsewhere.
#[derive(Args, Clone, Debug)]
#[command(after_help = SEAL_EXAMPLES)]
struct SealArgs {
    #[command(flatten)]
    runs: TenantArgs,
    /// One JSON object for each tenant that was sealed.
    #[arg(long)]
    json: bool,
}

const SEAL_EXAMPLES: &str = "\
Examples:
  holdpoint audit seal
  holdpoint audit seal --store sqlite:holdpoint.db
  holdpoint audit seal --store postgres://app@db/holdpoint --tenant acme --json

What it prints last of a tenant is what `audit verify --expect` takes.";

/// Seals each tenant until nothing is left.
async fn seal(args: SealArgs) -> Outcome {
    let audit = args.runs.open().await?.audit;
    let tenants: Vec<Option<Arc<str>>> = match args.runs.tenant() {
        Some(tenant) => vec![Some(tenant)],
        None => audit.unsealed().await?.into_iter().map(|moved| moved.tenant).collect(),
    };
    let mut is_sealed = false;
    for tenant in tenants {
        let (mut runs, mut newest) = (0, None);
        // What moves meanwhile may be sealed as well; what is too much for one seal is in the next.
        while let Some(seal) = audit.seal(tenant.as_deref()).await? {
            runs += seal.runs.len() as u64;
            newest = Some(SealMark { tenant: tenant.clone(), number: seal.number, link: seal.link });
            if seal.runs.len() < DUE_LIMIT_MAX {
                break;
            }
        }
        let Some(mark) = newest else { continue };
        is_sealed = true;
        if args.json {
            let mut sealed = mark_json(&mark);
            sealed["runs"] = runs.into();
            print::json(&sealed);
        } else {
            print::line(format!("{} sealed, newest seal {mark}", counted(runs, "run")));
        }
    }
    if !is_sealed && !args.json {
        print::line("nothing moved since the last seal");
    }
    Ok(ExitCode::SUCCESS)
}

fn mark_json(mark: &SealMark) -> Value {
    let SealMark { tenant, number, link } = mark;
    json!({ "tenant": tenant.as_deref(), "number": number, "link": link.to_string(), "expect": mark.to_string() })
}
