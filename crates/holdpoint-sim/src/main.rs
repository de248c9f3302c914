//! Runs worlds, seed by seed, until one breaks an invariant.

use std::io::Write;
use std::panic;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use clap::Parser;
use holdpoint_sim::{Backing, Coverage, Mistake, Report, Setup, Tracing, simulate_as};
use holdpoint_store::StoreError;

/// Prints a line. Whoever stopped reading does not want the rest.
macro_rules! say {
    ($($text:tt)*) => {
        if writeln!(std::io::stdout(), $($text)*).is_err() {
            std::process::exit(1);
        }
    };
}

/// Simulates runs under every fault, with a checker per invariant.
#[derive(Parser)]
struct Arguments {
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// How many seeds.
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// Keeps runs and tasks in a store: `memory`, `sqlite:PATH` or `postgres://USER@HOST/DATABASE`. The model if it is not
    /// given, which is much faster.
    #[arg(long)]
    store: Option<String>,
    /// How many threads; as many as there are cores if it is not given.
    #[arg(long)]
    threads: Option<usize>,
    /// Prints what happens in each world.
    #[arg(long)]
    trace: bool,
    /// Makes a mistake on purpose, which a checker must notice.
    #[arg(long, value_parser = Mistake::parse)]
    mistake: Option<Mistake>,
}

/// What all threads found.
#[derive(Default)]
struct Findings {
    coverage: Coverage,
    events: u64,
    failed: Vec<(u64, Vec<String>)>,
}

impl Arguments {
    /// Each thread has its own.
    fn setup(&self) -> Result<Setup, StoreError> {
        let backing = self.store.as_deref().map_or_else(|| Ok(Backing::model()), Backing::store)?;
        let tracing = if self.trace { Tracing::On } else { Tracing::Off };
        Ok(Setup { backing, tracing, mistake: self.mistake })
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Err(error) = arguments.setup() {
        let hint = error.hint().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
        say!("error: {error}{hint}");
        return ExitCode::FAILURE;
    }
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = if arguments.trace { 1 } else { arguments.threads.unwrap_or(cores).max(1) };
    let began = Instant::now();
    let findings = run_all(&arguments, threads);
    let seconds = began.elapsed().as_secs_f64();
    say!("{}\n", findings.coverage);
    let rate = arguments.seeds as f64 / seconds.max(0.001);
    say!(
        "{} seeds, {} durable events, {seconds:.1} s, {rate:.0} seeds/s, {threads} threads",
        arguments.seeds,
        findings.events
    );
    let store = arguments.store.as_ref().map_or("", |_| " --store STORE");
    for (seed, lines) in findings.failed.iter().take(10) {
        say!("\nseed {seed} failed:");
        for line in lines {
            say!("  {line}");
        }
        say!("  replay: cargo run --release -p holdpoint-sim -- --from {seed} --seeds 1 --trace{store}");
    }
    if !findings.failed.is_empty() {
        say!("\n{} of {} seeds failed", findings.failed.len(), arguments.seeds);
        return ExitCode::FAILURE;
    }
    judge_coverage(&findings.coverage, arguments.seeds)
}

/// A handful of seeds cannot reach everything, and a replay need not.
fn judge_coverage(coverage: &Coverage, seeds: u64) -> ExitCode {
    const SEEDS_MIN: u64 = 1000;
    let missing = coverage.missing();
    if missing.is_empty() {
        say!("every state met every input");
        return ExitCode::SUCCESS;
    }
    let pairs: Vec<String> = missing.iter().map(|(state, input)| format!("{state} x {input}")).collect();
    if seeds < SEEDS_MIN {
        say!("not reached with so few seeds: {}", pairs.join(", "));
        return ExitCode::SUCCESS;
    }
    say!("never reached: {}", pairs.join(", "));
    ExitCode::FAILURE
}

fn run_all(arguments: &Arguments, threads: usize) -> Findings {
    // So few that threads with slow worlds end at about the same time.
    const SEEDS_AT_ONCE: u64 = 16;
    let next = AtomicU64::new(0);
    let all = Mutex::new(Findings::default());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut own = Findings::default();
                let setup = match arguments.setup() {
                    Ok(setup) => setup,
                    Err(error) => panic!("{error}"),
                };
                loop {
                    let first = next.fetch_add(SEEDS_AT_ONCE, Ordering::Relaxed);
                    if first >= arguments.seeds {
                        break;
                    }
                    for offset in first..(first + SEEDS_AT_ONCE).min(arguments.seeds) {
                        run_one(&setup, arguments.from.wrapping_add(offset), &mut own);
                    }
                }
                let mut all = all.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                all.coverage.add(&own.coverage);
                all.events += own.events;
                all.failed.append(&mut own.failed);
            });
        }
    });
    let mut findings = all.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    findings.failed.sort();
    findings
}

fn run_one(setup: &Setup, seed: u64, findings: &mut Findings) {
    // Nothing of a world that panicked is used again.
    match panic::catch_unwind(panic::AssertUnwindSafe(|| simulate_as(setup, seed))) {
        Ok(report) => note(seed, &report, findings),
        Err(_) => findings.failed.push((seed, vec!["it panicked".to_owned()])),
    }
}

fn note(seed: u64, report: &Report, findings: &mut Findings) {
    for line in &report.trace {
        say!("{line}");
    }
    findings.coverage.add(&report.coverage);
    findings.events += report.events;
    if !report.violations.is_empty() {
        let lines = report.violations.iter().map(|found| format!("{}: {}", found.check, found.detail)).collect();
        findings.failed.push((seed, lines));
    }
}
