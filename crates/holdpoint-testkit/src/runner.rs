//! Runs scenarios, one after another, each in a world of its own.

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdpoint_config::{ConfigError, Document, Flatten, Problem};
use tracing::dispatcher::{self, DefaultGuard};

use crate::expect::Difference;
use crate::jobs::in_order;
use crate::log_capture::LogCapture;
use crate::report::{Report, Verdict};
use crate::scenario::{Expecting, SCENARIO_BYTES_MAX, Scenario, Step, document};
use crate::store_choice::StoreChoice;
use crate::world::World;

/// How long one step may take before the scenario fails.
const STEP_MAX: Duration = Duration::from_secs(120);

/// How scenarios are run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// On which store.
    pub store: StoreChoice,
    /// How many files at once. Scenarios that measure what runs at the same time are surest alone.
    pub jobs: NonZeroUsize,
}

impl Default for RunOptions {
    /// In memory, one after another.
    fn default() -> Self {
        Self { store: StoreChoice::default(), jobs: NonZeroUsize::MIN }
    }
}

/// Runs the scenarios in these files and folders, and tells each report as soon as it is there.
pub fn run_each(paths: &[PathBuf], options: &RunOptions, tell: &mut dyn FnMut(&Report)) -> Vec<Report> {
    let run = |found: &Result<PathBuf, ConfigError>| match found {
        Ok(file) => run_file(file, options),
        Err(error) => not_a_scenario(error.clone()),
    };
    let mut reports = Vec::new();
    in_order(&files(paths), options.jobs, run, &mut |report| {
        tell(&report);
        reports.push(report);
    });
    reports
}

/// Runs the scenarios in these files and folders.
pub fn run_path(paths: &[PathBuf], options: &RunOptions) -> Vec<Report> {
    run_each(paths, options, &mut |_| {})
}

/// Runs one file.
pub fn run_file(path: &Path, options: &RunOptions) -> Report {
    let file = path.display().to_string();
    match holdpoint_config::read_text(path, SCENARIO_BYTES_MAX as u64) {
        Ok(text) => run_text(&text, &file, options),
        Err(reason) => not_a_scenario(ConfigError::of_file(&file, reason)),
    }
}

/// Runs a scenario from its text.
pub fn run_text(text: &str, file: &str, options: &RunOptions) -> Report {
    let read = document(text, file).and_then(|document| Ok((Scenario::read(&document)?, document)));
    match read {
        Ok((scenario, document)) => run_scenario(&scenario, &document, options),
        Err(error) => not_a_scenario(error),
    }
}

fn not_a_scenario(error: ConfigError) -> Report {
    let file = error.file().unwrap_or_default().to_owned();
    Report { name: file.clone(), file, verdict: Verdict::NotAScenario(error) }
}

/// Runs a scenario. Its own threads keep what it logs apart from every other's.
fn run_scenario(scenario: &Scenario, document: &Document, options: &RunOptions) -> Report {
    let log = LogCapture::default();
    let dispatch = log.dispatch();
    let for_threads = dispatch.clone();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .on_thread_start(move || {
            let guard = dispatcher::set_default(&for_threads);
            GUARD.with(|slot| *slot.borrow_mut() = Some(guard));
        })
        .on_thread_stop(|| GUARD.with(|slot| drop(slot.borrow_mut().take())))
        .build();
    let verdict = match runtime {
        Ok(runtime) => {
            let driven = dispatcher::with_default(&dispatch, || runtime.block_on(drive(scenario, log, &options.store)));
            // Tools that hang on purpose are left behind.
            runtime.shutdown_background();
            driven
        }
        Err(error) => Err(Problem::new(format_args!("cannot be run: no runtime could be started: {error}"))),
    };
    let verdict = verdict.unwrap_or_else(|problem| Verdict::NotAScenario(document.error(problem)));
    Report { file: document.file().to_owned(), name: scenario.name.clone(), verdict }
}

thread_local! {
    /// Makes a thread of the runtime log to its scenario, as long as the thread lives.
    static GUARD: RefCell<Option<DefaultGuard>> = const { RefCell::new(None) };
}

async fn drive(scenario: &Scenario, log: LogCapture, store: &StoreChoice) -> Result<Verdict, Problem> {
    let mut world = World::new(scenario, log, store)?;
    let verdict = drive_steps(scenario, &mut world).await;
    world.close().await;
    Ok(verdict)
}

async fn drive_steps(scenario: &Scenario, world: &mut World) -> Verdict {
    for (position, step) in scenario.steps.iter().enumerate() {
        let difference = match tokio::time::timeout(STEP_MAX, drive_step(world, step)).await {
            Ok(difference) => difference,
            Err(_) => {
                let seen = format!("nothing within {} s", STEP_MAX.as_secs());
                Some(Difference::new("", "an end of the step", seen))
            }
        };
        if let Some(difference) = difference {
            let Flatten(_, action) = step;
            return Verdict::Failed { step: Some((position + 1, action.name())), difference };
        }
    }
    Verdict::Held
}

async fn drive_step(world: &mut World, step: &Step) -> Option<Difference> {
    let Flatten(Expecting { expect }, action) = step;
    let before = world.before();
    let outcome = world.perform(action).await;
    let seen = world.observe(&before, &outcome).await;
    if world.model.overran() {
        let calls = format!("{} model calls", seen.model_calls);
        return Some(Difference::new("model", "an entry for every model call", calls));
    }
    expect.compare(&seen)
}

/// The files that are meant, in order; folders stand for the scenarios in them.
fn files(paths: &[PathBuf]) -> Vec<Result<PathBuf, ConfigError>> {
    let mut files = Vec::new();
    for path in paths {
        let named = path.display().to_string();
        let problem = |message: String| Err(ConfigError::of_file(&named, message));
        if path.is_dir() {
            let mut found = Vec::new();
            match collect(path, &mut found) {
                Ok(()) if found.is_empty() => files.push(problem("is a folder without scenarios".to_owned())),
                Ok(()) => {
                    found.sort();
                    files.extend(found.into_iter().map(Ok));
                }
                Err(error) => files.push(problem(format!("cannot be read: {error}"))),
            }
        } else {
            files.push(Ok(path.clone()));
        }
    }
    files
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_yaml = path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
        if path.is_dir() {
            collect(&path, found)?;
        } else if is_yaml {
            found.push(path);
        }
    }
    Ok(())
}
