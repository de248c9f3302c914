//! The agents that every process knows: the same tools, rules and model, and different settings.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use holdpoint::{Parallel, Runner, Settings, Siblings};
use holdpoint_core::{ClockReading, ExecutorChoice, Recheck, ResultOrder, Route};
use holdpoint_policy::Rules;
use holdpoint_store::{ManualLeaseClock, Store};
use holdpoint_tools::Tool;

use crate::broken::Break;
use crate::model::PlannedModel;
use crate::parking::Parking;
use crate::plan::{KINDS, RULES};
use crate::tools::{Bench, tool};

/// Their names.
pub(crate) const AGENTS: [&str; 3] = ["alpha", "beta", "gamma"];
/// How long a run or a task is left alone when its process is silent.
pub(crate) const LEASE: Duration = Duration::from_millis(400);
/// How often keepers and workers look.
pub(crate) const POLL: Duration = Duration::from_millis(50);

/// The runners by the names of their agents.
pub(crate) type Runners = BTreeMap<&'static str, Runner>;

/// All agents on one store.
pub(crate) fn build(store: &Store, bench: &Arc<Bench>) -> anyhow::Result<Runners> {
    AGENTS.into_iter().map(|name| Ok((name, runner(name, store, bench)?))).collect()
}

/// One agent. Those of [`AGENTS`] have settings of their own.
pub(crate) fn runner(name: &str, store: &Store, bench: &Arc<Bench>) -> anyhow::Result<Runner> {
    runner_with(name, store, bench, None)
}

/// The same in a process whose clocks may stand still.
pub(crate) fn runner_with(
    name: &str,
    store: &Store,
    bench: &Arc<Bench>,
    broken: Option<Break>,
) -> anyhow::Result<Runner> {
    let tools = KINDS.iter().map(|kind| Arc::new(tool(kind, bench)) as Arc<dyn Tool>);
    let runner = Runner::builder()
        .name(name)
        .model(PlannedModel::new(bench))
        .tools(tools)
        .policy(Rules::parse(RULES, "rules.toml").context("the rules")?)
        .settings(settings(name))
        .store(Parking::wrap(store, bench))
        .lease(LEASE);
    let runner = match broken {
        Some(Break::Clock) => {
            runner.lease_clock(Arc::new(ManualLeaseClock::new(ClockReading { boot_us: 0, wall_us: 0 })))
        }
        Some(Break::Intent | Break::Fence) | None => runner,
    };
    Ok(runner.build()?)
}

fn settings(name: &str) -> Settings {
    let routes = vec![Route { pattern: "work_*".into(), executor: "defer_all".into() }];
    let executor = ExecutorChoice { routes, ..ExecutorChoice::default() };
    match name {
        "beta" => Settings {
            siblings: Siblings::Run,
            executor: ExecutorChoice { name: "concurrent".into(), parallel: Parallel::All, ..executor },
            ..Settings::default()
        },
        "gamma" => Settings {
            siblings: Siblings::Run,
            recheck_policy: Recheck::Off,
            result_order: ResultOrder::Completion,
            max_task_attempts: 2,
            executor: ExecutorChoice { name: "threads".into(), parallel: Parallel::All, ..executor },
            ..Settings::default()
        },
        _ => Settings { executor, ..Settings::default() },
    }
}
