//! Puts a runner together. What cannot be is refused when it is built.

mod settings;

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_codec::SigningKey;
use holdpoint_codec::receipt::ReceiptKey;
use holdpoint_core::{ContextWindow, Message, Role};
use holdpoint_model::{IntoModel, Model, ModelOptions, TokenCounter, ToolChoice};
use holdpoint_policy::{Guarded, KnownTools, Policy};
use holdpoint_store::{LEASE_MS_MAX, LeaseClock, Store};
use holdpoint_tools::{Around, Execute, Tool, around_tool};

use crate::events::deltas::DeltaHub;
use crate::events::instrument::InstrumentSink;
use crate::parts::{Migration, POLICY_TIMEOUT, Parts, SpanParent, UnsignedImports};
use crate::{Agent, AgentConfig, EndedCall, Error, Runner, StartedCall};

/// The shortest lease: below it, renewing would be all that a process does.
const LEASE_MIN: Duration = Duration::from_millis(10);

/// Begins with nothing allowed: no policy denies everything.
pub struct Builder<T> {
    /// As they will be, but for the model.
    parts: Parts,
    model: Option<Arc<dyn Model>>,
    system_prompt: Option<Arc<str>>,
    unregistered_tools: KnownTools,
    problem: Option<Error>,
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

impl<T: Buildable> Builder<T> {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            parts: Parts::new(),
            model: None,
            system_prompt: None,
            unregistered_tools: KnownTools::default(),
            problem: None,
            builds: PhantomData,
        }
    }

    /// From a saved configuration; model, tools, policy and store are given beside it.
    pub fn from_config(config: &AgentConfig) -> Self {
        let mut builder = Self::new();
        builder.parts.agent = config.name.as_deref().map(Arc::from);
        builder.system_prompt = config.system_prompt.as_deref().map(Arc::from);
        builder.parts.settings = Arc::new(config.settings());
        builder
    }

    /// The agent's name, for lists and records.
    #[must_use]
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.parts.agent = Some(name.into());
        self
    }

    /// The agent's system prompt. A runner takes it from each request instead.
    #[must_use]
    pub fn system_prompt(mut self, prompt: impl Into<Arc<str>>) -> Self {
        self.system_prompt = Some(prompt.into());
        self
    }

    /// The model: one of your own, or `provider:model`, such as `openai:gpt-5-mini`.
    #[must_use]
    pub fn model(mut self, model: impl IntoModel) -> Self {
        match model.into_model() {
            Ok(model) => self.model = Some(model),
            Err(error) => {
                self.problem.get_or_insert(Error::config(error.to_string()));
            }
        }
        self
    }

    /// A model that is shared.
    #[must_use]
    pub fn shared_model(mut self, model: Arc<dyn Model>) -> Self {
        self.model = Some(model);
        self
    }

    /// What the provider is told with each request, such as a temperature.
    #[must_use]
    pub fn model_options(mut self, options: ModelOptions) -> Self {
        self.parts.model_options = options;
        self
    }

    /// Whether the model may, must or must not ask for a call. That it must holds until a run has its first call: a model
    /// that always had to call could never come to an end.
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.parts.tool_choice = choice;
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
        if let Err(error) = Arc::make_mut(&mut self.parts.registry).register_shared(tool) {
            self.problem.get_or_insert(Error::config(error.to_string()));
        }
    }

    /// Who may call what. Without one everything is denied.
    #[must_use]
    pub fn policy(self, policy: impl Policy + 'static) -> Self {
        self.shared_policy(Some(Arc::new(policy)))
    }

    /// A policy that is shared, or none.
    #[must_use]
    pub fn shared_policy(mut self, policy: Option<Arc<dyn Policy>>) -> Self {
        self.parts.policy = Guarded::new(policy, POLICY_TIMEOUT);
        self
    }

    /// Tools that the policy may name although they are not registered: those of a server that is not reached, or that are
    /// withheld.
    #[must_use]
    pub fn unregistered_tools(mut self, tools: KnownTools) -> Self {
        self.unregistered_tools = tools;
        self
    }

    /// Where runs are kept. In memory by default.
    #[must_use]
    pub fn store(mut self, store: impl Into<Store>) -> Self {
        self.parts.store = store.into();
        self
    }

    /// How long others leave a run alone that is driven here and of which they hear nothing: 30 seconds by default. It is
    /// prolonged while the run is driven; when the process dies, another takes the run over after this time.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.parts.lease = lease;
        self
    }

    /// The clocks by which this process judges its own leases. For tests of suspended processes.
    #[doc(hidden)]
    #[must_use]
    pub fn lease_clock(mut self, clock: Arc<dyn LeaseClock>) -> Self {
        self.parts.lease_clock = clock;
        self
    }

    /// Adds a hook inside those that were added before.
    #[must_use]
    pub fn around(mut self, hook: Arc<dyn Around>) -> Self {
        self.parts.hooks = self.parts.hooks.with(hook);
        self
    }

    /// Adds a hook around one tool, by its registered name, inside those that were added before.
    #[must_use]
    pub fn around_tool(self, tool: &str, hook: Arc<dyn Around>) -> Self {
        self.around(around_tool(tool, hook))
    }

    /// Registers an executor of your own under a name.
    #[must_use]
    pub fn register_executor(mut self, name: &str, executor: Arc<dyn Execute>) -> Self {
        if let Err(error) = Arc::make_mut(&mut self.parts.executors).register(name, executor) {
            self.problem.get_or_insert(error.into());
        }
        self
    }

    /// Signs exported payloads, and accepts only signed ones.
    #[must_use]
    pub fn signing_key(mut self, key: SigningKey) -> Self {
        self.parts.signing_key = Some(key);
        self
    }

    /// Gives every call that is handed out a signed receipt, so that workers can verify with the public key that exactly
    /// this call may run. Without a key there are no receipts.
    #[must_use]
    pub fn receipt_key(mut self, key: ReceiptKey) -> Self {
        self.parts.receipt_key = Some(key);
        self
    }

    /// Whether a payload without a signature may bring a run that the store does not know.
    #[must_use]
    pub fn unsigned_imports(mut self, imports: UnsignedImports) -> Self {
        self.parts.unsigned_imports = imports;
        self
    }

    /// Turns older payloads into ones of the current version.
    #[must_use]
    pub fn migrate(mut self, migration: Migration) -> Self {
        self.parts.migrate = Some(migration);
        self
    }

    /// Counts tokens in place of the built-in estimate.
    #[must_use]
    pub fn token_counter(mut self, counter: TokenCounter) -> Self {
        self.parts.token_counter = counter;
        self
    }

    /// Takes every happening with its safe fields.
    #[must_use]
    pub fn instrument(mut self, sink: InstrumentSink) -> Self {
        self.parts.instruments.sink = Some(sink);
        self
    }

    /// Sends what the model says while it says it to this hub too, whoever drives the run.
    #[must_use]
    pub fn deltas(mut self, hub: DeltaHub) -> Self {
        self.parts.deltas = Some(hub);
        self
    }

    /// How the spans of a run join the trace that it was started in, over resumes, takeovers and workers.
    #[must_use]
    pub fn span_parent(mut self, join: SpanParent) -> Self {
        self.parts.span_parent = Some(join);
        self
    }

    /// Called when a message begins.
    #[must_use]
    pub fn on_new_message(mut self, callback: impl Fn(&Role) + Send + Sync + 'static) -> Self {
        self.parts.callbacks.new_message = Some(Arc::new(callback));
        self
    }

    /// Called when a tool starts.
    #[must_use]
    pub fn on_tool_call(mut self, callback: impl Fn(&StartedCall) + Send + Sync + 'static) -> Self {
        self.parts.callbacks.tool_call = Some(Arc::new(callback));
        self
    }

    /// Called as each call has its result.
    #[must_use]
    pub fn on_tool_result(mut self, callback: impl Fn(&EndedCall) + Send + Sync + 'static) -> Self {
        self.parts.callbacks.tool_result = Some(Arc::new(callback));
        self
    }

    /// Called when a message is complete.
    #[must_use]
    pub fn on_end_message(mut self, callback: impl Fn(&Message) + Send + Sync + 'static) -> Self {
        self.parts.callbacks.end_message = Some(Arc::new(callback));
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
        self.parts.settings.check()?;
        self.parts.executors.choose(&self.parts.settings.executor)?;
        let lease_max = Duration::from_millis(LEASE_MS_MAX);
        if self.parts.lease < LEASE_MIN || self.parts.lease > lease_max {
            return Err(Error::config(format!("`lease` must be between {LEASE_MIN:?} and {lease_max:?}")));
        }
        self.check_policy()?;
        let mut parts = self.parts;
        parts.model = self.model.ok_or_else(|| Error::config("an agent needs a `model`"))?;
        if parts.settings.context_window.is_none() {
            let reserved_output_tokens = parts.model_options.output_tokens_max.map_or(0, u64::from);
            let window = |tokens| ContextWindow { tokens, reserved_output_tokens };
            Arc::make_mut(&mut parts.settings).context_window = parts.model.window_tokens().map(window);
        }
        Ok(T::built(Runner { parts: Arc::new(parts) }, self.system_prompt))
    }

    /// A policy that reads what is not kept, or names what is not registered, would decide otherwise than its author
    /// believes.
    fn check_policy(&self) -> Result<(), Error> {
        let Some(policy) = self.parts.policy.policy() else { return Ok(()) };
        let mut tools = self.unregistered_tools.clone();
        tools.names.extend(self.parts.registry.tools().map(|tool| tool.name().clone()));
        let accepts = policy.accepts_context_keys(&self.parts.settings.context_keys);
        accepts.and_then(|()| policy.accepts_tools(&tools)).map_err(|error| Error::config(error.to_string()))
    }
}
