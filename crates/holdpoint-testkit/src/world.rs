//! What a scenario runs in: the store, the clock, the scripted model and tools, and the process that may die.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use holdpoint::{Agent, AgentBuilder, Error, Happening, RunId, RunResult, SigningKey};
use holdpoint_core::{Decision, ModelStop, Recheck, Usage};
use holdpoint_model::{ModelCall, ModelReply, ScriptedModel, ScriptedReply};
use holdpoint_policy::{AuthorizeRequest, Policy, PolicyError, PolicyVersion, Rules};
use holdpoint_store::{Clock, ManualClock, Store, StoreError};
use holdpoint_tools::hooks::{HookConfigError, TimeSource};
use holdpoint_tools::{Around, Registry, Tool, ToolDefinition};

use crate::error::Problem;
use crate::ledger::Ledger;
use crate::log_capture::LogCapture;
use crate::place::Place;
use crate::scenario::{
    AgentSpec, CrashPoint, ExecutorSpec, HookEntry, LimitSpec, ModelEntry, PolicySpec, SaySpec, Scenario, ToolSpec,
};
use crate::scripted_tool::ScriptedTool;
use crate::store_choice::StoreChoice;

/// Everything that a scenario touches.
pub(crate) struct World {
    pub(crate) settings: AgentSpec,
    pub(crate) tools: Vec<ToolSpec>,
    pub(crate) policy: Option<Arc<dyn Policy>>,
    hook_entries: Vec<HookEntry>,
    hook_tools: Vec<ToolSpec>,
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
    pub(crate) armed: Option<CrashPoint>,
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
            policy: policy(&scenario.policy)?,
            hook_entries: scenario.hooks.clone(),
            hook_tools: scenario.tools.clone(),
            hooks: hooks(&scenario.hooks, &scenario.tools, &clock)?,
            model: ScriptedModel::new(scenario.model.iter().map(reply).collect()),
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
    pub(crate) fn die(&mut self) -> Result<(), Problem> {
        self.rebuild();
        self.store = None;
        self.hooks = hooks(&self.hook_entries, &self.hook_tools, &self.clock)?;
        self.latest = Latest::None;
        Ok(())
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
        let tools = self.tools.iter().map(|spec| Arc::new(ScriptedTool::new(spec, &self.ledger)) as Arc<dyn Tool>);
        let log = self.log.clone();
        let mut builder = Agent::builder()
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
        configured(builder, &self.settings).build()
    }
}

fn configured(mut builder: AgentBuilder, spec: &AgentSpec) -> AgentBuilder {
    macro_rules! take {
        ($($field:ident => $setter:ident),* $(,)?) => {
            $(if let Some(value) = &spec.$field { builder = builder.$setter(value.clone()); })*
        };
    }
    take! {
        system_prompt => system_prompt,
        max_turns => max_turns,
        parallel => parallel,
        tool_timeout_ms => tool_timeout_ms,
        max_tool_output_bytes => max_tool_output_bytes,
        max_tool_calls_per_turn => max_tool_calls_per_turn,
        siblings => siblings,
        result_order => result_order,
        error_detail => error_detail,
    }
    match spec.max_concurrency {
        Some(LimitSpec::AtMost(max)) => builder = builder.with_tool_concurrency("inline", max),
        Some(LimitSpec::None) => builder = builder.unlimited_concurrency(),
        None => {}
    }
    match &spec.executor {
        Some(ExecutorSpec::Named(name)) => builder = builder.with_tool_concurrency(name, None),
        Some(ExecutorSpec::Route(routes)) => {
            for (pattern, executor) in routes {
                builder = builder.route(pattern, executor);
            }
        }
        None => {}
    }
    if let Some(recheck) = spec.recheck_policy {
        builder = builder.recheck_policy(if recheck { Recheck::On } else { Recheck::Off });
    }
    if let Some(tokens) = spec.context_window {
        builder = builder.context_window(tokens, spec.reserved_output_tokens.unwrap_or(0));
    }
    if let Some(keys) = &spec.context_keys {
        builder = builder.context_keys(keys.iter().map(String::as_str));
    }
    final_answer(builder, spec)
}

fn final_answer(mut builder: AgentBuilder, spec: &AgentSpec) -> AgentBuilder {
    if let Some(text) = &spec.fix_empty_final_text {
        builder = builder.fix_empty_final_text(text);
    }
    if let Some(disable) = spec.fix_empty_final_disable_tools {
        builder = builder.fix_empty_final_disable_tools(disable);
    }
    if spec.fix_empty_final == Some(false) {
        builder = builder.fix_empty_final(false);
    }
    builder
}

/// What the scripted model does for an entry.
pub(crate) fn reply(entry: &ModelEntry) -> ScriptedReply {
    match entry {
        ModelEntry::Say(say) => ScriptedReply::Say(said(say)),
        ModelEntry::Fail(message) => ScriptedReply::Fail(message.as_str().into()),
        ModelEntry::Nothing => ScriptedReply::Nothing,
    }
}

