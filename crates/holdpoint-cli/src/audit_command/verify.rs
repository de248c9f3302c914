//! `holdpoint audit verify`: says whether the audit log is as it was written.

use std::process::ExitCode;

use clap::Args;
use holdpoint_store::SealMark;
use holdpoint_store::audit::{Finding, Verified, VerifyRequest, verify};
use serde_json::{Value, json};

use super::mark_json;
use crate::failure::Outcome;
use crate::print::{self, Progress, counted};
use crate::stores::TenantArgs;

/// Check that the audit log is as it was written, and name what is not.
///
/// Every audit row of every run is checked against the chain of its run, every seal against the chain of its tenant, and
/// every run and tombstone against the seals. Runs may go on meanwhile. Nothing is changed.
///
/// Keep the newest seals that it prints where nobody who can change the store can change them, and give them back with
/// `--expect`: then whoever computes every chain anew is found, too.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct VerifyArgs {
    #[command(flatten)]
    runs: TenantArgs,
    /// A seal that must be there, as `audit verify` printed it. May be given several times.
    #[arg(long, value_name = "TENANT=NUMBER:HASH")]
    expect: Vec<SealMark>,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint audit verify
  holdpoint audit verify --store sqlite:holdpoint.db
  holdpoint audit verify --store postgres://app@db/holdpoint --tenant acme --json
  holdpoint audit verify --store sqlite:holdpoint.db --expect acme=12:HASH --expect 7:HASH

A seal of runs without a tenant is written NUMBER:HASH.

Exit codes: 0 everything is as it was written, 1 something is not, or the store failed, 2 it could not be opened.";

pub(super) async fn run(args: VerifyArgs) -> Outcome {
    let store = args.runs.open().await?;
    let request = VerifyRequest { scope: super::scope(&args.runs), expected: args.expect };
    let line = Progress::new();
    let mut show = |seen: &Verified| {
        let Verified { runs, rows, seals, .. } = seen;
        line.show(format_args!("{rows} rows of {runs} runs, {seals} seals, {} findings", seen.found()));
    };
    let verified = verify(&store, &request, &mut show).await?;
    drop(line);
    print::text(if args.json { print::to_json(&to_json(&verified)) } else { to_text(&verified) });
    // A tenant whose name was misspelt would be well for ever.
    if let (Some(tenant), 0) = (args.runs.tenant(), verified.runs + verified.seals + verified.tombstones) {
        eprintln!("note: there is nothing of tenant `{tenant}`");
    }
    Ok(if verified.is_whole() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn to_text(verified: &Verified) -> String {
    let Verified { runs, rows, seals, tombstones, newest, findings, unnamed } = verified;
    let mut text = String::new();
    for finding in findings {
        text += &format!("{finding}\n");
    }
    if *unnamed > 0 {
        text += &format!("and {unnamed} more\n");
    }
    let result = match findings.len() as u64 + unnamed {
        0 => "everything is as it was written".to_owned(),
        found => counted(found, "finding"),
    };
    let (runs, rows) = (counted(*runs, "run"), counted(*rows, "audit row"));
    let (seals, tombstones) = (counted(*seals, "seal"), counted(*tombstones, "tombstone"));
    text += &format!("{result}: {runs}, {rows}, {seals}, {tombstones}\n");
    for mark in newest {
        text += &format!("newest seal {mark}\n");
    }
    text
}

fn to_json(verified: &Verified) -> Value {
    let Verified { runs, rows, seals, tombstones, newest, findings, unnamed } = verified;
    json!({
        "whole": verified.is_whole(),
        "runs": runs,
        "rows": rows,
        "seals": seals,
        "tombstones": tombstones,
        "findings": findings.iter().map(finding_to_json).collect::<Vec<_>>(),
        "unnamed": unnamed,
        "newest_seals": newest.iter().map(mark_json).collect::<Vec<_>>(),
    })
}

fn finding_to_json(finding: &Finding) -> Value {
    let (kind, text) = (finding.name(), finding.to_string());
    match finding {
        Finding::RowChanged { run, revision }
        | Finding::RowMissing { run, revision }
        | Finding::RowOutOfOrder { run, revision } => {
            json!({ "kind": kind, "run_id": run.as_str(), "revision": revision.0, "text": text })
        }
        Finding::HeadMismatch { run } | Finding::SealedMismatch { run } => {
            json!({ "kind": kind, "run_id": run.as_str(), "text": text })
        }
        Finding::RunMissing { tenant, run, seal } | Finding::TombstoneMismatch { tenant, run, seal } => {
            json!({ "kind": kind, "tenant": tenant.as_deref(), "run_id": run.as_str(), "seal": seal, "text": text })
        }
        Finding::TombstoneFalse { tenant, run } => {
            json!({ "kind": kind, "tenant": tenant.as_deref(), "run_id": run.as_str(), "text": text })
        }
        Finding::SealBroken { tenant, number } | Finding::SealUnexpected { tenant, number } => {
            json!({ "kind": kind, "tenant": tenant.as_deref(), "seal": number, "text": text })
        }
        Finding::SealMissing { tenant, first, last } => {
            json!({ "kind": kind, "tenant": tenant.as_deref(), "first": first, "last": last, "text": text })
        }
    }
}
