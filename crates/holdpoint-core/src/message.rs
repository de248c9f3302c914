//! The conversation.

use std::fmt;
use std::sync::Arc;

use crate::named::named;
use crate::{Arguments, Block, CallId, JsonText, RequestedName, ToolResult};

/// One message of the conversation.
#[derive(Clone, Debug)]
pub enum Message {
    /// The system prompt: message 0 if there is one.
    System(Arc<str>),
    /// What a user said.
    User(Vec<Block>),
    /// What the model said.
    Assistant(AssistantMessage),
    /// What a call gave.
    Tool(ToolMessage),
}

named! {
    /// Who speaks.
    pub enum Role {
        /// The system prompt.
        System = "system",
        /// A user.
        User = "user",
        /// The model.
        Assistant = "assistant",
        /// A tool.
        Tool = "tool",
    }
}

/// What the model said in one turn.
#[derive(Clone, Debug, Default)]
pub struct AssistantMessage {
    /// Its text, perhaps empty.
    pub text: Arc<str>,
    /// Its reasoning, if the provider shows it.
    pub thinking: Option<Arc<str>>,
    /// The calls it asked for, without those that were dropped.
    pub calls: Vec<MessageCall>,
    /// What its provider wants back with the next request.
    pub provider_state: Option<ProviderState>,
}

/// What a provider wants back with later requests, and nobody else understands: signed or encrypted reasoning. It is
/// sent to the provider that it came from and to no other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderState {
    /// Whose it is, such as `openai-responses`.
    pub provider: Arc<str>,
    /// The version of its shape, counted by whoever reads and writes it.
    pub version: u32,
    /// The state itself, as canonical text.
    pub data: JsonText,
}

/// A call as the assistant's message holds it.
#[derive(Clone, Debug)]
pub struct MessageCall {
    /// The id that is shown.
    pub id: CallId,
    /// The provider's own id when it differs from the shown one: echoed back, used for nothing else.
    pub provider_id: Option<Arc<str>>,
    /// The name that the model wrote.
    pub name: RequestedName,
    /// Its arguments.
    pub arguments: CallArguments,
}

/// Arguments as far as they could be understood.
#[derive(Clone)]
pub enum CallArguments {
    /// Understood. The digest covers the registered name; for a tool that is not registered, the requested one.
    Canonical(Arguments),
    /// Not understood: the model's own text, kept so that the model sees what it wrote.
    Unusable(Arc<str>),
    /// Too large to keep.
    Dropped {
        /// How large it was.
        len_bytes: u64,
    },
}

impl CallArguments {
    /// The canonical arguments, if there are any.
    pub fn canonical(&self) -> Option<&Arguments> {
        match self {
            CallArguments::Canonical(arguments) => Some(arguments),
            CallArguments::Unusable(_) | CallArguments::Dropped { .. } => None,
        }
    }
}

impl fmt::Debug for CallArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallArguments::Canonical(arguments) => arguments.fmt(f),
            CallArguments::Unusable(text) => write!(f, "Unusable({} bytes)", text.len()),
            CallArguments::Dropped { len_bytes } => write!(f, "Dropped({len_bytes} bytes)"),
        }
    }
}

/// The result of a call as the model gets it.
#[derive(Clone, Debug)]
pub struct ToolMessage {
    /// The id that is shown.
    pub call: CallId,
    /// The provider's own id when it differs.
    pub provider_id: Option<Arc<str>>,
    /// What it gave.
    pub result: Arc<ToolResult>,
}

impl Message {
    /// A user's text.
    pub fn user(text: impl Into<Arc<str>>) -> Self {
        Self::User(vec![Block::text(text)])
    }

    /// An assistant's text.
    pub fn assistant(text: impl Into<Arc<str>>) -> Self {
        Self::Assistant(AssistantMessage { text: text.into(), ..AssistantMessage::default() })
    }

    /// Who speaks.
    pub fn role(&self) -> Role {
        match self {
            Message::System(_) => Role::System,
            Message::User(_) => Role::User,
            Message::Assistant(_) => Role::Assistant,
            Message::Tool(_) => Role::Tool,
        }
    }

    /// Its text.
    pub fn text(&self) -> String {
        match self {
            Message::System(text) => text.to_string(),
            Message::User(blocks) => crate::content::joined_text(blocks),
            Message::Assistant(message) => message.text.to_string(),
            Message::Tool(message) => message.result.text(),
        }
    }
}
