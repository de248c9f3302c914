//! What a run is started with.

use std::sync::Arc;

use holdpoint_codec::Context;
use holdpoint_core::{Actor, Block, Message, RunId};
use holdpoint_store::SessionUse;

/// The conversation to go on from, and who asks.
#[derive(Clone, Debug, Default)]
pub struct RunRequest {
    pub(crate) run_id: Option<RunId>,
    pub(crate) messages: Vec<Arc<Message>>,
    pub(crate) system_prompt: Option<Arc<str>>,
    pub(crate) context: Context,
    pub(crate) session: Option<Arc<str>>,
    pub(crate) session_use: SessionUse,
    pub(crate) trace: Option<Arc<str>>,
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

    /// Starts only while no other run of the session that was started so is open, on any server: else it is `run_busy` or
    /// `run_paused`.
    #[must_use]
    pub fn alone(mut self) -> Self {
        self.session_use = SessionUse::Alone;
        self
    }

    /// As [`RunRequest::alone`], and only while the session is as far as [`crate::Runner::session_so_far`] said: else it is
    /// `run_busy`, and nobody's turn is lost.
    #[must_use]
    pub fn alone_after(mut self, last: Option<RunId>) -> Self {
        self.session_use = SessionUse::AloneAfter(last);
        self
    }

    /// The trace of whoever asks, as W3C `traceparent`: kept in the run for the spans of all its segments, and never shown to
    /// the model. Anything else is left out.
    #[must_use]
    pub fn with_trace(mut self, traceparent: &str) -> Self {
        self.trace = is_traceparent(traceparent).then(|| traceparent.into());
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

/// Version, trace, span and flags in lower-case hexadecimal digits; neither trace nor span is all zeros.
fn is_traceparent(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [version, trace, span, flags] = parts[..] else { return false };
    let hex = |part: &str, len: usize| {
        part.len() == len && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let named = |part: &str| part.bytes().any(|byte| byte != b'0');
    hex(version, 2)
        && version != "ff"
        && hex(trace, 32)
        && named(trace)
        && hex(span, 16)
        && named(span)
        && hex(flags, 2)
}
