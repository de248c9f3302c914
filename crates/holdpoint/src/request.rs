//! What a run is started with.

use std::sync::Arc;

use holdpoint_codec::Context;
use holdpoint_core::{Actor, Block, Message, RunId};

/// The conversation to go on from, and who asks.
#[derive(Clone, Debug, Default)]
pub struct RunRequest {
    pub(crate) run_id: Option<RunId>,
    pub(crate) messages: Vec<Arc<Message>>,
    pub(crate) system_prompt: Option<Arc<str>>,
    pub(crate) context: Context,
    pub(crate) session: Option<Arc<str>>,
}

impl RunRequest {
    /// A user's text.
    pub fn new(input: impl Into<Arc<str>>) -> Self {
        Self { messages: vec![Arc::new(Message::user(input))], ..Self::default() }
    }

    /// A user's blocks: text, images, files.
    pub fn from_blocks(blocks: Vec<Block>) -> Self {
        Self { messages: vec![Arc::new(Message::User(blocks))], ..Self::default() }
    }

    /// A whole conversation.
    pub fn from_messages(messages: impl IntoIterator<Item = Arc<Message>>) -> Self {
        Self { messages: messages.into_iter().collect(), ..Self::default() }
    }

    /// The conversation before the input.
    #[must_use]
    pub fn after(mut self, history: impl IntoIterator<Item = Arc<Message>>) -> Self {
        let input = std::mem::take(&mut self.messages);
        self.messages = history.into_iter().chain(input).collect();
        self
    }

    /// Becomes message 0: a different system message there is replaced, an equal one kept.
    #[must_use]
    pub fn system_prompt(mut self, prompt: impl Into<Arc<str>>) -> Self {
        self.system_prompt = Some(prompt.into());
        self
    }

    /// Attributes and actor, for filter, authorize, tools and hooks. Only the attributes in `context_keys` are stored.
    #[must_use]
    pub fn with_context(mut self, context: Context) -> Self {
        // Whoever was named before stays, unless the context names somebody.
        let actor = self.context.actor().clone();
        self.context = if *context.actor() == Actor::default() { context.by(actor) } else { context };
        self
    }

    /// Who asks.
    #[must_use]
    pub fn by(mut self, actor: Actor) -> Self {
        self.context = self.context.by(actor);
        self
    }

    /// The session that the run belongs to: grants may reach over all its runs.
    #[must_use]
    pub fn in_session(mut self, session: impl Into<Arc<str>>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// An id of your own; it must be new and hard to guess. By default one is made.
    #[must_use]
    pub fn with_run_id(mut self, id: RunId) -> Self {
        self.run_id = Some(id);
        self
    }
}

impl From<&str> for RunRequest {
    fn from(input: &str) -> Self {
        Self::new(input)
    }
}

impl From<String> for RunRequest {
    fn from(input: String) -> Self {
        Self::new(input)
    }
}
