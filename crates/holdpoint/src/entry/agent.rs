//! An agent: a runner with a name, a system prompt and a configuration that can be saved.

mod config;

use std::fmt;
use std::sync::Arc;

use holdpoint_core::{Parallel, RunId, Settings};
use holdpoint_tools::{Around, Registry, Tool};
use tokio_util::sync::CancellationToken;

pub use config::{AgentConfig, ConfigError};

use crate::events::instrument::Instruments;
use crate::parts::Parts;
use crate::{
    AgentBuilder, Decisions, DeltaHub, Error, Happening, InstrumentSink, Results, ResumeFrom, RunRequest, Runner,
    Segment, Session, SpanParent,
};

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

    /// Asks the agent. A model or a tool that fails is a result, not an error.
    pub fn chat(&self, input: impl Into<RunRequest>) -> Segment {
        let request = input.into();
        self.runner.run(match (&request.system_prompt, &self.system_prompt) {
            (None, Some(prompt)) => request.system_prompt(Arc::clone(prompt)),
            (Some(_), _) | (None, None) => request,
        })
    }

    /// Resumes a run that waits for people. If the decisions are rejected, nothing changed.
    pub fn resume(&self, from: impl Into<ResumeFrom>, decisions: impl Into<Decisions>) -> Segment {
        self.runner.resume(from, decisions)
    }

    /// Resumes a run that waits for results. If the results are rejected, nothing changed.
    pub fn resume_with_tool_results(&self, from: impl Into<ResumeFrom>, results: impl Into<Results>) -> Segment {
        self.runner.resume_with_tool_results(from, results)
    }

    /// Continues a run that failed, without running any settled call again. `not_retryable` in any other state.
    pub fn retry(&self, run: &RunId) -> Segment {
        self.runner.retry(run)
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
        self.with_parts(Parts { hooks, ..Parts::clone(&self.runner.parts) })
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
        Ok(self.with_parts(Parts { registry: Arc::new(registry), ..Parts::clone(&self.runner.parts) }))
    }

    /// The same agent, whose models are heard at this hub too.
    #[must_use]
    pub fn with_deltas(&self, hub: DeltaHub) -> Agent {
        self.with_parts(Parts { deltas: Some(hub), ..Parts::clone(&self.runner.parts) })
    }

    /// The same agent, whose spans join the trace that a run was started in.
    #[must_use]
    pub fn with_span_parent(&self, join: SpanParent) -> Agent {
        self.with_parts(Parts { span_parent: Some(join), ..Parts::clone(&self.runner.parts) })
    }

    /// The same agent, which lets go of its runs when this token is cancelled: no turn and no tool begins any more, tools
    /// that run are waited for, what happened is committed, and whoever else looks after runs goes on at once. The result
    /// of a run that was let go of has the status `running`.
    #[must_use]
    pub fn with_stopping(&self, token: CancellationToken) -> Agent {
        Agent { runner: self.runner.with_stopping(token), system_prompt: self.system_prompt.clone() }
    }

    /// The same agent, whose happenings are told to this sink too.
    #[must_use]
    pub fn with_instrument(&self, sink: InstrumentSink) -> Agent {
        let sink = match self.runner.parts.instruments.sink.clone() {
            None => sink,
            Some(before) => Arc::new(move |happening: &Happening| {
                before(happening);
                sink(happening);
            }),
        };
        self.with_parts(Parts { instruments: Instruments { sink: Some(sink) }, ..Parts::clone(&self.runner.parts) })
    }

    fn with_settings(&self, change: impl FnOnce(&mut Settings)) -> Result<Agent, Error> {
        let mut settings = Settings::clone(&self.runner.parts.settings);
        change(&mut settings);
        settings.check()?;
        self.runner.parts.executors.choose(&settings.executor)?;
        Ok(self.with_parts(Parts { settings: Arc::new(settings), ..Parts::clone(&self.runner.parts) }))
    }

    fn with_parts(&self, parts: Parts) -> Agent {
        Agent { runner: Runner { parts: Arc::new(parts) }, system_prompt: self.system_prompt.clone() }
    }

    /// Everything about the agent that is data, to be saved or sent.
    pub fn config(&self) -> AgentConfig {
        AgentConfig::of(self)
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("name", &self.name()).finish_non_exhaustive()
    }
}
