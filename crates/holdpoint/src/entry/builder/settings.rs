//! What of a builder is data: the settings of its runs.

use std::sync::Arc;

use holdpoint_core::{
    ContextWindow, ErrorDetail, ExecutorChoice, FinalAnswer, FinalTools, Parallel, ParallelToolCalls, Recheck,
    ResultOrder, Route, Settings, Siblings,
};

use super::{Buildable, Builder};

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty,)*) => {
        $($(#[$doc])*
        #[must_use]
        pub fn $name(mut self, $name: $type) -> Self {
            self.settings_mut().$name = $name;
            self
        })*
    };
}

impl<T: Buildable> Builder<T> {
    fn settings_mut(&mut self) -> &mut Settings {
        Arc::make_mut(&mut self.parts.settings)
    }

    /// How tools run: `inline` (or `sequential`), `concurrent` (or `async`), `threads`, `defer_all`, or a registered
    /// name; and how many at once.
    #[must_use]
    pub fn with_tool_concurrency(mut self, mode: &str, max: impl Into<Option<u32>>) -> Self {
        self.settings_mut().executor.name = mode.into();
        if let Some(max) = max.into() {
            self.settings_mut().executor.max_concurrency = Some(max);
        }
        self
    }

    /// No limit on how many calls run at once. For `concurrent` only.
    #[must_use]
    pub fn unlimited_concurrency(mut self) -> Self {
        self.settings_mut().executor.max_concurrency = None;
        self
    }

    /// Which tools may run beside others.
    #[must_use]
    pub fn parallel(mut self, parallel: Parallel) -> Self {
        self.settings_mut().executor.parallel = parallel;
        self
    }

    /// Chooses an executor for the tools that a pattern matches; the first match wins, the others run as chosen for the
    /// run.
    #[must_use]
    pub fn route(mut self, pattern: &str, executor: &str) -> Self {
        self.settings_mut().executor.routes.push(Route { pattern: pattern.into(), executor: executor.into() });
        self
    }

    setters! {
        /// How tools run, as one value.
        executor: ExecutorChoice,
        /// The run stops before it would start another turn. At least 1.
        max_turns: u32,
        /// Calls above it are dropped and recorded as ignored.
        max_tool_calls_per_turn: u32,
        /// Whether the model may ask for several calls in one turn.
        parallel_tool_calls: ParallelToolCalls,
        /// What a question means for the other calls of its turn.
        siblings: Siblings,
        /// Whether policy is asked again when a call goes from ready to running.
        recheck_policy: Recheck,
        /// The order in which the model gets results.
        result_order: ResultOrder,
        /// Per call, unless the tool has its own.
        tool_timeout_ms: u64,
        /// How often workers may start a call that was handed out before a person is asked. At least 1, 3 by default.
        max_task_attempts: u32,
        /// Results above it are cut.
        max_tool_output_bytes: u64,
        /// How much of a tool's own error message the model sees.
        error_detail: ErrorDetail,
    }

    /// How long a deferred call may take until its result is there. No limit by default.
    #[must_use]
    pub fn task_deadline_ms(mut self, deadline_ms: u64) -> Self {
        self.settings_mut().task_deadline_ms = Some(deadline_ms);
        self
    }

    /// Checks each request against the model's window before it is sent.
    #[must_use]
    pub fn context_window(mut self, tokens: u64, reserved_output_tokens: u64) -> Self {
        self.settings_mut().context_window = Some(ContextWindow { tokens, reserved_output_tokens });
        self
    }

    /// Whether the model is asked once for a final answer when it ends with nothing to say. On by default.
    #[must_use]
    pub fn fix_empty_final(mut self, on: bool) -> Self {
        self.settings_mut().final_answer.ask = FinalAnswer::default().ask.filter(|_| on);
        self
    }

    /// The message that asks for a final answer.
    #[must_use]
    pub fn fix_empty_final_text(mut self, text: &str) -> Self {
        self.settings_mut().final_answer.ask = Some(text.into());
        self
    }

    /// Whether the model has no tools when it is asked for a final answer. It has none by default.
    #[must_use]
    pub fn fix_empty_final_disable_tools(mut self, disable: bool) -> Self {
        self.settings_mut().final_answer.tools = if disable { FinalTools::Disabled } else { FinalTools::Enabled };
        self
    }

    /// The context attributes that may be stored. None by default.
    #[must_use]
    pub fn context_keys<'a>(mut self, keys: impl IntoIterator<Item = &'a str>) -> Self {
        self.settings_mut().context_keys = keys.into_iter().map(Arc::from).collect();
        self
    }

    /// All settings as one value.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.parts.settings = Arc::new(settings);
        self
    }
}
