//! `holdpoint audit export`: the audit log as JSON Lines.

use std::io::{self, BufWriter, ErrorKind, Write};
use std::process::ExitCode;

use clap::Args;
use holdpoint_core::{RunId, Timestamp};
use holdpoint_store::audit::body_digest;
use holdpoint_store::{AuditRow, AuditScope, AuditedRun, DUE_LIMIT_MAX, Link};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::failure::Outcome;
use crate::since::Since;
use crate::stores::TenantArgs;

/// The version of the lines.
const VERSION: u32 = 1;

/// Write the audit log to standard output as JSON Lines, one line for each step of a run.
///
/// Lines come run by run, and in order within each run. Never arguments, results or what a model said.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct ExportArgs {
    #[command(flatten)]
    runs: TenantArgs,
    /// Only the audit log of this run.
    #[arg(long, value_name = "RUN", conflicts_with = "tenant")]
    run: Option<String>,
    /// Only what happened since: a moment such as `2026-11-16T08:00:00Z`, or how long ago, as in `7d`.
    #[arg(long, value_name = "WHEN")]
    since: Option<Since>,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint audit export > audit.jsonl
  holdpoint audit export --store sqlite:holdpoint.db > audit.jsonl
  holdpoint audit export --store sqlite:holdpoint.db --tenant acme --since 24h
  holdpoint audit export --store postgres://app@db/holdpoint --run RUN | jq '.body.entries[]'

Exit codes: 0 all of it was written, 1 the store or the output failed, 2 the store could not be opened.";

pub(super) async fn run(args: ExportArgs) -> Outcome {
    let store = args.runs.open().await?;
    let scope = args.run.map_or_else(|| super::scope(&args.runs), |run| AuditScope::Run(RunId::new(run)));
    let since = args.since.map_or(Timestamp(i64::MIN), |since| since.moment(store.runs.now()));
    let mut cursor = None;
    loop {
        let page = store.audit.rows_after(&scope, cursor.as_ref(), DUE_LIMIT_MAX).await?;
        match write_rows(&page.items, since) {
            // The reader has stopped reading.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(ExitCode::SUCCESS),
            written => written?,
        }
        cursor = page.next;
        if cursor.is_none() {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

fn write_rows(runs: &[AuditedRun], since: Timestamp) -> io::Result<()> {
    let mut output = BufWriter::new(io::stdout().lock());
    for run in runs {
        for (place, row) in run.rows.iter().filter(|(_, row)| row.at >= since) {
            serde_json::to_writer(&mut output, &Line::of(run, *place, row))?;
            output.write_all(b"\n")?;
        }
    }
    output.flush()
}

/// One line. Whoever has the link of the line before can check `link`, and whoever has `body` as it is written here can
/// check `body_sha256`.
#[derive(Serialize)]
struct Line<'a> {
    v: u32,
    run_id: &'a str,
    tenant: Option<&'a str>,
    revision: u64,
    place: u64,
    at_us: i64,
    body_sha256: String,
    link: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'a RawValue>,
    /// What was stored, where it is no line of JSON: somebody changed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    body_hex: Option<String>,
}

impl<'a> Line<'a> {
    fn of(run: &'a AuditedRun, place: u64, row: &'a AuditRow) -> Self {
        let is_line = !row.body.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
        let body = serde_json::from_slice::<&RawValue>(&row.body).ok().filter(|_| is_line);
        let hex = || row.body.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            v: VERSION,
            run_id: run.head.run.as_str(),
            tenant: run.tenant.as_deref(),
            revision: row.revision.0,
            place,
            at_us: row.at.0,
            body_sha256: Link(body_digest(&row.body)).to_string(),
            link: row.link.to_string(),
            body,
            body_hex: body.is_none().then(hex),
        }
    }
}
