//! `holdpoint test`: runs scenarios and says which hold.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use holdpoint_testkit::{Report, RunOptions, StoreChoice, Summary, run_each};

/// Runs scenario files: agents and policies checked with a scripted model, offline.
#[derive(Args, Clone, Debug)]
pub(crate) struct TestArgs {
    /// Scenario files, or folders of them.
    #[arg(required = true, value_name = "FILE-OR-FOLDER")]
    paths: Vec<PathBuf>,
    /// Where the runs are kept while they are tested.
    #[arg(long, value_name = "URL", default_value = "memory", value_parser = StoreChoice::parse)]
    store: StoreChoice,
    /// One JSON object per file.
    #[arg(long)]
    json: bool,
}

/// 0 when all hold, 1 when one fails, 2 when a file is not a scenario.
pub(crate) fn run(args: TestArgs) -> ExitCode {
    let options = RunOptions { store: args.store };
    let reports = run_each(&args.paths, &options, &mut |report| tell(report, &args));
    let summary = Summary::of(&reports);
    if !args.json {
        let Summary { held, failed, not_scenarios } = summary;
        let _ = writeln!(io::stderr(), "{held} held, {failed} failed, {not_scenarios} unreadable");
    }
    ExitCode::from(summary.exit_code())
}

/// Whoever reads may stop reading; the exit code still counts.
fn tell(report: &Report, args: &TestArgs) {
    let line = if args.json { report.to_json() } else { report.to_string() };
    let _ = writeln!(io::stdout(), "{line}");
}
