//! Puts a runner together. What cannot be is refused when it is built.

use std::marker::PhantomData;
use std::sync::Arc;

use holdpoint_codec::SigningKey;
use holdpoint_core::{
    ContextWindow, ErrorDetail, ExecutorChoice, FinalTools, Limits, Message, Parallel, ParallelToolCalls, Recheck,
    ResultOrder, Role, Route, Settings, Siblings,
};
use holdpoint_model::{Model, TokenCounter, estimate_tokens};
use holdpoint_policy::{Guarded, Policy};
use holdpoint_store::{MemoryStore, Store};
use holdpoint_tools::{Around, Chain, Execute, Executors, Registry, Tool};

use crate::callbacks::Callbacks;
use crate::failpoint::Failpoints;
use crate::instrument::{InstrumentSink, Instruments};
use crate::parts::{Live, Migration, POLICY_TIMEOUT, Parts, UnsignedImports};
use crate::{Agent, AgentConfig, EndedCall, Error, Runner, StartedCall};

/// Begins with nothing allowed: no policy denies everything.
pub struct Builder<T> {
    name: Option<Arc<str>>,
    system_prompt: Option<Arc<str>>,
    model: Option<Arc<dyn Model>>,
    registry: Registry,
    problem: Option<Error>,
    policy: Option<Arc<dyn Policy>>,
    executors: Executors,
    hooks: Vec<Arc<dyn Around>>,
    store: Option<Arc<dyn Store>>,
    pub(crate) settings: Settings,
    signing_key: Option<SigningKey>,
    unsigned_imports: UnsignedImports,
    migrate: Option<Migration>,
    token_counter: TokenCounter,
    callbacks: Callbacks,
    instruments: Instruments,
    builds: PhantomData<fn() -> T>,
}

/// Builds a [`Runner`].
pub type RunnerBuilder = Builder<Runner>;

/// Builds an [`Agent`].
pub type AgentBuilder = Builder<Agent>;

/// What a builder can build.
pub trait Buildable: Sized {
    /// From what was put together.
    #[doc(hidden)]
    fn built(runner: Runner, system_prompt: Option<Arc<str>>) -> Self;
}

impl Buildable for Runner {
    fn built(runner: Runner, _: Option<Arc<str>>) -> Self {
        runner
    }
}

impl Buildable for Agent {
    fn built(runner: Runner, system_prompt: Option<Arc<str>>) -> Self {
        Agent { runner, system_prompt }
    }
}

impl<T: Buildable> Default for Builder<T> {
    fn default() -> Self {
        Self::new()
    }
}

macro_rules! setting {
    ($(#[$doc:meta])* $name:ident: $type:ty) => {
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self, $name: $type) -> Self {
            self.settings.$name = $name;
            self
        }
    };
}

