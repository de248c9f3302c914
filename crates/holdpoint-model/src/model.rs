//! The contract of a model.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_codec::ToolDefinition;
use holdpoint_core::{Message, ModelStop, ParallelToolCalls, ProviderState, Usage};

use crate::error::{ModelChoiceError, ModelError};
use crate::options::{ModelOptions, NO_OPTIONS, ToolChoice};

/// Something that continues a conversation.
#[async_trait]
pub trait Model: Send + Sync {
    /// The model's name, if it has one.
    fn name(&self) -> Option<&str> {
        None
    }

    /// How many tokens it takes, prompt and answer together, if that is known.
    fn window_tokens(&self) -> Option<u64> {
        None
    }

    /// The next message. `None` when the model said nothing at all. Pieces go to `deltas` as they come; what counts is
    /// the reply. Its own retries are inside.
    ///
    /// # Errors
    /// When the provider failed for good.
    async fn reply(&self, request: &ModelRequest<'_>, deltas: &dyn DeltaSink)
    -> Result<Option<ModelReply>, ModelError>;
}

/// What an agent's model can be given as: a model, or `provider:model`.
#[diagnostic::on_unimplemented(note = "naming a model as `provider:model` needs the feature `providers`")]
pub trait IntoModel {
    /// The model.
    ///
    /// # Errors
    /// When it was named and cannot be had.
    fn into_model(self) -> Result<Arc<dyn Model>, ModelChoiceError>;
}

impl<M: Model + 'static> IntoModel for M {
    fn into_model(self) -> Result<Arc<dyn Model>, ModelChoiceError> {
        Ok(Arc::new(self))
    }
}

impl IntoModel for Arc<dyn Model> {
    fn into_model(self) -> Result<Arc<dyn Model>, ModelChoiceError> {
        Ok(self)
    }
}

/// What a model is asked.
#[derive(Clone, Copy)]
pub struct ModelRequest<'a> {
    /// The conversation. Messages are shared and never change, so that a provider may remember what it made of each.
    pub messages: &'a [Arc<Message>],
    /// The tools it may ask for.
    pub tools: &'a [Arc<ToolDefinition>],
    /// Whether it may ask for several calls at once.
    pub parallel_tool_calls: ParallelToolCalls,
    /// Whether it may, must or must not ask for a call.
    pub tool_choice: &'a ToolChoice,
    /// What else the provider is told.
    pub options: &'a ModelOptions,
}

impl<'a> ModelRequest<'a> {
    /// A request with nothing but a conversation and tools.
    pub fn new(messages: &'a [Arc<Message>], tools: &'a [Arc<ToolDefinition>]) -> Self {
        Self {
            messages,
            tools,
            parallel_tool_calls: ParallelToolCalls::Allowed,
            tool_choice: &ToolChoice::Auto,
            options: &NO_OPTIONS,
        }
    }
}

/// Counts only: prompts are nobody's business but the model's.
impl fmt::Debug for ModelRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelRequest")
            .field("messages", &self.messages.len())
            .field("tools", &self.tools.len())
            .field("parallel_tool_calls", &self.parallel_tool_calls)
            .field("tool_choice", &self.tool_choice)
            .finish_non_exhaustive()
    }
}

/// One reply, as it came.
#[derive(Clone, Default)]
pub struct ModelReply {
    /// Its text.
    pub text: Arc<str>,
    /// Its reasoning.
    pub thinking: Option<Arc<str>>,
    /// The calls that it asks for, in order.
    pub calls: Vec<ModelCall>,
    /// What it cost.
    pub usage: Usage,
    /// Why it stopped; by default `tool_use` with calls and `end_turn` without.
    pub stop: Option<ModelStop>,
    /// What the provider wants back with the next request.
    pub provider_state: Option<ProviderState>,
}

impl fmt::Debug for ModelReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelReply")
            .field("text_bytes", &self.text.len())
            .field("thinking_bytes", &self.thinking.as_ref().map(|text| text.len()))
            .field("calls", &self.calls)
            .field("usage", &self.usage)
            .field("stop", &self.stop)
            .field("provider_state", &self.provider_state)
            .finish()
    }
}

/// A call that a model asks for.
#[derive(Clone)]
pub struct ModelCall {
    /// The provider's id.
    pub id: Option<Arc<str>>,
    /// The name that the model wrote, mapped back to the registered one where it stands for one.
    pub name: Arc<str>,
    /// The exact text of its arguments.
    pub arguments: Option<Arc<str>>,
}

impl fmt::Debug for ModelCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let len = self.arguments.as_ref().map_or(0, |text| text.len());
        write!(f, "ModelCall({}, {len} bytes)", self.name)
    }
}

/// A piece of a reply, as it comes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Delta<'a> {
    /// More text.
    Text(&'a str),
    /// More reasoning.
    Thinking(&'a str),
    /// A call begins.
    CallStarted {
        /// Its place in the reply.
        position: usize,
        /// The name that the model wrote, mapped back like that of a [`ModelCall`].
        name: &'a str,
    },
    /// More of a call's arguments.
    CallArguments {
        /// Its place in the reply.
        position: usize,
        /// The piece.
        text: &'a str,
    },
    /// A call is complete.
    CallEnded {
        /// Its place in the reply.
        position: usize,
    },
}

impl fmt::Debug for Delta<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delta::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Delta::Thinking(text) => write!(f, "Thinking({} bytes)", text.len()),
            Delta::CallStarted { position, name } => write!(f, "CallStarted({position}, {name})"),
            Delta::CallArguments { position, text } => write!(f, "CallArguments({position}, {} bytes)", text.len()),
            Delta::CallEnded { position } => write!(f, "CallEnded({position})"),
        }
    }
}

/// Takes the pieces of a reply.
pub trait DeltaSink: Send + Sync {
    /// Whether anybody listens.
    fn listens(&self) -> bool;

    /// Takes one piece.
    fn take(&self, delta: Delta<'_>);
}

/// Nobody listens.
#[derive(Clone, Copy, Debug)]
pub struct NoDeltas;

impl DeltaSink for NoDeltas {
    fn listens(&self) -> bool {
        false
    }

    fn take(&self, _: Delta<'_>) {}
}
