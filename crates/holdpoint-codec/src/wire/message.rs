//! Messages and the calls in them.

use std::sync::Arc;

use holdpoint_core::{
    Arguments, AssistantMessage, CallArguments, CallId, Message, MessageCall, ProviderState, RequestedName, ResultKind,
    Role, ToolMessage, ToolResult,
};
use serde::{Deserialize, Serialize};

use super::result::{content_core, content_of};
use super::{
    BlockWire, DigestText, Fault, Json, Members, Name, RoleName, Text, Wire, all_core, all_of, is_default, kind_core,
};
use crate::arguments::digest_of;

/// One message of the conversation.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = MessageView))]
pub struct MessageWire {
    /// Of a tool's message: the call that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<Text>,
    /// Of an assistant's message: the calls that it asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<MessageCallWire>,
    /// The content, unless it is one text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<BlockWire>>,
    /// Of a tool's message: whether the result is an error.
    #[serde(default, skip_serializing_if = "is_default")]
    pub error: bool,
    /// Of a tool's message: whether the tool halted the run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub halt: bool,
    /// Of a tool's message: what the tool said beside the content.
    #[serde(default, skip_serializing_if = "Members::is_empty")]
    pub metadata: Members,
    /// The provider's own id of the call, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<Text>,
    /// State that the provider wants back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_state: Option<ProviderStateWire>,
    /// The sender.
    pub role: RoleName,
    /// The content, if it is one text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Text>,
    /// The model's reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Text>,
}

impl MessageWire {
    fn from_role(role: Role) -> Self {
        Self {
            call_id: None,
            calls: Vec::new(),
            content: None,
            error: false,
            halt: false,
            metadata: Members::default(),
            provider_id: None,
            provider_state: None,
            role: Name(role),
            text: None,
            thinking: None,
        }
    }
}

impl Wire for MessageWire {
    type Core = Message;

    fn of(message: &Message) -> Self {
        let empty = Self::from_role(message.role());
        match message {
            Message::System(text) => Self { text: Some(Text::share(text)), ..empty },
            Message::User(blocks) => {
                let (text, content) = content_of(blocks);
                Self { text, content, ..empty }
            }
            Message::Assistant(message) => Self {
                calls: all_of(&message.calls),
                provider_state: message.provider_state.as_ref().map(ProviderStateWire::of),
                text: Some(Text::share(&message.text)),
                thinking: message.thinking.as_ref().map(Text::share),
                ..empty
            },
            Message::Tool(message) => {
                let (text, content) = content_of(&message.result.blocks);
                Self {
                    call_id: Some(Text::new(message.call.as_str())),
                    content,
                    error: message.result.kind == ResultKind::Error,
                    halt: message.result.kind == ResultKind::Halt,
                    metadata: Members(message.result.metadata.clone()),
                    provider_id: message.provider_id.as_ref().map(Text::share),
                    text,
                    ..empty
                }
            }
        }
    }

    fn core(self) -> Result<Message, Fault> {
        match self.role.0 {
            Role::System => Ok(Message::System(self.text.ok_or_else(|| Fault::at("text"))?.0)),
            Role::User => Ok(Message::User(content_core(self.text, self.content)?)),
            Role::Assistant => Ok(Message::Assistant(AssistantMessage {
                text: self.text.ok_or_else(|| Fault::at("text"))?.0,
                thinking: self.thinking.map(|text| text.0),
                calls: all_core(self.calls, "calls")?,
                provider_state: self.provider_state.map(Wire::core).transpose()?,
            })),
            Role::Tool => {
                let call = CallId::new(self.call_id.ok_or_else(|| Fault::at("call_id"))?.0);
                let kind = kind_core(self.error, self.halt)?;
                let blocks = content_core(self.text, self.content)?;
                let result = ToolResult { blocks, kind, metadata: self.metadata.0 };
                let provider_id = self.provider_id.map(|text| text.0);
                Ok(Message::Tool(ToolMessage { call, provider_id, result: Arc::new(result) }))
            }
        }
    }
}

/// State that a provider wants back with the conversation.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ProviderStateView))]
pub struct ProviderStateWire {
    /// The provider's own.
    pub data: Json,
    /// The provider.
    pub provider: Text,
    /// The version of `data`.
    pub version: u32,
}

impl Wire for ProviderStateWire {
    type Core = ProviderState;

    fn of(state: &ProviderState) -> Self {
        Self { data: Json(state.data.clone()), provider: Text::share(&state.provider), version: state.version }
    }

    fn core(self) -> Result<ProviderState, Fault> {
        Ok(ProviderState { provider: self.provider.0, version: self.version, data: self.data.0 })
    }
}

/// A call as a message holds it.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = MessageCallView))]
pub struct MessageCallWire {
    /// The canonical arguments, if they could be understood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Json>,
    /// Covers the tool's name and the arguments; absent when it follows from them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<DigestText>,
    /// The size of arguments that were too large to keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_bytes: Option<u64>,
    /// The id of the call.
    pub id: Text,
    /// The name that the model asked for.
    pub name: Text,
    /// The provider's own id of the call, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<Text>,
    /// The registered name that the digest covers, if it is not the requested one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Text>,
    /// Arguments that could not be understood, as the model wrote them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unusable: Option<Text>,
}

impl Wire for MessageCallWire {
    type Core = MessageCall;

    fn of(call: &MessageCall) -> Self {
        let mut wire = Self {
            arguments: None,
            digest: None,
            dropped_bytes: None,
            id: Text::new(call.id.as_str()),
            name: Text::new(call.name.as_str()),
            provider_id: call.provider_id.as_ref().map(Text::share),
            tool: None,
            unusable: None,
        };
        match &call.arguments {
            CallArguments::Canonical(arguments) => {
                wire.arguments = Some(Json::new(arguments.share()));
                let covers = |name: &str| digest_of(name, arguments.expose()) == arguments.digest();
                if !covers(call.name.as_str()) {
                    // A registry takes `.` for `_`, so this is the only other name that a digest can cover.
                    let registered = call.name.as_str().replace('.', "_");
                    let is_covered = covers(&registered);
                    wire.digest = (!is_covered).then(|| DigestText(arguments.digest()));
                    wire.tool = is_covered.then(|| Text::new(&registered));
                }
            }
            CallArguments::Unusable(text) => wire.unusable = Some(Text::share(text)),
            CallArguments::Dropped { len_bytes } => wire.dropped_bytes = Some(*len_bytes),
        }
        wire
    }

    fn core(self) -> Result<MessageCall, Fault> {
        let covered = self.tool.as_ref().unwrap_or(&self.name);
        let arguments = match (self.arguments, self.unusable, self.dropped_bytes) {
            (Some(Json(text)), None, None) if text.expose().starts_with('{') => {
                let made = || digest_of(covered.as_str(), text.expose());
                let digest = self.digest.map_or_else(made, |digest| digest.0);
                CallArguments::Canonical(Arguments::from_canonical(text.expose(), digest))
            }
            (None, Some(text), None) => CallArguments::Unusable(text.0),
            (None, None, Some(len_bytes)) => CallArguments::Dropped { len_bytes },
            _ => return Err(Fault::at("arguments")),
        };
        Ok(MessageCall {
            arguments,
            id: CallId::new(self.id.0),
            provider_id: self.provider_id.map(|text| text.0),
            name: RequestedName::new(self.name.0),
        })
    }
}
