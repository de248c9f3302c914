//! Messages and the calls in them.

use std::sync::Arc;

use holdpoint_core::{
    Arguments, AssistantMessage, CallArguments, CallId, Message, MessageCall, ProviderState, RequestedName, Role,
    ToolMessage,
};
use serde::{Deserialize, Serialize};

use super::result::{content_core, content_of};
use super::{
    BlockWire, DigestText, Fault, Json, Members, Name, ResultWire, RoleName, Text, Wire, all_core, all_of, is_default,
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
                let ResultWire { content, error, halt, metadata, text } = ResultWire::of(&message.result);
                let call_id = Some(Text::new(message.call.as_str()));
                let provider_id = message.provider_id.as_ref().map(Text::share);
                Self { call_id, content, error, halt, metadata, provider_id, text, ..empty }
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
                let Self { content, error, halt, metadata, text, .. } = self;
                let result = ResultWire { content, error, halt, metadata, text }.core()?;
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
        let name = call.name.as_str();
        let mut parts = ArgumentParts::of(&call.arguments, name);
        let mut tool = None;
        if let (Some(_), CallArguments::Canonical(arguments)) = (parts.digest, &call.arguments) {
            // A registry takes `.` for `_`, so this is the only other name that a digest can cover.
            let registered = name.replace('.', "_");
            if digest_of(&registered, arguments.expose()) == arguments.digest() {
                parts.digest = None;
                tool = Some(Text::new(&registered));
            }
        }
        let ArgumentParts { arguments, digest, dropped_bytes, unusable } = parts;
        let id = Text::new(call.id.as_str());
        let provider_id = call.provider_id.as_ref().map(Text::share);
        Self { arguments, digest, dropped_bytes, id, name: Text::new(name), provider_id, tool, unusable }
    }

    fn core(self) -> Result<MessageCall, Fault> {
        let Self { arguments, digest, dropped_bytes, unusable, .. } = self;
        let parts = ArgumentParts { arguments, digest, dropped_bytes, unusable };
        let covered = self.tool.as_ref().unwrap_or(&self.name);
        Ok(MessageCall {
            arguments: parts.core(covered.as_str())?.ok_or_else(|| Fault::at("arguments"))?,
            id: CallId::new(self.id.0),
            provider_id: self.provider_id.map(|text| text.0),
            name: RequestedName::new(self.name.0),
        })
    }
}

/// Arguments in one of their three forms. The digest is written only where it cannot be made again.
#[derive(Default)]
pub(super) struct ArgumentParts {
    pub(super) arguments: Option<Json>,
    pub(super) digest: Option<DigestText>,
    pub(super) dropped_bytes: Option<u64>,
    pub(super) unusable: Option<Text>,
}

impl ArgumentParts {
    pub(super) fn of(arguments: &CallArguments, covered: &str) -> Self {
        match arguments {
            CallArguments::Canonical(arguments) => {
                let same = digest_of(covered, arguments.expose()) == arguments.digest();
                let digest = (!same).then(|| DigestText(arguments.digest()));
                Self { arguments: Some(Json::new(arguments.share())), digest, ..Self::default() }
            }
            CallArguments::Unusable(text) => Self { unusable: Some(Text::share(text)), ..Self::default() },
            CallArguments::Dropped { len_bytes } => Self { dropped_bytes: Some(*len_bytes), ..Self::default() },
        }
    }

    /// `None` when there is no form at all.
    pub(super) fn core(self, covered: &str) -> Result<Option<CallArguments>, Fault> {
        match (self.arguments, self.unusable, self.dropped_bytes) {
            (Some(Json(text)), None, None) => {
                if !text.expose().starts_with('{') {
                    return Err(Fault::at("arguments"));
                }
                let digest = self.digest.map_or_else(|| digest_of(covered, text.expose()), |digest| digest.0);
                Ok(Some(CallArguments::Canonical(Arguments::from_canonical(text.expose(), digest))))
            }
            (None, Some(text), None) => Ok(Some(CallArguments::Unusable(text.0))),
            (None, None, Some(len_bytes)) => Ok(Some(CallArguments::Dropped { len_bytes })),
            (None, None, None) => Ok(None),
            _ => Err(Fault::at("arguments")),
        }
    }
}
