//! Calls the model for the next message.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use holdpoint_core::{ContextWindow, FinalTools, Input, Measured, ModelFailed, ModelStop, Replied, Reply};
use holdpoint_model::{ModelError, ModelReply, ModelRequest, ToolChoice, message_tokens, tool_tokens};
use holdpoint_tools::ToolDefinition;
use tracing::Instrument;

use super::{Cancelled, Driver, Interrupted};
use crate::events::listen::Deltas;
use crate::events::spans;
use crate::parts::Parts;

/// How long a reply is waited for when this process stops. Then another one asks the model again.
const MODEL_GRACE: Duration = Duration::from_secs(5);

/// Counts the conversation as it grows, so that each message is counted once.
#[derive(Debug, Default)]
pub(super) struct Measure {
    messages: usize,
    tokens: u64,
}

impl Driver {
    pub(super) async fn call_model(&mut self, tools: FinalTools) -> Result<Cancelled, Interrupted> {
        let visible = self.visible_tools(tools).await;
        if self.exceeds_window(&visible)? {
            return Ok(Cancelled::No);
        }
        self.listeners.model_called();
        let run = self.conductor.run();
        let deltas = Deltas { live: self.listeners.live(), calls_shown_max: run.calls_kept_max() };
        let request = ModelRequest {
            messages: run.messages(),
            tools: &visible,
            parallel_tool_calls: run.settings().parallel_tool_calls,
            tool_choice: if run.calls_seen() { self.after_first_call() } else { &self.parts.tool_choice },
            options: &self.parts.model_options,
        };
        let started = Instant::now();
        let span = spans::llm_call(run);
        // Whatever a panic leaves half-changed belongs to the model; nothing of ours is shared with it.
        let asked = AssertUnwindSafe(async { self.parts.model.reply(&request, &deltas).await }).catch_unwind();
        let reply = tokio::select! {
            biased;
            () = self.live.token().cancelled() => return Ok(Cancelled::Yes),
            reply = asked.instrument(span.clone()) => reply.unwrap_or_else(|_| Err(ModelError::new("the model panicked"))),
            () = self.lost() => return Ok(Cancelled::Yes),
            // The main loop lets go of the run.
            () = out_of_time(&self.parts) => return Ok(Cancelled::No),
        };
        let took = started.elapsed();
        self.meter.spent.durations.model += took;
        let latency_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let input = match reply {
            Ok(reply) => {
                reply.iter().for_each(|reply| spans::record_reply(&span, reply));
                let reply = reply.map(|reply| self.understood(reply, &visible));
                Input::Replied(Box::new(Replied { reply, latency_us }))
            }
            Err(error) => Input::ModelFailed(ModelFailed { detail: error.message }),
        };
        self.feed(input)?;
        Ok(Cancelled::No)
    }

    /// The tools that the model gets to see; a tool that it does not see counts as unregistered.
    async fn visible_tools(&mut self, tools: FinalTools) -> Arc<Vec<Arc<ToolDefinition>>> {
        match tools {
            FinalTools::Disabled => Arc::new(Vec::new()),
            FinalTools::Enabled => {
                let all = self.parts.registry.offered();
                Arc::new(self.parts.policy.filter(all, self.context()).await)
            }
        }
    }

    /// What must be called was called; what must not be called still must not.
    fn after_first_call(&self) -> &ToolChoice {
        match &self.parts.tool_choice {
            choice @ (ToolChoice::Auto | ToolChoice::None) => choice,
            ToolChoice::Required | ToolChoice::Named(_) => &ToolChoice::Auto,
        }
    }

    fn exceeds_window(&mut self, tools: &[Arc<ToolDefinition>]) -> Result<bool, Interrupted> {
        let run = self.conductor.run();
        if run.settings().context_window.is_none() {
            return Ok(false);
        }
        let count = &*self.parts.token_counter;
        let new = &run.messages()[self.measured.messages..];
        self.measured.tokens += new.iter().map(|message| message_tokens(message, count)).sum::<u64>();
        self.measured.messages = run.messages().len();
        let tools: u64 = tools.iter().map(|tool| tool_tokens(tool, count)).sum();
        let tokens = self.measured.tokens + tools;
        // A run that was too long for one model may be taken up by an agent that has room for it.
        if self.parts.settings.context_window.is_some_and(|window| tokens <= room(window)) {
            return Ok(false);
        }
        Ok(self.feed(Input::Measured(Measured { tokens }))?)
    }

    fn understood(&self, reply: ModelReply, visible: &[Arc<ToolDefinition>]) -> Reply {
        let default_stop = if reply.calls.is_empty() { ModelStop::EndTurn } else { ModelStop::ToolUse };
        let registry = &self.parts.registry;
        let calls = reply.calls.into_iter().map(|call| super::understand::understand(call, registry, visible));
        Reply {
            text: reply.text,
            thinking: reply.thinking,
            calls: calls.collect(),
            usage: reply.usage,
            stop: reply.stop.unwrap_or(default_stop),
            provider_state: reply.provider_state,
        }
    }
}

/// Ends when this process stops and the model had time to end its reply.
async fn out_of_time(parts: &Parts) {
    parts.stopping.on().await;
    tokio::time::sleep(MODEL_GRACE).await;
}

fn room(window: ContextWindow) -> u64 {
    window.tokens.saturating_sub(window.reserved_output_tokens)
}
