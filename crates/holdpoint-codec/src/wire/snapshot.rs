//! A paused run as a value.

use std::sync::Arc;

use holdpoint_core::{
    Actor, Arguments, Attributes, Call, CallIndex, Edited, Message, MessageCall, PauseNumber, PauseReason, Snapshot,
    Timestamp, Turn, Usage,
};
use serde::{Deserialize, Serialize};

use crate::SettingsSpec;

use super::{
    ActorWire, CallStateWire, DigestText, Fault, Json, Members, MessageWire, Name, RecordWire, ResultWire, Text,
    UsageWire, Wire, all_core, all_of, is_default,
};

/// The part of a paused run that has no place of its own in a payload.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
pub(crate) struct StateWire {
    #[serde(default, skip_serializing_if = "is_default")]
    actor: ActorWire,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<Text>,
    pub(crate) calls: Vec<CallStateWire>,
    #[serde(default, skip_serializing_if = "is_default")]
    calls_seen: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    completion: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    edited: Vec<EditedWire>,
    #[serde(default, skip_serializing_if = "is_default")]
    final_asked: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    grants: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    history_len: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ignored: Vec<RecordWire>,
    #[serde(default, skip_serializing_if = "is_default")]
    model_calls: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    past: Vec<RecordWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<Text>,
    #[serde(default, skip_serializing_if = "is_default")]
    settings: SettingsSpec,
    #[serde(default, skip_serializing_if = "is_default")]
    tool_executions: u32,
}

/// What a person made of the arguments of an earlier call.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
struct EditedWire {
    arguments: Json,
    digest: DigestText,
    index: u32,
    turn: u32,
}

impl Wire for EditedWire {
    type Core = Edited;

    fn of(edited: &Edited) -> Self {
        Self {
            arguments: Json::new(edited.arguments.share()),
            digest: DigestText(edited.arguments.digest()),
            index: edited.index.0,
            turn: edited.turn.0,
        }
    }

    fn core(self) -> Result<Edited, Fault> {
        let arguments = Arguments::from_canonical(self.arguments.as_str(), self.digest.0);
        Ok(Edited { turn: Turn(self.turn), index: CallIndex(self.index), arguments })
    }
}

/// The part of a paused run that a payload shows under its own names.
pub(crate) struct Shown {
    pub(crate) context: Attributes,
    pub(crate) created_at: Timestamp,
    pub(crate) messages: Vec<Message>,
    pub(crate) model: Option<Arc<str>>,
    pub(crate) parent: Option<PauseNumber>,
    pub(crate) pause: PauseNumber,
    pub(crate) reason: PauseReason,
    pub(crate) turn: Turn,
    pub(crate) usage: Vec<Usage>,
}

impl StateWire {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let said = said_calls(snapshot.messages.last().map(|message| &**message));
        let calls = snapshot.calls.iter().enumerate();
        Self {
            actor: ActorWire::of(&snapshot.actor),
            agent: snapshot.agent.as_ref().map(Text::share),
            calls: calls.map(|(index, call)| CallStateWire::of(call, said.get(index))).collect(),
            calls_seen: snapshot.calls_seen,
            completion: snapshot.completion.iter().map(|index| index.0).collect(),
            edited: all_of(&snapshot.edited),
            final_asked: snapshot.final_asked,
            grants: snapshot.grants,
            history_len: snapshot.history_len,
            ignored: all_of(&snapshot.ignored),
            model_calls: snapshot.model_calls,
            past: all_of(&snapshot.past),
            session: snapshot.session.as_ref().map(Text::share),
            settings: SettingsSpec::of(&snapshot.settings),
            tool_executions: snapshot.tool_executions,
        }
    }

    /// Back, together with what was shown.
    pub(crate) fn core(self, shown: Shown) -> Result<Snapshot, Fault> {
        let said = said_calls(shown.messages.last());
        let calls = self.calls.into_iter().enumerate().map(|(index, call)| {
            let call = call.core(said.get(index));
            call.map_err(|fault| fault.item("calls", index))
        });
        let calls: Vec<Call> = calls.collect::<Result<_, Fault>>()?;
        let actor: Actor = self.actor.core().map_err(|fault| fault.within("actor"))?;
        Ok(Snapshot {
            settings: Arc::new(self.settings.settings()),
            context: shown.context,
            agent: self.agent.map(|text| text.0),
            model: shown.model,
            actor,
            session: self.session.map(|text| text.0),
            created_at: shown.created_at,
            messages: shown.messages.into_iter().map(Arc::new).collect(),
            history_len: self.history_len,
            turn: shown.turn,
            calls,
            ignored: all_core(self.ignored, "ignored")?,
            completion: self.completion.into_iter().map(CallIndex).collect(),
            past: all_core(self.past, "past")?,
            edited: all_core(self.edited, "edited")?,
            grants: self.grants,
            usage: shown.usage,
            model_calls: self.model_calls,
            tool_executions: self.tool_executions,
            pause: shown.pause,
            parent: shown.parent,
            reason: shown.reason,
            final_asked: self.final_asked,
            calls_seen: self.calls_seen,
        })
    }

    /// Puts a result back that stood elsewhere.
    pub(crate) fn put_back_result(&mut self, index: usize, result: &ResultWire) {
        if let Some(call) = self.calls.get_mut(index) {
            call.put_back_result(result);
        }
    }
}

/// The calls of the last message: at a pause, those of the current turn.
fn said_calls(last: Option<&Message>) -> &[MessageCall] {
    match last {
        Some(Message::Assistant(message)) => &message.calls,
        Some(Message::System(_) | Message::User(_) | Message::Tool(_)) | None => &[],
    }
}

/// A paused run as the event log holds it.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
pub(crate) struct SnapshotWire {
    #[serde(default, skip_serializing_if = "Members::is_empty")]
    context: Members,
    created_at_us: i64,
    messages: Vec<MessageWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<u32>,
    pause: u32,
    reason: Name<PauseReason>,
    state: StateWire,
    turn: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    usage: Vec<UsageWire>,
}

impl Wire for SnapshotWire {
    type Core = Snapshot;

    fn of(snapshot: &Snapshot) -> Self {
        Self {
            context: Members(snapshot.context.clone()),
            created_at_us: snapshot.created_at.0,
            messages: snapshot.messages.iter().map(|message| MessageWire::of(message)).collect(),
            model: snapshot.model.as_ref().map(Text::share),
            parent: snapshot.parent.map(|pause| pause.0),
            pause: snapshot.pause.0,
            reason: Name(snapshot.reason),
            state: StateWire::of(snapshot),
            turn: snapshot.turn.0,
            usage: all_of(&snapshot.usage),
        }
    }

    fn core(self) -> Result<Snapshot, Fault> {
        let shown = Shown {
            context: self.context.0,
            created_at: Timestamp(self.created_at_us),
            messages: all_core(self.messages, "messages")?,
            model: self.model.map(|text| text.0),
            parent: self.parent.map(PauseNumber),
            pause: PauseNumber(self.pause),
            reason: self.reason.0,
            turn: Turn(self.turn),
            usage: all_core(self.usage, "usage")?,
        };
        self.state.core(shown).map_err(|fault| fault.within("state"))
    }
}
