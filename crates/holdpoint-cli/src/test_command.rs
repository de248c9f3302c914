//! `holdpoint test`: runs scenarios and says which hold.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use holdpoint_testkit::{Report, RunOptions, StoreChoice, Summary, run_each};

use crate::failure::{Failure, Outcome};
use crate::print;

/// Run scenario files: agents and policies checked with a scripted model, offline.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TestArgs {
    /// Scenario files, or folders of them.
    #[arg(required = true, value_name = "FILE-OR-FOLDER")]
    paths: Vec<PathBuf>,
    /// Where the runs are kept while they are tested: `memory`, `sqlite:PATH` or `postgres://USER@HOST/DATABASE`.
    #[arg(long, value_name = "URL", default_value = "memory")]
    store: String,
    /// How many files at once. Durable stores wait for the disk, so a few at once take much less time.
    #[arg(long, value_name = "N", default_value = "1")]
    jobs: NonZeroUsize,
    /// One JSON object per file.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Each file is a run of its own. A file gives the same answer on every store; a durable one is opened again after each
`crash`, so use a database that is there for tests.

Examples:
  holdpoint test scenarios
  holdpoint test refund.yaml login.yaml --json
  holdpoint test scenarios --store sqlite:test.db
  holdpoint test scenarios --store postgres://app@localhost/test --jobs 4";

/// 0 when all hold, 1 when one fails, 2 when a file is not a scenario or the store cannot be opened.
pub(crate) fn run(args: TestArgs) -> Outcome {
    let cannot_open = |error| Failure::from(error).before_start();
    let store = StoreChoice::parse(&args.store).map_err(cannot_open)?;
    store.reach().map_err(cannot_open)?;
    let options = RunOptions { store, jobs: args.jobs };
    let tell = |report: &Report| print::line(if args.json { report.to_json() } else { report.to_string() });
    let summary = Summary::of(&run_each(&args.paths, &options, &mut { tell }));
    if !args.json {
        let Summary { held, failed, not_scenarios } = summary;
        eprintln!("{held} held, {failed} failed, {not_scenarios} unreadable");
    }
    Ok(ExitCode::from(summary.exit_code()))
}
