//! The contract of a model.

use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_core::{Message, ModelStop, ParallelToolCalls, Usage};
use holdpoint_tools::ToolDefinition;
use thiserror::Error;

/// Something that continues a conversation.
#[async_trait]
pub trait Model: Send + Sync {
    /// The model's name, if it has one.
    fn name(&self) -> Option<&str> {
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

/// What a model is asked.
#[derive(Clone, Copy, Debug)]
pub struct ModelRequest<'a> {
    /// The conversation.
    pub messages: &'a [Arc<Message>],
    /// The tools it may ask for.
    pub tools: &'a [Arc<ToolDefinition>],
    /// Whether it may ask for several calls at once.
    pub parallel_tool_calls: ParallelToolCalls,
}

/// One reply, as it came.
#[derive(Clone, Debug, Default)]
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
}

/// A call that a model asks for.
#[derive(Clone)]
pub struct ModelCall {
    /// The provider's id.
    pub id: Option<Arc<str>>,
    /// The name that the model wrote.
    pub name: Arc<str>,
    /// The exact text of its arguments.
    pub arguments: Option<Arc<str>>,
}

impl std::fmt::Debug for ModelCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let len = self.arguments.as_ref().map_or(0, |text| text.len());
        write!(f, "ModelCall({}, {len} bytes)", self.name)
    }
}

/// Why a model gave no reply. The text is safe to show: nothing of the prompt is in it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ModelError {
    /// What happened.
    pub message: Arc<str>,
}

impl ModelError {
    /// An error with a text that is safe to show.
    pub fn new(message: impl Into<Arc<str>>) -> Self {
        Self { message: message.into() }
    }
}

/// A piece of a reply, as it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delta<'a> {
    /// More text.
    Text(&'a str),
    /// More reasoning.
    Thinking(&'a str),
    /// A call begins.
    CallStarted {
        /// Its place in the reply.
        position: usize,
        /// The name that the model wrote.
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