impl<T: Buildable> Builder<T> {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            name: None,
            system_prompt: None,
            model: None,
            registry: Registry::new(),
            problem: None,
            policy: None,
            executors: Executors::new(),
            hooks: Vec::new(),
            store: None,
            settings: Settings::default(),
            signing_key: None,
            unsigned_imports: UnsignedImports::Refuse,
            migrate: None,
            token_counter: Arc::new(estimate_tokens),
            callbacks: Callbacks::default(),
            instruments: Instruments::default(),
            builds: PhantomData,
        }
    }

    /// From a saved configuration; model, tools, policy and store are given beside it.
    pub fn from_config(config: &AgentConfig) -> Self {
        let mut builder = Self::new();
        builder.name = config.name.as_deref().map(Arc::from);
        builder.system_prompt = config.system_prompt.as_deref().map(Arc::from);
        builder.settings = config.settings();
        builder
    }

    /// The agent's name, for lists and records.
    #[must_use]
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The agent's system prompt. A runner takes it from each request instead.
    #[must_use]
    pub fn system_prompt(mut self, prompt: impl Into<Arc<str>>) -> Self {
        self.system_prompt = Some(prompt.into());
        self
    }

    /// The model.
    #[must_use]
    pub fn model(mut self, model: impl Model + 'static) -> Self {
        self.model = Some(Arc::new(model));
        self
    }

    /// A model that is shared.
    #[must_use]
    pub fn shared_model(mut self, model: Arc<dyn Model>) -> Self {
        self.model = Some(model);
        self
    }

    /// Registers a tool.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.register(Arc::new(tool));
        self
    }

    /// Registers tools that are shared.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        tools.into_iter().for_each(|tool| self.register(tool));
        self
    }

    fn register(&mut self, tool: Arc<dyn Tool>) {
        // The first problem is told when the runner is built: a builder has no other place for it.
        if let Err(error) = self.registry.register_shared(tool) {
            self.problem.get_or_insert(Error::config(error.to_string()));
        }
    }

    /// Who may call what. Without one everything is denied.
    #[must_use]
    pub fn policy(mut self, policy: impl Policy + 'static) -> Self {
        self.policy = Some(Arc::new(policy));
        self
    }

    /// A policy that is shared, or none.
    #[must_use]
    pub fn shared_policy(mut self, policy: Option<Arc<dyn Policy>>) -> Self {
        self.policy = policy;
        self
    }

    /// Where runs are kept. In memory by default.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Adds a hook inside those that were added before.
    #[must_use]
    pub fn around(mut self, hook: Arc<dyn Around>) -> Self {
        self.hooks.push(hook);
        self
    }

    /// Registers an executor of your own under a name.
    #[must_use]
    pub fn register_executor(mut self, name: &str, executor: Arc<dyn Execute>) -> Self {
        if let Err(error) = self.executors.register(name, executor) {
            self.problem.get_or_insert(error.into());
        }
        self
    }

    /// How tools run: `inline` (or `sequential`), `concurrent` (or `async`), `threads`, `defer_all`, or a registered
    /// name; and how many at once.
    #[must_use]
    pub fn with_tool_concurrency(mut self, mode: &str, max: impl Into<Option<u32>>) -> Self {
        self.settings.executor.name = mode.into();
        if let Some(max) = max.into() {
            self.settings.executor.max_concurrency = Some(max);
        }
        self
    }

    /// No limit on how many calls run at once. For `concurrent` only.
    #[must_use]
    pub fn unlimited_concurrency(mut self) -> Self {
        self.settings.executor.max_concurrency = None;
        self
    }

    /// Which tools may run beside others.
    #[must_use]
    pub fn parallel(mut self, parallel: Parallel) -> Self {
        self.settings.executor.parallel = parallel;
        self
    }

    /// Chooses an executor for the tools that a pattern matches; the first match wins, the others run as chosen for the
    /// run.
    #[must_use]
    pub fn route(mut self, pattern: &str, executor: &str) -> Self {
        self.settings.executor.routes.push(Route { pattern: pattern.into(), executor: executor.into() });
        self
    }

    setting! {
        /// How tools run, as one value.
        executor: ExecutorChoice
    }
    setting! {
        /// The run stops before it would start another turn. At least 1.
        max_turns: u32
    }
    setting! {
        /// Calls above it are dropped and recorded as ignored.
        max_tool_calls_per_turn: u32
    }
    setting! {
        /// Whether the model may ask for several calls in one turn.
        parallel_tool_calls: ParallelToolCalls
    }
    setting! {
        /// What a question means for the other calls of its turn.
        siblings: Siblings
    }
    setting! {
        /// Whether policy is asked again when a call goes from ready to running.
        recheck_policy: Recheck
    }
    setting! {
        /// The order in which the model gets results.
        result_order: ResultOrder
    }
    setting! {
        /// Per call, unless the tool has its own.
        tool_timeout_ms: u64
    }
    setting! {
        /// Results above it are cut.
        tool_output_bytes_max: u64
    }
    setting! {
        /// How much of a tool's own error message the model sees.
        error_detail: ErrorDetail
    }

    /// Checks each request against the model's window before it is sent.
    #[must_use]
    pub fn context_window(mut self, tokens: u64, reserved_output_tokens: u64) -> Self {
        self.settings.context_window = Some(ContextWindow { tokens, reserved_output_tokens });
        self
    }

    /// The text that asks for a final answer when the model ends with nothing to say; `None` switches it off.
    #[must_use]
    pub fn final_answer_text(mut self, text: Option<&str>) -> Self {
        self.settings.final_answer.ask = text.map(Arc::from);
        self
    }

    /// Whether the model has its tools when it is asked for a final answer.
    #[must_use]
    pub fn final_answer_tools(mut self, tools: FinalTools) -> Self {
        self.settings.final_answer.tools = tools;
        self
    }

    /// The context attributes that may be stored. None by default.
    #[must_use]
    pub fn context_keys<'a>(mut self, keys: impl IntoIterator<Item = &'a str>) -> Self {
        self.settings.context_keys = keys.into_iter().map(Arc::from).collect();
        self
    }

    /// All settings as one value.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Signs exported payloads, and accepts only signed ones.
    #[must_use]
    pub fn signing_key(mut self, key: SigningKey) -> Self {
        self.signing_key = Some(key);
        self
    }

    /// Whether a payload without a signature may bring a run that the store does not know.
    #[must_use]
    pub fn unsigned_imports(mut self, imports: UnsignedImports) -> Self {
        self.unsigned_imports = imports;
        self
    }

    /// Turns older payloads into ones of the current version.
    #[must_use]
    pub fn migrate(mut self, migration: Migration) -> Self {
        self.migrate = Some(migration);
        self
    }

    /// Counts tokens in place of the built-in estimate.
    #[must_use]
    pub fn token_counter(mut self, counter: TokenCounter) -> Self {
        self.token_counter = counter;
        self
    }

    /// Takes every happening with its safe fields.
    #[must_use]
    pub fn instrument(mut self, sink: InstrumentSink) -> Self {
        self.instruments.sink = Some(sink);
        self
    }

    /// Called when a message begins.
    #[must_use]
    pub fn on_new_message(mut self, callback: impl Fn(&Role) + Send + Sync + 'static) -> Self {
        self.callbacks.new_message = Some(Arc::new(callback));
        self
    }

    /// Called when a tool starts.
    #[must_use]
    pub fn on_tool_call(mut self, callback: impl Fn(&StartedCall) + Send + Sync + 'static) -> Self {
        self.callbacks.tool_call = Some(Arc::new(callback));
        self
    }

    /// Called as each call has its result.
    #[must_use]
    pub fn on_tool_result(mut self, callback: impl Fn(&EndedCall) + Send + Sync + 'static) -> Self {
        self.callbacks.tool_result = Some(Arc::new(callback));
        self
    }

    /// Called when a message is complete.
    #[must_use]
    pub fn on_end_message(mut self, callback: impl Fn(&Message) + Send + Sync + 'static) -> Self {
        self.callbacks.end_message = Some(Arc::new(callback));
        self
    }

    /// Builds it.
    ///
    /// # Errors
    /// When something is missing or cannot be.
    pub fn build(self) -> Result<T, Error> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        check(&self.settings)?;
        self.executors.choose(&self.settings.executor)?;
        let model = self.model.ok_or_else(|| Error::config("an agent needs a `model`"))?;
        let parts = Parts {
            agent: self.name,
            model,
            registry: Arc::new(self.registry),
            policy: Guarded::new(self.policy, POLICY_TIMEOUT),
            executors: Arc::new(self.executors),
            hooks: Chain::new(self.hooks),
            store: self.store.unwrap_or_else(|| Arc::new(MemoryStore::new())),
            settings: Arc::new(self.settings),
            signing_key: self.signing_key,
            unsigned_imports: self.unsigned_imports,
            migrate: self.migrate,
            token_counter: self.token_counter,
            callbacks: self.callbacks,
            instruments: self.instruments,
            failpoints: Arc::new(Failpoints::default()),
            live: Arc::new(Live::default()),
        };
        Ok(T::built(Runner { parts: Arc::new(parts) }, self.system_prompt))
    }
}

pub(crate) fn check(settings: &Settings) -> Result<(), Error> {
    if settings.max_turns == 0 {
        return Err(Error::config("`max_turns` must be at least 1"));
    }
    if settings.executor.max_concurrency == Some(0) {
        return Err(Error::config("`max_concurrency` must be at least 1"));
    }
    if settings.max_tool_calls_per_turn > Limits::TOOL_CALLS_PER_TURN_MAX {
        let most = Limits::TOOL_CALLS_PER_TURN_MAX;
        return Err(Error::config(format!("`max_tool_calls_per_turn` must be at most {most}")));
    }
    if settings.tool_timeout_ms == 0 {
        return Err(Error::config("`tool_timeout_ms` must be at least 1"));
    }
    match settings.context_window {
        Some(window) if window.reserved_output_tokens >= window.tokens => {
            Err(Error::config("`reserved_output_tokens` must be less than `context_window`"))
        }
        _ => Ok(()),
    }
}
