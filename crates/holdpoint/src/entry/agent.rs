//! An agent: a runner with a name, a system prompt and a configuration that can be saved.

mod config;

use std::fmt;
use std::sync::Arc;

use holdpoint_codec::Context;
use holdpoint_core::{Parallel, Settings};
use holdpoint_tools::{Around, Registry, Tool};

pub use config::{AgentConfig, ConfigError};

use crate::parts::Parts;
use crate::{AgentBuilder, Decisions, Error, Results, ResumeFrom, RunRequest, RunResult, RunStream, Runner, Session};

/// What most programs use: put together once, then asked. Cheap to clone.
#[derive(Clone)]
pub struct Agent {
    pub(crate) runner: Runner,
    pub(crate) system_prompt: Option<Arc<str>>,
}

impl Agent {
    /// Begins to put an agent together.
    pub fn builder() -> AgentBuilder {
        AgentBuilder::new()
    }

    /// Asks the agent.
    ///
    /// # Errors
    /// When the run could not be started or its store failed.
    pub async fn chat(&self, input: impl Into<RunRequest>) -> Result<RunResult, Error> {
        self.runner.run(self.request(input.into())).await
    }

    /// Asks the agent with a context.
    ///
    /// # Errors
    /// When the run could not be started or its store failed.
    pub async fn chat_with(&self, input: impl Into<RunRequest>, context: Context) -> Result<RunResult, Error> {
        self.chat(input.into().with_context(context)).await
    }

    /// Asks the agent and streams what happens.
    ///
    /// # Errors
    /// When no async runtime runs.
    pub fn chat_stream(&self, input: impl Into<RunRequest>) -> Result<RunStream, Error> {
        self.runner.run_stream(self.request(input.into()))
    }

    /// Asks the agent and leaves the run to whoever looks after it: a [`crate::Keeper`].
    ///
    /// # Errors
    /// When the run could not be started or its store failed.
    pub async fn submit(&self, input: impl Into<RunRequest>) -> Result<RunResult, Error> {
        self.runner.submit(self.request(input.into())).await
    }

    /// Resumes a run that waits for people.
    ///
    /// # Errors
    /// When the decisions are not accepted; then nothing changed.
    pub async fn resume(
        &self,
        from: impl Into<ResumeFrom>,
        decisions: impl Into<Decisions>,
    ) -> Result<RunResult, Error> {
        self.runner.resume(from, decisions).await
    }

    /// The same as a stream of events.
    ///
    /// # Errors
    /// When no async runtime runs.
    pub fn resume_stream(
        &self,
        from: impl Into<ResumeFrom>,
        decisions: impl Into<Decisions>,
    ) -> Result<RunStream, Error> {
        self.runner.resume_stream(from, decisions)
    }

    /// Resumes a run that waits for results.
    ///
    /// # Errors
    /// When the results are not accepted; then nothing changed.
    pub async fn resume_with_tool_results(
        &self,
        from: impl Into<ResumeFrom>,
        results: impl Into<Results>,
    ) -> Result<RunResult, Error> {
        self.runner.resume_with_tool_results(from, results).await
    }

    /// The same as a stream of events.
    ///
    /// # Errors
    /// When no async runtime runs.
    pub fn resume_stream_with_tool_results(
        &self,
        from: impl Into<ResumeFrom>,
        results: impl Into<Results>,
    ) -> Result<RunStream, Error> {
        self.runner.resume_stream_with_tool_results(from, results)
    }

    /// A conversation with this agent that goes on over several runs.
    pub fn session(&self) -> Session {
        Session::new(self.clone(), Vec::new())
    }

    /// The runner inside, for everything else.
    pub fn runner(&self) -> &Runner {
        &self.runner
    }

    /// The agent's name.
    pub fn name(&self) -> Option<&str> {
        self.runner.parts.agent.as_deref()
    }

    /// The same agent with another way to run tools, from its next run on. Tools, store and hooks are shared.
    ///
    /// # Errors
    /// When there is no such executor, or the limit cannot be.
    pub fn with_tool_concurrency(&self, mode: &str, max: impl Into<Option<u32>>) -> Result<Agent, Error> {
        self.with_settings(|settings| {
            settings.executor.name = mode.into();
            settings.executor.routes.clear();
            if let Some(max) = max.into() {
                settings.executor.max_concurrency = Some(max);
            }
        })
    }

    /// The same agent with another rule for which tools run beside others.
    ///
    /// # Errors
    /// When it does not fit the executor.
    pub fn with_parallel(&self, parallel: Parallel) -> Result<Agent, Error> {
        self.with_settings(|settings| settings.executor.parallel = parallel)
    }

    /// The same agent with one more hook inside the others: ask it instead, and the hook is for that run alone.
    #[must_use]
    pub fn with_around(&self, hook: Arc<dyn Around>) -> Agent {
        let hooks = self.runner.parts.hooks.with(hook);
        let parts = Parts { hooks, ..self.runner.parts.share() };
        Agent { runner: Runner { parts: Arc::new(parts) }, system_prompt: self.system_prompt.clone() }
    }

    /// The same agent with these tools, from its next run on. Tools from where one of them comes (`mcp:files`, `native`, …)
    /// are replaced by them; all others stay.
    ///
    /// # Errors
    /// When a tool cannot be registered.
    pub fn with_tools(&self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Result<Agent, Error> {
        let new: Vec<Arc<dyn Tool>> = tools.into_iter().collect();
        let replaced = |source: &Arc<str>| new.iter().any(|tool| tool.definition().metadata.source == *source);
        let mut registry = Registry::new();
        let old = self.runner.parts.registry.tools().filter(|tool| !replaced(&tool.definition().metadata.source));
        for tool in old.map(|tool| tool.tool()).chain(&new) {
            registry.register_shared(Arc::clone(tool)).map_err(|error| Error::config(error.to_string()))?;
        }
        let parts = Parts { registry: Arc::new(registry), ..self.runner.parts.share() };
        Ok(Agent { runner: Runner { parts: Arc::new(parts) }, system_prompt: self.system_prompt.clone() })
    }

    fn with_settings(&self, change: impl FnOnce(&mut Settings)) -> Result<Agent, Error> {
        let mut settings = Settings::clone(&self.runner.parts.settings);
        change(&mut settings);
        crate::entry::builder::check(&settings)?;
        self.runner.parts.executors.choose(&settings.executor)?;
        let parts = Parts { settings: Arc::new(settings), ..self.runner.parts.share() };
        Ok(Agent { runner: Runner { parts: Arc::new(parts) }, system_prompt: self.system_prompt.clone() })
    }

    /// Everything about the agent that is data, to be saved or sent.
    pub fn config(&self) -> AgentConfig {
        AgentConfig::of(self)
    }

    pub(crate) fn request(&self, request: RunRequest) -> RunRequest {
        match (&request.system_prompt, &self.system_prompt) {
            (None, Some(prompt)) => request.system_prompt(Arc::clone(prompt)),
            (Some(_), _) | (None, None) => request,
        }
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("name", &self.name()).finish_non_exhaustive()
    }
}
