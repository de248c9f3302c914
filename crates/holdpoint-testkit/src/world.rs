//! What a scenario runs in: the store, the clock, the scripted model and tools, and the process that may die.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use holdpoint::{Agent, Error, Happening, RunId, RunResult, SigningKey};
use holdpoint_config::{Flatten, KeyPath, Named, Problem};
use holdpoint_model::ScriptedModel;
use holdpoint_policy::Policy;
use holdpoint_store::{Clock, ManualClock, Store, StoreError};
use holdpoint_tools::hooks::{HookSpec, TimeSource};
use holdpoint_tools::{Around, Registry, Tool};

use crate::death::Death;
use crate::ledger::Ledger;
use crate::log_capture::LogCapture;
use crate::place::Place;
use crate::scenario::{AgentSpec, CrashPoint, Scenario, ToolSpec};
use crate::scripted_tool::ScriptedTool;
use crate::store_choice::StoreChoice;

/// Everything that a scenario touches.
pub(crate) struct World {
    pub(crate) settings: AgentSpec,
    pub(crate) tools: Named<ToolSpec>,
    pub(crate) policy: Option<Arc<dyn Policy>>,
    hook_specs: Vec<HookSpec>,
    hook_tools: Named<ToolSpec>,
    hooks: Vec<Arc<dyn Around>>,
    pub(crate) model: ScriptedModel,
    pub(crate) ledger: Ledger,
    pub(crate) log: LogCapture,
    pub(crate) clock: Arc<ManualClock>,
    place: Place,
    /// The process's own handle on the store, opened when it is first needed.
    store: Option<Store>,
    pub(crate) key: SigningKey,
    agent: Option<Agent>,
    pub(crate) run: Option<RunId>,
    pub(crate) latest: Latest,
    pub(crate) state: Option<RunResult>,
    pub(crate) saved: BTreeMap<String, Saved>,
    /// The point of the next step at which the process dies.
    pub(crate) armed: Option<CrashPoint>,
    pub(crate) death: Death,
}

/// What a resume without `from` resumes.
#[derive(Clone)]
pub(crate) enum Latest {
    /// Nothing yet.
    None,
    /// An object of this process.
    Object(Box<RunResult>),
    /// The saved payload of this name: the objects are forgotten.
    Saved(String),
}

/// A saved payload.
#[derive(Clone)]
pub(crate) struct Saved {
    pub(crate) payload: String,
    /// The continuation that it names, as it was before any edit.
    pub(crate) continuation: String,
}

impl World {
    /// A fresh world, or why the scenario cannot be run.
    pub(crate) fn new(scenario: &Scenario, log: LogCapture, choice: &StoreChoice) -> Result<Self, Problem> {
        let clock = Arc::new(ManualClock::default());
        Ok(Self {
            settings: scenario.agent.clone(),
            tools: scenario.tools.clone(),
            policy: scenario.policy.policy.clone(),
            hook_specs: scenario.hooks.clone(),
            hook_tools: scenario.tools.clone(),
            hooks: hooks(&scenario.hooks, &scenario.tools, &clock)?,
            model: ScriptedModel::new(scenario.model.iter().map(|reply| reply.0.clone()).collect()),
            ledger: Ledger::default(),
            log,
            place: Place::new(choice, &clock),
            store: None,
            clock,
            key: SigningKey::new("scenario", b"a key for scenarios only"),
            agent: None,
            run: None,
            latest: Latest::None,
            state: None,
            saved: BTreeMap::new(),
            armed: None,
            death: Death::default(),
        })
    }

    /// The agent, built when it is first needed. What cannot be built is the error of the step that needs it.
    pub(crate) async fn agent(&mut self) -> Result<Agent, Error> {
        if let Some(agent) = &self.agent {
            return Ok(agent.clone());
        }
        let store = self.store().await?;
        let agent = self.build(store)?;
        self.agent = Some(agent.clone());
        Ok(agent)
    }

    /// Something about the agent changed: the next step builds it anew. Hooks keep their state.
    pub(crate) fn rebuild(&mut self) {
        self.agent = None;
    }

    async fn store(&mut self) -> Result<Store, StoreError> {
        if let Some(store) = &self.store {
            return Ok(store.clone());
        }
        let store = self.place.open().await?;
        self.store = Some(store.clone());
        Ok(store)
    }

    /// The process dies: all that is not in the store is gone, the handle on it too.
    pub(crate) fn die(&mut self) {
        self.rebuild();
        self.death = Death::default();
        self.store = None;
        // They could be built when the scenario began.
        if let Ok(hooks) = hooks(&self.hook_specs, &self.hook_tools, &self.clock) {
            self.hooks = hooks;
        }
        self.latest = Latest::None;
    }

    /// Another process with a store of its own takes over.
    pub(crate) async fn forget_store(&mut self) -> Result<(), Error> {
        self.rebuild();
        self.store = None;
        Ok(self.place.forget().await?)
    }

    /// The scenario is over: what was made for it alone is removed.
    pub(crate) async fn close(mut self) {
        self.rebuild();
        self.store = None;
        self.place.close().await;
    }

    fn build(&self, store: Store) -> Result<Agent, Error> {
        let Named(tools) = &self.tools;
        let tools = tools
            .iter()
            .map(|(name, spec)| Arc::new(ScriptedTool::new(name, spec, &self.ledger, &self.death)) as Arc<dyn Tool>);
        let log = self.log.clone();
        let Flatten(prompt, settings) = &self.settings;
        let mut builder = Agent::builder()
            .settings(settings.clone().settings())
            .model(self.model.clone())
            .tools(tools)
            .shared_policy(self.policy.clone())
            .store(store)
            .signing_key(self.key.clone())
            .instrument(Arc::new(move |happening: &Happening| {
                let fields = serde_json::Value::Object(happening.fields.clone());
                log.line(format_args!("happening {} {fields}", happening.name));
            }));
        for hook in &self.hooks {
            builder = builder.around(Arc::clone(hook));
        }
        if let Some(text) = &prompt.system_prompt {
            builder = builder.system_prompt(text.clone());
        }
        builder.build()
    }
}

/// The hooks as the file describes them, with nothing to remember yet.
fn hooks(
    specs: &[HookSpec],
    Named(tools): &Named<ToolSpec>,
    clock: &Arc<ManualClock>,
) -> Result<Vec<Arc<dyn Around>>, Problem> {
    let clock = Arc::clone(clock);
    let time: TimeSource = Arc::new(move || clock.now());
    let mut registry = Registry::new();
    for (name, spec) in tools {
        // A tool that cannot be registered is the error of the step that needs it.
        let _ = registry.register(ScriptedTool::new(name, spec, &Ledger::default(), &Death::default()));
    }
    let hook = |(index, spec): (usize, &HookSpec)| {
        let at = KeyPath::from("hooks").index(index);
        spec.build(&registry, &time).map_err(|error| Problem::at(at.key(error.hook).key(error.field), &*error.problem))
    };
    specs.iter().enumerate().map(hook).collect()
}

/// A run id that no other scenario has, on whatever store they share.
pub(crate) fn new_run_id() -> RunId {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    RunId::new(format!("scenario-{:x}-{:x}-{number:x}", since.as_nanos(), std::process::id()))
}
