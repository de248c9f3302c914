//! What of a builder is data: the settings of its runs.

use std::sync::Arc;
use std::time::Duration;

use holdpoint_core::{
    ContextWindow, ErrorDetail, ExecutorChoice, FinalTools, Limits, Parallel, ParallelToolCalls, Recheck, ResultOrder,
    Route, Settings, Siblings,
};

use super::{Buildable, Builder};
use crate::Error;

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
        /// How often workers may start a call that was handed out before a person is asked. At least 1, 3 by default.
        max_task_attempts: u32
    }
    setting! {
        /// Results above it are cut.
        max_tool_output_bytes: u64
    }
    setting! {
        /// How much of a tool's own error message the model sees.
        error_detail: ErrorDetail
    }

    /// How long a call that was handed out may take until its result is there. As long as it takes by default.
    #[must_use]
    pub fn task_deadline(mut self, deadline: Duration) -> Self {
        self.settings.task_deadline_ms = Some(u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX));
        self
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
}

/// Refuses settings that cannot be.
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
    if settings.max_task_attempts == 0 {
        return Err(Error::config("`max_task_attempts` must be at least 1"));
    }
    if settings.task_deadline_ms == Some(0) {
        return Err(Error::config("`task_deadline_ms` must be at least 1"));
    }
    match settings.context_window {
        Some(window) if window.reserved_output_tokens >= window.tokens => {
            Err(Error::config("`reserved_output_tokens` must be less than `context_window`"))
        }
        _ => Ok(()),
    }
}