fn said(say: &SaySpec) -> ModelReply {
    let call = |call: &crate::scenario::CallSpec| ModelCall {
        id: call.id.as_deref().map(Into::into),
        name: call.tool.as_str().into(),
        arguments: call.arguments.as_deref().map(Into::into),
    };
    let (input, output) = say.usage;
    ModelReply {
        text: say.text.as_deref().unwrap_or_default().into(),
        thinking: say.thinking.as_deref().map(Into::into),
        calls: say.calls.iter().map(call).collect(),
        usage: Usage { input, output, ..Usage::default() },
        stop: say.stop.as_deref().map(ModelStop::parse),
        provider_state: None,
    }
}

/// The policy that a scenario describes.
pub(crate) fn policy(spec: &PolicySpec) -> Result<Option<Arc<dyn Policy>>, Problem> {
    let entries = match spec {
        PolicySpec::None => return Ok(None),
        PolicySpec::Broken => return Ok(Some(Arc::new(BrokenPolicy))),
        PolicySpec::Rules(entries) => entries,
    };
    let rules = entries.iter().map(|entry| entry.rule.clone()).collect();
    match Rules::new(rules) {
        Ok(rules) => Ok(Some(Arc::new(ScenarioRules(rules)))),
        Err(error) => Err(rule_problem(&error, entries)),
    }
}

fn rule_problem(error: &holdpoint_policy::RulesError, entries: &[crate::scenario::RuleEntry]) -> Problem {
    use holdpoint_policy::RulesError;
    let entry = match error {
        RulesError::Rule { place, .. } => entries.get(place.rule.saturating_sub(1)),
        _ => entries.first(),
    };
    let (line, path) = entry.map_or((0, String::new()), |entry| (entry.line, entry.path.clone()));
    let hint = error.hint().map(|hint| format!("; hint: {hint}")).unwrap_or_default();
    Problem::new(line, path, format!("{error}{hint}"))
}

/// Rules that may name tools which a later step brings.
struct ScenarioRules(Rules);

#[async_trait]
impl Policy for ScenarioRules {
    async fn filter(
        &self,
        tools: Vec<Arc<ToolDefinition>>,
        context: &holdpoint::Context,
    ) -> Result<Vec<Arc<ToolDefinition>>, PolicyError> {
        self.0.filter(tools, context).await
    }

    async fn authorize(&self, request: &AuthorizeRequest<'_>) -> Result<Decision, PolicyError> {
        self.0.authorize(request).await
    }

    fn needs_history(&self) -> bool {
        self.0.needs_history()
    }

    fn version(&self) -> Option<PolicyVersion> {
        Policy::version(&self.0)
    }

    fn accepts_context_keys(&self, keys: &BTreeSet<Arc<str>>) -> Result<(), PolicyError> {
        self.0.accepts_context_keys(keys)
    }
}

/// A policy that fails, whatever it is asked.
struct BrokenPolicy;

#[async_trait]
impl Policy for BrokenPolicy {
    async fn filter(
        &self,
        _: Vec<Arc<ToolDefinition>>,
        _: &holdpoint::Context,
    ) -> Result<Vec<Arc<ToolDefinition>>, PolicyError> {
        Err(PolicyError::new("this policy is broken on purpose"))
    }

    async fn authorize(&self, _: &AuthorizeRequest<'_>) -> Result<Decision, PolicyError> {
        Err(PolicyError::new("this policy is broken on purpose"))
    }
}

/// The hooks as the file describes them, with nothing to remember yet.
fn hooks(entries: &[HookEntry], tools: &[ToolSpec], clock: &Arc<ManualClock>) -> Result<Vec<Arc<dyn Around>>, Problem> {
    let clock = Arc::clone(clock);
    let time: TimeSource = Arc::new(move || clock.now());
    let mut registry = Registry::new();
    for spec in tools {
        // A tool that cannot be registered is the error of the step that needs it.
        let _ = registry.register(ScriptedTool::new(spec, &Ledger::default()));
    }
    entries
        .iter()
        .map(|entry| entry.spec.build(&registry, &time).map_err(|error| hook_problem(&error, entry)))
        .collect()
}

fn hook_problem(error: &HookConfigError, entry: &HookEntry) -> Problem {
    let line = entry.fields.iter().find(|(name, _)| name == error.field).map_or(entry.line, |(_, line)| *line);
    Problem::new(line, format!("{}.{}", entry.path, error.field), error.to_string())
}

/// A run id that no other scenario has, on whatever store they share.
pub(crate) fn new_run_id() -> RunId {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    RunId::new(format!("scenario-{:x}-{:x}-{number:x}", since.as_nanos(), std::process::id()))
}
