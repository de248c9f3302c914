//! The fields of an audit document. What is absent does not belong to the entry.

use holdpoint_core::{Attempt, CallId, CallIndex, GrantId, IdempotencyKey, ToolName, Turn};
use serde::{Deserialize, Serialize};

use super::{Audit, AuditedCall, Entry, Shadowed, VERSION};
use crate::read::Versioned;
use crate::wire::{
    ActorWire, CodeName, DigestText, DoubtCauseName, Fault, Moment, Name, OutcomeName, SaidName, SourceName, StageName,
    Text, Wire, all_core, all_of,
};

/// An audit document.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AuditWire {
    v: u32,
    at: Moment,
    entries: Vec<EntryView>,
}

/// One thing that was decided or done. Fields that do not belong to it are absent.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AuditEntryView))]
#[serde(deny_unknown_fields)]
pub struct EntryView {
    /// The name of the event.
    pub event: Text,
    /// The turn of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// The position of the call in the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// The id of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<Text>,
    /// The registered tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Text>,
    /// When the policy was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<StageName>,
    /// What a policy or a person decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<SaidName>,
    /// What the policy said when a person answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<SaidName>,
    /// The rule that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Text>,
    /// The version of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_version: Option<Text>,
    /// What a policy that is only being tried would have decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadow: Option<ShadowWire>,
    /// The grant that was given, used or revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant_id: Option<Text>,
    /// The reason that the rule or the person gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
    /// The person or program that did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<ActorWire>,
    /// The worker that had the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<Text>,
    /// When the worker leased the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Moment>,
    /// The attempt of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The digest of the question that was answered; of a grant, that of the arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<DigestText>,
    /// The digest of the arguments after an edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_digest: Option<DigestText>,
    /// The digest of the arguments that were answered about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_digest: Option<DigestText>,
    /// Equal over all attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<Text>,
    /// How the call ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeName>,
    /// Why it did not succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeName>,
    /// Where its result came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceName>,
    /// How its outcome came to be unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<DoubtCauseName>,
    /// Why the run stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Text>,
    /// The agent of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Text>,
}

/// What a policy would have decided that is not enforced.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AuditShadowView))]
#[serde(deny_unknown_fields)]
pub struct ShadowWire {
    /// What it would have decided.
    pub decision: SaidName,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_version: Option<Text>,
    /// The rule that would have decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Text>,
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

impl Wire for EntryView {
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
