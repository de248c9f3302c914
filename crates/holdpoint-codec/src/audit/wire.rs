//! The fields of an audit document. What is absent does not belong to the entry.

use holdpoint_core::{
    Attempt, CallId, CallIndex, Code, DoubtCause, GrantId, IdempotencyKey, Outcome, Source, Stage, ToolName, Turn,
};
use serde::{Deserialize, Serialize};

use super::{Audit, AuditedCall, Entry, Said, Shadowed, VERSION};
use crate::read::Versioned;
use crate::wire::{ActorWire, DigestText, Fault, Moment, Name, Text, Wire, all_core, all_of};

/// An audit document.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AuditWire {
    v: u32,
    at: Moment,
    entries: Vec<EntryWire>,
}

/// One entry.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EntryWire {
    event: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    index: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call_id: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stage: Option<Name<Stage>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decision: Option<Name<Said>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    policy: Option<Name<Said>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rule: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    policy_version: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shadow: Option<ShadowWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grant_id: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    actor: Option<ActorWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    worker: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<Moment>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<DigestText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    edited_digest: Option<DigestText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arguments_digest: Option<DigestText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outcome: Option<Name<Outcome>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<Name<Code>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<Name<Source>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<Name<DoubtCause>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stop: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<Text>,
}

/// What a policy would have decided that is not enforced.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShadowWire {
    decision: Name<Said>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    policy_version: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rule: Option<Text>,
}

impl Wire for ShadowWire {
    type Core = Shadowed;

    fn of(shadow: &Shadowed) -> Self {
        Self {
            decision: Name(shadow.said),
            policy_version: shadow.policy_version.as_ref().map(Text::share),
            rule: shadow.rule.as_ref().map(Text::share),
        }
    }

    fn core(self) -> Result<Shadowed, Fault> {
        let text = |text: Option<Text>| text.map(|text| text.0);
        Ok(Shadowed { said: self.decision.0, rule: text(self.rule), policy_version: text(self.policy_version) })
    }
}

impl Versioned for AuditWire {
    fn version(&self) -> u32 {
        self.v
    }
}

impl AuditWire {
    pub(super) fn of(audit: &Audit) -> Self {
        Self { v: VERSION, at: Moment(audit.at), entries: all_of(&audit.entries) }
    }

    pub(super) fn core(self) -> Result<Audit, Fault> {
        if self.entries.is_empty() {
            return Err(Fault::at("entries"));
        }
        Ok(Audit { at: self.at.0, entries: all_core(self.entries, "entries")? })
    }
}

impl Wire for EntryWire {
    type Core = Entry;

    fn of(entry: &Entry) -> Self {
        let call = entry.call.as_ref();
        Self {
            event: Text::share(&entry.event),
            turn: call.map(|call| call.turn.0),
            index: call.map(|call| call.index.0),
            call_id: call.and_then(|call| Some(Text::new(call.id.as_ref()?.as_str()))),
            tool: call.and_then(|call| Some(Text::new(call.tool.as_ref()?.as_str()))),
            stage: entry.stage.map(Name),
            decision: entry.said.map(Name),
            policy: entry.policy.map(Name),
            rule: entry.rule.as_ref().map(Text::share),
            policy_version: entry.policy_version.as_ref().map(Text::share),
            shadow: entry.shadow.as_ref().map(ShadowWire::of),
            grant_id: entry.grant.as_ref().map(|grant| Text::new(grant.as_str())),
            reason: entry.reason.as_ref().map(Text::share),
            actor: entry.actor.as_ref().map(ActorWire::of),
            worker: entry.worker.as_ref().map(Text::share),
            since: entry.since.map(Moment),
            attempt: entry.attempt.map(|attempt| attempt.0),
            digest: entry.digest.map(DigestText),
            edited_digest: entry.edited_digest.map(DigestText),
            arguments_digest: entry.arguments_digest.map(DigestText),
            idempotency_key: entry.idempotency_key.as_ref().map(|key| Text::new(key.as_str())),
            outcome: entry.outcome.map(Name),
            code: entry.code.map(Name),
            source: entry.source.map(Name),
            cause: entry.cause.map(Name),
            stop: entry.stop.as_ref().map(Text::share),
            agent: entry.agent.as_ref().map(Text::share),
        }
    }

    fn core(self) -> Result<Entry, Fault> {
        let call = match (self.turn, self.index) {
            (Some(turn), Some(index)) => Some(AuditedCall {
                turn: Turn(turn),
                index: CallIndex(index),
                id: self.call_id.map(|text| CallId::new(text.0)),
                tool: self.tool.map(|text| ToolName::new(text.0)),
            }),
            (None, None) => None,
            (Some(_), None) => return Err(Fault::at("index")),
            (None, Some(_)) => return Err(Fault::at("turn")),
        };
        Ok(Entry {
            event: self.event.0,
            call,
            actor: self.actor.map(Wire::core).transpose().map_err(|fault| fault.within("actor"))?,
            worker: self.worker.map(|text| text.0),
            since: self.since.map(|moment| moment.0),
            stage: self.stage.map(|name| name.0),
            said: self.decision.map(|name| name.0),
            policy: self.policy.map(|name| name.0),
            rule: self.rule.map(|text| text.0),
            policy_version: self.policy_version.map(|text| text.0),
            shadow: self.shadow.map(Wire::core).transpose().map_err(|fault| fault.within("shadow"))?,
            grant: self.grant_id.map(|text| GrantId::new(text.0)),
            reason: self.reason.map(|text| text.0),
            digest: self.digest.map(|digest| digest.0),
            edited_digest: self.edited_digest.map(|digest| digest.0),
            arguments_digest: self.arguments_digest.map(|digest| digest.0),
            attempt: self.attempt.map(Attempt),
            idempotency_key: self.idempotency_key.map(|text| IdempotencyKey::new(text.0)),
            outcome: self.outcome.map(|name| name.0),
            code: self.code.map(|name| name.0),
            source: self.source.map(|name| name.0),
            cause: self.cause.map(|name| name.0),
            stop: self.stop.map(|text| text.0),
            agent: self.agent.map(|text| text.0),
        })
    }
}
