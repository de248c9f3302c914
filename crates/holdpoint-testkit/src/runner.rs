//! Runs scenarios, one after another, each in a world of its own.

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use tracing::dispatcher::{self, DefaultGuard};

use crate::error::{Problem, ScenarioError};
use crate::expect::Difference;
use crate::jobs::in_order;
use crate::log_capture::LogCapture;
use crate::observe::text_value;
use crate::report::{Report, Verdict};
use crate::scenario::{Action, Scenario, Step, parse};
use crate::store_choice::StoreChoice;
use crate::world::{World, policy};

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
    let run = |found: &Result<PathBuf, ScenarioError>| match found {
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
    match std::fs::read_to_string(path) {
        Ok(text) => run_text(&text, &file, options),
        Err(error) => not_a_scenario(Problem::new(0, "", format!("cannot be read: {error}")).in_file(&file)),
    }
}

/// Runs a scenario from its text.
pub fn run_text(text: &str, file: &str, options: &RunOptions) -> Report {
    match parse(text, file) {
        Ok(scenario) => run_scenario(&scenario, file, options),
        Err(error) => not_a_scenario(error),
    }
}

fn not_a_scenario(error: ScenarioError) -> Report {
    Report { file: error.file.clone(), name: error.file.clone(), verdict: Verdict::NotAScenario(error) }
}

/// Runs a scenario. Its own threads keep what it logs apart from every other's.
pub fn run_scenario(scenario: &Scenario, file: &str, options: &RunOptions) -> Report {
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
        Err(error) => Err(Problem::new(0, "", format!("no runtime could be started: {error}"))),
    };
    match verdict {
        Ok(verdict) => Report { file: file.to_owned(), name: scenario.name.clone(), verdict },
        Err(problem) => {
            let error = problem.in_file(file);
            Report { file: file.to_owned(), name: scenario.name.clone(), verdict: Verdict::NotAScenario(error) }
        }
    }
}

thread_local! {
    /// Makes a thread of the runtime log to its scenario, as long as the thread lives.
    static GUARD: RefCell<Option<DefaultGuard>> = const { RefCell::new(None) };
}

async fn drive(scenario: &Scenario, log: LogCapture, store: &StoreChoice) -> Result<Verdict, Problem> {
    for step in &scenario.steps {
        if let Action::Policy(spec) = &step.action {
            policy(spec)?;
        }
    }
    let mut world = World::new(scenario, log, store)?;
    let verdict = drive_steps(scenario, &mut world).await;
    world.close().await;
    verdict
}

async fn drive_steps(scenario: &Scenario, world: &mut World) -> Result<Verdict, Problem> {
    for (position, step) in scenario.steps.iter().enumerate() {
        let difference = match tokio::time::timeout(STEP_MAX, drive_step(world, step)).await {
            Ok(difference) => difference?,
            Err(_) => {
                let seen = format!("nothing within {} s", STEP_MAX.as_secs());
                Some(Difference::new("", text_value("an end of the step"), text_value(seen)))
            }
        };
        if let Some(difference) = difference {
            return Ok(Verdict::Failed { step: Some((position + 1, step.action.name())), difference });
        }
    }
    Ok(Verdict::Held)
}

async fn drive_step(world: &mut World, step: &Step) -> Result<Option<Difference>, Problem> {
    let before = world.before();
    let outcome = world.perform(&step.action).await?;
    let seen = world.observe(&before, &outcome).await;
    if world.model.overran() {
        let expected = json!("an entry for every model call");
        return Ok(Some(Difference::new("model", expected, json!(format!("{} model calls", seen.model_calls)))));
    }
    Ok(step.expect.compare(&seen))
}

/// The files that are meant, in order; folders stand for the scenarios in them.
fn files(paths: &[PathBuf]) -> Vec<Result<PathBuf, ScenarioError>> {
    let mut files = Vec::new();
    for path in paths {
        let named = path.display().to_string();
        let problem = |message: String| Err(Problem::new(0, "", message).in_file(&named));
        if path.is_dir() {
            let mut found = Vec::new();
            match collect(path, &mut found) {
                Ok(()) if found.is_empty() => files.push(problem("there is no scenario in this folder".to_owned())),
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
